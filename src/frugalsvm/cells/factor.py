"""Cholesky factors and their inverses together, in place and nearly at the speed of matrix products.

Of a matrix ``[A11 .; A21 A22] = L L'``, with ``M = L^-1``:

    L21 = A21 M11',  A22 <- A22 - L21 L21',  M21 = -M22 L21 M11,

where M11 comes before and M22 after that, in the same way: halves of halves, down to blocks that LAPACK takes. It is as
much work as a factorization and an inversion one after the other, but nearly all of it is in products of large
triangles, for which BLAS is two to three times as fast. L itself is not kept: ``(L L')^-1 y = M'(M y)``.

Matrices are symmetric, so that a row of ours is a column of BLAS: its lower triangle is above our diagonal, and what is
below our diagonal stays as it was.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from frugalsvm._compile import call_library, compiled, library_routine

__all__ = ["Library", "invert_factor", "library_for", "multiply_columns", "new_integers", "solve_factored"]

_BLOCK = 128


class Library(NamedTuple):
    """Addresses of routines for a type, and what they are called with."""

    factor: int
    invert: int
    multiply: int
    add_square: int
    left: np.ndarray  # letters: sides, triangles, and whether to transpose
    right: np.ndarray
    lower: np.ndarray
    no: np.ndarray
    yes: np.ndarray
    one: np.ndarray
    minus_one: np.ndarray


@cache
def library_for(dtype: Any) -> Library:
    """The routines for float32 or float64."""
    kind = "s" if dtype == np.float32 else "d"
    names = (("lapack", "potrf"), ("lapack", "trtri"), ("blas", "trmm"), ("blas", "syrk"))
    letters = (np.frombuffer(letter, np.uint8).copy() for letter in (b"L", b"R", b"L", b"N", b"T"))
    ones = (np.full(1, value, dtype) for value in (1.0, -1.0))
    return Library(*(library_routine(library, kind + name) for library, name in names), *letters, *ones)


def new_integers() -> np.ndarray:
    """Memory for what routines are called with: numbers of rows and columns, the distance of columns, an error."""
    return np.zeros(4, np.int32)


@compiled
def invert_factor(library, matrix, n, integers):
    """Replace the upper triangle of a symmetric matrix (n * n,) by M; False if the type is too coarse for it."""
    n_blocks = (n + _BLOCK - 1) // _BLOCK
    for k in range(n_blocks):
        if k > 0:
            width = k & -k  # of the left one of two parts, of which the right one begins here
            _take_from_right(library, matrix, n, k - width, k, k + width, integers)
        if not _is_inverted(library, matrix, n, k, integers):
            return False
        width = 1
        while width < n_blocks and k + 1 == min((k // width + 1) * width, n_blocks):  # a part ends here
            own = k // width
            if own % 2 == 1:
                _join(library, matrix, n, (own - 1) * width, own * width, (own + 1) * width, integers)
            elif k + 1 != n_blocks:
                break
            width *= 2
    return True


@compiled
def _is_inverted(library, matrix, n, k, integers):
    """A block on the diagonal."""
    start = k * _BLOCK
    integers[0], integers[2], integers[3] = min(_BLOCK, n - start), n, 0
    block, rows, apart, info = matrix[start * (n + 1) :], integers[0:1], integers[2:3], integers[3:4]
    call_library(library.factor, (library.lower, rows, block, apart, info))
    if integers[3] != 0:
        return False
    call_library(library.invert, (library.lower, library.no, rows, block, apart, info))
    return integers[3] == 0


@compiled
def _take_from_right(library, matrix, n, first, middle, last, integers):
    """L21, in the place of A21, and A22 without its square, for parts between blocks."""
    low, mid, high = first * _BLOCK, middle * _BLOCK, min(last * _BLOCK, n)
    M11, L21, A22 = matrix[low * (n + 1) :], matrix[low * n + mid :], matrix[mid * (n + 1) :]
    _set_sizes(integers, high - mid, mid - low, n)
    _multiply(library, library.right, library.yes, library.one, M11, L21, integers)
    rows, columns, apart = integers[0:1], integers[1:2], integers[2:3]
    call_library(
        library.add_square,
        (library.lower, library.no, rows, columns, library.minus_one, L21, apart, library.one, A22, apart),
    )


@compiled
def _join(library, matrix, n, first, middle, last, integers):
    """M21, in the place of L21."""
    low, mid, high = first * _BLOCK, middle * _BLOCK, min(last * _BLOCK, n)
    M11, L21, M22 = matrix[low * (n + 1) :], matrix[low * n + mid :], matrix[mid * (n + 1) :]
    _set_sizes(integers, high - mid, mid - low, n)
    _multiply(library, library.right, library.no, library.one, M11, L21, integers)
    _multiply(library, library.left, library.no, library.minus_one, M22, L21, integers)


@compiled
def solve_factored(library, matrix, n, right, n_right, integers):
    """Replace right sides (n_right * n,), one after the other, by solutions ``M'(M y)``."""
    multiply_columns(library, library.no, matrix, n, right, n_right, integers)
    multiply_columns(library, library.yes, matrix, n, right, n_right, integers)


@compiled
def multiply_columns(library, transposed, triangle, n, columns, count, integers):
    """Replace columns (count * n,), one after the other, by their products with a triangle, or its transpose."""
    _set_sizes(integers, n, count, n)
    _multiply(library, library.left, transposed, library.one, triangle, columns, integers)


@compiled
def _set_sizes(integers, n_rows, n_columns, apart):
    """Of the matrix that is multiplied; columns of both matrices are so far apart."""
    integers[0], integers[1], integers[2] = n_rows, n_columns, apart


@compiled
def _multiply(library, side, transposed, factor, triangle, matrix, integers):
    """Multiply a matrix, in place, by a number and by a lower triangle or its transpose, on one side."""
    rows, columns, apart = integers[0:1], integers[1:2], integers[2:3]
    call_library(
        library.multiply,
        (side, library.lower, transposed, library.no, rows, columns, factor, triangle, apart, matrix, apart),
    )
