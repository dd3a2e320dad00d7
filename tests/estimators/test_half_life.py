"""BSGDClassifier on streams that change: a half-life, and several that vote."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from support import assert_same_estimator, blobs

from frugalsvm import BSGDClassifier
from frugalsvm.core.experts import HALF_LIVES
from frugalsvm.datasets import make_checkerboard
from frugalsvm.persist import load, save
from frugalsvm.pipelines import StreamPipeline

N_ROWS, FLIP = 6000, 4000


@pytest.fixture(scope="module")
def flipped():
    """A checkerboard that becomes its negative."""
    X, y = make_checkerboard(N_ROWS, random_state=0)
    y = (y > 0).astype(int)
    y[FLIP:] = 1 - y[FLIP:]
    return X, y


def bsgd(half_life="auto", **params):
    return BSGDClassifier(**{"budget": 60, "gamma": 5.0, "half_life": half_life, "random_state": 0, **params})


def learned(model, X, y, size=500):
    for start in range(0, len(y), size):
        model.partial_fit(X[start : start + size], y[start : start + size], classes=np.unique(y))
    return model


@pytest.mark.parametrize("half_life", [300, "auto"])
def test_what_was_learned_is_forgotten(flipped, half_life):
    X, y = flipped
    soon, rest = slice(FLIP + 600), slice(FLIP + 600, FLIP + 1100)
    scores = {each: learned(bsgd(each), X[soon], y[soon]).score(X[rest], y[rest]) for each in (half_life, None)}
    assert scores[half_life] > max(0.7, scores[None] + 0.1)


def test_the_vote_moves_to_short_half_lives_after_a_change(flipped):
    X, y = flipped
    model = learned(bsgd(), X[:FLIP], y[:FLIP])
    before = model.half_life_shares_
    assert list(before) == [None, *HALF_LIVES]
    assert sum(before.values()) == pytest.approx(1.0)
    after = learned(model, X[FLIP : FLIP + 400], y[FLIP : FLIP + 400], 100).half_life_shares_
    assert after[700] > before[700]


def test_an_endless_half_life_is_none(flipped):
    X, y = flipped
    endless, none = (learned(bsgd(h, alpha=1e-3), X[:2000], y[:2000]) for h in (1e12, None))
    values = none.decision_function(X[:200])
    np.testing.assert_allclose(endless.decision_function(X[:200]), values, atol=1e-3 * np.abs(values).max())


def test_alpha_gives_steps_of_length_3():
    X, y = blobs(300, 3, 2, seed=0)
    model = BSGDClassifier(half_life=50, gamma=0.3).partial_fit(X, y)
    clock = 1 / (1 - 0.5 ** (1 / 50))
    assert model.alpha_ == pytest.approx(1 / (3 * clock))


@pytest.mark.parametrize(
    ("half_life", "n_classes"), [(200, 2), ("auto", 2), ("auto", 3), pytest.param(200, 3, marks=pytest.mark.slow)]
)
def test_a_model_from_a_file_goes_on_as_if_nothing_had_been(tmp_path, half_life, n_classes):
    X, y = blobs(1500, 3, n_classes, seed=1)
    whole = learned(bsgd(half_life, gamma=0.3), X, y)
    half = learned(bsgd(half_life, gamma=0.3), X[:1000], y[:1000])
    save(half, tmp_path / "model")
    resumed = learned(load(tmp_path / "model"), X[1000:], y[1000:])
    assert_same_estimator(resumed, whole)
    if half_life == "auto":
        assert resumed.half_life_shares_ == whole.half_life_shares_


def test_a_model_for_prediction_has_one_column(tmp_path):
    X, y = blobs(800, 3, 2, seed=1)
    model = learned(bsgd(gamma=0.3), X, y)
    save(model, tmp_path / "model", for_prediction=True)
    small = load(tmp_path / "model")
    np.testing.assert_allclose(small.decision_function(X), model.decision_function(X), rtol=1e-10)
    np.testing.assert_array_equal(small.dual_coef_, model.dual_coef_)
    assert small.dual_coef_.shape == (1, 60)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_one_by_one_are_those_of_a_batch(n_classes):
    X, y = blobs(600, 3, n_classes, seed=2)
    estimator = bsgd(gamma=0.3)
    by_rows = StreamPipeline(estimator, warmup_rows=200).partial_fit(X[:200], y[:200])
    by_batches = StreamPipeline(estimator, warmup_rows=200).partial_fit(X[:200], y[:200])
    for x, label in zip(X[200:500], y[200:500], strict=True):
        by_rows.learn_one_row(x, label)
    by_batches.partial_fit(X[200:500], y[200:500])
    assert by_rows._row_path()._vote is None
    expected = by_batches.decision_function(X)
    np.testing.assert_allclose(by_rows.decision_function(X), expected, atol=1e-6 * np.abs(expected).max())
    before = by_rows.estimator_.n_kernel_evals_
    assert [by_rows.predict_one_row(x) for x in X[500:]] == by_batches.predict(X[500:]).tolist()
    assert by_rows._row_path()._vote is not None
    assert by_rows.estimator_.n_kernel_evals_ == before
    # and after batches in between
    by_rows.partial_fit(X[500:550], y[500:550])
    assert [by_rows.predict_one_row(x) for x in X[550:]] == by_rows.predict(X[550:]).tolist()


def test_new_classes_begin_at_zero():
    X, y = blobs(900, 3, 3, seed=3)
    known = y < 2
    model = bsgd(gamma=0.3, new_classes="grow")
    model.partial_fit(X[known], y[known])
    values = model.decision_function(X)
    model.partial_fit(X[~known][:1], y[~known][:1], sample_weight=[1e-12])
    assert model.classes_.tolist() == [0, 1, 2]
    grown = model.decision_function(X)
    assert grown.shape == (900, 3)
    np.testing.assert_allclose(grown[:, 2], 0.0, atol=1e-6 * np.abs(values).max())
    assert np.mean((grown[:, 1] >= grown[:, 0]) == (values >= 0)) > 0.99
    model.partial_fit(X, y)
    assert model.score(X, y) > 0.5


def test_gamma_is_chosen_in_the_order_of_the_rows():
    """Neighbors in time have the same features and labels: in random order the narrowest kernels do best."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(300, 4)), 5, axis=0) + 0.01 * rng.normal(size=(1500, 4))
    y = (X[:, 0] > 0).astype(int)
    shuffled = BSGDClassifier(gamma="auto").partial_fit(X, y)
    ordered = BSGDClassifier(gamma="auto", half_life="auto").partial_fit(X, y)
    assert ordered.gamma_ < shuffled.gamma_


