"""Candidates that learn a stream side by side."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC

from frugalsvm import BPAClassifier, BSGDClassifier, BudgetedPerceptron, StreamTuner, load, save
from frugalsvm.core.kernels import RBF
from frugalsvm.core.seen_rows import far_limit
from frugalsvm.datasets import make_checkerboard
from frugalsvm.exceptions import ParameterError
from frugalsvm.persist import ModelFileError
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.stream_search.judging import _Checked, _Quick
from frugalsvm.stream_search.tuner import _blocks, _blocks_of_batches

X, Y = make_checkerboard(4_000, random_state=0)
BSGD = BSGDClassifier(budget=50, alpha=1e-5)
GAMMAS = [0.01, 5.0, 500.0, 0.1]
GRID = {"gamma": GAMMAS}


def tuner(**params):
    return StreamTuner(BSGD, GRID, **{"min_rows": 500, **params})


def taught(model, stop=3_000, batch=300, start=0):
    for at in range(start, stop, batch):
        rows = slice(at, min(at + batch, stop))
        model.partial_fit(X[rows], Y[rows])
    return model


def test_the_best_goes_on_alone_as_if_it_had_been_alone():
    model = taught(tuner())
    alone = taught(clone(BSGD).set_params(gamma=5.0))
    assert model.best_params_ == {"gamma": 5.0}
    assert len(model._racers) == 1
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), rtol=1e-6, atol=1e-8)
    assert model.t_ == 3_000
    assert model.score(X[3_000:], Y[3_000:]) > 0.75


def test_results_tell_what_became_of_each_candidate():
    results = taught(tuner()).results_
    assert [each["params"]["gamma"] for each in results] == GAMMAS
    best = results[1]
    assert best["dropped_at"] is None
    assert best["rows"] == 3_000
    others = [each for each in results if each is not best]
    assert all(each["rows"] == each["dropped_at"] < 3_000 for each in others)
    assert {each["dropped_at"] for each in others} <= {600, 1200, 2400}  # after doublings: the first batch has 300
    assert all(each["accuracy"] < best["accuracy"] for each in others)


def test_rows_are_judged_before_they_are_learned():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(1_500, 2)), rng.integers(2, size=1_500)  # nothing to learn but by heart
    model = StreamTuner(BSGDClassifier(budget=None), {"gamma": [1e4, 1e5]}, min_rows=5_000)
    for at in range(0, 1_500, 500):
        model.partial_fit(rows[at : at + 500], labels[at : at + 500])
    assert model.score(rows, labels) > 0.9
    assert all(abs(each["accuracy"] - 0.5) < 0.08 for each in model.results_)


@pytest.mark.parametrize("way", [_Checked, _Quick])
def test_every_second_row_is_judged_at_most(monkeypatch, way):
    if way is _Checked:
        monkeypatch.setattr("frugalsvm.stream_search.judging._quick_way", lambda candidate, batch: None)
    judged = []
    judge = way.judge
    monkeypatch.setattr(way, "judge", lambda self, chosen: judged.append(len(chosen)) or judge(self, chosen))
    taught(StreamTuner(BSGD, {"gamma": [5.0, 6.0]}, min_rows=10_000), stop=1_001, batch=77)
    assert sum(judged) / 2 == pytest.approx((1_001 - 77) / 2, abs=1)


def _candidates():
    return [
        BSGDClassifier(budget=50, gamma=5.0, alpha=1e-5),
        BSGDClassifier(budget=50, gamma=5.0, half_life="auto"),
        BSGDClassifier(budget=50, gamma=5.0, alpha=1e-3, average=True),
        BudgetedPerceptron(budget=50, gamma=5.0, random_state=0),
        BPAClassifier("nn", budget=50, gamma=5.0),
    ]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_blocks_are_what_fit_and_predict_do(monkeypatch, n_classes, dtype):
    """Both ways, of all kinds of candidates: the same models bit for bit, judged by the same predictions."""
    rows, labels = X[:2_500].astype(dtype), np.where(X[:2_500, 0] > 2.0, n_classes, Y[:2_500])
    weights = np.where(np.arange(2_500) % 3, 1.0, 0.0)
    rows[[1_200, 1_300, 1_301], 0] += 1.1 * far_limit(RBF(5.0), dtype) ** 0.5  # too few to move the origin
    for given in (None, weights):
        with monkeypatch.context() as patch:
            patch.setattr("frugalsvm.stream_search.judging._Checked", None)
            quick = StreamTuner(_candidates(), min_rows=1_000, random_state=0, n_jobs=2).fit(rows, labels, given)
        used = []
        with monkeypatch.context() as patch:
            patch.setattr("frugalsvm.stream_search.judging._quick_way", lambda *given, used=used: used.append(given))
            checked = StreamTuner(_candidates(), min_rows=1_000, random_state=0).fit(rows, labels, given)
        assert used
        assert quick.results_ == checked.results_
        for one, other in zip(quick._racers, checked._racers, strict=True):
            np.testing.assert_array_equal(one.decision_function(rows), other.decision_function(rows))


def test_rows_far_from_the_origin_are_learned_with_all_checks():
    far = X[:600] + np.where(np.arange(600) < 300, 0.0, 1e5)[:, None]
    model = taught(tuner(min_rows=10_000), stop=300)
    model.partial_fit(far[300:], Y[300:600])
    assert not model.best_estimator_.origin_.is_zero


@pytest.mark.parametrize("batch", [100, 3_000])
def test_batches_do_not_matter_after_the_first(batch):
    model = taught(taught(tuner(), stop=300), start=300, batch=batch)
    other = taught(tuner())
    assert [each["dropped_at"] for each in model.results_] == [each["dropped_at"] for each in other.results_]
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


def test_threads_do_not_matter():
    one, two = taught(tuner()), taught(tuner(n_jobs=2))
    assert one.results_ == two.results_
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_fit_is_one_pass_that_forgets_what_was_before():
    model = tuner(random_state=0).fit(X[:3_000], Y[:3_000])
    assert model.t_ == 3_000
    assert model.best_params_ == {"gamma": 5.0}
    again = taught(tuner(random_state=0)).fit(X[:3_000], Y[:3_000])
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))


def test_sorted_rows_are_shuffled_by_fit():
    order = np.argsort(Y[:3_000], kind="stable")
    assert tuner(random_state=0).fit(X[order], Y[order]).score(X[3_000:], Y[3_000:]) > 0.75


def test_usual_candidates_lie_around_what_the_first_rows_suggest():
    model = StreamTuner(BSGDClassifier(budget=50), random_state=0).partial_fit(X[:1_000], Y[:1_000])
    suggested = BSGDClassifier(budget=50, gamma="auto").partial_fit(X[:1_000], Y[:1_000]).gamma_
    assert model.best_params_ == {"gamma": suggested, "alpha": 1e-4}
    *others, following = [result["params"] for result in model.results_]
    assert len(others) == 9
    assert others[-1]["gamma"] == 4 * suggested
    assert following == {"half_life": "auto"}


@pytest.mark.parametrize("said", [{"half_life": np.inf}, {"alpha": 1e-4}, {"gamma": 5.0}])
def test_no_usual_candidate_follows_where_something_was_said(said):
    model = StreamTuner(BSGDClassifier(budget=50, **said)).partial_fit(X[:1_000], Y[:1_000])
    assert len(model.results_) == 9
    assert not any("half_life" in result["params"] for result in model.results_)


def test_a_stream_that_changes_is_won_by_the_candidate_that_follows():
    """Labels turn around: candidates that weigh all rows alike are slow to notice."""
    labels = np.where(np.arange(len(Y)) < 2_500, Y, Y.max() + Y.min() - Y)
    model = StreamPipeline(StreamTuner(BSGDClassifier(budget=50), min_rows=3_000))
    assert model.n_warmup == StreamPipeline(BSGDClassifier()).n_warmup
    for start in range(0, 4_000, 50):
        model.partial_fit(X[start : start + 50], labels[start : start + 50])
    assert model.estimator_.best_params_ == {"half_life": "auto"}


def test_candidates_may_be_estimators_of_any_kind():
    model = taught(StreamTuner([SGDClassifier(random_state=0), clone(BSGD).set_params(gamma=5.0)], min_rows=500))
    assert isinstance(model.best_estimator_, BSGDClassifier)
    assert model.best_params_["gamma"] == 5.0


def test_sparse_rows_weights_and_labels_of_text():
    labels = np.where(Y > 0, "yes", "no")
    weights = np.where(np.arange(len(Y)) % 2, 1.0, 0.5)
    model = tuner(shuffle=False).fit(csr_matrix(X), labels, sample_weight=weights)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(csr_matrix(X), labels) > 0.75


def test_probabilities_if_the_candidates_have_them():
    assert not hasattr(tuner(), "predict_proba")
    model = taught(StreamTuner(clone(BSGD).set_params(calibrate="platt"), GRID, min_rows=500))
    probabilities = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("n_rows", [200, 600])
def test_failures_change_nothing(n_rows):
    model = taught(tuner(), stop=400)
    before, standing = model.decision_function(X), model.results_
    labels = Y[400 : 400 + n_rows].copy()
    labels[-1] = 7
    with pytest.raises(ValueError, match="Label 7"):
        model.partial_fit(X[400 : 400 + n_rows], labels)
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert model.results_ == standing
    assert model.t_ == 400


@pytest.mark.parametrize("options", [{}, {"for_prediction": True}])
@pytest.mark.parametrize("stop", [400, 3_000])
def test_saved_searches_predict_the_same(tmp_path, stop, options):
    model = taught(tuner(), stop=stop)
    save(model, tmp_path / "model.frugal", **options)
    loaded = load(tmp_path / "model.frugal")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.best_params_ == model.best_params_


def test_a_saved_search_goes_on(tmp_path):
    model = taught(tuner(), stop=600)
    save(model, tmp_path / "model.frugal")
    loaded = taught(load(tmp_path / "model.frugal"), start=600)
    whole = taught(model, start=600)
    assert loaded.results_ == whole.results_
    np.testing.assert_array_equal(loaded.decision_function(X), whole.decision_function(X))


def test_files_whose_parts_do_not_fit_are_refused(tmp_path):
    model = taught(tuner(), stop=400)
    model._racers = model._racers[:2]
    save(model, tmp_path / "model.frugal")
    with pytest.raises(ModelFileError, match="do not fit together"):
        load(tmp_path / "model.frugal")


def test_in_a_pipeline(tmp_path):
    model = taught(StreamPipeline(tuner(), warmup_rows=500, calibrate=True))
    assert model.estimator_.best_params_ == {"gamma": 5.0}
    assert model.predict_proba(X).shape == (len(X), 2)
    save(model, tmp_path / "model.frugal")
    np.testing.assert_array_equal(load(tmp_path / "model.frugal").predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"estimator": SVC()}, ParameterError, "classifier with partial_fit"),
        ({"estimator": []}, ParameterError, "classifier with partial_fit"),
        ({"estimator": [BSGD]}, ValueError, "param_grid is for one estimator"),
        ({"param_grid": [0.5]}, ParameterError, "dict of parameters"),
        ({"min_rows": 0}, ParameterError, "min_rows"),
        ({"estimator": SGDClassifier(), "param_grid": None}, ValueError, "no usual candidates"),
    ],
)
def test_wrong_parameters(params, error, words):
    with pytest.raises(error, match=words):
        tuner().set_params(**params).partial_fit(X[:300], Y[:300])


def test_blocks_are_short_at_first_and_cover_all_rows():
    blocks = _blocks(1000, 40_000)
    sizes = [block.stop - block.start for block in blocks]
    assert sizes[0] == 256
    assert max(sizes) == 2048
    assert sizes[:-1] == sorted(sizes[:-1])
    assert [block.start for block in blocks[1:]] == [block.stop for block in blocks[:-1]]
    assert blocks[-1].stop == 40_000
    assert _blocks(10**9, 10) == [slice(0, 10)]


def test_blocks_end_where_batches_of_a_fit_do():
    edges = [0, 100, 356, 500, 700]
    assert _blocks_of_batches(1_000, 300, 1_000, 400) == [slice(*pair) for pair in itertools.pairwise(edges)]
    assert _blocks_of_batches(1_000, 0, 300, 300) == _blocks(1_000, 300)
