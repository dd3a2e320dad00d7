"""Random Fourier features: dense frequencies, or structured ones that cost d log(d) a row.

``phi(t) = sqrt(2 / d) cos(nu t + b)`` with ``nu ~ N(0, 2 gamma I)`` and ``b`` uniform on a circle has
``E[phi(s).phi(t)] = exp(-gamma ||s - t||^2)`` (A. Rahimi and B. Recht, "Random Features for Large-Scale Kernel
Machines", NIPS 2007). Angles are in turns here, not in radians: frequencies and offsets are divided by 2 pi. Other
kernels of differences have other frequencies (``spectra.py``).

Structured frequencies are those of F. X. Yu et al., "Orthogonal Random Features", NIPS 2016 (SORF): rows are padded
with zeros to a power of two p, and each block of p frequencies is ``H D1 H D2 H D3``, H the Hadamard matrix and D
diagonal matrices of random signs. H needs additions only, p log(p) of them. Two departures from the paper:

* Blocks are no smaller than ``SMALLEST_BLOCK``. The entries of a block are only nearly normal, the more so the larger p
  is: with p = 1 every frequency would have the same size.
* Each frequency has a length drawn as that of a normal vector, where the paper has sqrt(p) for all. The multiplication
  is there anyway. Equal lengths are a bias: it made errors a tenth to a sixth larger with p = 16 and few features,
  about a hundredth with p = 64, and nothing with p = 1024.

The root mean square error of a kernel value was 0.71 to 0.89 / sqrt(d) then, against 0.71 to 0.94 / sqrt(d) with dense
frequencies, and in no case above theirs (random data, 1 to 784 features).

**Layout.** The transform runs on ``LANES`` examples at a time, kept as (feature, example): every addition of the
transform is then one of contiguous runs, whatever the stride.
"""

from typing import Annotated, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frugalsvm._stored import stored
from frugalsvm.compiling.functions import entry, inlined
from frugalsvm.core.fastmath import fold_turns, sin_quarter_turns
from frugalsvm.lowrank.products import steady_product

LANES = 16  # examples that are transformed together: two vectors or more, so that the compiler makes vectors of them
SMALLEST_BLOCK = 64
TILE = 256  # features that are written for all examples before the next ones, to read each cache line once
ROWS_AT_A_TIME = 256  # between conversions of X, and for a matrix product: fewer are slower, more are no faster

# What prefers_structured was measured to be, on one core of an Arm Neoverse N1
PRODUCTS_PER_OUTPUT = 50  # of a dense matrix product, in the time that the transforms take for one output
SPARSE_OUTPUTS = 4  # outputs per component at which they are as fast as a sparse product with 60 non-zeros a row
SPARSE_FEATURES = 128  # with fewer, rows have few non-zeros and sparse products are as fast


@stored("fourier", kind="feature-map")
class DenseFourier(NamedTuple):
    """Frequencies (n_features, d) and offsets (d), in turns."""

    frequencies: Annotated[np.ndarray, "e fd"]
    offsets: Annotated[np.ndarray, "e d"]


@stored("structured-fourier", kind="feature-map")
class StructuredFourier(NamedTuple):
    """What a row of p padded features is multiplied with before, between and after the three transforms.

    ``factors`` is (n_blocks, 4, p): the signs D3, D2, D1, and the lengths of the frequencies in turns with all that
    normalizes the transforms. ``offsets`` are d, in turns.
    """

    n_features: Annotated[int, (1, 2**62)]
    factors: Annotated[np.ndarray, "e b4p"]
    offsets: Annotated[np.ndarray, "e d"]

    def is_sound(self, sizes) -> bool:
        """Whether rows are padded to a power of two, and there are blocks enough."""
        p, sizes["f"] = sizes["p"], self.n_features
        return sizes["d"] <= sizes["b"] * p and p & (p - 1) == 0 and self.n_features <= p


