"""``gamma="auto"``, ``C="auto"``, ``alpha="auto"``: chosen on the first rows, frozen, saved."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from support import blobs

from frugalsvm import (
    ASSETClassifier,
    ASSETRegressor,
    BPAClassifier,
    BSGDClassifier,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    TrackingSVC,
    TVMClassifier,
)
from frugalsvm.core.kernels import RBF
from frugalsvm.core.outputs import signs
from frugalsvm.metric_learning.machine import Rows
from frugalsvm.persist import load, save
from frugalsvm.selection.widths import LEAST_ROWS, choice_for, most_rows

AUTO = {
    "bsgd": BSGDClassifier(budget=50, random_state=0),
    "lasvm": LASVMClassifier(cache_size=1, random_state=0),
    "asset": ASSETClassifier(n_components=64, random_state=0),
}  # with the defaults of gamma and strength
OTHERS = [
    BudgetedPerceptron(budget=20, random_state=0),
    BPAClassifier(budget=20, random_state=0),
    TrackingSVC(cache_size=1, random_state=0),
    IncrementalSVC(cache_size=1),
    TVMClassifier(20, random_state=0),
]


def board(n_rows, n_cells, seed=0):
    """A checkerboard: the more cells there are, the narrower a kernel must be."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 2))
    return X, np.floor(n_cells * X).sum(axis=1).astype(int) % 2


def rows_of(X, labels, n_classes=2):
    return Rows(X, signs(labels, 1 if n_classes == 2 else n_classes).T, np.ones(len(X)))


def strength(model):
    return model.alpha_ if hasattr(model, "alpha_") else model.C_


def test_narrow_patterns_need_narrow_kernels():
    rng = np.random.default_rng(0)
    X = rng.random((2500, 2))
    waves = [np.sin(n * X[:, :1]) + np.sin(n * X[:, 1:]) for n in (3, 30)]
    wide, narrow = (choice_for(RBF, Rows(X, values, np.ones(2500))).gamma for values in waves)
    assert wide < narrow


def test_noise_needs_a_stronger_penalty():
    X, _ = board(2500, 1)
    y = (X[:, 1] > 0.5 + 0.3 * np.sin(6 * X[:, 0])).astype(int)
    noisy = np.where(np.random.default_rng(1).random(2500) < 0.3, 1 - y, y)
    clean, spoiled = choice_for(RBF, rows_of(X, y)), choice_for(RBF, rows_of(X, noisy))
    assert clean.C > spoiled.C
    assert clean.error_rate < 0.1
    assert spoiled.error_rate == pytest.approx(0.3, abs=0.05)


def test_noise_needs_a_stronger_alpha():
    X, _ = board(4000, 1)
    y = (X[:, 1] > 0.5).astype(int)
    noisy = np.where(np.random.default_rng(1).random(4000) < 0.15, 1 - y, y)
    clean, spoiled = (BSGDClassifier(budget=50, gamma=8.0, random_state=0).fit(X, each).alpha_ for each in (y, noisy))
    assert clean == pytest.approx(1e-4 * np.sqrt(3000 / 4000))
    assert 2 / 4000 < spoiled < 8 / 4000
    few = BSGDClassifier(budget=50, gamma=8.0, random_state=0).fit(X[:1000], noisy[:1000]).alpha_
    assert few < 8 / 3000  # not four times as much


def test_kernels_are_not_too_wide_for_online_learners():
    X = np.random.default_rng(0).normal(size=(2500, 8))
    linear = Rows(X, X.sum(axis=1, keepdims=True), np.ones(2500))  # the wider, the better
    free, bounded = choice_for(RBF, linear), choice_for(RBF, linear, widest=1.0)
    assert free.gamma < free.usual_gamma
    assert bounded.gamma == bounded.usual_gamma
    y = (X.sum(axis=1) > 0).astype(int)
    assert BSGDClassifier(budget=20, random_state=0).fit(X, y).gamma_ >= 1 / X.var(axis=0).sum()


def test_rows_of_very_many_features_are_few():
    assert most_rows(10) > 3000
    assert most_rows(8000) < 1100
    assert most_rows(10**8) == LEAST_ROWS


