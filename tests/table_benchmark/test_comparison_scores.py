"""Scores of the comparison, by hand."""

import numpy as np
import pytest
from sklearn import metrics

from benchmarks.comparison.scores import LEAST, calibration_error, error_of, judged, log_loss, pinball
from benchmarks.comparison.splits import UNKNOWN


def test_errors():
    assert error_of(np.array([0, 1, 1, 0]), np.array([0, 1, 0, UNKNOWN]), False) == 50
    assert error_of(np.array([[1.0], [2.0]]), np.array([1.0, 4.0]), True) == pytest.approx(2**0.5)


def test_log_loss_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    probabilities, y = rng.dirichlet(np.ones(3), 50), rng.integers(3, size=50)
    assert log_loss(probabilities, y) == pytest.approx(metrics.log_loss(y, probabilities, labels=[0, 1, 2]))
    assert log_loss(np.array([[1.0, 0.0]]), np.array([1])) == pytest.approx(-np.log(LEAST))
    assert log_loss(np.array([[0.5, 0.5]]), np.array([UNKNOWN])) == pytest.approx(-np.log(LEAST))


def test_what_is_sure_and_wrong_is_badly_calibrated():
    labels = np.array([0, 1, 1, 0])
    right = np.eye(2)[labels]
    assert calibration_error(right, labels) == 0.0
    assert calibration_error(right[:, ::-1], labels) == 1.0
    # Right half of the time, and 70 % sure
    assert calibration_error(np.array([[0.7, 0.3]] * 4), labels) == pytest.approx(0.2)


def test_pinball():
    y = np.array([0.0, 1.0])
    quantiles = np.array([[-1.0, 0.0, 2.0], [2.0, 0.0, 1.0]])
    losses = [0.1 * 1, 0, 0.1 * 2, 0.9 * 1, 0.5 * 1, 0]
    assert pinball(quantiles, y) == pytest.approx(np.mean(losses))
    assert pinball(quantiles, y) == pytest.approx(
        np.mean([metrics.mean_pinball_loss(y, quantiles[:, i], alpha=a) for i, a in enumerate((0.1, 0.5, 0.9))])
    )


class Fixed:
    def predict_proba(self, X):
        return np.array([[2.0, 0.0], [1.0, 1.0]])  # not normalized, as some are in float32

    def predict_quantiles(self, X, quantiles):
        return np.zeros((len(X), len(quantiles)))


def test_which_scores_there_are():
    X, y = np.zeros((2, 1)), np.array([0, 1])
    scores = judged(Fixed(), X, y, np.array([0, 0]), False)
    assert set(scores) == {"error", "log_loss", "calibration", "auc"}
    assert (scores["error"], scores["auc"]) == (50, 1.0)
    assert scores["log_loss"] == pytest.approx(np.log(2) / 2)
    assert set(judged(object(), X, y, np.array([0, 0]), False)) == {"error"}
    assert judged(Fixed(), X, y.astype(float), np.array([0.0, 0.0]), True)["mae"] == 0.5
