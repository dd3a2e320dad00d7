"""Calibrations against their definitions: slopes, isotonic functions, order, agreement with predictions."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

from frugalsvm.calibration import (
    IsotonicCalibration,
    PlattCalibration,
    SplineCalibration,
    calibration_for,
)

METHODS = ("platt", "spline", "isotonic")


def stream(n, n_outputs, seed=0, slope=3.0, slope_below=0.5):
    """Decision values, and labels of which the two slopes are the truth."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, n_outputs))
    scaled = np.where(values >= 0, slope, slope_below) * values
    if n_outputs == 1:
        return values, (rng.random(n) < 1 / (1 + np.exp(-scaled[:, 0]))).astype(int)
    shares = np.exp(scaled)
    shares /= shares.sum(axis=1, keepdims=True)
    return values, (shares.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)


@pytest.mark.parametrize("n_outputs", [1, 3, 26])
def test_both_slopes_are_found(n_outputs):
    found = PlattCalibration.settled(*stream(20_000, n_outputs))
    np.testing.assert_allclose([found.slope, found.slope_below], [3.0, 0.5], rtol=0.15)


@pytest.mark.parametrize("n_outputs", [1, 4])
def test_settled_slopes_are_those_of_the_smallest_loss(n_outputs):
    values, labels = stream(10_000, n_outputs, 1, 2.0, 1.0)
    rng = np.random.default_rng(0)
    weights = rng.random(len(labels))

    def loss(logs):
        shares = PlattCalibration(logs[0], 1.0, logs[1], n_rows=1e9).probabilities(values)
        return log_loss(labels, shares, sample_weight=weights)

    best = minimize(loss, [0.0, 0.0], method="Nelder-Mead").x
    found = PlattCalibration.settled(values, labels, weights)
    np.testing.assert_allclose([found.log_slope, found.log_slope_below], best, atol=0.03)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_stream_comes_to_the_same_slopes_and_follows_them(n_outputs):
    values, labels = stream(60_000, n_outputs, seed=2)
    found = PlattCalibration()
    for start in range(0, 30_000, 100):
        found = found.updated(values[start : start + 100], labels[start : start + 100])
    np.testing.assert_allclose([found.slope, found.slope_below], [3.0, 0.5], rtol=0.2)
    for start in range(30_000, 60_000, 100):  # the scale of the decision values changes
        found = found.updated(10 * values[start : start + 100], labels[start : start + 100])
    np.testing.assert_allclose([found.slope, found.slope_below], [0.3, 0.05], rtol=0.2)


def log_losses_on_the_way(values, labels, scale, step, size=1.0):
    """Of the later half of a stream of scaled decision values: by slopes that learn on, and by the right ones."""
    found = PlattCalibration.settled(scale[0] * values[:400], labels[:400])
    shares = []
    for start in range(0, len(labels), step):
        rows = slice(start, start + step)
        seen = scale[rows, None] * values[rows]
        shares.append(found.probabilities(seen))
        found = found.updated(seen, labels[rows])
    half = len(labels) // 2
    right = PlattCalibration(np.log(3.0 * size), 1.0, np.log(0.5 * size), n_rows=1e9).probabilities(values[half:])
    return log_loss(labels[half:], np.concatenate(shares)[half:]), log_loss(labels[half:], right)


@pytest.mark.parametrize("step", [1, 10, 100])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_values_that_were_wild_at_first_do_not_keep_probabilities_unsure(n_outputs, step):
    """A learner's steps of 1 / (alpha t) make values that grow smaller all the time."""
    values, labels = stream(4_000, n_outputs, seed=12)
    found, right = log_losses_on_the_way(values, labels, 2_000 / (np.arange(4_000) + 200.0), step)
    assert found < 1.03 * right