def test_a_multiclass_share_of_errors_counts_classes():
    X, _ = board(2000, 1)
    y = np.digitize(X[:, 0], (0.3, 0.6))
    assert choice_for(RBF, rows_of(X, y, 3)).error_rate < 0.1
    shuffled = np.random.default_rng(0).permutation(y)
    assert choice_for(RBF, rows_of(X, shuffled, 3)).error_rate > 0.5


def test_a_given_gamma_stays():
    X, y = board(1000, 4)
    assert choice_for(RBF, rows_of(X, y), 3.0).gamma == 3.0
    model = LASVMClassifier(gamma=3.0, C="auto").fit(X, y)
    assert model.gamma_ == 3.0
    assert model.C_ > 1.0


@pytest.mark.parametrize("name", AUTO)
def test_better_than_what_is_usual_and_reproducible(name):
    X, y = board(3000, 6)
    model = clone(AUTO[name]).fit(X[:2000], y[:2000])
    usual = clone(model).set_params(gamma="scale", **({"alpha": 1e-4} if name == "bsgd" else {"C": 1.0}))
    assert model.score(X[2000:], y[2000:]) > usual.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) + 0.05
    again = clone(AUTO[name]).fit(X[:2000], y[:2000])
    assert (again.gamma_, strength(again)) == (model.gamma_, strength(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("name", AUTO)
def test_few_rows_have_what_is_usual(name):
    X, y = blobs(150, 4, 2, seed=1)
    auto = clone(AUTO[name]).fit(X, y)
    usual = clone(auto).set_params(gamma="scale", **({"alpha": 1e-4} if name == "bsgd" else {"C": 1.0})).fit(X, y)
    np.testing.assert_array_equal(auto.decision_function(X), usual.decision_function(X))
    assert strength(auto) == (1e-4 if name == "bsgd" else 1.0)


@pytest.mark.parametrize("name", AUTO)
def test_streams_choose_on_the_first_batch_and_keep_it(name, tmp_path):
    X, y = board(3000, 6)
    short = clone(AUTO[name]).partial_fit(X[:900], y[:900])
    assert short.gamma_ == clone(short).set_params(gamma="scale").partial_fit(X[:900], y[:900]).gamma_
    model = clone(AUTO[name]).partial_fit(X[:1500], y[:1500])
    chosen = model.gamma_, strength(model)
    assert model.gamma_ > 3 * short.gamma_
    save(model, tmp_path / "model.frugal", caches=True)
    again = load(tmp_path / "model.frugal")
    for each in (model, again):
        each.partial_fit(10 * X[1500:], y[1500:])
        assert (each.gamma_, strength(each)) == chosen
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    save(model, tmp_path / "model.frugal", for_prediction=True)
    again = load(tmp_path / "model.frugal")
    assert (again.gamma_, strength(again)) == chosen


def test_a_length_of_a_stream_is_not_known():
    X, y = board(2000, 4)
    y[::4] = 1 - y[::4]
    assert clone(AUTO["bsgd"]).partial_fit(X, y).alpha_ == 1e-4
    assert clone(AUTO["bsgd"]).fit(X, y).alpha_ > 1e-3


def test_steps_that_do_not_depend_on_alpha_have_the_usual_one():
    X, y = board(400, 4)
    assert clone(AUTO["bsgd"]).set_params(learner="norma", maintenance="remove").fit(X, y).alpha_ == 1e-4


def test_what_is_given_is_not_chosen(monkeypatch):
    X, y = board(400, 4)
    monkeypatch.setattr("frugalsvm.estimators.automatic.choice_for", None)
    BSGDClassifier(budget=50, gamma=1.0, alpha=1e-3).fit(X, y)
    LASVMClassifier(C=1.0, gamma="scale", cache_size=1).fit(X, y)
    ASSETClassifier(n_components=64, gamma=1.0, alpha=1e-3).fit(X, y)  # in the place of C


@pytest.mark.parametrize("estimator", OTHERS, ids=lambda estimator: type(estimator).__name__)
def test_every_estimator_chooses_its_gamma(estimator):
    X, y = board(400, 4)
    model = clone(estimator).set_params(gamma="auto").fit(X, y)
    assert model.gamma_ > 2 * clone(estimator).fit(X, y).gamma_


def test_regressors_choose_gamma_but_not_C():
    X = board(1000, 4)[0].astype(np.float32)
    y = np.sin(20 * X[:, 0])
    model = ASSETRegressor(n_components=64, gamma="auto", random_state=0).fit(X, y)
    assert model.score(X, y) > ASSETRegressor(n_components=64, random_state=0).fit(X, y).score(X, y)
    assert ASSETRegressor(n_components=64, kernel="laplacian", gamma="auto", random_state=0).fit(X, y).score(X, y) > 0.8
    with pytest.raises(ValueError, match="C must be a positive number"):
        ASSETRegressor(C="auto").fit(X, y)


def test_sparse_rows_weights_and_batches():
    X, y = board(1600, 4)
    X = np.where(X < 0.2, 0.0, X)
    weights = (np.arange(1600) % 2).astype(float)
    for name, auto in AUTO.items():
        dense, sparse = clone(auto).fit(X, y, weights), clone(auto).fit(csr_matrix(X), y, weights)
        assert sparse.gamma_ == pytest.approx(dense.gamma_)
        assert strength(sparse) == strength(dense)
        half = clone(auto).fit(X[1::2], y[1::2])  # rows without weight are as if they were not there
        assert half.gamma_ == pytest.approx(dense.gamma_), name
    batches = [(X[start : start + 400], y[start : start + 400]) for start in range(0, 1600, 400)]
    model = clone(AUTO["asset"]).fit_batches(batches)
    assert model.score(X, y) > ASSETClassifier(n_components=64, gamma="scale", C=1.0).fit(X, y).score(X, y) + 0.05


def test_with_a_learned_metric_its_gamma_counts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 4))
    y = (np.sin(3 * X[:, 0]) > 0).astype(int)
    model = ASSETClassifier(n_components=64, metric="diag", gamma="auto", C="auto", random_state=0).fit(X, y)
    assert model.gamma_ == model.metric_part_.gamma
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("estimator", "usual"),
    [
        (ASSETClassifier(n_components=64, kernel="poly", degree=2, gamma="auto", C="auto"), 1.0),
        (BSGDClassifier(maintenance="remove", budget=50, kernel="linear", gamma="auto", alpha="auto"), 1e-4),
    ],
    ids=["poly", "linear"],
)
def test_kernels_without_a_width_have_what_is_usual(estimator, usual):
    X, y = blobs(400, 3, 2, seed=2)
    assert strength(clone(estimator).fit(X, y)) == usual


