"""``calibrate=``: probabilities of every classifier agree with its predictions, and are saved and learned with it."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from support import blobs

from frugalsvm import (
    ASSETClassifier,
    BPAClassifier,
    BSGDClassifier,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    TrackingSVC,
    TVMClassifier,
)
from frugalsvm.calibration import METHODS, PlattCalibration
from frugalsvm.persist import load, save
from frugalsvm.pipelines import StreamPipeline

SEED = {"gamma": 0.3, "random_state": 0}
ESTIMATORS = {
    "bsgd": BSGDClassifier(budget=20, alpha=1e-3, **SEED),
    "bsgd-post": BSGDClassifier(budget=20, alpha=1e-3, average="post", **SEED),
    "perceptron": BudgetedPerceptron("random", 20, **SEED),
    "bpa": BPAClassifier("nn", budget=20, **SEED),
    "lasvm": LASVMClassifier(cache_size=1, **SEED),
    "lasvm-biased": LASVMClassifier("lasvm", cache_size=1, **SEED),
    "tracking": TrackingSVC(cache_size=1, **SEED),
    "incremental": IncrementalSVC(gamma=0.3, cache_size=1),
    "tvm": TVMClassifier(20, **SEED),
    "asset": ASSETClassifier(n_components=32, **SEED),
    "asset-steps": ASSETClassifier(n_components=32, solver="asset", max_iter=3, **SEED),
}
QUICK = ("bsgd", "lasvm", "asset")  # of each family
PAIRS = [
    pytest.param(name, method, marks=() if method == "platt" or name in QUICK else pytest.mark.slow)
    for name in ESTIMATORS
    for method in METHODS
]


def calibrated(name, method="platt", **params):
    return clone(ESTIMATORS[name]).set_params(calibrate=method, **params)


def assert_sound(model, X):
    shares = model.predict_proba(X)
    assert shares.shape == (X.shape[0], len(model.classes_))
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(shares))
    values = model.decision_function(X)
    if values.ndim == 1:
        assert (np.diff(shares[np.argsort(values, kind="stable"), 1]) >= -1e-15).all()
    else:
        order = np.argsort(values, axis=1, kind="stable")
        assert (np.diff(np.take_along_axis(shares, order, axis=1), axis=1) >= -1e-15).all()
    return shares


@pytest.mark.parametrize("n_classes", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_fit_calibrates(name, n_classes):
    X, y = blobs(2600, 4, n_classes, seed=1)
    shortest = 300 if name in ("incremental", "tvm") else 1400
    for n_rows in (shortest, 200):
        model = calibrated(name).fit(X[:n_rows], y[:n_rows])
        shares = assert_sound(model, X[1400:])
        known = log_loss(y[1400:], np.full(shares.shape, 1 / n_classes))
        assert log_loss(y[1400:], shares) < (1.0 if n_rows > 200 else 1.05) * known


@pytest.mark.parametrize(("name", "method"), PAIRS)
def test_streams_calibrate(name, method):
    X, y = blobs(1600, 4, 3, seed=2)
    model = calibrated(name, method)
    n_rows, step = (400, 80) if name in ("incremental", "tvm") else (1200, 120)
    for start in range(0, n_rows, step):
        model.partial_fit(X[start : start + step], y[start : start + step], classes=[0, 1, 2])
        assert_sound(model, X[1200:])
    assert not model.calibration_.is_new
    fresh = PlattCalibration(n_rows=1e9).probabilities(model.decision_function(X[1200:]))
    assert log_loss(y[1200:], model.predict_proba(X[1200:])) < log_loss(y[1200:], fresh) + 0.02


@pytest.mark.parametrize("name", ["bsgd", "perceptron", "lasvm", "tracking", "tvm"])
def test_learning_is_the_same_with_and_without_calibration(name):
    X, y = blobs(1700, 4, 2, seed=3)
    plain, model = clone(ESTIMATORS[name]), calibrated(name)
    np.testing.assert_array_equal(model.fit(X, y).decision_function(X[:50]), plain.fit(X, y).decision_function(X[:50]))
    plain, model = clone(ESTIMATORS[name]), calibrated(name)
    for rows in (slice(0, 700), slice(700, 1300), slice(1300, 1700)):
        plain.partial_fit(X[rows], y[rows])
        model.partial_fit(X[rows], y[rows])
    np.testing.assert_array_equal(model.decision_function(X[:50]), plain.decision_function(X[:50]))


@pytest.mark.parametrize("name", QUICK)
def test_held_out_rows_are_what_calibrates(name):
    """Labels that nobody can know: a model of all rows is sure of them, one that has not seen them is not."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(1500, 8)), rng.integers(0, 2, 1500)
    model = calibrated(name, gamma=1.0).fit(X, y)
    assert model.predict_proba(rng.normal(size=(500, 8))).max(axis=1).mean() < 0.6


