"""Quantiles of `ASSETRegressor` hold for new rows, also where rows are few."""

from functools import cache

import numpy as np
import pytest

from frugalsvm import ASSETRegressor, load, save

QUANTILES = [0.05, 0.5, 0.95]
SETTINGS = {"loss": "pinball", "quantile": QUANTILES, "gamma": 0.3, "random_state": 0}


def problem(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_rows, 4))
    return X, 1e3 * (np.sin(X[:, 0]) * X[:, 1] + 0.4 * rng.normal(size=n_rows))


@cache
def fitted(C, seed):
    """A model of the first rows of a problem, that tests only read."""
    X, y = problem(3600, seed)
    return ASSETRegressor(C=C, **SETTINGS).fit(X[:600], y[:600])


def shares_below(model, X, y):
    return (y[:, None] <= model.predict(X)).mean(axis=0)


@pytest.mark.parametrize("C", [30.0, (10.0, 30.0)])
def test_quantiles_of_few_rows_hold_for_new_rows(C):
    found = []
    for seed in range(2):
        X, y = problem(3600, seed)
        found.append(shares_below(fitted(C, seed), X[600:], y[600:]))
    np.testing.assert_allclose(np.mean(found, axis=0), QUANTILES, atol=0.025)


def test_quantiles_that_learned_too_much_are_adjusted(monkeypatch):
    X, y = problem(3600)
    held = fitted(30.0, 0)
    monkeypatch.setattr(ASSETRegressor, "_look_at_folds", lambda *given: None)
    plain = ASSETRegressor(C=30.0, **SETTINGS).fit(X[:600], y[:600])
    below = shares_below(plain, X[600:], y[600:])
    assert below[0] > 0.09
    assert below[2] < 0.91
    shifts = held.predict(X) - plain.predict(X)
    np.testing.assert_allclose(np.ptp(shifts, axis=0), 0.0, atol=1e-6)  # by a constant each
    assert shifts[0, 0] < 0 < shifts[0, 2]
    assert held.objective_ == plain.objective_


def test_quantiles_are_adjusted_on_rows_that_are_given(tmp_path):
    X, y = problem(3000)
    model = ASSETRegressor(n_components=64, alpha=1e-4, **SETTINGS).partial_fit(X[:1500], y[:1500])
    model.adjust_quantiles(X[1500:], y[1500:])
    np.testing.assert_allclose(shares_below(model, X[1500:], y[1500:]), QUANTILES, atol=1e-3)
    save(model, tmp_path / "m.frugal")
    np.testing.assert_array_equal(load(tmp_path / "m.frugal").predict(X), model.predict(X))
    assert model.partial_fit(X[:100], y[:100]).t_ > 1500  # it learns on, from there
    assert np.abs(shares_below(model, X[1500:], y[1500:]) - QUANTILES).max() < 0.1
    model.set_params(loss="squared").fit(X[:200], y[:200])
    with pytest.raises(ValueError, match="adjust_quantiles is for loss='pinball'"):
        model.adjust_quantiles(X, y)
    without = ASSETRegressor(fit_intercept=False, **SETTINGS).fit(X[:200], y[:200])
    with pytest.raises(ValueError, match="needs fit_intercept=True"):
        without.adjust_quantiles(X, y)
