"""What solvers and predictions ask of a feature map, whichever it is; and how one is made."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.compiling.functions import entry
from frugalsvm.compiling.threads import ONE_THREAD, row_blocks
from frugalsvm.core.capabilities import offers
from frugalsvm.core.fastmath import float64_sum
from frugalsvm.lowrank.fourier import features, moved_phases, new_fourier, prefers_structured
from frugalsvm.lowrank.landmark_blocks import landmark_sums
from frugalsvm.lowrank.landmarks import SAMPLE_PER_LANDMARK, place_landmarks
from frugalsvm.lowrank.nystroem import (
    Nystroem,
    bare_nystroem,
    kernel_rows,
    moved_landmarks,
    new_nystroem,
)
from frugalsvm.lowrank.own_kernel import OwnKernel
from frugalsvm.lowrank.passes import ONE_AFTER_ANOTHER
from frugalsvm.lowrank.spectra import frequency_factors

BLOCK_ROWS = 1024
_LEAST_ROWS, _MOST_ROWS = 256, 8192  # of a thread at a time
_FIRST_SHARE = 0.75  # of all rows, in long blocks


def n_candidates(landmarks, n_components, n_rows):
    """How many rows landmarks are made from."""
    return min(n_rows, (1 if landmarks == "uniform" else SAMPLE_PER_LANDMARK) * n_components)


class MapPlan(NamedTuple):
    """How a map is to be made."""

    kernel: Any
    feature_map: str  # "nystroem" or "fourier"
    n_components: int
    n_features: int
    landmarks: str
    eigenvalue_threshold: float
    rank: int | None
    structured: Any  # True, False or "auto"
    triangular: bool = False  # see `new_nystroem`

    def new(self, candidates, rng, *, sparse=False, for_device=False, passes=ONE_AFTER_ANOTHER):
        """A map; ``candidates`` are dense rows from which landmarks are made, ``sparse`` tells whether X is.

        For a device, landmarks have no whitening: what whitens them stays there.
        """
        if self.feature_map == "nystroem":
            landmarks = place_landmarks(self.landmarks, candidates, self.n_components, rng)
            if for_device:
                return bare_nystroem(self.kernel, landmarks)
            return self.whitened(landmarks, passes)
        structured = self.structured
        if structured == "auto":
            structured = prefers_structured(self.n_features, self.n_components, sparse)
        is_structured = structured and not for_device and not offers(self.kernel, "l1")
        stretch = frequency_factors(self.kernel, self.n_features, self.n_components, rng)
        return new_fourier(self.n_features, self.n_components, self.kernel.gamma, rng, is_structured, stretch)

    def whitened(self, landmarks, passes):
        """The Nystroem map for given landmarks."""
        threshold, triangular = self.eigenvalue_threshold, self.triangular
        return new_nystroem(self.kernel, landmarks, threshold, self.rank, passes, triangular=triangular)


def width_of(feature_map):
    """Number of raw features: landmarks, or Fourier components."""
    return len(feature_map.landmarks) if isinstance(feature_map, Nystroem) else feature_map.offsets.size


def whitening_of(feature_map):
    """The matrix from raw features to those with the kernel as inner product; None where they have it already."""
    return feature_map.whitening if isinstance(feature_map, Nystroem) else None


def raw_weights(feature_map, weights):
    """Coefficients of raw features (n_outputs, width) for weights of features."""
    whitening = whitening_of(feature_map)
    return weights if whitening is None else weights @ whitening.T


def raw_rows(feature_map, X, out, *, steady=False):
    """Raw features of the rows of X, dense or CSR, in float32.

    ``steady``: those of a row do not depend on its neighbors, not in the last bit; takes a little longer.
    """
    if isinstance(feature_map, Nystroem):
        return kernel_rows(feature_map, X, out, steady=steady)
    return features(feature_map, X, out, steady=steady)


def checks_rows(feature_map) -> bool:
    """Whether the code that computes `linear_values` of dense rows looks at all their values anyway."""
    return isinstance(feature_map, Nystroem) and not isinstance(feature_map.kernel, OwnKernel)


def linear_values(feature_map, X, coefficients, threads=ONE_THREAD, *, is_checked=True):
    """Linear functions of raw features, ``(n_rows, n_outputs)``; coefficients are ``(width, n_outputs)``.

    Sums are made in one order, in float64: the value of a row is the same in every batch. Where that `checks_rows`,
    dense ones that are not ``checked`` raise `UnfitRowsError` if values are not finite, or too large.
    """
    weights = np.ascontiguousarray(coefficients.T, np.float64)
    if isinstance(X, np.ndarray) and checks_rows(feature_map):
        return landmark_sums(feature_map, X, weights, threads, is_checked=is_checked)
    out = np.empty((X.shape[0], len(weights)))
    write = partial(_sums_of_features, feature_map, weights)
    threads.run(lambda block: write(X[block], out[block]), _shares(X.shape[0], threads.count))
    return out


def _shares(n_rows, n_threads):
    """A long block of rows for each thread, and short ones for those that are ready first."""
    n_first = n_rows if n_threads == 1 else int(_FIRST_SHARE * n_rows)
    first = row_blocks(n_first, n_threads, _LEAST_ROWS, _MOST_ROWS)
    rest = row_blocks(n_rows - n_first, n_threads, _LEAST_ROWS) if n_rows > n_first else []
    return first + [slice(n_first + block.start, n_first + block.stop) for block in rest]


def _sums_of_features(feature_map, weights, X, out):
    """The same as `landmark_sums`, for features of any kind."""
    raw = np.empty((min(BLOCK_ROWS, X.shape[0]), width_of(feature_map)), np.float32)
    for start in range(0, X.shape[0], BLOCK_ROWS):
        part = X[start : start + BLOCK_ROWS]
        rows = raw_rows(feature_map, part, raw[: part.shape[0]], steady=True)
        _weighted_sums(weights, rows, out[start : start + BLOCK_ROWS])


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