def test_one_class_in_a_first_batch_chooses_nothing():
    X, _ = board(1200, 4)
    model = BSGDClassifier(budget=20, gamma="auto", alpha="auto", random_state=0)
    model.partial_fit(X, np.zeros(1200, int), classes=[0, 1])
    assert model.gamma_ == pytest.approx(1 / X.var(axis=0).sum())


@pytest.mark.parametrize(("name", "parameter"), [("bsgd", "alpha"), ("lasvm", "C"), ("asset", "C")])
def test_other_words_are_refused(name, parameter):
    X, y = blobs(50, 3, 2, seed=3)
    with pytest.raises(ValueError, match=f"{parameter} must be a positive number"):
        clone(AUTO[name]).set_params(**{parameter: "scale"}).fit(X, y)


def test_rows_of_a_stream_are_judged_in_their_order():
    """A walk: each row is near the last one, so that in random order the narrowest kernel knows the neighbors."""
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(size=(1200, 3)), axis=0)
    y = (np.cumsum(rng.normal(size=1200)) > 0).astype(int)  # as slow, and of its own
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    stream, table = LASVMClassifier(random_state=0).partial_fit(X, y), LASVMClassifier(random_state=0).fit(X, y)
    assert stream.gamma_ < table.gamma_ / 2


def test_few_landmarks_take_a_wider_kernel():
    X, y = board(2000, 3)
    few, many = (ASSETClassifier(n_components=n, random_state=0).fit(X, y).gamma_ for n in (20, 400))
    assert few < many / 2
