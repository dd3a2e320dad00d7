"""Intervals of `LocalSVR`: they have the true number as often as they say, and are narrow where errors are small."""

import numpy as np
import pytest
from sklearn.base import clone

from frugalsvm import LocalSVR, load, save
from tests.oracles import kernels as kernel_oracle
from tests.oracles.cells import cell_machine

QUICK = {"kernel": "rbf", "cell_size": 128, "random_state": 0}
N_LEARNED, N_NEW = 600, 3000


def noisy(seed, *, is_local, n_rows=N_LEARNED + N_NEW):
    """Rows, targets, and the standard deviations of their noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_rows, 2))
    noise = np.where(X[:, 0] > 0, 1.0, 0.1) if is_local else np.full(n_rows, 0.4)
    return X, np.sin(X[:, 0]) * X[:, 1] + noise * rng.normal(size=n_rows), noise


def covered(intervals, y):
    return (intervals[..., 0] <= y) & (y <= intervals[..., 1])


def allowed(coverage, n_learned=N_LEARNED, n_new=N_NEW):
    """A number of misses is binomial for given intervals, whose level is that of a sample of leave-one-out errors."""
    deviation = np.sqrt(coverage * (1 - coverage) * (1 / n_learned + 1 / n_new))
    return 3.5 * deviation + 0.01


@pytest.mark.parametrize("is_local", [False, True], ids=["equal_noise", "local_noise"])
@pytest.mark.parametrize("intervals", ["local", "constant"])
def test_new_rows_are_covered(is_local, intervals):
    for seed in range(3):
        X, y, _ = noisy(seed, is_local=is_local)
        model = LocalSVR(intervals=intervals, **QUICK).fit(X[:N_LEARNED], y[:N_LEARNED])
        for coverage in (0.5, 0.9, 0.98):
            share = covered(model.predict_interval(X[N_LEARNED:], coverage), y[N_LEARNED:]).mean()
            assert abs(share - coverage) < allowed(coverage)


def test_one_cell_of_few_rows_covers_in_the_mean_over_samples():
    """60 rows: one of 15 splits may be off by much, all together may not."""
    hits = []
    for seed in range(15):
        X, y, _ = noisy(seed, is_local=False, n_rows=260)
        model = LocalSVR(gamma=0.5, C=1.0, kernel="rbf", random_state=0).fit(X[:60], y[:60])
        hits.append(covered(model.predict_interval(X[60:]), y[60:]).mean())
    assert 0.87 < np.mean(hits) < 0.95


def test_they_are_close_to_those_of_the_jackknife_plus():
    """In one cell, all rows have an influence on a prediction, which the jackknife+ takes away one at a time."""
    n, n_new, gamma, C = 120, 300, 0.5, 1.0
    X, y, _ = noisy(0, is_local=False, n_rows=n + n_new)
    model = LocalSVR(C, gamma=gamma, kernel="rbf", dtype="float64", intervals="constant").fit(X[:n], y[:n])
    found = model.predict_interval(X[n:])
    K, K_new = (kernel_oracle.value("rbf", rows, X[:n], gamma) for rows in (X[:n], X[n:]))
    without, sizes = np.empty((n, n_new)), np.empty((n, 1))
    for i in range(n):
        rest = np.arange(n) != i
        coef, intercept = cell_machine(K[np.ix_(rest, rest)], y[:n][rest, None], 1 / C, np.ones(n - 1))
        without[i], sizes[i] = (K_new[:, rest] @ coef + intercept)[:, 0], np.abs(y[i] - K[i, rest] @ coef - intercept)
    place = int(np.ceil(0.9 * (n + 1))) - 1
    plus = np.column_stack([-np.sort(sizes - without, axis=0)[place], np.sort(sizes + without, axis=0)[place]])
    width = np.mean(plus[:, 1] - plus[:, 0])
    assert np.abs(found - plus).mean() < 0.03 * width
    assert abs(np.mean(found[:, 1] - found[:, 0]) - width) < 0.02 * width


def test_widths_follow_the_noise():
    widths, shares = {"local": [], "constant": []}, {"local": [], "constant": []}
    for seed in range(6):
        X, y, noise = noisy(seed, is_local=True)
        new, is_loud = slice(N_LEARNED, None), noise[N_LEARNED:] == 1.0
        for intervals in widths:
            model = LocalSVR(intervals=intervals, **QUICK).fit(X[:N_LEARNED], y[:N_LEARNED])
            found = model.predict_interval(X[new])
            width = found[:, 1] - found[:, 0]
            widths[intervals].append((width.mean(), width[is_loud].mean(), width[~is_loud].mean()))
            shares[intervals].append(covered(found, y[new])[is_loud].mean())
    overall, loud, quiet = np.mean(widths["local"], axis=0)
    same, *both = np.mean(widths["constant"], axis=0)
    np.testing.assert_allclose(both, same)
    assert overall < 0.8 * same
    assert loud > 3 * quiet
    # Coverage is more even, but not the same everywhere.
    assert np.mean(shares["local"]) > np.mean(shares["constant"]) + 0.02


def test_widths_follow_the_unit_of_the_target_and_no_offset():
    X, y, _ = noisy(0, is_local=True)
    one = LocalSVR(**QUICK).fit(X[:N_LEARNED], y[:N_LEARNED]).predict_interval(X[:50])
    other = LocalSVR(**QUICK).fit(X[:N_LEARNED], 1e4 * y[:N_LEARNED] + 1e5).predict_interval(X[:50])
    np.testing.assert_allclose((other - 1e5) / 1e4, one, atol=1e-3)


def test_several_targets_have_intervals_of_their_own():
    X, y, _ = noisy(0, is_local=False)
    targets = np.column_stack([y, 100.0 * np.cos(X[:, 0]) + 5.0 * np.random.default_rng(9).normal(size=len(X))])
    model = LocalSVR(n_trees=2, **QUICK).fit(X[:N_LEARNED], targets[:N_LEARNED])
    found = model.predict_interval(X[N_LEARNED:])
    assert found.shape == (N_NEW, 2, 2)
    np.testing.assert_allclose(found.mean(axis=2), model.predict(X[N_LEARNED:]), atol=1e-9)
    assert (np.abs(covered(found, targets[N_LEARNED:]).mean(axis=0) - 0.9) < allowed(0.9)).all()


def test_rows_count_by_their_weights():
    """Half of the rows have much noise and a tenth of the weight: new rows in that proportion are covered."""
    rng = np.random.default_rng(0)
    X, y, _ = noisy(0, is_local=False)
    is_loud = rng.random(len(X)) < 0.5
    y = y + 3.0 * is_loud * rng.normal(size=len(X))
    weights = np.where(is_loud, 0.1, 1.0)
    learned, new = slice(N_LEARNED), slice(N_LEARNED, None)
    model = LocalSVR(intervals="constant", **QUICK).fit(X[learned], y[learned], weights[learned])
    hits = covered(model.predict_interval(X[new], 0.8), y[new])
    assert abs(np.average(hits, weights=weights[new]) - 0.8) < allowed(0.8)
    assert hits.mean() < 0.75


@pytest.mark.parametrize("intervals", ["local", "constant"])
def test_rows_without_weight_count_nothing(intervals):
    X, y, _ = noisy(0, is_local=True)
    weights = np.ones(N_LEARNED)
    weights[::3] = 0.0
    known = weights > 0
    spoilt = np.where(known, y[:N_LEARNED], 1e6)
    model = LocalSVR(intervals=intervals, gamma=0.5, C=1.0, **QUICK)
    whole = clone(model).fit(X[:N_LEARNED], spoilt, weights)
    part = clone(model).fit(X[:N_LEARNED][known], y[:N_LEARNED][known], weights[known])
    np.testing.assert_allclose(whole.predict_interval(X[:50]), part.predict_interval(X[:50]), atol=1e-3)


def test_few_rows_refuse_what_they_cannot_tell():
    X, y, _ = noisy(0, is_local=False)
    model = LocalSVR(kernel="rbf").fit(X[:9], y[:9])
    assert np.isfinite(model.predict_interval(X[:5], 0.9)).all()
    with pytest.raises(ValueError, match=r"coverage must be 0\.9000 at most for so few rows"):
        model.predict_interval(X[:5], 0.95)
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        model.predict_interval(X[:5], 1.0)


def test_constant_targets_have_intervals_without_width():
    X, _, _ = noisy(0, is_local=False)
    found = LocalSVR(**QUICK).fit(X[:200], np.full(200, 7.0)).predict_interval(X[:5])
    np.testing.assert_allclose(found, 7.0)


def test_without_intervals_it_says_so():
    X, y, _ = noisy(0, is_local=False)
    with pytest.raises(ValueError, match="learned with intervals=None"):
        LocalSVR(intervals=None, **QUICK).fit(X[:200], y[:200]).predict_interval(X[:5])
    with pytest.raises(ValueError, match="intervals='wide' is not one of 'local', 'constant'"):
        LocalSVR(intervals="wide").fit(X[:200], y[:200])


def test_files_keep_them(tmp_path):
    X, y, _ = noisy(0, is_local=True)
    model = LocalSVR(**QUICK).fit(X[:N_LEARNED], y[:N_LEARNED])
    for for_prediction in (False, True):
        save(model, tmp_path / "m.frugal", for_prediction=for_prediction)
        loaded = load(tmp_path / "m.frugal")
        np.testing.assert_array_equal(loaded.predict_interval(X[:50]), model.predict_interval(X[:50]))
    assert model.model_bytes_ > LocalSVR(intervals=None, **QUICK).fit(X[:N_LEARNED], y[:N_LEARNED]).model_bytes_
