"""How wide a kernel should be, and how strong a penalty, told by the first rows in a fraction of a second.

Small ridge machines on some rows predict others, for a few widths and ridges. From the best of four very different
widths on, they are doubled or halved for as long as squared errors get smaller; of those that do about as well, the
narrowest is taken. C is that of the largest ridge that does about as well as the best: ridge machines with few
landmarks hardly need one, machines with more of them do.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.core.capabilities import offers
from frugalsvm.core.moments import moments_of, scale_gamma
from frugalsvm.metric_learning.machine import Rows, kernel_values, solver, squares

__all__ = ["LEAST_ROWS", "MOST_ROWS", "Choice", "choice_for", "has_width"]

LEAST_ROWS = 200
_N_FITTED, _MOST_JUDGES, _JUDGE_SHARE = 2048, 1024, 0.25
MOST_ROWS = _N_FITTED + _MOST_JUDGES
_N_LANDMARKS = 384
_STARTS = 0.25, 1.0, 4.0, 16.0  # factors of the usual gamma
_SMALLEST, _LARGEST = 2.0**-5, 2.0**6
_RIDGES = 1e-5, 1e-4, 1e-3, 1e-2
_JITTER = 1e-9
_SAME_WIDTH, _SAME_RIDGE = 1.01, 1.02  # times the smallest error is about as good


class Choice(NamedTuple):
    """What the rows told."""

    gamma: float  # the best one for ridge machines with some hundred landmarks
    C: float  # the penalty of errors that corresponds to the ridge, as in `SVC`
    is_clean: bool  # whether the smallest ridge was the best: labels are hardly noisy
    error: float  # mean squared error on rows that were not fitted, of a standardized target


def has_width(kernel: Any) -> bool:
    """Whether a kernel is one of differences, with a width that can be chosen."""
    return offers(kernel, "shift_invariant") and "gamma" in kernel._fields


def choice_for(kernel: Any, rows: Rows, gamma: float | None = None) -> Choice:
    """Gamma and C for rows in random order, for a kernel of differences (its class).

    Parameters
    ----------
    kernel : type
    rows : Rows
        `LEAST_ROWS` to `MOST_ROWS` of them; targets are signs of classes, or standardized values.
    gamma : float or None, default=None
        A given one, to which C is to fit.

    Returns
    -------
    Choice
    """
    n_judges = min(_MOST_JUDGES, int(_JUDGE_SHARE * len(rows.X)))
    judges, fitted = rows[:n_judges], rows[n_judges : n_judges + _N_FITTED]
    usual = scale_gamma(moments_of(fitted.X), kernel) if gamma is None else gamma
    found: dict[float, list[float]] = {}

    def error_at(factor: float) -> float:
        if factor not in found:
            found[factor] = _errors(kernel(gamma=factor * usual), fitted, judges)
        return min(found[factor])

    best = _descended(error_at) if gamma is None else 1.0
    error_at(best)
    errors = found[best]
    ridge = max(ridge for ridge, each in zip(_RIDGES, errors, strict=True) if each <= _SAME_RIDGE * min(errors))
    error = min(errors) / fitted.targets.shape[1]
    return Choice(best * usual, 1.0 / (ridge * len(fitted.X)), errors[0] == min(errors), error)


def _descended(error: Any) -> float:
    """The largest factor with about the smallest error: doubled, or else halved, while that is better."""
    best = min(_STARTS, key=error)
    step = 2.0 if error(2.0 * best) < error(best) else 0.5
    while _SMALLEST <= best * step <= _LARGEST and error(best * step) < error(best):
        best *= step
    least = error(best)
    while 2.0 * best <= _LARGEST and error(2.0 * best) <= _SAME_WIDTH * least:
        best *= 2.0
    return best


def _errors(kernel: Any, fitted: Rows, judges: Rows) -> list[float]:
    """Mean squared errors of the judges, for all ridges."""
    landmarks = fitted.X[:_N_LANDMARKS]
    K, K_j = (kernel_values(kernel, rows, landmarks) for rows in (fitted.X, judges.X))
    total, right = squares(K, fitted.weights), K.T @ (fitted.weights[:, None] * fitted.targets)
    found = []
    for ridge in _RIDGES:
        H = total + ridge * fitted.weights.sum() * K[: len(landmarks)]
        residuals = judges.targets - K_j @ solver(H, _JITTER)(right)
        found.append(float(np.average(np.square(residuals).sum(axis=1), weights=judges.weights)))
    return found
