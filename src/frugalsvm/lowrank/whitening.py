"""From kernel values with landmarks to features with the kernel as inner product, and back.

With ``K_SS = F F'`` features of a row k are ``F^-1 k``, and the function with weights w of them is the expansion with
coefficients ``F^-T w``. With few landmarks, F comes from eigenvectors, without those whose eigenvalues are rounding
errors. With many, Cholesky's factor gives the same models in a tenth of the time. Where some eigenvalues are small, the
CPU adds a little to the diagonal (`frugalsvm.lowrank.nystroem`), and so do devices for more than a few thousand
landmarks; for fewer, these find eigenvectors.
"""

from typing import Any

import numpy as np

from frugalsvm.arrays.namespace import HOST
from frugalsvm.lowrank.gram import is_upper_triangle
from frugalsvm.lowrank.passes import ONE_AFTER_ANOTHER, Passes
from frugalsvm.lowrank.products import ColumnBlocks

_NO_MATRIX = np.empty((0, 0))
_FEW = 64  # vectors: products with more of them are left to the library
_MOST_EIGEN = 4096  # landmarks
_SHORT = 8  # rows for each landmark: a solver whitens as many for its preconditioners
_NARROW = 1 / 3  # of the landmarks: with fewer features than that, passes over whitened rows are much faster


def is_whitened_at_once(n_rows: int, n_landmarks: int, n_features: int) -> bool:
    """Whether a solver is faster with all rows whitened once and for all."""
    return n_rows <= _SHORT * n_landmarks or is_narrow(n_landmarks, n_features)


def is_narrow(n_landmarks: int, n_features: float) -> bool:
    """Whether there are far fewer features than landmarks."""
    return n_features < _NARROW * n_landmarks


