"""The Nystroem map: kernel values with s landmarks, whitened by the eigenvectors of their kernel matrix.

With ``K_SS = Q D Q'`` the features of x are ``K(x, S) Q D^-1/2`` (16), and a linear function of them with weights w
is the kernel expansion ``K(x, S) a``, ``a = Q D^-1/2 w``: prediction needs kernel values with the landmarks only. For
many landmarks, Cholesky's factor takes the place of ``Q D^1/2``.

The eigenvalues kept are those above ``1e-7`` of the largest. Kernel values are float32: far below that is noise, and
the threshold 1e-16 of the paper fits directions that are rounding errors (20 % test error on Adult). As much added to
all eigenvalues keeps these directions as small as leaving them out, and needs no eigenvectors.
"""

from typing import Annotated, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from frugalsvm._stored import are_norms, stored
from frugalsvm.arrays.namespace import HOST
from frugalsvm.compiling.functions import compiled, entry, generic, machine_code_for, matrix_product, read_only
from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.blocks import is_of_products, sum_rows
from frugalsvm.core.fastmath import copy_row, float64_sum, rows_dot
from frugalsvm.core.feature_sums import SUMS, rows_sums
from frugalsvm.core.kernels import kernel_block, pairing_of, values_in_row
from frugalsvm.core.pairing import Products
from frugalsvm.lowrank.own_kernel import OwnKernel
from frugalsvm.lowrank.passes import ONE_AFTER_ANOTHER
from frugalsvm.lowrank.products import BLOCK_ROWS as STEADY_ROWS
from frugalsvm.lowrank.products import single_is_steady
from frugalsvm.lowrank.symmetric import cholesky, inverse_of_lower
from frugalsvm.lowrank.whitening import is_narrow, share_of_largest

__all__ = [
    "Nystroem",
    "bare_nystroem",
    "expansion_writer",
    "kernel_rows",
    "moved_landmarks",
    "new_nystroem",
    "with_whitening",
]

_NOTHING = 1e-16
_ROUNDING = 1e-7  # of the largest eigenvalue: smaller ones are rounding errors
_MANY = 512  # landmarks: eigenvectors of fewer are found at once, and by one thread as fast as by several
_MOST = 2 / 3  # of the eigenvalues: products with that share of the columns take as long as with a triangle
_ZERO = np.float32(0.0)
CONVERTED_ROWS = 4096  # that are made float32 at a time, if they are not
BLOCK_ROWS = 256  # a block of kernel values stays in the cache between the product and the exponential


@stored("nystroem", kind="feature-map")
class Nystroem(NamedTuple):
    kernel: NamedTuple
    landmarks: Annotated[np.ndarray, "e nf"]  # (s, n_features) float32
    norms: Annotated[np.ndarray, "e n"]  # (s,) their squared norms
    whitening: Annotated[np.ndarray, "d nd"] | None  # Q D^-1/2; None where coefficients are those of kernel values
    eigenvalues: Annotated[np.ndarray, "d d"] | None  # (d,) those that were kept; None where none had to be found

    def is_sound(self, sizes) -> bool:
        """Whether the norms are those of the landmarks."""
        whitened = self.whitening is not None or self.eigenvalues is None
        return whitened and are_norms(self.norms, self.landmarks)


def new_nystroem(kernel, landmarks, threshold=_ROUNDING, rank=None, passes=ONE_AFTER_ANOTHER, *, triangular=False):
    """The map for landmarks (dense rows); keeps eigenvalues above ``threshold`` of the largest, ``rank`` at most.

    ``triangular``: with Cholesky's factor for few landmarks, too, for maps of which products are all that counts.
    """
    matrix, norms = _kernel_matrix(kernel, landmarks, passes)
    whitening = eigenvalues = None
    if rank is None and (triangular or len(matrix) > _MANY):
        whitening = _whitened_by_cholesky(matrix, threshold, passes, _MOST if len(matrix) <= _MANY else 0.0)
    if whitening is None:
        with blas_threads(passes.threads.count if len(matrix) > _MANY else None):
            whitening, eigenvalues = _whitened_by_eigenvectors(matrix, threshold, rank)
    landmarks = np.ascontiguousarray(landmarks, np.float32)
    return Nystroem(
        kernel, landmarks, norms.astype(np.float32), _without_rounding_errors(whitening, passes), eigenvalues
    )


def _kernel_matrix(kernel, landmarks, passes):
    """Kernel values between landmarks, and the squared norms of these, in float64."""
    exact = np.ascontiguousarray(landmarks, np.float64)
    norms, matrix = np.square(exact).sum(axis=1), np.empty((len(exact), len(exact)))
    if isinstance(kernel, OwnKernel):
        return kernel.matrix(exact), norms
    products = exact @ exact.T if is_of_products(kernel) else None

    def fill(rows):
        if products is None:
            sum_rows(kernel, exact[rows], exact, matrix[rows])
        else:
            kernel_block(kernel, products[rows], norms, norms[rows], matrix[rows])

    passes.each(fill, *matrix.shape)
    return matrix, norms


