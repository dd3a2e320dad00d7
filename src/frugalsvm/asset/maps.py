"""What solvers and predictions ask of a feature map, whichever it is."""

import numpy as np

from frugalsvm.asset.fourier import features
from frugalsvm.asset.nystroem import Nystroem, kernel_rows

__all__ = ["map_bytes", "raw_rows", "whitening_of", "width_of"]


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


def map_bytes(feature_map):
    """Bytes that prediction needs of a map."""
    if isinstance(feature_map, Nystroem):
        return feature_map.landmarks.nbytes + feature_map.norms.nbytes
    return sum(part.nbytes for part in feature_map if isinstance(part, np.ndarray))
