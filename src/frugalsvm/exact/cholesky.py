"""The triangular factor of the margin set's kernel matrix, updated as members come and go.

With S the margin set, ``K_SS + 1`` (one added to every entry) is ``R^T R`` with R upper triangular. A constant added to
the kernel changes nothing but the bias, because the coefficients sum to zero; but it turns the bordered system of the
bias and the coefficients, which is indefinite, into two triangular ones, and a pivot of R vanishes exactly where the
bordered matrix is singular. ``ones`` is ``R^-T 1``, which the bias needs.

R is stored by rows, in the upper triangle, so that both solves and the rotations run along rows.
"""

import numpy as np

from frugalsvm.compiling.functions import compiled, larger, separate


@compiled
def dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@compiled
def _subtract(out, factor, row):
    """``out -= factor row``"""
    for i in range(out.size):
        out[i] -= factor * row[i]


@separate
def solve_lower(R, n, out):
    """``out = R^-T out``"""
    for j in range(n):
        out[j] /= R[j, j]
        _subtract(out[j + 1 : n], out[j], R[j, j + 1 : n])


@separate
def solve_upper(R, n, out):
    """``out = R^-1 out``"""
    for j in range(n - 1, -1, -1):
        out[j] = (out[j] - dot(R[j, j + 1 : n], out[j + 1 : n])) / R[j, j]


@compiled
def append(R, ones, n, column, pivot):
    """A member more: ``column`` is ``R^-T (k + 1)``, ``pivot`` what is left of its ``K + 1`` after that."""
    total = 0.0
    for j in range(n):
        R[j, n] = column[j]
        total += column[j] * ones[j]
    R[n, n] = np.sqrt(pivot)
    ones[n] = (1.0 - total) / R[n, n]


@compiled
def _rotate(a, b, cosine, sine):
    """Rows a and b turned by an angle."""
    for i in range(a.size):
        x, y = a[i], b[i]
        a[i] = cosine * x + sine * y
        b[i] = cosine * y - sine * x


@compiled
def _shift_left(row):
    for i in range(row.size - 1):
        row[i] = row[i + 1]


@separate
def remove(R, ones, n, index):
    """A member less: its column goes, and rotations bring the rest back to triangular form."""
    for j in range(n):
        _shift_left(R[j, larger(index, j - 1) : n])
    # Row j > index lost its diagonal entry to the column before it: what is now at (j, j - 1) is rotated away.
    for j in range(index, n - 1):
        x, y = R[j, j], R[j + 1, j]
        length = np.sqrt(x * x + y * y)
        cosine, sine = x / length, y / length
        R[j, j] = length
        _rotate(R[j, j + 1 : n - 1], R[j + 1, j + 1 : n - 1], cosine, sine)
        x, y = ones[j], ones[j + 1]
        ones[j] = cosine * x + sine * y
        ones[j + 1] = cosine * y - sine * x