def _whitened_by_cholesky(matrix, threshold, passes, least_share):
    """The inverse of the transposed factor; None where eigenvalues are to be left out, or fewer than a share are large.

    The same models as with eigenvectors in a fraction of the time: features are rotated, no more.
    """
    least, ridge = share_of_largest(HOST, matrix, threshold), 0.0
    if cholesky(passes, matrix, -least) is None:  # an eigenvalue may be smaller
        if threshold > _ROUNDING:
            return None
        ridge = least
    factor = cholesky(passes, matrix, ridge)
    if factor is None:
        return None
    inverse = inverse_of_lower(passes, factor)
    # The trace of K (K + ridge I)^-1: eigenvalues count fully where they are far above the ridge.
    n_large = len(matrix) - ridge * sum(passes.run(lambda rows: np.square(inverse[rows]).sum(), *inverse.shape))
    is_too_narrow = is_narrow(len(matrix), n_large) or n_large < least_share * len(matrix)
    return None if is_too_narrow else passes.transposed(inverse)


def _whitened_by_eigenvectors(matrix, threshold, rank):
    eigenvalues, vectors = np.linalg.eigh(matrix)
    keep = eigenvalues > threshold * max(eigenvalues[-1], 0.0)
    if rank is not None:
        keep[:-rank] = False
    if not keep.any():
        raise ValueError("All kernel values between landmarks are zero: there is nothing to learn from.")
    eigenvalues, vectors = eigenvalues[keep], vectors[:, keep]
    return np.ascontiguousarray(vectors / np.sqrt(eigenvalues)), eigenvalues


def _without_rounding_errors(whitening, passes):
    """Zeros for what is nothing beside the other numbers; in products it would become subnormal numbers."""
    largest = max(passes.run(lambda rows: np.abs(whitening[rows]).max(), *whitening.shape))

    def clear(rows):
        own = whitening[rows]
        own[np.abs(own) < _NOTHING * largest] = 0.0

    passes.each(clear, *whitening.shape)
    return whitening


def bare_nystroem(kernel, landmarks):
    """The map without a whitening: its features are kernel values."""
    landmarks = np.ascontiguousarray(landmarks, np.float32)
    norms = np.square(landmarks, dtype=np.float64).sum(axis=1).astype(np.float32)
    return Nystroem(kernel, landmarks, norms, None, None)


def moved_landmarks(nystroem, shift):
    """The same map for rows from which a vector is subtracted: for kernels of differences."""
    landmarks = (nystroem.landmarks - shift).astype(np.float32)
    norms = np.square(landmarks, dtype=np.float64).sum(axis=1).astype(np.float32)
    return nystroem._replace(landmarks=landmarks, norms=norms)


def kernel_rows(nystroem, X, out, *, steady=False):
    """``out[i, j] = K(X[i], landmark j)`` in float32, by blocks that stay in the cache.

    ``steady``: in which a row does not depend on its neighbors, see `frugalsvm.lowrank.products`.
    """
    if isinstance(nystroem.kernel, OwnKernel):
        return _own_rows(nystroem, X, out)
    if not isinstance(X, np.ndarray):
        if not is_of_products(nystroem.kernel):
            return sum_rows(nystroem.kernel, X, nystroem.landmarks, out)
        return _sparse_rows(nystroem, X, out)
    scratch = _steady_scratch(nystroem) if steady else _new_scratch(nystroem, BLOCK_ROWS)
    kernel, landmarks, norms = map(read_only, nystroem[:3])
    no_weights = np.empty((0, len(landmarks)))
    for start in range(0, len(X), CONVERTED_ROWS):
        rows, target = _converted(X[start : start + CONVERTED_ROWS]), out[start : start + CONVERTED_ROWS]
        _write_values(kernel, landmarks, norms, rows, scratch, target, no_weights, np.empty((len(rows), 0)))
    return out


def _own_rows(nystroem, X, out):
    for start in range(0, X.shape[0], CONVERTED_ROWS):
        rows = X[start : start + CONVERTED_ROWS]
        out[start : start + CONVERTED_ROWS] = nystroem.kernel.block(rows, nystroem.landmarks)
    return out


def expansion_writer(nystroem, weights, *, many_calls):
    """A function that writes ``out[i, o] = sum_j weights[o, j] K(X[i], landmark j)`` for dense rows.

    The value of a row is the same in every batch. For ``many_calls`` machine code is chosen once: threads take turns to
    look at the types of all arrays, which is Python's work and takes as long as many rows.
    """
    n_landmarks, n_features = nystroem.landmarks.shape
    kernel, landmarks, norms = map(read_only, nystroem[:3])

    def new_room():
        return _steady_scratch(nystroem), np.empty((1, n_landmarks), np.float32)

    code = _write_values
    if many_calls:
        no_rows, no_sums = _converted(np.empty((0, n_features))), np.empty((0, len(weights)))
        code = machine_code_for(code, kernel, landmarks, norms, no_rows, *new_room(), weights, no_sums)

    def write(X, out):
        room = new_room()
        for start in range(0, len(X), CONVERTED_ROWS):
            rows, sums = _converted(X[start : start + CONVERTED_ROWS]), out[start : start + CONVERTED_ROWS]
            code(kernel, landmarks, norms, rows, *room, weights, sums)

    return write