class NoWhitening:
    """For rows that are features with the kernel as inner product already."""

    def __init__(self, width: int):
        self.n_features = width

    def raw(self, vectors: Any) -> Any:
        return vectors

    def features(self, sums: Any) -> Any:
        return sums

    def both_ways(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The matrix in float64, and transposed, for compiled code: empty ones for none, None for one elsewhere."""
        return _NO_MATRIX, _NO_MATRIX

    def in_single(self) -> tuple[np.ndarray, bool] | None:
        """The matrix in float32, and whether it is an upper triangle; None for none."""
        return None


class MatrixWhitening:
    """Features are ``k W``, for a matrix W ``(n_landmarks, n_features)``.

    ``double`` may be None, for lack of memory; all products are in float32 then. ``method`` is how it was found.
    """

    def __init__(self, double: Any, method: str = "eigen", *, single: Any = None, arrays=HOST):
        self._arrays, self._double, self._single, self.method = arrays, double, single, method
        self._is_triangle: bool | None = None  # it is not known yet
        self.n_features = (single if double is None else double).shape[1]

    def both_ways(self) -> tuple[np.ndarray, np.ndarray] | None:
        return None

    def _is_double(self, array):
        return self._double is not None and array.dtype == self._double.dtype

    def _in_single(self):
        if self._single is None:
            self._single = self._arrays.single(self._double)
        return self._single

    def in_single(self) -> tuple[np.ndarray, bool] | None:
        if self._is_triangle is None:
            self._is_triangle = is_upper_triangle(self._in_single())
        return self._in_single(), self._is_triangle

    def raw(self, vectors: Any) -> Any:
        """Coefficients of raw rows for vectors (n, n_features), in the type of these."""
        if self._is_double(vectors):
            return vectors @ self._double.T
        return self._arrays.cast(self._arrays.single(vectors) @ self._in_single().T, vectors.dtype)

    def features(self, sums: Any) -> Any:
        """Raw rows, or sums of them (n, n_landmarks), in feature space, in their type."""
        if self._is_double(sums):
            return sums @ self._double
        made = self._arrays.product(self._arrays.single(sums), self._in_single())
        return self._arrays.cast(made, sums.dtype)


class HostWhitening(MatrixWhitening):
    """On the CPU: products with a few vectors are passes over the rows of the matrix, on threads.

    Many rows in float32 are multiplied without the zeros of a triangular matrix.
    """

    def __init__(self, double: Any, passes: Passes):
        super().__init__(double)
        self._passes, self._transposed, self._columns = passes, None, None

    def _in_single(self):
        if self._single is None:
            rounded = np.empty(self._double.shape, np.float32)

            def fill(rows):
                rounded[rows] = self._double[rows]

            self._passes.each(fill, *rounded.shape)
            self._single = rounded  # when it is full: other threads may use this whitening, too
        return self._single

    def raw(self, vectors: Any) -> Any:
        return self._passes.scores(self._double, vectors) if self._is_double(vectors) else super().raw(vectors)

    def features(self, sums: Any) -> Any:
        if len(sums) > _FEW and sums.dtype == np.float32:
            return self._of_many(sums)
        if len(sums) > _FEW or not self._is_double(sums):
            return super().features(sums)
        return self._passes.scores(self.both_ways()[1], sums)

    def both_ways(self) -> tuple[np.ndarray, np.ndarray]:
        if self._transposed is None:
            self._transposed = self._passes.transposed(self._double)
        return self._double, self._transposed

    def _of_many(self, rows):
        if self._columns is None:
            self._columns = ColumnBlocks(self._in_single())
        return self._columns.multiply(rows, np.empty((len(rows), self.n_features), np.float32))


def whitening_with(matrix, width: int, passes: Passes = ONE_AFTER_ANOTHER):
    """For features of the CPU; ``matrix`` is None where rows of that width are features already."""
    return NoWhitening(width) if matrix is None else HostWhitening(matrix, passes)


def new_whitening(arrays, device_map, landmarks, threshold: float, rank: int | None) -> MatrixWhitening:
    """For kernel values with landmarks, which are on the device."""
    matrix = arrays.double(device_map.rows(landmarks, exact=True))
    if matrix.shape[0] > _MOST_EIGEN and rank is None:
        return _by_cholesky(arrays, matrix, share_of_largest(arrays, matrix, threshold))
    matrix = (matrix + matrix.T) / 2
    if rank is None and _all_are_larger(arrays, matrix, threshold):
        return _by_cholesky(arrays, matrix, 1e-300)
    return _by_eigenvectors(arrays, matrix, threshold, rank)


def share_of_largest(arrays, matrix, threshold) -> float:
    """At least a share of the largest eigenvalue, which is at most the largest sum of a row."""
    return max(threshold * float(arrays.xp.max(arrays.xp.sum(arrays.xp.abs(matrix), axis=1))), 1e-300)


def _all_are_larger(arrays, matrix, threshold) -> bool:
    """Whether no eigenvalue is below a share of the largest: true only if so."""
    shift = share_of_largest(arrays, matrix, threshold)
    shifted = arrays.xp.asarray(matrix, copy=True)
    arrays.add_to_diagonal(shifted, -shift)
    return arrays.cholesky(shifted) is not None


def _by_eigenvectors(arrays, matrix, threshold, rank) -> MatrixWhitening:
    """``K_SS = Q D Q'``: features are ``D^-1/2 Q' k`` for the eigenvalues that are above a share of the largest."""
    values, vectors = arrays.xp.linalg.eigh(matrix)
    n_kept = int((values > threshold * max(float(values[-1]), 0.0)).sum())
    n_kept = n_kept if rank is None else min(n_kept, rank)
    if not n_kept:
        raise ValueError("All kernel values between landmarks are zero: there is nothing to learn from.")
    # Eigenvalues come in increasing order.
    return MatrixWhitening(vectors[:, -n_kept:] / arrays.xp.sqrt(values[-n_kept:]), arrays=arrays)


def _by_cholesky(arrays, matrix, ridge: float) -> MatrixWhitening:
    """``K_SS + ridge I = L L'``: features are ``L^-1 k``. Changes the matrix.

    For many landmarks, the factor is in float64, but its inverse in float32: two more would not fit.
    """
    arrays.add_to_diagonal(matrix, ridge)
    while (factor := arrays.cholesky(matrix)) is None:
        arrays.add_to_diagonal(matrix, 9.0 * ridge)
        ridge *= 10.0
    del matrix
    # An explicit inverse: its products are limited by memory alone, solutions of triangular systems are not.
    if factor.shape[0] <= _MOST_EIGEN:
        return MatrixWhitening(arrays.inverse_of_lower(factor).T, "cholesky", arrays=arrays)
    return MatrixWhitening(None, "cholesky", single=arrays.inverse_of_lower(arrays.single(factor)).T, arrays=arrays)