@pytest.mark.parametrize(("name", "method"), PAIRS)
def test_files_and_pickles_keep_probabilities(name, method, tmp_path):
    X, y = blobs(260, 4, 3, seed=5)
    model = calibrated(name, method).fit(X[:200], y[:200])
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)
    for options in ({}, {"caches": True}, {"for_prediction": True}):
        save(model, tmp_path / "model.frugal", **options)
        again = load(tmp_path / "model.frugal")
        np.testing.assert_array_equal(again.predict_proba(X), expected)
        if options.get("for_prediction"):
            assert not len(getattr(again.calibration_, "values", ()))  # what is for further training
        if options.get("caches"):
            for each in (model, again):
                each.partial_fit(X[200:], y[200:])
            np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
            model = calibrated(name, method).fit(X[:200], y[:200])


def test_only_calibrated_models_have_probabilities():
    X, y = blobs(100, 3, 2, seed=6)
    model = BSGDClassifier(budget=10, **SEED).fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    with pytest.raises(AttributeError) as raised:
        model.predict_proba(X)
    assert "calibrate='platt'" in str(raised.value.__cause__)
    with pytest.raises(NotFittedError, match="learned without calibrate='platt'"):
        model.set_params(calibrate="platt").predict_proba(X)
    assert_sound(model.partial_fit(X, y), X)
    with pytest.raises(ValueError, match="calibrate must be None, 'platt' or 'isotonic'"):
        model.set_params(calibrate="sigmoid").fit(X, y)


def test_a_new_fit_forgets_the_calibration():
    X, y = blobs(400, 3, 2, seed=7)
    for name in QUICK:
        model = calibrated(name).fit(X, y)
        expected = calibrated(name).fit(X[:200], y[:200]).predict_proba(X)
        np.testing.assert_array_equal(model.fit(X[:200], y[:200]).predict_proba(X), expected)
        assert not hasattr(model.set_params(calibrate=None).fit(X, y), "calibration_")


@pytest.mark.parametrize("name", QUICK)
def test_many_classes_and_rare_ones(name):
    X, y = blobs(400, 6, 26, seed=8)
    y[:3] = 30
    model = calibrated(name).fit(X, y)
    assert assert_sound(model, X).shape[1] == 27


@pytest.mark.parametrize("name", QUICK)
def test_a_class_that_has_not_come_yet_has_a_probability(name):
    X, y = blobs(600, 4, 3, seed=9)
    seen = y < 2
    model = calibrated(name)
    model.partial_fit(X[seen][:200], y[seen][:200], classes=[0, 1, 2])
    assert (assert_sound(model, X)[:, 2] > 0).all()
    model.partial_fit(X[:300], y[:300])
    assert_sound(model, X)


@pytest.mark.parametrize("method", METHODS)
def test_classes_that_grow(method):
    X, y = blobs(900, 4, 4, seed=10)
    model = BSGDClassifier(budget=30, new_classes="grow", calibrate=method, **SEED)
    model.partial_fit(X[:20], np.zeros(20, int))
    np.testing.assert_array_equal(model.predict_proba(X[:5]), np.ones((5, 1)))
    for n_classes in (2, 3, 4):
        rows = np.flatnonzero(y < n_classes)[: 100 * n_classes]
        model.partial_fit(X[rows], y[rows])
        assert assert_sound(model, X).shape[1] == n_classes
        model.partial_fit(X[rows], y[rows])
        assert_sound(model, X)


@pytest.mark.parametrize(
    "name", ["bsgd", "lasvm", "asset", "incremental", pytest.param("lasvm-biased", marks=pytest.mark.slow)]
)
def test_sparse_rows_weights_and_threads(name):
    X, y = blobs(1300, 4, 3, seed=11)
    n_rows = {"incremental": 300, "lasvm": 600}.get(name, 1300)
    X, y = np.where(np.abs(X) < 0.5, 0.0, X)[:n_rows], y[:n_rows]
    weights = np.random.default_rng(0).integers(0, 3, n_rows).astype(float)
    expected = calibrated(name).fit(X, y, weights).predict_proba(X)
    sparse, threads = calibrated(name).fit(csr_matrix(X), y, weights), calibrated(name, n_jobs=2).fit(X, y, weights)
    assert_sound(threads, X)
    # Rounding decides what LASVM learns next: its models, one for each type of rows, are alike and not the same.
    tolerance = 0.15 if name.startswith("lasvm") else 1e-3
    np.testing.assert_allclose(sparse.predict_proba(csr_matrix(X)), expected, atol=tolerance)
    np.testing.assert_allclose(threads.predict_proba(X), expected, atol=tolerance)