@pytest.mark.parametrize("size", [0.3, 1.0, 30.0])
def test_forgetting_costs_little_where_nothing_changes(size):
    values, labels = stream(10_000, 3, seed=13, slope=3.0 * size, slope_below=0.5 * size)
    found, right = log_losses_on_the_way(values, labels, np.ones(10_000), 20, size)
    assert found < 1.03 * right


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_a_change_of_scale_is_forgiven_soon(factor):
    values, labels = stream(8_000, 1, seed=14)
    found, right = log_losses_on_the_way(values, labels, np.where(np.arange(8_000) < 4_000, 1.0, factor), 20)
    assert found < 1.1 * right


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_rows_one_by_one_are_batches_of_one(n_outputs):
    values, labels = stream(200, n_outputs, seed=3)
    fast = slow = PlattCalibration()
    for row, label in zip(values, labels, strict=True):
        fast = fast.updated_by_one(row, int(label))
        slow = slow.updated(row[None], np.array([label]))
    np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-12)


def test_what_is_told_apart_without_errors_stays_uncertain():
    values = np.linspace(-1.0, 1.0, 40)[:, None]
    for n_copies in (1, 50):
        found = PlattCalibration.settled(np.tile(values, (n_copies, 1)), np.tile(values[:, 0] > 0, n_copies))
        assert 0.9 < found.probabilities(np.ones((1, 1)))[0, 1] < 1.0


@pytest.mark.parametrize("n_outputs", [1, 4])
def test_a_spline_is_the_curve_of_the_smallest_loss(n_outputs):
    values, labels = stream(6_000, n_outputs, seed=10)
    weights = np.random.default_rng(2).random(len(labels)) + 0.5
    found = SplineCalibration.settled(values, labels, weights)
    assert len(found.log_slopes) == 16

    usual = -np.log(np.abs(values).mean())

    def objective(logs):
        """The loss of all rows, and that slopes are usual and like their neighbors'."""
        shares = found._replace(log_slopes=logs, n_rows=1e12).probabilities(values)
        loss = len(labels) * log_loss(labels, shares, sample_weight=weights)
        return loss + 0.5 * (((logs - usual) ** 2).sum() / 16 + (np.diff(logs) ** 2).sum())

    best = minimize(objective, found.log_slopes, method="L-BFGS-B", options={"ftol": 1e-14})
    assert objective(found.log_slopes) - best.fun < 1e-3
    np.testing.assert_allclose(found.log_slopes, best.x, atol=0.02)


@pytest.mark.parametrize("n_outputs", [1, 5])
def test_a_spline_tells_probabilities_of_scores_that_were_fitted_by_squares(n_outputs):
    """Such scores are about 2 p - 1: near -1 and 1, log odds are no multiples of them."""
    rng = np.random.default_rng(4)
    log_odds = 3.0 * rng.normal(size=(12_000, n_outputs))
    if n_outputs == 1:
        shares = 1.0 / (1.0 + np.exp(-log_odds))
        labels = (rng.random(12_000) < shares[:, 0]).astype(int)
        shares = np.column_stack([1.0 - shares, shares])
        scores = 2.0 * shares[:, 1:] - 1.0
    else:
        shares = np.exp(log_odds)
        shares /= shares.sum(axis=1, keepdims=True)
        labels = (shares.cumsum(axis=1) < rng.random((12_000, 1))).sum(axis=1)
        scores = 2.0 * shares - 1.0
    errors = {}
    for method in ("platt", "spline"):
        found = type(calibration_for(method)).settled(scores[:4_000], labels[:4_000]).probabilities(scores[4_000:])
        errors[method] = np.abs(found - shares[4_000:]).mean()
    assert errors["spline"] < 0.6 * errors["platt"]


def test_a_spline_follows_a_stream():
    values, labels = stream(60_000, 1, seed=11)
    found = SplineCalibration.settled(values[:1_000], labels[:1_000])
    for start in range(1_000, 60_000, 100):  # the scale of the decision values changes
        found = found.updated(0.5 * values[start : start + 100], labels[start : start + 100])
    expected = PlattCalibration(np.log(6.0), 1.0, np.log(1.0), n_rows=1e9).probabilities(0.5 * values[:500])
    assert np.abs(found.probabilities(0.5 * values[:500]) - expected).mean() < 0.03


