"""The Nystroem map: kernel values with s landmarks, whitened by the eigenvectors of their kernel matrix.

With ``K_SS = Q D Q'`` the features of x are ``K(x, S) Q D^-1/2`` (16), and a linear function of them with weights w
is the kernel expansion ``K(x, S) a``, ``a = Q D^-1/2 w``: prediction needs kernel values with the landmarks only. For
many landmarks without small eigenvalues, Cholesky's factor takes the place of ``Q D^1/2``.

The eigenvalues kept are those above ``1e-7`` of the largest. Kernel values are float32: far below that is noise, and
the threshold 1e-16 of the paper fits directions that are rounding errors (20 % test error on Adult).
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import entry
from frugalsvm._stored import are_squared_norms, stored
from frugalsvm._threads import blas_threads
from frugalsvm.arrays.namespace import HOST
from frugalsvm.core.blocks import distance_rows, is_of_products
from frugalsvm.core.fastmath import rows_dot
from frugalsvm.core.kernels import kernel_block
from frugalsvm.lowrank.passes import ONE_AFTER_ANOTHER
from frugalsvm.lowrank.products import steady_product
from frugalsvm.lowrank.symmetric import cholesky, inverse_of_lower, with_diagonal
from frugalsvm.lowrank.whitening import share_of_largest

__all__ = ["Nystroem", "bare_nystroem", "kernel_rows", "moved_landmarks", "new_nystroem", "with_whitening"]

_NOTHING = 1e-16
_MANY = 512  # landmarks: eigenvectors of fewer are found at once, and by one thread as fast as by several
BLOCK_ROWS = 256  # a block of kernel values stays in the cache between the product and the exponential


@stored(
    "nystroem", kind="feature-map", arrays={"landmarks": "e nf", "norms": "e n", "whitening": "d nd",
    "eigenvalues": "d d"}, optional=("whitening", "eigenvalues"),
)  # fmt: skip
class Nystroem(NamedTuple):
    kernel: NamedTuple
    landmarks: np.ndarray  # (s, n_features) float32
    norms: np.ndarray  # (s,) their squared norms
    whitening: np.ndarray | None  # (s, d) float64: Q D^-1/2; None where coefficients are those of kernel values
    eigenvalues: np.ndarray | None  # (d,) those that were kept; None where none had to be found

    def is_sound(self, sizes) -> bool:
        """Whether the norms are those of the landmarks."""
        whitened = self.whitening is not None or self.eigenvalues is None
        return whitened and are_squared_norms(self.norms, self.landmarks)


def new_nystroem(kernel, landmarks, threshold=1e-7, rank=None, passes=ONE_AFTER_ANOTHER):
    """The map for landmarks (dense rows); keeps eigenvalues above ``threshold`` of the largest, ``rank`` at most."""
    matrix, norms = _kernel_matrix(kernel, landmarks, passes)
    whitening = eigenvalues = None
    if rank is None and len(matrix) > _MANY:
        whitening = _whitened_by_cholesky(matrix, threshold, passes)
    if whitening is None:
        with blas_threads(passes.threads.count if len(matrix) > _MANY else None):
            whitening, eigenvalues = _whitened_by_eigenvectors(matrix, threshold, rank)
    landmarks = np.ascontiguousarray(landmarks, np.float32)
    return Nystroem(kernel, landmarks, norms.astype(np.float32), _without_rounding_errors(whitening), eigenvalues)


def _kernel_matrix(kernel, landmarks, passes):
    """Kernel values between landmarks, and the squared norms of these, in float64."""
    exact = np.ascontiguousarray(landmarks, np.float64)
    norms, matrix = np.square(exact).sum(axis=1), np.empty((len(exact), len(exact)))
    products = exact @ exact.T if is_of_products(kernel) else None

    def fill(rows):
        if products is None:
            distance_rows(kernel, exact[rows], exact, matrix[rows])
        else:
            kernel_block(kernel, products[rows], norms, norms[rows], matrix[rows])

    passes.each(fill, *matrix.shape)
    return matrix, norms


def _whitened_by_cholesky(matrix, threshold, passes):
    """The inverse of the transposed factor; None where an eigenvalue may be below a share of the largest.

    The same models as with eigenvectors in a fraction of the time: features are rotated, no more.
    """
    if cholesky(passes, with_diagonal(matrix, -share_of_largest(HOST, matrix, threshold))) is None:
        return None
    return np.ascontiguousarray(inverse_of_lower(passes, cholesky(passes, matrix)).T)


def _whitened_by_eigenvectors(matrix, threshold, rank):
    eigenvalues, vectors = np.linalg.eigh(matrix)
    keep = eigenvalues > threshold * max(eigenvalues[-1], 0.0)
    if rank is not None:
        keep[:-rank] = False
    if not keep.any():
        raise ValueError("All kernel values between landmarks are zero: there is nothing to learn from.")
    eigenvalues, vectors = eigenvalues[keep], vectors[:, keep]
    return np.ascontiguousarray(vectors / np.sqrt(eigenvalues)), eigenvalues


def _without_rounding_errors(whitening):
    """Zeros for what is nothing beside the other numbers; in products it would become subnormal numbers."""
    whitening[np.abs(whitening) < _NOTHING * np.abs(whitening).max()] = 0.0
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


@entry
def _squared_norms(rows, out):
    for i in range(len(out)):
        out[i] = rows_dot(rows, i, rows, i)


def kernel_rows(nystroem, X, out, *, steady=False):
    """``out[i, j] = K(X[i], landmark j)`` in float32, by blocks that stay in the cache.

    ``steady``: in which a row does not depend on its neighbors, see `frugalsvm.lowrank.products`.
    """
    if not is_of_products(nystroem.kernel):
        return distance_rows(nystroem.kernel, X, nystroem.landmarks, out)
    product = steady_product if steady else np.matmul
    kernel, landmarks, norms = nystroem.kernel, nystroem.landmarks, nystroem.norms
    is_dense = isinstance(X, np.ndarray)
    scratch = np.empty((min(BLOCK_ROWS, X.shape[0]), len(landmarks)), np.float32) if is_dense else None
    all_norms = np.empty(len(scratch), np.float32) if is_dense else None
    for start in range(0, X.shape[0], BLOCK_ROWS):
        rows = X[start : start + BLOCK_ROWS].astype(np.float32, copy=False)
        block = out[start : start + BLOCK_ROWS]
        if is_dense:
            rows = np.ascontiguousarray(rows).view()
            rows.flags.writeable = False  # one compiled type for arrays that are and that are not
            products = product(rows, landmarks.T, out=scratch[: len(rows)])
            row_norms = all_norms[: len(rows)]
            _squared_norms(rows, row_norms)  # not by NumPy, whose order of summation depends on the batch
        else:
            products = rows @ landmarks.T
            row_norms = np.asarray(rows.multiply(rows).sum(axis=1)).ravel().astype(np.float32, copy=False)
        kernel_block(kernel, products, norms, row_norms, block)
    return out


def with_whitening(nystroem, parameters, threshold, rank):
    """A map without a whitening, which a device has left, with one; and the same model in terms of features."""
    whole = new_nystroem(nystroem.kernel, nystroem.landmarks, threshold, rank)
    matrix, _ = _kernel_matrix(nystroem.kernel, nystroem.landmarks, ONE_AFTER_ANOTHER)
    # With K = F F', the whitening is F^-T, and a function with coefficients a of kernel values has weights F' a.
    weights = parameters[:, :-1] @ matrix @ whole.whitening
    return whole, np.column_stack([weights, parameters[:, -1]])
