"""Parameters that are "auto": chosen from the first rows (`frugalsvm.selection.widths`), and frozen then."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier, is_regressor

from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.kernels import KERNELS
from frugalsvm.estimators.constraints import AUTO, gamma_value, is_auto
from frugalsvm.metric_learning.machine import drawn_rows
from frugalsvm.selection.widths import (
    LEAST_ROWS,
    N_LANDMARKS,
    Choice,
    choice_for,
    has_width,
    last_rows_first,
    most_rows,
)

_LEAST_STREAM_ROWS = 1000  # of a first batch: it must be like the stream
# Factor of the usual gamma. Where the last rows of a first batch are like none before them, nothing predicts them, and
# the widest kernel does least harm; that says nothing of rows to come (LASVM on Covertype in order: 80.2 % for 85.2).
_WIDEST_OF_STREAM = 0.5
_LEAST_C, _LARGEST_C = 1.0, 100.0  # less is what is usual; beyond, rounding and time are worse


def chooses(estimator: Any) -> bool:
    """Whether an estimator has a parameter that is chosen from rows."""
    alpha = getattr(estimator, "alpha", None)  # it counts where there is C, too
    strength = getattr(estimator, "C", None) if alpha is None else alpha
    return any(map(is_auto, (strength, getattr(estimator, "gamma", None), getattr(estimator, "epsilon", None))))


def chooses_in_order(estimator: Any) -> bool:
    """Whether an estimator chooses gamma on rows in their order."""
    forgets = getattr(estimator, "forgets", False) and is_auto(getattr(estimator, "gamma", None))
    return forgets and is_classifier(estimator)


def for_stream(estimator: Any) -> Any:
    """A copy of an estimator that is to learn a stream: with all half-lives, unless something was said about that.

    A search has no half-life: one of its candidates follows.
    """
    new = clone(estimator)
    return new.set_params(half_life=AUTO) if may_follow(estimator) and hasattr(new, "half_life") else new


def may_follow(estimator: Any) -> bool:
    """Whether an estimator can learn with all half-lives, and nobody has said how fast it is to forget."""
    return getattr(estimator, "may_follow", False)


def choice_of(estimator: Any, X, targets, weights, *, whole: bool) -> Choice | None:
    """Gamma and C for the first rows, as the kernel will see them; None where they are too few, or have no width.

    ``targets()`` has signs of classes or values, shape (n_outputs, n). ``whole`` is whether no more rows will come. The
    same rows give the same choice, whatever ``random_state`` is.
    """
    kernel: Any = KERNELS.get(estimator.kernel)  # None for a function of the user's own
    n_least = LEAST_ROWS if whole else _LEAST_STREAM_ROWS
    if not has_width(kernel) or X.shape[0] < n_least:
        return None
    rng = np.random.default_rng(0)
    rows = drawn_rows(X, targets(), weights, rng, most_rows(X.shape[1]))
    if len(rows.X) < LEAST_ROWS or not rows.targets.std(axis=0).any():
        return None
    if not issparse(X):
        rows = rows._replace(X=rows.X - rows.X.mean(axis=0))  # rounding: only differences count
    given = _given_gamma(estimator, rows.X, kernel)
    with blas_threads(estimator.n_jobs):
        order = rng.permutation(len(rows.X)) if whole else last_rows_first(len(rows.X), rng)
        widest = estimator._widest if whole or is_regressor(estimator) else max(estimator._widest, _WIDEST_OF_STREAM)
        n_landmarks = min(N_LANDMARKS, getattr(estimator, "n_components", N_LANDMARKS))
        choice = choice_for(kernel, rows[order], given, widest=widest, n_landmarks=n_landmarks)
    gamma = choice.gamma
    if given is None:
        gamma = max(estimator._narrowing * gamma, estimator._least_gamma * choice.usual_gamma)
    return choice._replace(gamma=gamma, C=min(max(choice.C, _LEAST_C), _LARGEST_C))


def _given_gamma(estimator: Any, X, kernel: Any) -> float | None:
    """The gamma that was learned with a metric, or is a parameter; None if it is to be chosen."""
    metric = estimator.metric_part_
    if metric is not None and metric.gamma > 0 and isinstance(estimator.gamma, str):
        return metric.gamma
    return None if is_auto(estimator.gamma) else gamma_value(estimator.gamma, X, kernel)


def learns_streams(model: Any) -> bool:
    """Whether a model can learn a stream batch by batch, from its first rows on.

    Machines in cells have `partial_fit` as well, which adds rows to what a fit has made.
    """
    return hasattr(model, "partial_fit") and not getattr(model, "_first_batch_decides", False)
