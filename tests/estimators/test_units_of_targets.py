"""What regressors learn does not depend on the unit or the origin of the target.

Offsets and factors are such that float64 has room for both: an offset of 1e12 leaves four decimals, so that it goes
with targets in thousands or more.
"""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

from frugalsvm import ASSETRegressor, AutoSVR, BSGDRegressor, LocalSVR
from frugalsvm.conformal import ConformalRegressor
from frugalsvm.exceptions import PoorFitWarning
from frugalsvm.export import plain_model
from frugalsvm.persist import load, save
from frugalsvm.pipelines import StreamPipeline

SETTINGS = {"n_components": 48, "gamma": 0.5, "random_state": 0}
UNITS = [(1.0, 1.7e9), (1e3, 1e12), (1e12, 0.0), (1e12, 1e12), (1e-12, 0.0), (1e-7, 0.0), (1e-12, 1e-3), (-1e7, 1e9)]
REGRESSORS = {
    "squared": lambda k: ASSETRegressor(loss="squared", C=10.0, **SETTINGS),
    "tube": lambda k: ASSETRegressor(epsilon=0.1 * k, C=10.0 * k, **SETTINGS),  # both are in the unit of the target
    "squared tube": lambda k: ASSETRegressor(loss="squared_epsilon_insensitive", epsilon=0.1 * k, **SETTINGS),
    "huber": lambda k: ASSETRegressor(loss="huber", epsilon=0.1 * k, C=10.0 * k, **SETTINGS),
    "median": lambda k: ASSETRegressor(loss="pinball", C=10.0, **SETTINGS),
    "path": lambda k: ASSETRegressor(loss="squared", C=[0.1, 1.0, 10.0], **SETTINGS),
    "folds": lambda k: ASSETRegressor(loss="squared", C=[0.1, 1.0, 10.0], cv=3, **SETTINGS),
    "subgradients": lambda k: ASSETRegressor(loss="squared", solver="asset", **SETTINGS),
    "fourier": lambda k: ASSETRegressor("fourier", loss="squared", C=10.0, **SETTINGS),
    "metric": lambda k: ASSETRegressor(loss="squared", C=10.0, metric="diag", n_components=48, random_state=0),
    "auto": lambda k: AutoSVR(kernel="rbf", metric=None, random_state=0),
    "local": lambda k: LocalSVR(cell_size=100, n_trees=2, random_state=0),
    "bsgd": lambda k: BSGDRegressor(budget=50, random_state=0),
    "pipeline": lambda k: StreamPipeline(BSGDRegressor(budget=50, random_state=0)),
    "conformal": lambda k: ConformalRegressor(ASSETRegressor(loss="squared", C=10.0, **SETTINGS), random_state=0),
}


@pytest.fixture(scope="module")
def waves():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(500, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=500)


def r2(targets, predicted, k, offset):
    """R^2 in the unit of 1: `score` would take squares of 1e12."""
    errors = (targets * k + offset - predicted) / k
    return 1.0 - np.mean(errors**2) / targets.var()


@pytest.mark.parametrize("name", REGRESSORS)
def test_r2_is_the_same_in_all_units(waves, name):
    X, t = waves
    learned, others = slice(None, 300), slice(300, None)
    expected = None
    units = UNITS[1::5] if name == "metric" else UNITS  # which takes as long as all others together
    for k, offset in [(1.0, 0.0), *units]:
        if k < 0 and name not in ("squared", "auto"):  # ties are broken otherwise
            continue
        model = REGRESSORS[name](k).fit(X[learned], k * t[learned] + offset)
        found = r2(t[others], model.predict(X[others]), k, offset)
        expected = expected or found
        assert found == pytest.approx(expected, abs=1e-6), (k, offset)
        if name == "auto":
            assert model.best_score_ == pytest.approx(found, abs=0.02)
    assert expected > 0.9


@pytest.mark.parametrize("feature_map", ["nystroem", "fourier"])
def test_streams(waves, tmp_path, feature_map):
    X, t = waves
    expected = None
    for k, offset in [(1.0, 0.0), *UNITS[:-1]]:
        y = k * t + offset
        model = ASSETRegressor(feature_map, loss="pinball", alpha=1e-3, **SETTINGS)
        for start in range(0, 500, 20):
            model.partial_fit(X[start : start + 20], y[start : start + 20])
            if start in (20, 200):  # before there are enough landmarks, and after
                save(model, tmp_path / "model.fsvm")
                model = load(tmp_path / "model.fsvm")
        found = r2(t, model.predict(X), k, offset)
        expected = expected or found
        assert found == pytest.approx(expected, abs=1e-6), (k, offset)
    assert expected > 0.6


def test_a_stream_after_a_fit(waves):
    X, t = waves
    found = []
    for k, offset in ((1.0, 0.0), (1e-7, 0.0), (1.0, 1.7e9)):
        model = ASSETRegressor(loss="pinball", alpha=1e-3, **SETTINGS).fit(X[:300], k * t[:300] + offset)
        found.append(r2(t, model.partial_fit(X[300:], k * t[300:] + offset).predict(X), k, offset))
    assert found[0] > 0.9
    np.testing.assert_allclose(found, found[0], atol=1e-6)


