"""What solvers and predictions ask of a feature map, whichever it is."""

import numpy as np

from frugalsvm._compile import entry
from frugalsvm.asset.fourier import features, moved_phases
from frugalsvm.asset.nystroem import Nystroem, kernel_rows, moved_landmarks
from frugalsvm.core.fastmath import float64_sum

__all__ = ["linear_values", "map_bytes", "moved_map", "raw_rows", "whitening_of", "width_of"]

BLOCK_ROWS = 1024


def width_of(feature_map):
    """Number of raw features: landmarks, or Fourier components."""
    return len(feature_map.landmarks) if isinstance(feature_map, Nystroem) else feature_map.offsets.size


def whitening_of(feature_map):
    """The matrix from raw features to those with the kernel as inner product; None where they have it already."""
    return feature_map.whitening if isinstance(feature_map, Nystroem) else None


def raw_rows(feature_map, X, out, *, steady=False):
    """Raw features of the rows of X, dense or CSR, in float32.

    ``steady``: those of a row do not depend on its neighbors, not in the last bit; takes a little longer.
    """
    if isinstance(feature_map, Nystroem):
        return kernel_rows(feature_map, X, out, steady=steady)
    return features(feature_map, X, out, steady=steady)


def linear_values(feature_map, X, coefficients):
    """Linear functions of raw features, ``(n_rows, n_outputs)``; coefficients are ``(width, n_outputs)``.

    Sums are made in one order, in float64: the value of a row is the same in every batch.
    """
    weights = np.ascontiguousarray(coefficients.T, np.float64)
    out = np.empty((X.shape[0], len(weights)))
    raw = np.empty((min(BLOCK_ROWS, X.shape[0]), width_of(feature_map)), np.float32)
    for start in range(0, X.shape[0], BLOCK_ROWS):
        part = X[start : start + BLOCK_ROWS]
        rows = raw_rows(feature_map, part, raw[: part.shape[0]], steady=True)
        _weighted_sums(weights, rows, out[start : start + BLOCK_ROWS])
    return out


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