def test_rows_without_weight_do_not_calibrate():
    X, y = blobs(1800, 4, 2, seed=12)
    keep = np.arange(1800) % 3 != 0
    spoiled = np.where(keep, y, 1 - y)
    weights = keep.astype(float)
    for name in QUICK:
        model = calibrated(name, **({} if name == "asset" else {"shuffle": False}))
        shares = model.fit(X, spoiled, weights).predict_proba(X[keep])
        assert log_loss(y[keep], shares) < 0.65


def test_rows_out_are_judged_with_the_class_weights_of_the_model():
    X, y = blobs(300, 4, 2, seed=19)
    weights = {0: 1.0, 1: 5.0}
    by_class = calibrated("incremental", class_weight=weights).fit(X, y)
    by_row = calibrated("incremental").fit(X, y, [weights[label] for label in y])
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"C": [0.1, 1, 10]}, {"early_stopping": True, "solver": "asset"}])
def test_asset_uses_its_validation_rows(options):
    X, y = blobs(2000, 4, 3, seed=13)
    model = ASSETClassifier(n_components=32, calibrate="platt", **SEED, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:1500], y[:1500])
    assert hasattr(model, "path_") == ("C" in options)
    assert log_loss(y[1500:], assert_sound(model, X[1500:])) < 0.9
    batches = [(X[start : start + 250], y[start : start + 250]) for start in range(0, 1500, 250)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit_batches(batches)
    assert log_loss(y[1500:], assert_sound(model, X[1500:])) < 0.9


def test_a_calibrated_asset_has_the_solution_of_all_rows():
    X, y = blobs(1500, 4, 2, seed=14)
    plain = ASSETClassifier(n_components=32, C=1.0, **SEED).fit(X, y)
    model = ASSETClassifier(n_components=32, C=1.0, calibrate="isotonic", **SEED).fit(X, y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=5e-3)
    assert not hasattr(model, "C_")


def test_interrupted_learning_leaves_the_calibration():
    X, y = blobs(900, 4, 2, seed=15)
    for name in QUICK:
        model = calibrated(name, "isotonic").fit(X[:300], y[:300])
        before = model.predict_proba(X)
        bad = X[300:].copy()
        bad[500, 0] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            model.partial_fit(bad, y[300:])
        with pytest.raises(ValueError, match="not one of the classes"):
            model.partial_fit(X[300:], y[300:] + 1)
        np.testing.assert_array_equal(model.predict_proba(X), before)


def test_warm_starts_calibrate_again():
    X, y = blobs(1500, 4, 2, seed=16)
    for name in ("bsgd", "lasvm"):
        model = calibrated(name, warm_start=True).fit(X, y)
        first = model.calibration_
        assert_sound(model.fit(X, y), X)
        assert model.calibration_ != first


def test_several_passes_leave_rows_out_until_they_are_judged():
    X, y = blobs(1500, 4, 2, seed=17)
    model = calibrated("bsgd", max_iter=3).fit(X, y)
    assert model.t_ == 3 * 1200 + 300  # a fifth is learned once, at the end
    assert_sound(model, X)


@pytest.mark.parametrize("method", METHODS)
def test_pipelines_have_the_probabilities_of_their_estimators(method, tmp_path):
    X, y = blobs(900, 4, 3, seed=18)
    model = StreamPipeline(calibrated("bsgd", method), warmup_rows=200)
    assert hasattr(model, "predict_proba")
    model.partial_fit(X[:50], y[:50])
    assert_rows = model.predict_proba(X[:5])
    np.testing.assert_allclose(assert_rows.sum(axis=1), 1.0)
    model.partial_fit(X[50:600], y[50:600])
    before = model.estimator_.calibration_
    model.learn_one_row(X[600], y[600])
    assert model.estimator_.calibration_ is not before
    shares = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(model.predict_proba_one_row(X[3]), shares[3], atol=1e-9)
    save(model, tmp_path / "model.frugal")
    np.testing.assert_array_equal(load(tmp_path / "model.frugal").predict_proba(X), shares)
