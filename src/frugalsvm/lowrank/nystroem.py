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
from frugalsvm.compiling.functions import entry, read_only
from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.blocks import is_of_products, sum_rows
from frugalsvm.core.fastmath import rows_dot
from frugalsvm.core.kernels import kernel_block, pairing_of, values_in_row
from frugalsvm.lowrank.landmark_blocks import meet_landmarks, new_scratch, steady_scratch
from frugalsvm.lowrank.own_kernel import OwnKernel
from frugalsvm.lowrank.passes import ONE_AFTER_ANOTHER
from frugalsvm.lowrank.symmetric import inverse_factor, is_positive_definite, products_of_rows
from frugalsvm.lowrank.whitening import is_narrow

_NOTHING, _TINY = 1e-16, 1e-300
_ROUNDING = 1e-7  # of the largest eigenvalue: smaller ones are rounding errors
_FEW = 256  # landmarks: of fewer, eigenvectors are found at once
_MANY = 512  # eigenvectors of fewer are found by one thread as fast as by several
_MOST = 2 / 3  # of the eigenvalues: products with that share of the columns take as long as with a triangle
_KERNEL_COST = 16  # a kernel value in float64 takes as long as reading this many numbers
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
    if rank is None and (triangular or len(matrix) > _FEW):
        least_share = 0.0 if len(matrix) > _MANY else _MOST if triangular else 1.0
        whitening = _whitened_by_cholesky(matrix, threshold, passes, least_share)
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
    products = products_of_rows(passes, exact) if is_of_products(kernel) else None

    def fill(rows):
        if products is None:
            sum_rows(kernel, exact[rows], exact, matrix[rows])
        else:
            kernel_block(kernel, products[rows], norms, norms[rows], matrix[rows])

    passes.each(fill, len(matrix), _KERNEL_COST * len(matrix))
    return matrix, norms


def _whitened_by_cholesky(matrix, threshold, passes, least_share):
    """The inverse of the transposed factor; None where eigenvalues are to be left out, or fewer than a share are large.

    The same models as with eigenvectors in a fraction of the time: features are rotated, no more.
    """
    largest = max(passes.run(lambda rows: np.abs(matrix[rows]).sum(axis=1).max(), *matrix.shape))  # or more than it
    least, ridge = max(threshold * float(largest), _TINY), 0.0
    if not is_positive_definite(passes, matrix, -least):  # an eigenvalue may be smaller
        if threshold > _ROUNDING or least_share == 1.0:
            return None
        ridge = least
    inverse = inverse_factor(passes, matrix, ridge)
    if inverse is None:
        return None
    # The trace of K (K + ridge I)^-1: eigenvalues count fully where they are far above the ridge.
    n_large = len(matrix) - ridge * sum(passes.run(lambda rows: np.square(inverse[rows]).sum(), *inverse.shape))
    is_too_narrow = is_narrow(len(matrix), n_large) or n_large < least_share * len(matrix)
    return None if is_too_narrow else inverse


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
    scratch = steady_scratch(nystroem) if steady else new_scratch(nystroem.landmarks, BLOCK_ROWS)
    kernel, landmarks, norms = map(read_only, nystroem[:3])
    for start in range(0, len(X), CONVERTED_ROWS):
        rows, target = _converted(X[start : start + CONVERTED_ROWS]), out[start : start + CONVERTED_ROWS]
        _write_values(kernel, landmarks, norms, rows, scratch, target)
    return out


def _own_rows(nystroem, X, out):
    for start in range(0, X.shape[0], CONVERTED_ROWS):
        rows = X[start : start + CONVERTED_ROWS]
        out[start : start + CONVERTED_ROWS] = nystroem.kernel.block(rows, nystroem.landmarks)
    return out


def _converted(rows):
    """Rows as compiled code takes them."""
    return read_only(np.ascontiguousarray(rows, np.float32))


def _sparse_rows(nystroem, X, out):
    for start in range(0, X.shape[0], BLOCK_ROWS):
        rows = X[start : start + BLOCK_ROWS].astype(np.float32, copy=False)
        products = rows @ nystroem.landmarks.T
        row_norms = np.asarray(rows.multiply(rows).sum(axis=1)).ravel().astype(np.float32, copy=False)
        kernel_block(nystroem.kernel, products, nystroem.norms, row_norms, out[start : start + BLOCK_ROWS])
    return out


@entry
def _write_values(kernel, landmarks, norms, rows, scratch, values):
    """Kernel values of rows: all in one call, because many threads wait for Python's lock."""
    n_block = len(scratch.products)
    for first in range(0, len(rows), n_block):
        last = first + n_block if first + n_block < len(rows) else len(rows)
        meet_landmarks(pairing_of(kernel), rows, first, last, landmarks, scratch)
        for i in range(first, last):
            values_in_row(kernel, scratch.products[i - first], norms, rows_dot(rows, i, rows, i), values[i])


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
