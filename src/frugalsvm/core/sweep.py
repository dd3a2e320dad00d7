"""Inverses of Cholesky factors of large matrices, in place, in parts that one thread or many take.

The matrix ``A = L L'`` is swept block after block (Bientinesi, Gunter & van de Geijn 2008), ``M = L^-1``. At block k,
with what is left of A below it and to the right,

    L_kk, M_kk of A_kk,   M_kj = M_kk A_kj (j < k),   P_i = L_ik = A_ik M_kk',  A_ik <- -P_i M_kk (i > k),
    A_ij <- A_ij - P_i M_kj (j < k < i),   A_ij <- A_ij - P_i P_j' (k < j <= i).

These are two *stages* for each block: its sides, one part for each other block, and then the tiles below it, each a
product of its own. What a part computes does not depend on the thread that takes it, nor on how many there are. Blocks
on the diagonal are those of `factor.py`. A block has ``width`` rows, the last one what is left.
"""

import numpy as np

from frugalsvm.compiling.functions import compiled
from frugalsvm.core.factor import add_product, add_square, invert_factor, multiply, set_apart, set_sizes


@compiled
def n_blocks_of(n, width):
    """The number of blocks, the last of which may be smaller."""
    return (n + width - 1) // width


@compiled
def _size_of(n, width, block):
    return min(width, n - block * width)


@compiled
def _place_of(n, width, i, j):
    """Where block (i, j) of the lower triangle as BLAS sees it, which is above our diagonal, begins."""
    return (j * n + i) * width


@compiled
def n_stage_parts(n, width, stage):
    """The number of parts of a stage: those of block k are ``2 k`` and ``2 k + 1``."""
    n_blocks, k = n_blocks_of(n, width), stage // 2
    rest = n_blocks - k - 1
    return n_blocks - 1 if stage % 2 == 0 else rest * k + rest * (rest + 1) // 2


@compiled
def is_first_block_inverted(library, matrix, n, width, integers):
    """What comes before all stages; False if the type is too coarse for it."""
    return invert_factor(library, matrix, _size_of(n, width, 0), n, integers)


@compiled
def is_stage_part_done(library, matrix, n, width, panel, stage, part, integers):
    """A part of a stage; False if the type is too coarse for it. The panel (n * width,) has all P_i."""
    k = stage // 2
    if stage % 2 == 1:
        return _is_tile_done(library, matrix, n, width, panel, k, part, integers)
    if part < k:
        _take_left(library, matrix, n, width, k, part, integers)
    else:
        _take_below(library, matrix, n, width, panel, k, part + 1, integers)
    return True


@compiled
def _take_left(library, matrix, n, width, k, j, integers):
    """M_kj."""
    set_sizes(integers, _size_of(n, width, k), width, 0)
    set_apart(integers, n, n, n)
    own, block = matrix[_place_of(n, width, k, k) :], matrix[_place_of(n, width, k, j) :]
    multiply(library, library.left, library.no, library.one, own, block, integers)


@compiled
def _take_below(library, matrix, n, width, panel, k, i, integers):
    """P_i, and what begins as ``-P_i M_kk`` in its place."""
    set_sizes(integers, _size_of(n, width, i), width, 0)
    set_apart(integers, n, n, n)
    own, block = matrix[_place_of(n, width, k, k) :], matrix[_place_of(n, width, i, k) :]
    multiply(library, library.right, library.yes, library.one, own, block, integers)
    kept = panel[_kept_at(width, i) :]
    for c in range(width):
        for r in range(_size_of(n, width, i)):
            kept[c * width + r] = block[c * n + r]
    multiply(library, library.right, library.no, library.minus_one, own, block, integers)


@compiled
def _kept_at(width, i):
    """Where P_i, whose columns are ``width`` apart, begins in the panel."""
    return i * width * width


@compiled
def _is_tile_done(library, matrix, n, width, panel, k, part, integers):
    """A tile; that on the diagonal after k, which all wait for next, comes first and is inverted at once."""
    rest = n_blocks_of(n, width) - k - 1
    n_right = rest * (rest + 1) // 2
    if part >= n_right:
        _take_product(
            library, matrix, n, width, panel, k, k + 1 + (part - n_right) // k, (part - n_right) % k, integers
        )
        return True
    row = np.int64((np.sqrt(8.0 * part + 1.0) - 1.0) / 2.0)
    i, j = k + 1 + row, k + 1 + part - row * (row + 1) // 2
    _take_square(library, matrix, n, width, panel, i, j, integers)
    if part > 0:
        return True
    return invert_factor(library, matrix[_place_of(n, width, i, i) :], _size_of(n, width, i), n, integers)


@compiled
def _take_product(library, matrix, n, width, panel, k, i, j, integers):
    """``P_i M_kj``, from a tile."""
    set_sizes(integers, _size_of(n, width, i), width, width)
    set_apart(integers, width, n, n)
    other, tile = matrix[_place_of(n, width, k, j) :], matrix[_place_of(n, width, i, j) :]
    add_product(
        library, (library.no, library.no), library.minus_one, panel[_kept_at(width, i) :], other, tile, integers
    )


@compiled
def _take_square(library, matrix, n, width, panel, i, j, integers):
    """``P_i P_j'``, from a tile."""
    set_sizes(integers, _size_of(n, width, i), _size_of(n, width, j), width)
    set_apart(integers, width, width, n)
    own, tile = panel[_kept_at(width, i) :], matrix[_place_of(n, width, i, j) :]
    if i == j:
        add_square(library, library.minus_one, own, tile, integers)
    else:
        add_product(
            library, (library.no, library.yes), library.minus_one, own, panel[_kept_at(width, j) :], tile, integers
        )


# Columns (count * n,), one after the other, times the triangle that is left after the sweep, block by block.


@compiled
def multiply_block(library, matrix, n, width, columns, count, block, out, integers):
    """Rows of a block of ``M y``."""
    first = block * width
    _take_own(library, library.no, matrix, n, width, columns, count, block, out, integers)
    if block > 0:
        set_sizes(integers, _size_of(n, width, block), count, first)
        left = matrix[_place_of(n, width, block, 0) :]
        add_product(library, (library.no, library.no), library.one, left, columns, out[first:], integers)


@compiled
def multiply_block_transposed(library, matrix, n, width, columns, count, block, out, integers):
    """Rows of a block of ``M'y``."""
    first, after = block * width, (block + 1) * width
    _take_own(library, library.yes, matrix, n, width, columns, count, block, out, integers)
    if after < n:
        set_sizes(integers, width, count, n - after)
        below, others = matrix[_place_of(n, width, block + 1, block) :], columns[after:]
        add_product(library, (library.yes, library.no), library.one, below, others, out[first:], integers)


@compiled
def _take_own(library, transposed, matrix, n, width, columns, count, block, out, integers):
    """What the block on the diagonal makes of its rows."""
    first, size = block * width, _size_of(n, width, block)
    for c in range(count):
        for i in range(first, first + size):
            out[c * n + i] = columns[c * n + i]
    set_sizes(integers, size, count, 0)
    set_apart(integers, n, n, n)
    own = matrix[_place_of(n, width, block, block) :]
    multiply(library, library.left, transposed, library.one, own, out[first:], integers)
