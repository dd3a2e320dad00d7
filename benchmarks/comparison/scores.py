"""How good predictions are. Labels that no training row has (`UNKNOWN`) are errors, of probability zero."""

import numpy as np
from sklearn.metrics import roc_auc_score

__all__ = ["calibration_error", "error_of", "judged", "log_loss", "pinball"]

N_BINS = 15
LEAST = 1e-7  # no probability counts as less: some are in float32
QUANTILES = (0.1, 0.5, 0.9)


def error_of(predicted, y, is_regression):
    """Root mean squared error, or percent of the rows that are wrong."""
    if is_regression:
        return float(np.sqrt(np.mean((np.ravel(predicted) - y) ** 2)))
    return float(100 * np.mean(np.ravel(predicted) != y))


def judged(model, X, y, predicted, is_regression):
    """All scores that a model permits."""
    scores = {"error": error_of(predicted, y, is_regression)}
    if is_regression:
        scores["mae"] = float(np.mean(np.abs(np.ravel(predicted) - y)))
        if hasattr(model, "predict_quantiles"):
            scores["pinball"] = pinball(model.predict_quantiles(X, QUANTILES), y)
    elif hasattr(model, "predict_proba"):
        scores |= _of_probabilities(np.asarray(model.predict_proba(X), np.float64), y)
    return scores


def _of_probabilities(probabilities, y):
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)
    scores = {"log_loss": log_loss(probabilities, y), "calibration": calibration_error(probabilities, y)}
    if probabilities.shape[1] == 2 and len(np.unique(y)) == 2:
        scores["auc"] = float(roc_auc_score(y, probabilities[:, 1]))
    return scores


def log_loss(probabilities, y):
    of_truth = np.where(y >= 0, probabilities[np.arange(len(y)), y], 0.0)
    return float(-np.log(of_truth.clip(LEAST)).mean())


def calibration_error(probabilities, y):
    """How far the probability of the predicted class is from how often it is right: the mean over bins of equal width.

    Labels are columns of the probabilities.
    """
    sure = probabilities.max(axis=1)
    is_right = probabilities.argmax(axis=1) == y
    bins = np.minimum((N_BINS * sure).astype(int), N_BINS - 1)
    differences = np.bincount(bins, sure - is_right, minlength=N_BINS)  # summed: times the rows of each bin
    return float(np.abs(differences).sum() / len(y))


def pinball(quantiles, y):
    """The mean over rows and quantiles; ``quantiles`` has a column for each of .1, .5 and .9."""
    above = y[:, None] - np.asarray(quantiles)
    return float(np.maximum(np.array(QUANTILES) * above, (np.array(QUANTILES) - 1) * above).mean())