def new_fourier(n_features, n_components, gamma, rng, structured, stretch=None):
    """A random map from ``n_features`` to ``n_components`` features whose inner products are near a Gaussian kernel.

    ``stretch``, for other kernels, are factors of its frequencies; of structured ones, one for each component.
    """
    per_unit = np.sqrt(2.0 * gamma) / (2.0 * np.pi)
    if structured:
        factors = _random_factors(n_features, n_components, per_unit, rng, stretch)
        return StructuredFourier(n_features, factors, rng.random(n_components, np.float32))
    frequencies = rng.standard_normal((n_features, n_components), np.float32)
    frequencies *= np.float32(per_unit)
    if stretch is not None:
        frequencies *= stretch
    return DenseFourier(frequencies, rng.random(n_components, np.float32))


def _random_factors(n_features, n_components, per_unit, rng, stretch):
    p = _block_size(n_features)
    n_blocks = -(-n_components // p)
    factors = np.empty((n_blocks, 4, p), np.float32)
    factors[:, :3] = rng.choice(np.array([-1.0, 1.0], np.float32), (n_blocks, 3, p))
    # Three transforms without their 1 / sqrt(p) are an orthogonal matrix times p^1.5
    lengths = np.sqrt(rng.chisquare(p, (n_blocks, p))) * (per_unit / p**1.5)
    if stretch is not None:
        lengths.reshape(-1)[:n_components] *= stretch
    factors[:, 3] = lengths
    return factors


def _block_size(n_features):
    """The smallest power of two that holds the features, and no less than ``SMALLEST_BLOCK``."""
    return max(SMALLEST_BLOCK, 1 << (n_features - 1).bit_length())


def prefers_structured(n_features, n_components, sparse):
    """Whether structured frequencies are the faster ones; ``sparse`` if X will be."""
    p = _block_size(n_features)
    n_outputs = -(-n_components // p) * p
    if sparse:
        return n_features >= SPARSE_FEATURES and n_outputs <= SPARSE_OUTPUTS * n_components
    return n_features * n_components > PRODUCTS_PER_OUTPUT * n_outputs


def features(fourier, X, out=None, *, steady=False):
    """phi of the rows of X, a matrix or CSR matrix of any real type, as float32 (n_rows, d).

    ``out``, if given, is C-contiguous. ``steady``: a row does not depend on its neighbors, see
    `frugalsvm.lowrank.products`; structured features never do.
    """
    structured = isinstance(fourier, StructuredFourier)
    n_features = fourier.n_features if structured else fourier.frequencies.shape[0]
    n_rows, d = X.shape[0], fourier.offsets.size
    if X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} features, but the map is one of {n_features}")
    if out is None:
        out = np.empty((n_rows, d), np.float32)
    # Compiled code checks no bounds
    if out.shape != (n_rows, d) or out.dtype != np.float32 or not out.flags.c_contiguous:
        raise ValueError(f"out must be a C-contiguous float32 matrix of {n_rows} rows and {d} columns")
    amplitude = np.float32(np.sqrt(2.0 / d))
    if structured:
        _structured_features(fourier, X, out, amplitude)
    else:
        _dense_features(fourier, X, out, amplitude, steady_product if steady else np.matmul)
    return out


def moved_phases(fourier, shift):
    """The same map for rows from which a vector is subtracted."""
    shift = np.asarray(shift, np.float64)
    turns = _structured_turns(fourier, shift) if isinstance(fourier, StructuredFourier) else shift @ fourier.frequencies
    return fourier._replace(offsets=((fourier.offsets + turns) % 1.0).astype(np.float32))


def _structured_turns(fourier, x):
    """What the three transforms make of one row, in float64."""
    n_blocks, _, p = fourier.factors.shape
    values = np.zeros((n_blocks, p))
    values[:, : len(x)] = x
    values *= fourier.factors[:, 0]
    for stage in range(1, 4):
        values = hadamard(values) * fourier.factors[:, stage]
    return values.ravel()[: fourier.offsets.size]


def hadamard(work):
    """Every row times the Hadamard matrix with entries +1 and -1, in NumPy: for a few rows."""
    n_rows, p = work.shape
    stride = 1
    while stride < p:
        halves = work.reshape(n_rows, p // (2 * stride), 2, stride)
        work = np.stack([halves[:, :, 0] + halves[:, :, 1], halves[:, :, 0] - halves[:, :, 1]], axis=2)
        stride *= 2
    return work.reshape(n_rows, p)


def _dense_features(fourier, X, out, amplitude, product):
    for start in range(0, X.shape[0], ROWS_AT_A_TIME):
        rows = X[start : start + ROWS_AT_A_TIME].astype(np.float32, copy=False)
        target = out[start : start + ROWS_AT_A_TIME]
        if issparse(rows):
            target[...] = rows @ fourier.frequencies
        else:
            product(np.ascontiguousarray(rows), fourier.frequencies, out=target)
        cosines_in_place(target, fourier.offsets, amplitude)


def _structured_features(fourier, X, out, amplitude):
    # Features beyond those of X stay 0
    padded, work = np.zeros((2, fourier.factors.shape[2] * LANES), np.float32)
    for start in range(0, X.shape[0], ROWS_AT_A_TIME):
        rows = X[start : start + ROWS_AT_A_TIME].astype(np.float32, copy=False)
        rows = rows.toarray() if issparse(rows) else np.ascontiguousarray(rows)
        target = out[start : start + ROWS_AT_A_TIME]
        structured_rows(rows, fourier.factors, fourier.offsets, amplitude, padded, work, target)


@entry
def cosines_in_place(values, offsets, amplitude):
    """``values[i, j] = amplitude cos(values[i, j] + offsets[j])``, angles in turns."""
    for i in range(values.shape[0]):
        row = values[i]
        for j in range(row.size):
            row[j] = fold_turns(row[j] + offsets[j])
        _finish_cosines(row, amplitude)


@inlined
def _finish_cosines(folded, amplitude):
    # A second loop although the values are at hand in the first one: both in one are a chain of a dozen operations,
    # longer than the processor looks ahead, and take a sixth more time.
    for j in range(folded.size):
        folded[j] = amplitude * sin_quarter_turns(folded[j])


@entry
def structured_rows(X, factors, offsets, amplitude, padded, work, out):
    """phi of the rows of X; ``padded`` and ``work`` have p ``LANES`` values, ``padded`` those after X's features 0."""
    p = factors.shape[2]
    for first in range(0, X.shape[0], LANES):
        n = min(LANES, X.shape[0] - first)
        _load_examples(X, first, n, padded)
        for block in range(factors.shape[0]):
            _load_signed(padded, factors, block, work)
            for stage in range(1, 4):
                _hadamard_then_scale(work, p, factors, block, stage)
            _write_cosines(work, block * p, offsets, amplitude, out, first, n)


@inlined
def _load_examples(X, first, n, padded):
    # With fewer than LANES examples, old values stay in the other lanes: nobody reads what becomes of them
    for lane in range(n):
        for f in range(X.shape[1]):
            padded[f * LANES + lane] = X[first + lane, f]


@inlined
def _load_signed(padded, factors, block, work):
    signs = factors[block, 0]
    for f in range(signs.size):
        sign = signs[f]
        for lane in range(LANES):
            work[f * LANES + lane] = sign * padded[f * LANES + lane]


@inlined
def _hadamard_then_scale(work, p, factors, block, stage):
    """``work = diag(factors[block, stage]) H work``, with H of entries +1 and -1."""
    stride = p
    while stride >= 64:
        stride //= 4
        _add_and_subtract_fours(work, stride * LANES)
    if stride == 32:
        _add_and_subtract_pairs(work, 16 * LANES)
    _sixteens_then_scale(work, factors[block, stage])


@inlined
def _add_and_subtract_pairs(work, run):
    """One level of the transform, on runs of consecutive values."""
    for start in range(0, work.size, 2 * run):
        a = work[start : start + run]
        b = work[start + run : start + 2 * run]
        for i in range(run):
            a[i], b[i] = a[i] + b[i], a[i] - b[i]


@inlined
def _add_and_subtract_fours(work, run):
    """Two levels of the transform in one pass over memory, on runs of consecutive values."""
    for start in range(0, work.size, 4 * run):
        a = work[start : start + run]
        b = work[start + run : start + 2 * run]
        c = work[start + 2 * run : start + 3 * run]
        d = work[start + 3 * run : start + 4 * run]
        for i in range(run):
            ab, a_b = a[i] + b[i], a[i] - b[i]
            cd, c_d = c[i] + d[i], c[i] - d[i]
            a[i], b[i], c[i], d[i] = ab + cd, a_b + c_d, ab - cd, a_b - c_d


@inlined
def _hadamard8(a, b, c, d, e, f, g, h):
    a, b, c, d, e, f, g, h = a + b, a - b, c + d, c - d, e + f, e - f, g + h, g - h
    a, b, c, d, e, f, g, h = a + c, b + d, a - c, b - d, e + g, f + h, e - g, f - h
    return a + e, b + f, c + g, d + h, a - e, b - f, c - g, d - h


@inlined
def _sixteens_then_scale(work, factors):
    """The last four levels of the transform, in registers, and a factor for each feature."""
    n, m = LANES, 8 * LANES
    for first in range(0, factors.size, 16):
        w = work[first * LANES : (first + 16) * LANES]
        s = factors[first : first + 16]
        s0, s1, s2, s3, s4, s5, s6, s7 = s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
        s8, s9, s10, s11, s12, s13, s14, s15 = s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15]
        for i in range(LANES):
            j = i + m
            a, b, c, d, e, f, g, h = _hadamard8(
                w[i], w[i + n], w[i + 2 * n], w[i + 3 * n], w[i + 4 * n], w[i + 5 * n], w[i + 6 * n], w[i + 7 * n]
            )
            k, v, o, p, q, r, t, u = _hadamard8(
                w[j], w[j + n], w[j + 2 * n], w[j + 3 * n], w[j + 4 * n], w[j + 5 * n], w[j + 6 * n], w[j + 7 * n]
            )
            w[i], w[j] = s0 * (a + k), s8 * (a - k)
            w[i + n], w[j + n] = s1 * (b + v), s9 * (b - v)
            w[i + 2 * n], w[j + 2 * n] = s2 * (c + o), s10 * (c - o)
            w[i + 3 * n], w[j + 3 * n] = s3 * (d + p), s11 * (d - p)
            w[i + 4 * n], w[j + 4 * n] = s4 * (e + q), s12 * (e - q)
            w[i + 5 * n], w[j + 5 * n] = s5 * (f + r), s13 * (f - r)
            w[i + 6 * n], w[j + 6 * n] = s6 * (g + t), s14 * (g - t)
            w[i + 7 * n], w[j + 7 * n] = s7 * (h + u), s15 * (h - u)


@inlined
def _write_cosines(work, column, offsets, amplitude, out, first, n):
    """phi in the columns from ``column`` of ``out``, as many as there are, for rows ``first`` to ``first + n``."""
    width = min(work.size // LANES, offsets.size - column)
    for start in range(0, width, TILE):
        size = min(TILE, width - start)
        tile = work[start * LANES : (start + size) * LANES]
        shifts = offsets[column + start : column + start + size]
        for lane in range(n):
            row = out[first + lane, column + start : column + start + size]
            for f in range(size):
                row[f] = fold_turns(tile[f * LANES + lane] + shifts[f])
            _finish_cosines(row, amplitude)
