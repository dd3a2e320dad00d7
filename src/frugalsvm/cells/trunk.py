"""Trees of rows that are not all at hand: a trunk from a sample, and branches where the rows of a part are together.

The trunk is a tree of rows that were drawn. It divides all rows into parts, each of many cells, which need not have
the same size. When the rows of a part are together, the tree goes on: a branch divides them into cells of nearly equal
size, as if they were all there is. A part with the rows of 7.5 cells gets eight, which have 94 % of the rows that they
may have. Where all rows are drawn, the trunk is the tree.

With s drawn rows a part, the standard deviation of its number of rows is about 1 / sqrt(s) of their mean: 6 % for 256.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from frugalsvm.cells.tree import Tree, grown_tree
from frugalsvm.compiling.threads import ONE_THREAD, Threads

_ALL_ROWS, _LEAST_ROWS = 2**17, 2**15  # up to the first, all rows are drawn; of more, at least the second
_CELLS_A_PART, _DRAWN_A_PART, _LEAST_DRAWN = 8, 256, 32


class Sampling(NamedTuple):
    """How a trunk is made."""

    n_rows: int  # that are drawn
    size: int  # most of them in a part


def sampling_for(n_rows: int, cell_size: int, most_rows: int) -> Sampling:
    """How many rows are drawn, with room for ``most_rows`` of them, or of a part, at a time."""
    if n_rows <= min(_ALL_ROWS, most_rows):
        return Sampling(n_rows, cell_size)
    part = max(_CELLS_A_PART * cell_size - cell_size // 2, _DRAWN_A_PART * n_rows // most_rows)
    part = min(part, most_rows // 2)  # some parts are larger than others
    n_drawn = min(max(_LEAST_ROWS, _DRAWN_A_PART * n_rows // max(part, 1)), most_rows)
    if part < cell_size or n_drawn * part < _LEAST_DRAWN * n_rows:
        needed = max(2 * cell_size, int(np.sqrt(2 * _LEAST_DRAWN * n_rows)) + 1)
        raise ValueError(
            f"{n_rows:,} rows in cells of {cell_size:,} need memory for {needed:,} rows at a time, and there is some "
            f"for {most_rows:,}: raise memory{', or lower cell_size' if part < cell_size else ''}."
        )
    return Sampling(n_drawn, -(-n_drawn * part // n_rows))


def drawn_rows(n_rows: int, n_drawn: int, rng: np.random.Generator) -> np.ndarray:
    """A number of the rows, in their order: one at random of every stretch."""
    ends = np.arange(n_drawn + 1) * n_rows // n_drawn
    return ends[:-1] + (rng.random(n_drawn) * np.diff(ends)).astype(np.int64)


def with_members(trunk: Tree, parts: np.ndarray) -> Tree:
    """The tree for other rows, of which each falls into a part; rows of a part stay in their order."""
    ends = np.cumsum(np.bincount(parts, minlength=trunk.n_cells))
    return trunk._replace(starts=np.concatenate([[0], ends]), members=np.argsort(parts, kind="stable"))


def branch_of(rows: np.ndarray, size: int, seed: Sequence[int], threads: Threads = ONE_THREAD) -> Tree:
    """The tree of the rows of a part."""
    return grown_tree(np.ascontiguousarray(rows), size, np.random.default_rng(seed), threads)


def grafted(trunk: Tree, branches: Sequence[Tree]) -> Tree:
    """One tree from a trunk and a branch for each of its parts, whose members are numbered as those of the part are."""
    first_node = len(trunk.cuts) + _before([len(branch.cuts) for branch in branches])
    first_cell = _before([branch.n_cells for branch in branches])
    roots = np.array(
        [node if len(b.cuts) else ~cell for b, node, cell in zip(branches, first_node, first_cell, strict=True)]
    )
    children = [np.where(trunk.children >= 0, trunk.children, roots[~trunk.children])]
    for branch, node, cell in zip(branches, first_node, first_cell, strict=True):
        children.append(np.where(branch.children >= 0, branch.children + node, branch.children - cell))
    starts = [branch.starts[:-1] + start for branch, start in zip(branches, trunk.starts[:-1], strict=True)]
    members = [trunk.members_of(part)[branch.members] for part, branch in enumerate(branches)]
    return Tree(
        np.concatenate([trunk.directions, *(branch.directions for branch in branches)]),
        np.concatenate([trunk.cuts, *(branch.cuts for branch in branches)]),
        np.concatenate(children),
        np.concatenate([*starts, trunk.starts[-1:]]),
        np.concatenate(members),
    )


def grown_on(trunk: Tree, rows: np.ndarray, size: int, seed: Sequence[int], threads: Threads) -> Tree:
    """The tree whose branches divide the rows of each part of a trunk."""
    parts = range(trunk.n_cells)
    return grafted(trunk, [branch_of(rows[trunk.members_of(part)], size, [*seed, part], threads) for part in parts])


def _before(counts: Sequence[int]) -> np.ndarray:
    """The sum of all counts before each."""
    return np.cumsum(counts) - counts
