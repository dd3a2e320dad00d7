"""Products of a tall matrix with itself, and its rows whitened and weighted, by the threads of a crew.

A tile is a product of two blocks of columns over some of the rows: there are more tiles than threads, and each is about
as large as BLAS is fast with. What tiles of other rows add is summed up afterwards, in float64.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.compiling.crew import code_of, share, task
from frugalsvm.compiling.functions import entry, smaller
from frugalsvm.core.factor import Library, add_product, add_square, multiply, set_apart, set_sizes

LINE = 16  # integers on a cache line: more than a call of BLAS takes
STRIP = 16  # rows that are mirrored at a time: as many numbers as one or two cache lines have
_ZERO = np.float32(0.0)


class Roots(NamedTuple):
    """Some rows, whitened, times the roots of their weights, with these as one more column."""

    library: Library
    rows: np.ndarray
    index: np.ndarray  # which rows
    weights: np.ndarray  # (n,) roots
    whitening: np.ndarray  # (width * d,) float32; without numbers where raw rows are features
    is_triangle: bool  # whether it has zeros below its diagonal
    raw: np.ndarray  # (n * width,) for rows that whitening changes into others; without numbers for a triangle
    out: np.ndarray  # (n, d + 1)
    edges: np.ndarray  # where rows are divided into parts
    integers: np.ndarray  # (n_parts, LINE)


@entry
def write_roots(crew, of):
    """Compute `Roots`."""
    share(crew, code_of(_roots_part, (of,)), of.edges.size - 1, (of,))


@task
def _roots_part(of, part):
    first, last, integers = of.edges[part], of.edges[part + 1], of.integers[part]
    width, d = of.rows.shape[1], of.out.shape[1] - 1
    start, flat = first * (d + 1), of.out.reshape(of.out.size)
    for i in range(first, last):
        row, out = of.rows[of.index[i]], of.out[i]
        if of.raw.size > 0:
            raw = of.raw[i * width : (i + 1) * width]
            for j in range(width):
                raw[j] = row[j]
            for j in range(d):
                out[j] = _ZERO
        else:
            for j in range(width):
                out[j] = row[j]
    library = of.library
    set_sizes(integers, d, last - first, width)
    set_apart(integers, d, width, d + 1)
    # What is a row of ours is a column of BLAS.
    if of.raw.size > 0:
        raw = of.raw[first * width :]
        add_product(library, (library.no, library.no), library.one, of.whitening, raw, flat[start:], integers)
    elif of.is_triangle:
        multiply(library, library.left, library.no, library.one, of.whitening, flat[start:], integers)
    for i in range(first, last):
        out, weight = of.out[i], of.weights[i]
        for j in range(d):
            out[j] *= weight
        out[d] = weight


class Gram(NamedTuple):
    """Inner products of columns, and memory for them."""

    library: Library
    rows: np.ndarray  # all numbers, one row after another
    size: int  # columns
    tiles: np.ndarray  # (n_tiles, 7) which sum; first and last row, and likewise columns of both blocks
    integers: np.ndarray  # (n_tiles, LINE)
    sums: np.ndarray  # (n_sums, size * size)
    out: np.ndarray  # (size, size) float64, of which only what is above the diagonal is written


@entry
def multiply_tiles(crew, of):
    """Compute `Gram`."""
    share(crew, code_of(_tile_part, (of,)), len(of.tiles), (of,))
    share(crew, code_of(_total_part, (of,)), -(-of.size // STRIP), (of,))


@task
def _tile_part(of, part):
    tile, integers, library = of.tiles[part], of.integers[part], of.library
    first, left, above = tile[1], tile[3], tile[5]  # the block to the left has earlier columns
    n_rows, n_left, n_above = tile[2] - first, tile[4] - left, tile[6] - above
    sums = of.sums[tile[0]]
    out = sums[left * of.size + above :]
    for i in range(n_left):
        for j in range(n_above):
            out[i * of.size + j] = 0.0
    set_sizes(integers, n_above, n_left, n_rows)
    set_apart(integers, of.size, of.size, of.size)
    A = of.rows[first * of.size + above :]
    if left == above:  # half of it is enough
        add_square(library, library.one, A, out, integers)
        return
    B = of.rows[first * of.size + left :]
    add_product(library, (library.no, library.yes), library.one, A, B, out, integers)


@task
def _total_part(of, part):
    """Some rows of the sum, from the diagonal on."""
    for i in range(part * STRIP, smaller((part + 1) * STRIP, of.size)):
        own = of.out[i]
        for j in range(i, of.size):
            total = 0.0
            for k in range(len(of.sums)):
                total += np.float64(of.sums[k, i * of.size + j])
            own[j] = total


@entry
def is_upper_triangle(matrix):
    """Whether there are only zeros below the diagonal."""
    for i in range(len(matrix)):
        n_zeros = smaller(i, matrix.shape[1])
        for j in range(n_zeros):
            if matrix[i, j] != _ZERO:
                return False
    return len(matrix) == matrix.shape[1]
