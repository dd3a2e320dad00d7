"""From kernel values with landmarks to features with the kernel as inner product, and back.

With ``K_SS = F F'`` features of a row k are ``F^-1 k``, and the function with weights w of them is the expansion with
coefficients ``F^-T w``. For up to a few thousand landmarks F comes from eigenvectors, without those whose eigenvalues
are rounding errors, as on the CPU; for more, from Cholesky's method with a little added to the diagonal, which takes a
hundredth of the time.
"""

from typing import Any

__all__ = ["CholeskyFactor", "EigenFactor", "NoFactor", "new_factor"]

_MOST_EIGEN = 4096  # landmarks


def new_factor(arrays, device_map, landmarks, threshold: float, rank: int | None):
    """The factor of the kernel matrix of landmarks, which are on the device."""
    matrix = arrays.double(device_map.rows(landmarks, exact=True))
    if matrix.shape[0] <= _MOST_EIGEN or rank is not None:
        return EigenFactor(arrays, (matrix + matrix.T) / 2, threshold, rank)
    return CholeskyFactor(arrays, matrix, threshold)


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
        self.n_features = n_kept

    def _of(self, array):
        return self._single if array.dtype == self._single.dtype else self._whitening

    def raw(self, vectors: Any) -> Any:
        """Coefficients of raw rows for vectors (n, n_features), in the type of these."""
        return vectors @ self._of(vectors).T

    def features(self, sums: Any) -> Any:
        """Raw rows, or sums of them (n, n_landmarks), in feature space, in their type."""
        return sums @ self._of(sums)


class CholeskyFactor:
    """``K_SS + ridge I = L L'``: features are ``L^-1 k``. Changes the matrix; no more than two are in memory at a time.

    The factor is in float64, but its inverse in float32: for the largest, two more would not fit.
    """

    def __init__(self, arrays, matrix, threshold):
        n, diagonal = matrix.shape[0], arrays.xp.arange(matrix.shape[0], device=arrays.device)
        # The largest eigenvalue is at most the largest sum of a row.
        ridge = max(threshold * float(arrays.xp.max(arrays.xp.sum(arrays.xp.abs(matrix), axis=1))), 1e-300)
        matrix[diagonal, diagonal] += ridge
        while (factor := arrays.cholesky(matrix)) is None:
            matrix[diagonal, diagonal] += 9.0 * ridge
            ridge *= 10.0
        del matrix
        # An explicit inverse: its products are limited by memory alone, solutions of triangular systems are not.
        factor = arrays.single(factor)
        eye = arrays.xp.eye(n, dtype=arrays.xp.float32, device=arrays.device)
        self._single = arrays.triangular_solve(factor, eye).T
        self._arrays, self.n_features = arrays, n

    def raw(self, vectors: Any) -> Any:
        """Coefficients of raw rows for vectors (n, n_features), in the type of these."""
        return self._arrays.xp.astype(self._arrays.single(vectors) @ self._single.T, vectors.dtype)

    def features(self, sums: Any) -> Any:
        """Raw rows, or sums of them (n, n_landmarks), in feature space, in their type."""
        return self._arrays.xp.astype(self._arrays.single(sums) @ self._single, sums.dtype)
