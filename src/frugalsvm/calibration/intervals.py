"""Widths of intervals from the sizes of errors on rows left out."""

import numpy as np

from frugalsvm.exceptions import ParameterError

MOST_ERRORS = 2000
# Sizes of errors, times their mean. A smaller least one makes coverage more even, and intervals wider on the whole.
_LEAST, _MOST = 0.05, 10.0
_ROUNDING = 1e-9  # sums of equal weights are not quite multiples


def some_errors(errors: np.ndarray, weights: np.ndarray | None = None, most: int = MOST_ERRORS) -> np.ndarray:
    """At most some thousand sizes of errors that stand for all of them, in increasing order.

    Parameters
    ----------
    errors : ndarray of shape (n,)
        Sizes, not negative.
    weights : ndarray of shape (n,), default=None
        Positive. The larger their differences, the fewer sizes are kept: they tell less.
    most : int
    """
    order = np.argsort(errors, kind="stable")
    if weights is None:
        places = np.linspace(0, len(errors) - 1, min(len(errors), most)).astype(int)
    else:
        below = np.cumsum(weights[order])
        n_alike = int(
            below[-1] ** 2 / np.square(weights).sum() + _ROUNDING
        )  # as many rows of equal weight tell as much
        shares = np.linspace(0.0, 1.0, 1 + min(max(n_alike, 1), most))[1:] * (1.0 - _ROUNDING)
        places = np.minimum(np.searchsorted(below, shares * below[-1]), len(errors) - 1)
    return errors[order[places]].astype(np.float64)


def check_coverage(coverage: float) -> None:
    """Refuse what is no share."""
    if not 0.0 < coverage < 1.0:
        raise ParameterError("coverage", coverage, "a number between 0 and 1")


def error_quantiles(errors: np.ndarray, coverage: float) -> np.ndarray:
    """The size that an error on a new row is below with a probability, of sorted ones (..., n): ``1 / (n + 1)`` each.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm.calibration.intervals import error_quantiles
    >>> float(error_quantiles(np.arange(1.0, 20.0), 0.9))
    18.0
    """
    check_coverage(coverage)
    n_errors = errors.shape[-1]
    place = int(np.ceil(coverage * (n_errors + 1))) - 1
    if place >= n_errors:
        most = np.floor(1e4 * n_errors / (n_errors + 1)) / 1e4
        raise ParameterError("coverage", coverage, f"{most:.4f} at most for so few rows")
    return errors[..., place]


# --- widths that differ from row to row: a machine learns logarithms of errors, from rows with their predictions beside


def relative_logarithms(sizes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Logarithms of the sizes of errors (n, n_outputs), relative to their mean."""
    mean = np.average(sizes, axis=0, weights=weights)
    return np.log(sizes / np.where(mean > 0, mean, 1.0) + _LEAST)


def relative_factors(logarithms: np.ndarray) -> np.ndarray:
    """What errors are divided by, from the logarithms of their sizes."""
    return np.clip(np.exp(logarithms), _LEAST, _MOST)


def beside(rows: np.ndarray, predictions: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Rows with their predictions as more features."""
    middle, factor = scale
    return np.hstack([rows, (factor * (predictions - middle)).astype(rows.dtype)])


def scale_beside(rows: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Where predictions are, and a factor that makes them count as much in distances as all features do."""
    spread, n_outputs = predictions.std(axis=0), predictions.shape[1]
    total = float(rows.var(axis=0, dtype=np.float64).sum())
    factor = np.sqrt(total / n_outputs) / np.where(spread > 0, spread, 1.0)
    return np.array([predictions.mean(axis=0), factor])