def test_isotonic_is_that_of_scikit_learn_between_the_ends():
    values, labels = stream(3_000, 1, seed=4)
    weights = np.random.default_rng(1).integers(1, 4, 3_000).astype(float)
    values = values.round(2)  # with equal ones
    theirs = IsotonicRegression(out_of_bounds="clip").fit(values[:, 0], labels, weights).predict(values[:, 0])
    found = IsotonicCalibration.settled(values, labels, weights).probabilities(values)[:, 1]
    side = np.where(values[:, 0] >= 0, np.maximum(theirs, 0.5), np.minimum(theirs, 0.5))
    np.testing.assert_allclose(found, side, atol=2e-3)
    assert 0 < found.min() < found.max() < 1


def test_isotonic_of_several_classes_fits_what_slopes_cannot():
    values, labels = stream(8_000, 3, seed=5)
    bent = np.sign(values) * np.abs(values) ** 3
    train, test = slice(0, 4_000), slice(4_000, None)
    losses = {}
    for method in METHODS:
        found = type(calibration_for(method)).settled(bent[train], labels[train])
        losses[method] = log_loss(labels[test], found.probabilities(bent[test]))
    assert losses["isotonic"] < losses["platt"] < np.log(3)


def test_isotonic_learns_on_from_the_last_rows():
    values, labels = stream(40_000, 1, seed=6)
    found = IsotonicCalibration()
    for start in range(0, 20_000, 50):
        found = found.updated(values[start : start + 50], labels[start : start + 50])
    assert len(found.values) == 4096
    for start in range(20_000, 40_000, 50):
        found = found.updated(10 * values[start : start + 50], labels[start : start + 50])
    expected = PlattCalibration(np.log(0.3), 1.0, np.log(0.05), n_rows=1e9).probabilities(10 * values[:500])
    assert np.abs(found.probabilities(10 * values[:500]) - expected).mean() < 0.03


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_outputs", [1, 2, 5, 26])
def test_probabilities_agree_with_predictions_and_are_monotone(method, n_outputs):
    values, labels = stream(2_000, max(n_outputs, 1), seed=7)
    found = type(calibration_for(method)).settled(values, labels)
    rng = np.random.default_rng(8)
    asked = np.concatenate([
        rng.normal(size=(500, n_outputs)) * 10.0 ** rng.integers(-300, 5, (500, 1)).astype(float),
        rng.integers(-1, 2, (500, n_outputs)).astype(float),  # many ties
        *(np.full((1, n_outputs), value) for value in (0.0, -0.0, 1e200, -1e200)),
    ])  # fmt: skip
    shares = found.probabilities(asked)
    predicted = (asked[:, 0] >= 0).astype(int) if n_outputs == 1 else asked.argmax(axis=1)
    np.testing.assert_array_equal(shares.argmax(axis=1), predicted)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    assert ((shares > 0) & (shares < 1)).all()
    # One decision value grows, the others stay.
    line = np.repeat(rng.normal(size=(1, n_outputs)), 400, axis=0)
    line[:, 0] = np.linspace(-4, 4, 400)
    assert (np.diff(found.probabilities(line)[:, -1 if n_outputs == 1 else 0]) >= -1e-15).all()


@pytest.mark.parametrize("method", METHODS)
def test_rows_without_weight_or_of_one_class_are_harmless(method):
    values, labels = stream(100, 1, seed=9)
    start = type(calibration_for(method))
    for found in (
        start.settled(values, np.ones(100, int)),
        start.settled(values, labels, np.zeros(100)),
        start.settled(np.zeros((100, 1)), labels),
        calibration_for(method).updated(values, labels, np.zeros(100)),
    ):
        shares = found.probabilities(values)
        assert np.isfinite(shares).all()
        np.testing.assert_array_equal(shares.argmax(axis=1), values[:, 0] >= 0)
