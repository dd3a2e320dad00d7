"""How wide a kernel should be, and how strong a penalty, told by the first rows in a fraction of a second.

Small ridge machines on some rows predict others, for a few widths and ridges. From the best of four very different
widths on, they are doubled or halved for as long as squared errors get smaller; of those that do about as well, the
narrowest is taken. C is that of the largest ridge that does about as well as the best: ridge machines with few
landmarks hardly need one, machines with more of them do.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import kernel_block
from frugalsvm.core.moments import moments_of, scale_gamma
from frugalsvm.metric_learning.machine import Rows, kernel_values, solver, squares

__all__ = ["LEAST_ROWS", "Choice", "choice_for", "has_width", "last_rows_first", "most_rows"]

LEAST_ROWS = 200
_N_FITTED, _MOST_JUDGES, _JUDGE_SHARE = 2048, 1024, 0.25
_MOST_VALUES = 2**23  # of rows with very many features
_N_LANDMARKS = 384
_STARTS = 0.25, 1.0, 4.0, 16.0  # factors of the usual gamma
_LARGEST = 2.0**6
_RIDGES = 1e-5, 1e-4, 1e-3, 1e-2
_JITTER = 1e-9
_SAME_WIDTH, _SAME_RIDGE = 1.01, 1.02  # times the smallest error is about as good


class Choice(NamedTuple):
    """What the rows told."""

    gamma: float  # the best one for ridge machines with some hundred landmarks
    usual_gamma: float  # what "scale" is, or the one that was given
    C: float  # the penalty of errors that corresponds to the ridge, as in `SVC`
    is_clean: bool  # whether the smallest ridge was the best: labels are hardly noisy
    error: float  # mean squared error on rows that were not fitted, of a standardized target
    error_rate: float  # share of the same rows whose class is predicted wrongly


def has_width(kernel: Any) -> bool:
    """Whether a kernel is one of differences, with a width that can be chosen."""
    return offers(kernel, "shift_invariant") and "gamma" in kernel._fields


def most_rows(n_features: int) -> int:
    """How many rows are enough, by the number of features."""
    return min(_N_FITTED + _MOST_JUDGES, max(LEAST_ROWS, _MOST_VALUES // n_features))


def choice_for(kernel: Any, rows: Rows, gamma: float | None = None, *, widest: float = 2.0**-5) -> Choice:
    """Gamma and C for rows of which the first ones judge the others: see `last_rows_first` for those of a stream.

    Parameters
    ----------
    kernel : type
        That of a kernel of differences.
    rows : Rows
        `LEAST_ROWS` of them at least; targets are signs of classes, or standardized values.
    gamma : float or None, default=None
        A given one, to which C is to fit.
    widest : float, default=2**-5
        The smallest factor of the usual gamma that is tried.

    Returns
    -------
    Choice
    """
    n_judges = _n_judges(len(rows.X))
    judges, fitted = rows[:n_judges], rows[n_judges : n_judges + _N_FITTED]
    usual = scale_gamma(moments_of(fitted.X), kernel) if gamma is None else gamma
    landmarks = fitted.X[:_N_LANDMARKS]
    K, K_judges = (_KernelValues(kernel(gamma=usual), X, landmarks) for X in (fitted.X, judges.X))
    found: dict[float, list[_Error]] = {}

    def error_at(factor: float) -> float:
        if factor not in found:
            each = kernel(gamma=factor * usual)
            found[factor] = _errors(K.of(each), K_judges.of(each), fitted, judges)
        return min(found[factor]).squared

    best = _descended(error_at, widest) if gamma is None else 1.0
    least, errors = error_at(best), found[best]
    chosen = max(k for k, each in enumerate(errors) if each.squared <= _SAME_RIDGE * least)
    return Choice(
        best * usual,
        usual,
        1.0 / (_RIDGES[chosen] * len(fitted.X)),
        errors[0].squared == least,
        least / fitted.targets.shape[1],
        min(errors).rate,
    )


def _n_judges(n_rows: int) -> int:
    return min(_MOST_JUDGES, int(_JUDGE_SHARE * n_rows))


def last_rows_first(n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """An order in which the last rows of a stream judge machines of those before them, as later ones will.

    Rows of a stream are often like those just before them. Judges from among the others would be near to rows that were
    fitted, and find narrow kernels best, which know nothing of the rows to come.
    """
    n_before = n_rows - _n_judges(n_rows)
    return np.concatenate([n_before + rng.permutation(n_rows - n_before), rng.permutation(n_before)])


def _descended(error: Any, smallest: float) -> float:
    """The largest factor with about the smallest error: doubled, or else halved, while that is better."""
    best = min((start for start in _STARTS if start >= smallest), key=error)
    step = 2.0 if error(2.0 * best) < error(best) else 0.5
    while smallest <= best * step <= _LARGEST and error(best * step) < error(best):
        best *= step
    least = error(best)
    while 2.0 * best <= _LARGEST and error(2.0 * best) <= _SAME_WIDTH * least:
        best *= 2.0
    return best


class _Error(NamedTuple):
    squared: float
    rate: float


class _KernelValues:
    """Kernel values of rows with landmarks for many widths: products, where kernels are made of them, are kept."""

    def __init__(self, kernel: Any, X: np.ndarray, landmarks: np.ndarray):
        self._X, self._landmarks, self._products = X, landmarks, None
        if is_of_products(kernel):
            self._norms, self._landmark_norms = (np.einsum("ij,ij->i", each, each) for each in (X, landmarks))
            self._products = X @ landmarks.T

    def of(self, kernel: Any) -> np.ndarray:
        if self._products is None:
            return kernel_values(kernel, self._X, self._landmarks)
        out = np.empty_like(self._products)
        kernel_block(kernel, self._products, self._landmark_norms, self._norms, out)
        return out


def _errors(K: np.ndarray, K_judges: np.ndarray, fitted: Rows, judges: Rows) -> list[_Error]:
    """Mean squared errors of the judges, and shares of wrong classes, for all ridges."""
    total, right = squares(K, fitted.weights), K.T @ (fitted.weights[:, None] * fitted.targets)
    found = []
    for ridge in _RIDGES:
        H = total + ridge * fitted.weights.sum() * K[: K.shape[1]]
        scores = K_judges @ solver(H, _JITTER)(right)
        squared = np.square(judges.targets - scores).sum(axis=1)
        is_wrong = _classes(scores) != _classes(judges.targets)
        found.append(_Error(*(float(np.average(each, weights=judges.weights)) for each in (squared, is_wrong))))
    return found


def _classes(scores: np.ndarray) -> np.ndarray:
    """Indices of classes, from one column of signs or one for each class."""
    return scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
