"""Probabilities of `LocalSVC`: as good as with rows kept apart for calibration, and in line with predictions."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from frugalsvm import LocalSVC
from frugalsvm.calibration import PlattCalibration

QUICK = {"kernel": "rbf", "cell_size": 128, "random_state": 0}
N_LEARNED = 600


def overlapping(n_classes, n_rows=4000):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_rows)
    return rng.normal(size=(n_rows, 2)) + 1.5 * np.stack([np.cos(2.0 * y), np.sin(2.0 * y)], axis=1), y


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("more", [{}, {"class_weight": "balanced"}, {"calibrate": "isotonic"}, {"n_trees": 2}], ids=str)
def test_the_predicted_class_is_the_most_probable_one(n_classes, more):
    X, y = overlapping(n_classes)
    kept = (y[:N_LEARNED] > 0) | (np.arange(N_LEARNED) % 5 == 0)  # the first class is rare
    model = LocalSVC(**QUICK, **more).fit(X[:N_LEARNED][kept], y[:N_LEARNED][kept])
    found = model.predict_proba(X[N_LEARNED:])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X[N_LEARNED:]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_they_are_as_good_as_those_calibrated_on_rows_kept_apart(n_classes):
    X, y = overlapping(n_classes)
    model = LocalSVC(**QUICK).fit(X[:N_LEARNED], y[:N_LEARNED])
    apart, new = slice(N_LEARNED, 2 * N_LEARNED), slice(2 * N_LEARNED, None)
    scores = model.decision_function(X).reshape(len(X), -1)
    other = PlattCalibration.settled(scores[apart], y[apart]).probabilities(scores[new])
    assert log_loss(y[new], model.predict_proba(X[new])) < log_loss(y[new], other) + 0.01


def test_scores_of_learned_rows_would_be_too_sure():
    """What is calibrated on scores of rows that were learned is worse on new ones: leave-one-out matters."""
    X, y = overlapping(2)
    model = LocalSVC(gamma=20.0, C=100.0, **QUICK).fit(X[:N_LEARNED], y[:N_LEARNED])
    scores = model.decision_function(X)[:, None]
    sure = PlattCalibration.settled(scores[:N_LEARNED], y[:N_LEARNED]).probabilities(scores[N_LEARNED:])
    new = slice(N_LEARNED, None)
    assert log_loss(y[new], model.predict_proba(X[new])) < log_loss(y[new], sure) - 0.1


def test_rows_count_by_their_weights():
    X, y = overlapping(2)
    rng = np.random.default_rng(1)
    is_wrong = rng.random(N_LEARNED) < 0.3
    labels = np.where(is_wrong, 1 - y[:N_LEARNED], y[:N_LEARNED])
    plain, weighted = (
        LocalSVC(**QUICK).fit(X[:N_LEARNED], labels, weights) for weights in (None, np.where(is_wrong, 1e-3, 1.0))
    )
    new = slice(N_LEARNED, None)
    assert log_loss(y[new], weighted.predict_proba(X[new])) < log_loss(y[new], plain.predict_proba(X[new])) - 0.05