def test_quantiles_and_several_outputs(waves):
    X, t = waves
    quantiles = ASSETRegressor(loss="pinball", quantile=[0.1, 0.5, 0.9], C=10.0, **SETTINGS)
    plain = quantiles.fit(X, t).predict(X)
    np.testing.assert_allclose((quantiles.fit(X, 1e-9 * t + 1e-3).predict(X) - 1e-3) / 1e-9, plain, atol=0.01)
    several = ASSETRegressor(loss="squared", C=10.0, **SETTINGS)
    one = several.fit(X, t).predict(X)
    both = several.fit(X, np.column_stack([t, 1e-9 * t, 1e9 * t + 1e12])).predict(X)
    np.testing.assert_allclose((both - [0.0, 0.0, 1e12]) / [1.0, 1e-9, 1e9], np.column_stack([one] * 3), atol=2e-3)


@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive", "squared_epsilon_insensitive", "huber", "pinball"])
@pytest.mark.parametrize(("k", "offset"), [(1.0, 1.7e9), (1e-7, 0.0), (1e6, 0.0)])
def test_certificates_are_in_the_unit_of_the_target(waves, loss, k, offset, monkeypatch):
    monkeypatch.setattr(ASSETRegressor, "_look_at_folds", lambda *given: None)  # objectives are before that
    X, t = waves
    C = 10.0 * k if loss in ("epsilon_insensitive", "huber") else 10.0
    model = ASSETRegressor(loss=loss, epsilon=0.1 * k, C=C, tol=1e-4, **SETTINGS).fit(X, k * t + offset)
    errors = np.abs(k * t + offset - model.predict(X))
    excess = np.maximum(errors - 0.1 * k, 0.0)
    huber = np.where(excess > 0, errors - 0.05 * k, errors**2 / (0.2 * k))
    losses = {"squared": errors**2, "epsilon_insensitive": excess, "squared_epsilon_insensitive": excess**2}
    values = losses | {"huber": huber, "pinball": 0.5 * errors}
    unit = model._scale.spread[0] if loss == "pinball" else 1.0  # that C of this loss counts in
    objective = 0.5 / (C * len(X) * unit) * np.sum(model.coef_**2) + values[loss].mean()
    assert model.objective_ == pytest.approx(objective, rel=1e-4)
    better = ASSETRegressor(loss=loss, epsilon=0.1 * k, C=C, tol=1e-7, **SETTINGS).fit(X, k * t + offset)
    assert model.objective_ - better.objective_ + 1e-5 * objective >= 0
    assert model.objective_ - better.objective_ <= model.suboptimality_bound_ + 1e-5 * objective
    assert model.suboptimality_bound_ < 0.05 * objective


def test_exports_have_the_unit_of_the_target(waves):
    X, t = waves
    for k, offset in ((1e-9, 0.0), (1.0, 1.7e9)):
        model = ASSETRegressor(loss="squared", C=10.0, **SETTINGS).fit(X, k * t + offset)
        scores = plain_model(model).decision_function(X).ravel()
        np.testing.assert_allclose((scores - offset) / k, (model.predict(X) - offset) / k, atol=1e-3)


def test_constants_and_rows_of_one_target():
    X = np.random.default_rng(0).normal(size=(30, 2))
    for rows in (X, csr_array(X)):
        for value in (0.0, 1.7e9, 3e-9):
            model = ASSETRegressor(n_components=10, random_state=0).fit(rows, np.full(30, value))
            np.testing.assert_allclose(model.predict(rows), value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("regressor", [ASSETRegressor(n_components=10), BSGDRegressor(budget=10), AutoSVR(metric=None)])
@pytest.mark.parametrize("size", [1e160, 1e-160])
def test_sizes_that_nothing_has_room_for_are_refused(waves, regressor, size):
    X, t = waves
    with pytest.raises(ValueError, match=r"y has values up to .*e[+-]160 in size, .* another unit, such as y / "):
        regressor.fit(X, size * t)


@pytest.mark.parametrize("regressor", [BSGDRegressor(budget=10), AutoSVR(metric=None)])
def test_text_is_refused(waves, regressor):
    X, t = waves
    with pytest.raises(ValueError, match="y has text, such as 'down', and a regressor learns numbers"):
        regressor.fit(X, np.where(t > 0, "up", "down"))


@pytest.mark.parametrize("k", [1e-7, 300.0, 1e7])
def test_epsilon_and_C_for_another_unit_are_warned_of(waves, k):
    X, t = waves
    with pytest.warns(PoorFitWarning, match="epsilon=0.1 and C=1 are in the unit of the target, whose spread is"):
        ASSETRegressor(**SETTINGS).fit(X, k * t)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ASSETRegressor(**SETTINGS).fit(X, t)


def test_targets_that_leave_their_scale_are_told_where_steps_do_not_follow(waves):
    X, y = waves
    model = BSGDRegressor(budget=20, gamma=0.5, random_state=0).partial_fit(X[:200], y[:200])
    with pytest.warns(PoorFitWarning, match="outside of the range of the first ones"):
        model.partial_fit(X[:200], 1000 * y[:200])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X[:200], 3 * y[:200])
        squared = BSGDRegressor("squared", budget=20, gamma=0.5, random_state=0).partial_fit(X[:200], y[:200])
        squared.partial_fit(X[:200], 1000 * y[:200])