@pytest.mark.slow
def test_all_kinds_of_maintenance_and_rows():
    X, y = blobs(500, 3, 2, seed=4)
    for maintenance in ("remove", "project"):
        model = learned(bsgd(gamma=0.3, maintenance=maintenance), X, y)
        assert model.score(X, y) > 0.6
    dense, sparse = learned(bsgd(gamma=0.3), X, y), learned(bsgd(gamma=0.3), csr_matrix(X), y)
    assert np.mean(dense.predict(X) == sparse.predict(X)) > 0.99


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"half_life": 0.5}, "half_life"),
        ({"half_life": "long"}, "half_life"),
        ({"learner": "norma"}, "pegasos"),
        ({"average": True}, "average"),
        ({"radius": 1.0}, "radius"),
    ],
)
def test_refusals(params, words):
    X, y = blobs(50, 3, 2, seed=0)
    with pytest.raises(ValueError, match=words):
        bsgd(**params).partial_fit(X, y)


def test_shares_are_there_with_auto_only():
    X, y = blobs(50, 3, 2, seed=0)
    with pytest.raises(AttributeError, match="auto"):
        _ = bsgd(None).partial_fit(X, y).half_life_shares_


def test_rows_that_are_held_back_are_learned_by_what_predicts_meanwhile(flipped):
    """With half_life="auto" a pipeline holds 2 000 rows back, and a copy of it learns all of them as they come."""
    X, y = flipped
    model = StreamPipeline(BSGDClassifier(budget=60, half_life="auto"), scale=False, warmup_rows=1)
    model.partial_fit(X[:1000], y[:1000])
    assert model.n_held_ == 1000
    by_rows = StreamPipeline(BSGDClassifier(budget=60, half_life="auto"), scale=False, warmup_rows=1)
    by_rows.partial_fit(X[:600], y[:600])
    for i in range(600, 1000):
        by_rows.predict_one_row(X[i])
        by_rows.learn_one_row(X[i], y[i])
    assert by_rows._answering().estimator_.t_ == model._answering().estimator_.t_ == 1000
    assert np.mean(by_rows.predict(X[1000:2000]) == model.predict(X[1000:2000])) > 0.95
    assert [by_rows.predict_one_row(x) for x in X[1000:1100]] == by_rows.predict(X[1000:1100]).tolist()
