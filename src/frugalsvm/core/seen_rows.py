"""Rows as a kernel sees them: in a metric, relative to an origin.

A kernel of differences, such as the Gaussian one, does not change when all rows move by the same vector. Its
computation does: the engine makes ``||x - z||^2`` of ``|x|^2 + |z|^2 - 2 <x, z>`` (one matrix product for a whole
block), and far from zero these terms are large, equal in size, and cancel. With a relative rounding error ``eps`` and
rows at a distance ``r`` from zero, ``gamma ||x - z||^2`` is wrong by about ``gamma eps r^2``: nothing of it is right in
float32 when features are some thousand standard deviations away from zero.

So rows are stored and compared relative to an origin. It is subtracted in float64, before rows are rounded to float32.
It is zero where zero does, so that ordinary data is not touched: the origin is the median of the first rows if that is
far away, measured by the spread of the rows. In a stream that moves away the origin follows: rows that are so far that
kernel values lose digits are counted, and when many came in a row, which no outlier does, their mean is the new origin.

A metric is the linear map under which a kernel of differences measures distances. A kernel with one gamma takes all
features alike, the irrelevant ones, too. With a metric it sees ``A (x - c)`` in the place of x: a factor for each
feature, or a matrix whose rows are directions across features. Everything above it stays what it is, a machine for such
rows. The center c changes no distance; it keeps numbers small.
"""

from contextlib import nullcontext
from typing import Annotated, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frugalsvm._stored import NOT_BELOW_ZERO, Count, NotNegative, stored
from frugalsvm.compiling.threads import ONE_THREAD, Threads, blas_threads
from frugalsvm.core.moments import moments_of

SAMPLE_ROWS = 256  # rows from which an origin is taken
LOSS = 1e-6  # errors of kernel values, up to a factor of a few, that are worth an origin of one's own
FAR_LOSS = 1e-5  # likewise, worth moving it
FAR_ROWS = 32  # rows in a row that are no outliers
FAR_SPREADS = 16  # squared distance to an origin, in units of the squared spread, from which another one helps
COARSE = 1e-3  # rounding errors of features, in standard deviations, of which users should know
BLOCK_ROWS = 2**14
SURELY = 0.9  # of a limit: rounding errors of sums in float32 are less than the rest


@stored("origin")
class Origin(NamedTuple):
    point: Annotated[np.ndarray, "d f"]  # (n_features,) float64
    n_far: Count  # how many of the last rows were far from it, without a near one in between
    far_sum: Annotated[np.ndarray, "d f"]  # (n_features,) their sum, relative to the point
    far_squares: Annotated[float, (0, 1e300)]  # and that of their squared norms

    @property
    def is_zero(self) -> bool:
        return not self.point.any()

    def is_sound(self, sizes) -> bool:
        """Whether far rows have a sum that goes with their number and their squares."""
        with np.errstate(over="ignore"):
            squared_sum = float(self.far_sum @ self.far_sum)
        return squared_sum <= 1.001 * self.n_far * self.far_squares


def origin_at(point) -> Origin:
    point = np.array(point, np.float64)
    return Origin(point, 0, np.zeros_like(point), 0.0)


