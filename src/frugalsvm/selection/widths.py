"""How wide a kernel should be, and how strong a penalty, from some rows in a fraction of a second.

Small ridge machines with landmarks are fitted to some rows and predict others, for a few widths and ridges. From the
best of some very different widths on, they are doubled or halved for as long as squared errors get smaller; of those
that do about as well, the narrowest is taken. C is that of the largest ridge that does about as well as the best: ridge
machines with few landmarks hardly need one, machines with more of them do.

With kernel values K of the rows with all landmarks, and K_m of the landmarks themselves, weights D of the rows and
their sum w, the coefficients are ``a = H^-1 K' D y``, ``H = K' D K + ridge w K_m``.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.namespace import arrays_of, is_torch
from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import kernel_block
from frugalsvm.core.moments import moments_of, scale_gamma
from frugalsvm.core.seen_rows import mapped
from frugalsvm.metric_learning.candidates import Point
from frugalsvm.metric_learning.machine import Rows, kernel_values, solver, squares

LEAST_ROWS = 200
_N_FITTED, _MOST_JUDGES, _JUDGE_SHARE = 2048, 1024, 0.25
_MOST_VALUES = 2**23  # of rows with very many features
N_LANDMARKS = 384
_STARTS = 0.25, 1.0, 4.0, 16.0  # factors of the usual gamma
_LARGEST = 2.0**6
_RIDGES = 1e-5, 1e-4, 1e-3, 1e-2
_JITTER = 1e-9
_SAME_WIDTH, _SAME_RIDGE = 1.01, 1.02  # times the smallest error is about as good

_OF_METRICS = 1 / 16, 16.0  # the smallest and the largest factor of the gamma that goes with a metric
_SAME_METRIC = 1.001
_RIDGES_OF_METRICS = 1e-7, 1e-6, 1e-5, 1e-4, 1e-3


class Choice(NamedTuple):
    """What some rows say of width and strength."""

    gamma: float  # the best one for ridge machines with some hundred landmarks
    usual_gamma: float  # what "scale" is, or the one that was given
    C: float  # the strength that corresponds to the ridge, as in `SVC`
    error: float  # mean squared error on rows that were not fitted, of a standardized target
    error_rate: float  # share of the same rows whose class is predicted wrongly


def has_width(kernel: Any) -> bool:
    """Whether a kernel is one of differences, with a width that can be chosen."""
    return offers(kernel, "shift_invariant") and "gamma" in kernel._fields


def most_rows(n_features: int) -> int:
    """How many rows are enough, by the number of features."""
    return min(_N_FITTED + _MOST_JUDGES, max(LEAST_ROWS, _MOST_VALUES // n_features))


def choice_for(
    kernel: Any, rows: Rows, gamma: float | None = None, *, widest: float = 2.0**-5, n_landmarks: int = N_LANDMARKS
) -> Choice:
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
    n_landmarks : int, default=384
        Of the machines. One that will have fewer wants a wider kernel.

    Returns
    -------
    Choice
    """
    n_judges = _n_judges(len(rows.X))
    judges, fitted = rows[:n_judges], rows[n_judges : n_judges + _N_FITTED]
    usual = scale_gamma(moments_of(fitted.X), kernel) if gamma is None else gamma
    machines = Machines(kernel(gamma=usual), fitted, judges, n_landmarks, _RIDGES)
    best = 1.0
    if gamma is None:
        best = _best_factor(machines.error_at, _STARTS, widest, _LARGEST, _SAME_WIDTH)
    least, errors = machines.error_at(best), machines.errors_at(best)
    chosen = max(k for k, each in enumerate(errors) if each.squared <= _SAME_RIDGE * least)
    return Choice(
        best * usual,
        usual,
        1.0 / (_RIDGES[chosen] * len(fitted.X)),
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


class Resources(NamedTuple):
    """The machines that metrics are compared with."""

    n_fitted: int
    n_landmarks: int


def resources_on(arrays: Any) -> Resources:
    """Those for rows on a device: on a GPU as many landmarks as machines mostly have, which take no longer there."""
    return Resources(16_384, 4096) if arrays.is_gpu else Resources(4096, 512)


def with_best_width(kernel: Any, point: Point, resources: Resources, fitted: Rows, judges: Rows) -> Point:
    """A metric with the width and the ridge that machines with landmarks want, by rows that it was not learned from.

    Machines of neighbors, by which metrics are learned and judged, want other widths.
    """
    fitted, judges = (rows._replace(X=mapped(rows.X, point.A)) for rows in (fitted[: resources.n_fitted], judges))
    machines = Machines(kernel, fitted, judges, resources.n_landmarks, _RIDGES_OF_METRICS)
    factor = _best_factor(machines.error_at, (1.0,), *_OF_METRICS, _SAME_METRIC)
    errors = machines.errors_at(factor)
    ridge = _RIDGES_OF_METRICS[errors.index(min(errors))]
    return Point(point.A * (factor**0.5 if is_of_products(kernel) else factor), ridge)


def _best_factor(
    error: Callable[[float], float], starts: Sequence[float], smallest: float, largest: float, same: float
) -> float:
    """The largest factor with about the smallest error: doubled, or else halved, while that is better."""
    best = min((start for start in starts if start >= smallest), key=error)
    step = 2.0 if error(2.0 * best) < error(best) else 0.5
    while smallest <= best * step <= largest and error(best * step) < error(best):
        best *= step
    least = error(best)
    while 2.0 * best <= largest and error(2.0 * best) <= same * least:
        best *= 2.0
    return best


class Error(NamedTuple):
    """Of rows that judge: the mean squared error, all outputs together, and the share of wrong classes."""

    squared: float
    rate: float


class Machines:
    """Ridge machines with landmarks, of several widths, that are fitted to some rows and judged by others.

    The first of the fitted rows are landmarks. ``kernel`` is of the width that factors of gamma are relative to.
    """

    def __init__(self, kernel: Any, fitted: Rows, judges: Rows, n_landmarks: int, ridges: Sequence[float]):
        self._kernel, self._fitted, self._judges, self._ridges = kernel, fitted, judges, ridges
        landmarks = fitted.X[:n_landmarks]
        self._K, self._K_judges = (_KernelValues(kernel, X, landmarks) for X in (fitted.X, judges.X))
        self._found: dict[float, list[Error]] = {}

    def error_at(self, factor: float) -> float:
        """The squared error with the best of the ridges."""
        return min(self.errors_at(factor)).squared

    def errors_at(self, factor: float) -> list[Error]:
        """For all ridges."""
        if factor not in self._found:
            self._found[factor] = [self._error(scores) for scores in self.scores_at(factor)]
        return self._found[factor]

    def _error(self, scores: Any) -> Error:
        targets, weights = self._judges.targets, self._judges.weights
        squared = ((targets - scores) ** 2).sum(-1)
        is_wrong = _classes(scores) != _classes(targets)
        return Error(*(float((weights * each).sum() / weights.sum()) for each in (squared, is_wrong)))

    def scores_at(self, factor: float) -> list[Any]:
        """Scores of the judges, (n, n_outputs), for all ridges."""
        kernel, fitted = self._kernel._replace(gamma=factor * self._kernel.gamma), self._fitted
        K, K_judges = self._K.of(kernel), self._K_judges.of(kernel)
        total, right = squares(K, fitted.weights), K.T @ (fitted.weights[:, None] * fitted.targets)
        penalties = (ridge * fitted.weights.sum() * K[: K.shape[1]] for ridge in self._ridges)
        return [K_judges @ solver(total + penalty, _JITTER)(right) for penalty in penalties]


class _KernelValues:
    """Kernel values of rows with landmarks for many widths: products, where kernels are made of them, are kept."""

    def __init__(self, kernel: Any, X: Any, landmarks: Any):
        self._X, self._landmarks, self._products = X, landmarks, None
        if is_of_products(kernel) and not is_torch(X):
            self._norms, self._landmark_norms = (np.einsum("ij,ij->i", each, each) for each in (X, landmarks))
            self._products = X @ landmarks.T

    def of(self, kernel: Any) -> Any:
        if self._products is None:
            return kernel_values(kernel, self._X, self._landmarks)
        out = np.empty_like(self._products)
        kernel_block(kernel, self._products, self._landmark_norms, self._norms, out)
        return out


def _classes(scores: Any) -> Any:
    """Indices of classes, from one column of signs or one for each class."""
    return scores[:, 0] > 0 if scores.shape[1] == 1 else arrays_of(scores).xp.argmax(scores, axis=1)
