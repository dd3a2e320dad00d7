"""The Nystroem map: kernel values with s landmarks, whitened by the eigenvectors of their kernel matrix.

With ``K_SS = Q D Q'`` the features of x are ``K(x, S) Q D^-1/2`` (16), and a linear function of them with weights w
is the kernel expansion ``K(x, S) a``, ``a = Q D^-1/2 w``: prediction needs kernel values with the landmarks only.

The eigenvalues kept are those above ``1e-7`` of the largest. Kernel values are float32: far below that is noise, and
the threshold 1e-16 of the paper fits directions that are rounding errors (20 % test error on Adult).
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import entry
from frugalsvm.core.kernels import kernel_row

__all__ = ["Nystroem", "kernel_rows", "new_nystroem"]

BLOCK_ROWS = 256  # a block of kernel values stays in the cache between the product and the exponential


class Nystroem(NamedTuple):
    kernel: NamedTuple
    landmarks: np.ndarray  # (s, n_features) float32
    norms: np.ndarray  # (s,) their squared norms
    whitening: np.ndarray | None  # (s, d) float64: Q D^-1/2; None where coefficients are those of kernel values
    eigenvalues: np.ndarray | None  # (d,) those that were kept


def new_nystroem(kernel, landmarks, threshold=1e-7, rank=None):
    """The map for landmarks (dense rows); keeps eigenvalues above ``threshold`` of the largest, ``rank`` at most."""
    exact = np.ascontiguousarray(landmarks, np.float64)
    norms = np.square(exact).sum(axis=1)
    matrix = _kernel_values(kernel, exact, exact, norms, np.empty((len(exact), len(exact))))
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    keep = eigenvalues > threshold * max(eigenvalues[-1], 0.0)
    if rank is not None:
        keep[:-rank] = False
    if not keep.any():
        raise ValueError("All kernel values between landmarks are zero: there is nothing to learn from.")
    eigenvalues, vectors = eigenvalues[keep], vectors[:, keep]
    landmarks = np.ascontiguousarray(landmarks, np.float32)
    return Nystroem(
        kernel,
        landmarks,
        norms.astype(np.float32),
        np.ascontiguousarray(vectors / np.sqrt(eigenvalues)),
        eigenvalues,
    )


@entry
def _values_from_products(kernel, products, norms, row_norms, out):
    # Not in place: a loop that may overwrite what it reads next is not vectorised.
    for i in range(len(out)):
        kernel_row(kernel, products[i], norms, row_norms[i], out[i], norms.size)


def _kernel_values(kernel, X, landmarks, norms, out, products=None):
    """Kernel values of rows, dense or CSR, with landmarks: one matrix product, then one pass."""
    if isinstance(X, np.ndarray):
        row_norms = np.einsum("ij,ij->i", X, X)
        products = np.matmul(X, landmarks.T, out=products)
    else:
        row_norms = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        products = X @ landmarks.T
    _values_from_products(kernel, products, norms, row_norms.astype(out.dtype, copy=False), out)
    return out


def kernel_rows(nystroem, X, out):
    """``out[i, j] = K(X[i], landmark j)`` in float32, by blocks that stay in the cache."""
    scratch = np.empty((BLOCK_ROWS, len(nystroem.landmarks)), np.float32) if isinstance(X, np.ndarray) else None
    for start in range(0, X.shape[0], BLOCK_ROWS):
        rows = X[start : start + BLOCK_ROWS].astype(np.float32, copy=False)
        products = None if scratch is None else scratch[: rows.shape[0]]
        block = out[start : start + BLOCK_ROWS]
        _kernel_values(nystroem.kernel, rows, nystroem.landmarks, nystroem.norms, block, products)
    return out
