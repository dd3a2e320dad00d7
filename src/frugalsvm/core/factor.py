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

from frugalsvm.compiling.functions import call_library, compiled, entry, library_routine

_BLOCK = 128


class Library(NamedTuple):
    """Addresses of routines for a type, and what they are called with."""

    factor: int
    invert: int
    multiply: int
    add_square: int
    add_product: int
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
    names = (("lapack", "potrf"), ("lapack", "trtri"), ("blas", "trmm"), ("blas", "syrk"), ("blas", "gemm"))
    letters = (np.frombuffer(letter, np.uint8).copy() for letter in (b"L", b"R", b"L", b"N", b"T"))
    ones = (np.full(1, value, dtype) for value in (1.0, -1.0))
    return Library(*(library_routine(library, kind + name) for library, name in names), *letters, *ones)


def new_integers() -> np.ndarray:
    """Memory for what routines are called with: see `set_sizes` and `set_apart`; and an error."""
    return np.zeros(7, np.int32)


@compiled
def invert_factor(library, matrix, n, apart, integers):
    """Replace the upper triangle of a symmetric matrix by M; False if the type is too coarse for it.

    Its n rows are so far apart: it may be a block on the diagonal of a larger one.
    """
    n_blocks = (n + _BLOCK - 1) // _BLOCK
    for k in range(n_blocks):
        if k > 0:
            width = k & -k  # of the left one of two parts, of which the right one begins here
            _take_from_right(library, matrix, n, apart, k - width, k, k + width, integers)
        if not _is_inverted(library, matrix, n, apart, k, integers):
            return False
        width = 1
        while width < n_blocks and k + 1 == min((k // width + 1) * width, n_blocks):  # a part ends here
            own = k // width
            if own % 2 == 1:
                _join(library, matrix, n, apart, (own - 1) * width, own * width, (own + 1) * width, integers)
            elif k + 1 != n_blocks:
                break
            width *= 2
    return True


@compiled
def _is_inverted(library, matrix, n, apart, k, integers):
    """A block on the diagonal."""
    start = k * _BLOCK
    integers[0], integers[5], integers[6] = min(_BLOCK, n - start), apart, 0
    block, rows, distance, info = matrix[start * (apart + 1) :], integers[0:1], integers[5:6], integers[6:7]
    call_library(library.factor, (library.lower, rows, block, distance, info))
    if integers[6] != 0:
        return False
    call_library(library.invert, (library.lower, library.no, rows, block, distance, info))
    return integers[6] == 0


@compiled
def _take_from_right(library, matrix, n, apart, first, middle, last, integers):
    """L21, in the place of A21, and A22 without its square, for parts between blocks."""
    low, mid, high = first * _BLOCK, middle * _BLOCK, min(last * _BLOCK, n)
    M11, L21, A22 = matrix[low * (apart + 1) :], matrix[low * apart + mid :], matrix[mid * (apart + 1) :]
    set_sizes(integers, high - mid, mid - low, mid - low)
    set_apart(integers, apart, apart, apart)
    multiply(library, library.right, library.yes, library.one, M11, L21, integers)
    add_square(library, library.minus_one, L21, A22, integers)


@compiled
def _join(library, matrix, n, apart, first, middle, last, integers):
    """M21, in the place of L21."""
    low, mid, high = first * _BLOCK, middle * _BLOCK, min(last * _BLOCK, n)
    M11, L21, M22 = matrix[low * (apart + 1) :], matrix[low * apart + mid :], matrix[mid * (apart + 1) :]
    set_sizes(integers, high - mid, mid - low, mid - low)
    set_apart(integers, apart, apart, apart)
    multiply(library, library.right, library.no, library.one, M11, L21, integers)
    multiply(library, library.left, library.no, library.minus_one, M22, L21, integers)


@compiled
def multiply_columns(library, transposed, triangle, n, columns, count, integers):
    """Replace columns (count * n,), one after the other, by their products with a triangle, or its transpose."""
    set_sizes(integers, n, count, 0)
    set_apart(integers, n, n, n)
    multiply(library, library.left, transposed, library.one, triangle, columns, integers)


# Routines have columns after columns, and take addresses of all their numbers.


@compiled
def set_sizes(integers, n_rows, n_columns, depth):
    """Rows and columns of what is changed, and columns of what is multiplied for it."""
    integers[0], integers[1], integers[2] = n_rows, n_columns, depth


@compiled
def set_apart(integers, first, second, changed):
    """How far columns of two factors, and of what is changed, are apart."""
    integers[3], integers[4], integers[5] = first, second, changed


@compiled
def multiply(library, side, transposed, factor, triangle, matrix, integers):
    """Multiply a matrix, in place, by a number and by a lower triangle or its transpose, on one side."""
    rows, columns, own, apart = integers[0:1], integers[1:2], integers[3:4], integers[5:6]
    call_library(
        library.multiply,
        (side, library.lower, transposed, library.no, rows, columns, factor, triangle, own, matrix, apart),
    )


@compiled
def add_square(library, factor, A, out, integers):
    """Add ``factor A A'`` to a lower triangle."""
    rows, depth, own, apart = integers[0:1], integers[2:3], integers[3:4], integers[5:6]
    call_library(library.add_square, (library.lower, library.no, rows, depth, factor, A, own, library.one, out, apart))


@compiled
def add_product(library, transposed, factor, A, B, out, integers):
    """Add ``factor A B`` to a matrix; A and B may be transposed, which two letters tell."""
    rows, columns, depth = integers[0:1], integers[1:2], integers[2:3]
    first, second, apart = integers[3:4], integers[4:5], integers[5:6]
    call_library(
        library.add_product,
        (transposed[0], transposed[1], rows, columns, depth, factor, A, first, B, second, library.one, out, apart),
    )


# --- inverses of matrices that are not large: threads invert side by side, without Python's lock ---------------------

_LOWER = np.frombuffer(b"L", np.uint8).copy()


def inverse(matrix: np.ndarray) -> np.ndarray | None:
    """The inverse in the place of the matrix, which is C-contiguous; None if it is not positive definite."""
    sizes = np.array([len(matrix), 0], np.int32)
    return matrix if _invert(*_inverting(matrix.dtype), _LOWER, matrix, sizes) else None


@cache
def _inverting(dtype: Any) -> tuple[int, int]:
    kind = "s" if dtype == np.float32 else "d"
    return library_routine("lapack", f"{kind}potrf"), library_routine("lapack", f"{kind}potri")


@entry
def _invert(factor, invert, lower, matrix, sizes):
    """A row of ours is a column of LAPACK: its lower triangle is above our diagonal."""
    n, info = sizes[:1], sizes[1:]
    call_library(factor, (lower, n, matrix, n, info))
    if info[0] != 0:
        return False
    call_library(invert, (lower, n, matrix, n, info))
    for i in range(len(matrix)):
        for j in range(i):
            matrix[i, j] = matrix[j, i]
    return info[0] == 0