def some_rows(X, n_rows=SAMPLE_ROWS):
    """Rows from all over ``X``: a view, a copy or a CSR matrix."""
    return X[:: -(-X.shape[0] // n_rows)]


def new_origin(X, dtype) -> Origin:
    """The origin for rows like those of ``X`` in a kernel that is computed with rows of type ``dtype``.

    Sparse rows would not be sparse relative to another point: their origin is zero.
    """
    if issparse(X):
        return origin_at(np.zeros(X.shape[1]))
    rows = some_rows(X)
    # A value of the type of the rows: their differences to it are exact where they matter.
    point = np.median(rows, axis=0).astype(rows.dtype).astype(np.float64)
    squares = np.square(rows - point).sum(axis=1, dtype=np.float64)
    # The median, for outliers; but half of the rows may be equal.
    return _if_far(point, float(np.median(squares)) or float(squares.mean()), dtype)


def origin_of_moments(moments, dtype) -> Origin:
    """The same for rows of which the moments are known only."""
    return _if_far(moments.mean, float(moments.var.sum()), dtype)


def _if_far(point, spread, dtype) -> Origin:
    """The origin at a point if rows of such a spread around it are far from zero; zero otherwise."""
    distance = float(point @ point)
    is_far = spread > 0 and distance * np.finfo(dtype).eps > LOSS * spread and distance > FAR_SPREADS * spread
    return origin_at(point if is_far else np.zeros_like(point))


def relative(X, origin, dtype):
    """Rows relative to an origin, or as they are where there is none, in a type."""
    if origin is None or origin.is_zero:
        return X.astype(dtype, copy=False)
    if issparse(X):
        X = X.toarray()
    out = np.empty(X.shape, dtype)
    for start in range(0, X.shape[0], BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        np.subtract(X[part], origin.point, out=out[part], casting="unsafe")
    return out


def far_limit(kernel, dtype) -> float:
    """The squared distance to an origin from which kernel values lose digits."""
    gamma = getattr(kernel, "gamma", None) or 1.0
    return FAR_LOSS / (np.finfo(dtype).eps * max(gamma, np.finfo(np.float64).tiny))


def followed(origin: Origin, X, kernel, dtype) -> tuple[Origin, np.ndarray | None]:
    """The origin after rows (relative to it), and by how much it has moved; None is not at all.

    Kernel values are computed in ``dtype``.
    """
    if issparse(X):
        return origin, None
    limit, near = far_limit(kernel, dtype), origin if origin.n_far == 0 else origin_at(origin.point)
    if X.dtype == np.float32:  # nearly always all are near, and this takes a fraction of the time of float64
        with np.errstate(over="ignore", invalid="ignore"):
            if (np.einsum("ij,ij->i", X, X) <= SURELY * limit).all():
                return near, None
    norms = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    is_far = norms > limit
    if not is_far.any():
        return near, None
    last = np.flatnonzero(~is_far)
    first = 0 if len(last) == 0 else last[-1] + 1  # of the last run of far rows
    before = origin if first == 0 else origin_at(origin.point)
    run = X[first:]
    n_far = before.n_far + len(run)
    far_sum = before.far_sum + run.sum(axis=0, dtype=np.float64)
    far_squares = before.far_squares + float(norms[first:].sum())
    if n_far < FAR_ROWS:
        return Origin(origin.point, n_far, far_sum, far_squares), None
    mean = far_sum / n_far
    distance = float(mean @ mean)
    if distance <= FAR_SPREADS * max(far_squares / n_far - distance, 0.0):
        return origin_at(origin.point), None  # they are everywhere: no other point is nearer to all
    return origin_at(origin.point + mean), mean


def lost_digits(X) -> tuple[int, float] | None:
    """The feature that the type of ``X`` is too coarse for, and its rounding error in standard deviations.

    The worst one, if its errors are above ``COARSE``; None otherwise. Whole numbers have none.
    """
    rows = _dense(some_rows(X))
    moments = moments_of(rows)
    spread = np.sqrt(moments.var)
    varies = (spread > 0) & (rows != np.rint(rows)).any(axis=0)
    error = np.zeros(X.shape[1])
    np.divide(np.finfo(X.dtype).eps / 2 * np.abs(moments.mean), spread, out=error, where=varies)
    worst = int(np.argmax(error))
    return (worst, float(error[worst])) if error[worst] > COARSE else None


def cancellation(X, dtype) -> float:
    """About the error of ``||x - z||^2`` in a type, relative to its size: what an origin of zero costs."""
    moments = moments_of(some_rows(X))
    spread = float(moments.var.sum())
    return float(moments.mean @ moments.mean) / spread * float(np.finfo(dtype).eps) if spread > 0 else 0.0


def _dense(rows):
    return rows.toarray() if issparse(rows) else rows


def largest_size(n_features, dtype) -> float:
    """The largest value that rows may have: squared norms, and their sums with others, do not overflow."""
    return (float(np.finfo(dtype).max) / (4 * n_features)) ** 0.5


# --- metrics ---------------------------------------------------------------------------------------------------------

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