def _converted(rows):
    """Rows as compiled code takes them."""
    return read_only(np.ascontiguousarray(rows, np.float32))


class _Scratch(NamedTuple):
    """Memory for a block of rows."""

    rows: np.ndarray  # (n_block, n_features) those of a block that is filled up
    products: np.ndarray  # (n_block, n_landmarks)


class _DoubleScratch(NamedTuple):
    """The same for products in float64."""

    landmarks: np.ndarray
    rows: np.ndarray
    in_double: np.ndarray
    products: np.ndarray  # float32


def _new_scratch(nystroem, block_rows):
    n_landmarks, n_features = nystroem.landmarks.shape
    return _Scratch(np.empty((block_rows, n_features), np.float32), np.empty((block_rows, n_landmarks), np.float32))


def _steady_scratch(nystroem):
    """Such that a row of products does not depend on its neighbors."""
    scratch = _new_scratch(nystroem, STEADY_ROWS)
    if single_is_steady() or not is_of_products(nystroem.kernel):
        return scratch
    wide = (np.empty(each.shape) for each in scratch)
    return _DoubleScratch(nystroem.landmarks.astype(np.float64), *wide, scratch.products)


def _sparse_rows(nystroem, X, out):
    for start in range(0, X.shape[0], BLOCK_ROWS):
        rows = X[start : start + BLOCK_ROWS].astype(np.float32, copy=False)
        products = rows @ nystroem.landmarks.T
        row_norms = np.asarray(rows.multiply(rows).sum(axis=1)).ravel().astype(np.float32, copy=False)
        kernel_block(nystroem.kernel, products, nystroem.norms, row_norms, out[start : start + BLOCK_ROWS])
    return out


@generic
def _meet_landmarks(pairing, rows, first, last, landmarks, scratch):
    """The numbers that a kernel is made of, for some rows and all landmarks."""


@_meet_landmarks.implement(Products)
def _products_with_landmarks(pairing, rows, first, last, landmarks, scratch):
    _multiply_block(scratch, rows, first, last, landmarks)


@_meet_landmarks.implement(*SUMS)
def _sums_with_landmarks(pairing, rows, first, last, landmarks, scratch):
    rows_sums(pairing, rows, first, last, landmarks, scratch.rows.reshape(scratch.rows.size), scratch.products)


@generic
def _multiply_block(scratch, rows, first, last, landmarks):
    """Inner products of some rows with all landmarks: of a block of one size, whose last rows may be zeros."""


@_multiply_block.implement(_Scratch)
def _in_single(scratch, rows, first, last, landmarks):
    if last - first == len(scratch.rows):
        matrix_product(rows[first:last], landmarks.T, scratch.products)
        return
    _fill_up(rows, first, last, scratch.rows)
    matrix_product(scratch.rows, landmarks.T, scratch.products)


@_multiply_block.implement(_DoubleScratch)
def _in_double(scratch, rows, first, last, landmarks):
    _fill_up(rows, first, last, scratch.rows)
    matrix_product(scratch.rows, scratch.landmarks.T, scratch.in_double)
    for i in range(last - first):
        copy_row(scratch.products, i, scratch.in_double, i)


@compiled
def _fill_up(rows, first, last, block):
    for i in range(len(block)):
        for j in range(block.shape[1]):
            block[i, j] = rows[first + i, j] if first + i < last else _ZERO


@entry
def _write_values(kernel, landmarks, norms, rows, scratch, values, weights, sums):
    """Kernel values of rows, and sums of them: all in one call, because many threads wait for Python's lock.

    ``values`` has room for all rows, or for one at a time. ``sums[i, o]`` becomes ``sum_j weights[o, j] values[i, j]``
    in float64, of values that need not stay.
    """
    keeps = len(values) == len(rows)
    n_block = len(scratch.products)
    for first in range(0, len(rows), n_block):
        last = first + n_block if first + n_block < len(rows) else len(rows)
        _meet_landmarks(pairing_of(kernel), rows, first, last, landmarks, scratch)
        for i in range(first, last):
            own = values[i if keeps else 0]
            values_in_row(kernel, scratch.products[i - first], norms, rows_dot(rows, i, rows, i), own)
            for o in range(len(weights)):
                sums[i, o] = float64_sum(weights, o, own, own.size)


def with_whitening(nystroem, parameters, threshold, rank):
    """A map without a whitening, which a device has left, with one; and the same model in terms of features."""
    whole = new_nystroem(nystroem.kernel, nystroem.landmarks, threshold, rank)
    # With K = F F', the whitening is F^-T, and a function with coefficients a of kernel values has weights F' a.
    if whole.eigenvalues is None:
        weights = solve_triangular(whole.whitening, parameters[:, :-1].T, check_finite=False).T
    else:
        matrix, _ = _kernel_matrix(nystroem.kernel, nystroem.landmarks, ONE_AFTER_ANOTHER)
        weights = parameters[:, :-1] @ matrix @ whole.whitening
    return whole, np.column_stack([weights, parameters[:, -1]])
