"""A metric: the linear map under which a kernel of differences measures distances.

A kernel with one gamma takes all features alike, the irrelevant ones, too. With a metric it sees ``A (x - c)`` in the
place of x: a factor for each feature, or a matrix whose rows are directions across features. Everything above it stays
what it is, a machine for such rows. The center c changes no distance; it keeps numbers small (`frugalsvm.core.origin`).
"""

from contextlib import nullcontext
from typing import Annotated, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frugalsvm._stored import NOT_BELOW_ZERO, NotNegative, stored
from frugalsvm.compiling.threads import ONE_THREAD, Threads, blas_threads
from frugalsvm.core.origin import Origin, relative

__all__ = ["Directions", "Factors", "Metric", "in_metric", "mapped", "new_metric", "out_of_metric", "seen_rows"]

_BLOCK_VALUES = 2**18  # of rows that are in float64 at a time


@stored("factors", kind="metric")
class Factors(NamedTuple):
    """A factor for each feature."""

    center: Annotated[np.ndarray, "d f"]
    scales: Annotated[np.ndarray, "d f", NOT_BELOW_ZERO]  # how far values are apart, 0 for constants: for importances
    factors: Annotated[np.ndarray, "d f"]
    gamma: NotNegative  # what the kernel should have; 0 if it was not learned

    @property
    def width(self) -> int:
        """Number of features that the kernel sees."""
        return len(self.factors)

    @property
    def map(self) -> np.ndarray:
        return self.factors


@stored("directions", kind="metric")
class Directions(NamedTuple):
    """Directions across features, no more of them than features."""

    center: Annotated[np.ndarray, "d n"]
    scales: Annotated[np.ndarray, "d n", NOT_BELOW_ZERO]
    directions: Annotated[np.ndarray, "d fn"]  # (n_directions, n_features)
    gamma: NotNegative

    @property
    def width(self) -> int:
        """Number of features that the kernel sees."""
        return len(self.directions)

    @property
    def map(self) -> np.ndarray:
        return self.directions


Metric = Factors | Directions


def new_metric(A, center, scales, gamma=0.0) -> Metric:
    """The metric of a vector of factors or of a matrix."""
    center, scales, A = (np.array(each, np.float64) for each in (center, scales, A))
    return Factors(center, scales, A, gamma) if A.ndim == 1 else Directions(center, scales, A, gamma)


def in_metric(X, metric: Metric, dtype, *, out: np.ndarray | None = None, threads: Threads = ONE_THREAD):
    """Rows as the kernel sees them, in a type; sparse ones stay sparse with factors that have no center.

    Dense ones are written to ``out``, which may be ``X``, if that has the right shape and type.
    """
    if issparse(X):
        return _sparse_in_metric(X, metric, dtype)
    if out is None or out.shape != (len(X), metric.width) or out.dtype != dtype or not out.flags.writeable:
        out = np.empty((len(X), metric.width), dtype)

    def write(block: slice) -> None:
        out[block] = mapped(np.subtract(X[block], metric.center, dtype=np.float64), metric.map)

    n_rows = max(1, _BLOCK_VALUES // X.shape[1])
    blocks = [slice(start, start + n_rows) for start in range(0, len(X), n_rows)]
    with blas_threads(1) if min(threads.count, len(blocks)) > 1 else nullcontext():
        threads.run(write, blocks)
    return out


def seen_rows(X, metric: Metric | None, origin: Origin | None, dtype, threads: Threads = ONE_THREAD):
    """Rows in a metric and relative to an origin, as the kernel sees them; they are rounded after both."""
    if metric is None:
        return relative(X, origin, dtype)
    is_far = origin is not None and not origin.is_zero
    return relative(in_metric(X, metric, np.float64 if is_far else dtype, threads=threads), origin, dtype)


def mapped(rows, A):
    """Rows, or a tensor, multiplied by a vector of factors or by a matrix."""
    return rows * A if A.ndim == 1 else rows @ A.T


def _sparse_in_metric(X, metric, dtype):
    if isinstance(metric, Directions):
        return (X @ metric.directions.T - metric.directions @ metric.center).astype(dtype, copy=False)
    if metric.center.any():
        return in_metric(X.toarray(), metric, dtype)
    out = X.astype(dtype)  # a copy
    out.data[:] = X.data * metric.factors[X.indices]
    return out


def out_of_metric(rows, metric: Metric) -> np.ndarray:
    """Rows of users that the kernel sees as these, in float64: the ones nearest to the center of those there are."""
    if isinstance(metric, Factors):
        used = metric.factors != 0.0
        back = np.divide(1.0, metric.factors, out=np.zeros(metric.width), where=used)
        return rows * back + metric.center
    return rows @ np.linalg.pinv(metric.directions).T + metric.center
