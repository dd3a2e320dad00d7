"""From kernel values with landmarks to features with the kernel as inner product, and back.

With ``K_SS = F F'`` features of a row k are ``F^-1 k``, and the function with weights w of them is the expansion with
coefficients ``F^-T w``. On the CPU, F comes from eigenvectors, without those whose eigenvalues are rounding errors.
Where there are none of these, Cholesky's factor gives the same models, and takes a tenth of the time; where there are,
it is eigenvectors here too, for up to a few thousand landmarks. For more, it is Cholesky's method with a little added
to the diagonal.
"""

from typing import Any

__all__ = ["CholeskyFactor", "EigenFactor", "NoFactor", "new_factor"]

_MOST_EIGEN = 4096  # landmarks


def new_factor(arrays, device_map, landmarks, threshold: float, rank: int | None):
    """The factor of the kernel matrix of landmarks, which are on the device."""
    matrix = arrays.double(device_map.rows(landmarks, exact=True))
    if matrix.shape[0] > _MOST_EIGEN and rank is None:
        return CholeskyFactor(arrays, matrix, _share_of_largest(arrays, matrix, threshold))
    matrix = (matrix + matrix.T) / 2
    if rank is None and _all_are_larger(arrays, matrix, threshold):
        return CholeskyFactor(arrays, matrix, 1e-300)
    return EigenFactor(arrays, matrix, threshold, rank)


def _share_of_largest(arrays, matrix, threshold) -> float:
    """At least a share of the largest eigenvalue, which is at most the largest sum of a row."""
    return max(threshold * float(arrays.xp.max(arrays.xp.sum(arrays.xp.abs(matrix), axis=1))), 1e-300)


def _all_are_larger(arrays, matrix, threshold) -> bool:
    """Whether no eigenvalue is below a share of the largest: true only if so."""
    shift = _share_of_largest(arrays, matrix, threshold)
    diagonal = arrays.xp.arange(matrix.shape[0], device=arrays.device)
    shifted = arrays.xp.asarray(matrix, copy=True)
    shifted[diagonal, diagonal] -= shift
    return arrays.cholesky(shifted) is not None


class NoFactor:
    """For maps whose features have the kernel as inner product already."""

    def __init__(self, width: int):
        self.n_features = width

    def raw(self, vectors: Any) -> Any:
        return vectors

    def features(self, sums: Any) -> Any:
        return sums


class EigenFactor:
    """``K_SS = Q D Q'``: features are ``D^-1/2 Q' k`` for the eigenvalues that are above a share of the largest."""

    def __init__(self, arrays, matrix, threshold, rank):
        values, vectors = arrays.xp.linalg.eigh(matrix)
        keep = values > threshold * max(float(values[-1]), 0.0)
        n_kept = int(arrays.xp.sum(arrays.xp.astype(keep, arrays.xp.int64)))
        n_kept = n_kept if rank is None else min(n_kept, rank)
        if not n_kept:
            raise ValueError("All kernel values between landmarks are zero: there is nothing to learn from.")
        # Eigenvalues come in increasing order.
        self._whitening = vectors[:, -n_kept:] / arrays.xp.sqrt(values[-n_kept:])
        self._single = arrays.single(self._whitening)
        self._arrays, self.n_features = arrays, n_kept

    def _of(self, array):
        return self._single if array.dtype == self._single.dtype else self._whitening

    def raw(self, vectors: Any) -> Any:
        """Coefficients of raw rows for vectors (n, n_features), in the type of these."""
        return vectors @ self._of(vectors).T

    def features(self, sums: Any) -> Any:
        """Raw rows, or sums of them (n, n_landmarks), in feature space, in their type."""
        whitening = self._of(sums)
        return sums @ whitening if whitening is self._whitening else self._arrays.product(sums, whitening)


class CholeskyFactor:
    """``K_SS + ridge I = L L'``: features are ``L^-1 k``. Changes the matrix.

    For many landmarks, the factor is in float64, but its inverse in float32: two more would not fit.
    """

    def __init__(self, arrays, matrix, ridge: float):
        diagonal = arrays.xp.arange(matrix.shape[0], device=arrays.device)
        matrix[diagonal, diagonal] += ridge
        while (factor := arrays.cholesky(matrix)) is None:
            matrix[diagonal, diagonal] += 9.0 * ridge
            ridge *= 10.0
        del matrix
        self._arrays, self.n_features = arrays, factor.shape[0]
        # An explicit inverse: its products are limited by memory alone, solutions of triangular systems are not.
        self._double = None
        if self.n_features <= _MOST_EIGEN:
            self._double = arrays.inverse_of_lower(factor).T
            self._single = arrays.single(self._double)
        else:
            self._single = arrays.inverse_of_lower(arrays.single(factor)).T

    def raw(self, vectors: Any) -> Any:
        """Coefficients of raw rows for vectors (n, n_features), in the type of these."""
        if self._double is not None and vectors.dtype == self._double.dtype:
            return vectors @ self._double.T
        return self._arrays.xp.astype(self._arrays.single(vectors) @ self._single.T, vectors.dtype)

    def features(self, sums: Any) -> Any:
        """Raw rows, or sums of them (n, n_landmarks), in feature space, in their type."""
        if self._double is not None and sums.dtype == self._double.dtype:
            return sums @ self._double
        return self._arrays.xp.astype(self._arrays.product(self._arrays.single(sums), self._single), sums.dtype)
