"""Probabilities that say the same as predictions, whatever rounding and ties do."""

import numpy as np

_ABOVE_HALF, _BELOW_HALF = np.nextafter(0.5, 1), np.nextafter(0.5, 0)


def of_two(second: np.ndarray, values: np.ndarray, doubt: float = 0.0) -> np.ndarray:
    """Probabilities of two classes, from those of the second one and the decision values (n,).

    From a decision value of zero upwards the second class is predicted, and has more than half. A part of all
    probability, the doubt, goes to the classes in equal parts.
    """
    second = second + doubt * (0.5 - second)
    second = np.where(values >= 0, np.maximum(second, _ABOVE_HALF), np.minimum(second, _BELOW_HALF))
    return np.stack([1.0 - second, second], axis=1)


def of_several(shares: np.ndarray, values: np.ndarray, doubt: float = 0.0) -> np.ndarray:
    """Probabilities of several classes, from shares in their order (n, n_classes), which are changed in place.

    The first class with the largest decision value is predicted, and has the highest, by a rounding error at least.
    """
    shares *= (1.0 - doubt) / shares.sum(axis=1, keepdims=True)
    shares += doubt / shares.shape[1]
    rows, winners = np.arange(len(shares)), values.argmax(axis=1)
    wrong = np.flatnonzero(shares.argmax(axis=1) != winners)
    shares[rows[wrong], winners[wrong]] = np.nextafter(shares[wrong].max(axis=1, initial=0.0), 1)
    return shares
