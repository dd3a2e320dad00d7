"""What solvers and predictions ask of a feature map, whichever it is."""

import numpy as np
from scipy.sparse import csr_matrix, vstack

from frugalsvm._compile import entry
from frugalsvm.asset.fourier import features, moved_phases
from frugalsvm.asset.nystroem import Nystroem, kernel_rows, moved_landmarks
from frugalsvm.core.fastmath import float64_sum

__all__ = ["linear_values", "map_bytes", "moved_map", "raw_rows", "whitening_of", "width_of"]

STEADY_ROWS = 32  # of a block whose values are predicted: as few as a matrix product is fast with


def width_of(feature_map):
    """Number of raw features: landmarks, or Fourier components."""
    return len(feature_map.landmarks) if isinstance(feature_map, Nystroem) else feature_map.offsets.size


def whitening_of(feature_map):
    """The matrix from raw features to those with the kernel as inner product; None where they have it already."""
    return feature_map.whitening if isinstance(feature_map, Nystroem) else None


def raw_rows(feature_map, X, out):
    """Raw features of the rows of X, dense or CSR, in float32."""
    if isinstance(feature_map, Nystroem):
        return kernel_rows(feature_map, X, out)
    return features(feature_map, X, out)


def linear_values(feature_map, X, coefficients):
    """Linear functions of raw features, ``(n_rows, n_outputs)``; coefficients are ``(width, n_outputs)``.

    The value of a row is the same in every batch, to the last bit. Libraries choose how to multiply by the shapes of
    the matrices, and round differently then: so all products here are of blocks of the same size, the last of which is
    filled up with zeros, and the sums are made in one order, in float64.
    """
    weights = np.ascontiguousarray(coefficients.T, np.float64)
    out = np.empty((X.shape[0], len(weights)))
    raw = np.empty((STEADY_ROWS, width_of(feature_map)), np.float32)
    for start in range(0, X.shape[0], STEADY_ROWS):
        part = slice(start, start + STEADY_ROWS)
        raw_rows(feature_map, _filled_up(X[part]), raw)
        _weighted_sums(weights, raw, out[part])
    return out


def _filled_up(X):
    """A block of rows with zeros after them."""
    n_lacking = STEADY_ROWS - X.shape[0]
    if not n_lacking:
        return X
    if isinstance(X, np.ndarray):
        return np.concatenate([X, np.zeros((n_lacking, X.shape[1]), X.dtype)])
    return vstack([X, csr_matrix((n_lacking, X.shape[1]), dtype=X.dtype)], format="csr")


@entry
def _weighted_sums(weights, rows, out):
    for i in range(out.shape[0]):
        for o in range(weights.shape[0]):
            out[i, o] = float64_sum(weights, o, rows[i], rows.shape[1])


def moved_map(feature_map, shift):
    """The same map for rows from which a vector is subtracted: for kernels of differences."""
    if isinstance(feature_map, Nystroem):
        return moved_landmarks(feature_map, shift)
    return moved_phases(feature_map, shift)


def map_bytes(feature_map):
    """Bytes that prediction needs of a map."""
    if isinstance(feature_map, Nystroem):
        return feature_map.landmarks.nbytes + feature_map.norms.nbytes
    return sum(part.nbytes for part in feature_map if isinstance(part, np.ndarray))
