"""Machines of cells in a number of bytes: which rows are kept as landmarks.

What it would cost to remove a row from the machine of its cell is ``sum_o a_oi e_oi``: coefficients times leave-one-out
errors (as for networks: Hassibi & Stork 1993). Rows are drawn with probabilities that grow with its square root,
without replacement, from all cells together: cells that are hard to learn keep more of their rows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cells.codes import COEF_BITS, WORD_BITS, CodedCells, column_grids, row_bits, words_for
from frugalsvm.cells.landmarks import landmark_bytes, solve_landmarks
from frugalsvm.cells.places import left_out_scores
from frugalsvm.cells.solver import Cells, Examples, solved_cells
from frugalsvm.cells.tree import Tree
from frugalsvm.compiling.threads import Threads
from frugalsvm.core.capabilities import offers

_LEAST_ROWS = 2  # of a cell, unless its machine is constant
_ALWAYS = 1.0  # a key above all that are drawn
_WORD_BYTES = WORD_BITS // 8
_SEED = 0  # of what is drawn
_NO_ROOT = 1e-100  # of what costs nothing


class BudgetTooSmall(ValueError):
    """Even the fewest rows need more bytes."""

    def __init__(self, least: int):
        super().__init__(f"at least {least} bytes are needed")
        self.least = least


class _Grids(NamedTuple):
    """How the columns of cells are coded."""

    widths: np.ndarray
    lows: np.ndarray
    steps: np.ndarray


def array_bytes(part: Any) -> int:
    """Bytes of the arrays in a NamedTuple, and in those within it."""
    if isinstance(part, np.ndarray):
        return part.nbytes
    return sum(map(array_bytes, part)) if isinstance(part, tuple) else 0


def exact_bytes(examples: Examples, trees: list[Tree]) -> int:
    """Bytes of the model of all rows."""
    (n_rows, n_features), n_outputs = examples.rows.shape, len(examples.targets)
    total = examples.rows.nbytes
    for tree in trees:
        coef = n_outputs * n_rows * examples.rows.itemsize
        total += array_bytes(tree) + coef + 8 * tree.n_cells * (n_outputs + n_features)
    return total


def trained_within(
    kernel: Any,
    examples: Examples,
    trees: list[Tree],
    size: int,
    ridge: float,
    budget: int,
    memory: int,
    threads: Threads,
    advance: Callable[[int], Any] = lambda n_cells: None,
) -> tuple[list[CodedCells], np.ndarray]:
    """The machines of all cells of all trees in a number of bytes, and leave-one-out scores (n_rows, n_outputs).

    A row is left out of its cell in every tree, also as a landmark; trees and other landmarks stay as they are.
    ``memory`` limits what threads need together; ``advance`` is called with the number of further cells that are done.
    """
    left_out, coded, rng = np.zeros(examples.targets.shape), [], np.random.default_rng(_SEED)
    for done, tree in enumerate(trees):
        share = (budget - sum(map(array_bytes, coded))) // (len(trees) - done)
        errors = np.zeros(examples.targets.shape)
        cells = solved_cells(kernel, examples, tree, size, ridge, errors, threads, memory=memory)
        try:
            coded.append(_coded(kernel, examples, cells, errors, ridge, share, memory, rng, threads))
        except BudgetTooSmall as error:
            raise BudgetTooSmall(error.least * len(trees)) from None
        left_out += errors
        advance(tree.n_cells)
    return coded, left_out_scores(examples.targets, left_out, len(trees), threads)


def _coded(kernel, examples, cells, errors, ridge, budget, memory, rng, threads) -> CodedCells:
    """The machines of a tree in a number of bytes; ``errors`` become theirs."""
    tree = cells.tree
    grids = _grids(examples, cells, threads)
    empty = _without_rows(kernel, tree, grids, cells.intercepts)
    kept = _kept_rows(cells, errors, grids, budget - array_bytes(empty), rng)
    if kept is None:
        raise BudgetTooSmall(array_bytes(empty) + _least_bytes(grids, cells))
    counts = np.add.reduceat(kept, tree.starts[:-1])
    coded = _with_room_for(empty, counts)
    has_rows = np.repeat(counts > 0, tree.sizes)
    errors[:, tree.members[has_rows]] = 0.0
    threads = _threads_within(memory, tree, counts, threads)
    solve_landmarks(kernel, examples, tree, np.flatnonzero(kept), coded, ridge, errors, threads)
    return coded


def _threads_within(memory: int, tree: Tree, counts: np.ndarray, threads: Threads) -> Threads:
    """Threads that each have room for a cell."""
    has_rows = counts > 0
    n_rows, n_landmarks = int((tree.sizes * has_rows).max()), int(counts.max())
    needed = max(1, landmark_bytes(n_rows, n_landmarks))
    if needed > memory:
        raise ValueError(
            f"A cell of {n_rows:,} rows, of which {n_landmarks:,} are kept, needs {needed / 2**20:,.0f} MB: raise "
            "memory, or lower cell_size or budget."
        )
    return Threads(max(1, min(threads.count, memory // needed)))


def _grids(examples: Examples, cells: Cells, threads: Threads) -> _Grids:
    """Grids of features; those of coefficients are not known yet, but for how many bits they have."""
    tree, n_outputs = cells.tree, len(examples.targets)
    found = threads.run(lambda cell: column_grids(examples.rows[tree.members_of(cell)]), range(tree.n_cells))
    widths, lows, steps = (np.stack(each) for each in zip(*found, strict=True))
    varies = _varies(examples.targets, tree)
    varies[tree.sizes > cells.size] = False  # rows that are all the same
    nothing = np.zeros((tree.n_cells, n_outputs))
    return _Grids(
        np.hstack([widths, np.where(varies, COEF_BITS, 0)]).astype(np.int8),
        np.hstack([lows, nothing]),
        np.hstack([steps, nothing]).astype(np.float32),
    )


def _varies(targets: np.ndarray, tree: Tree) -> np.ndarray:
    """Whether outputs differ within cells: (n_cells, n_outputs)."""
    ordered, starts = targets[:, tree.members], tree.starts[:-1]
    return (np.minimum.reduceat(ordered, starts, axis=1) < np.maximum.reduceat(ordered, starts, axis=1)).T


def _without_rows(kernel: Any, tree: Tree, grids: _Grids, intercepts: np.ndarray) -> CodedCells:
    bare = tree._replace(starts=np.zeros_like(tree.starts), members=np.empty(0, np.int64))
    firsts = np.zeros(tree.n_cells, np.int64)
    is_centered = int(offers(kernel, "shift_invariant"))
    return CodedCells(bare, 1, np.empty(0, np.uint64), firsts, *grids, intercepts.astype(np.float32), is_centered)


def _with_room_for(coded: CodedCells, counts: np.ndarray) -> CodedCells:
    """The same with words for a number of rows of each cell."""
    ends = np.cumsum(words_for(counts, row_bits(coded.widths)))
    return coded._replace(
        tree=coded.tree._replace(starts=np.concatenate([[0], np.cumsum(counts)])),
        size=max(1, int(counts.max())),
        words=np.zeros(ends[-1], np.uint64),
        firsts=np.concatenate([[0], ends[:-1]]),
    )


def _kept_rows(cells, errors, grids, budget, rng) -> np.ndarray | None:
    """Which members of the tree are kept: (n_rows,) bool, or None if there is no room for the fewest."""
    tree, bits = cells.tree, row_bits(grids.widths)
    own = np.repeat(np.arange(tree.n_cells), tree.sizes)
    keys = _drawn(np.einsum("oi,oi->i", cells.coef, errors[:, tree.members]), rng)
    first = np.arange(len(own)) - tree.starts[own] < _LEAST_ROWS
    keys[np.lexsort([-keys, own])[first]] = _ALWAYS
    order = np.argsort(-keys, kind="stable")
    order = order[~_are_constant(grids, cells)[own[order]]]
    n_kept = int(np.searchsorted(np.cumsum(bits[own[order]]), _row_words(budget, tree) * WORD_BITS, side="right"))
    if n_kept < np.count_nonzero(keys[order] == _ALWAYS):
        return None
    kept = np.zeros(len(own), bool)
    kept[order[:n_kept]] = True
    return kept


def _drawn(costs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers of which the largest are a sample with probabilities as the square roots (Efraimidis & Spirakis 2006)."""
    roots = np.sqrt(np.maximum(costs, 0.0, dtype=np.float64))
    return np.log1p(-rng.random(len(costs))) / np.maximum(roots, _NO_ROOT)


def _are_constant(grids: _Grids, cells: Cells) -> np.ndarray:
    """Which cells need no rows."""
    return ~grids.widths[:, -cells.intercepts.shape[1] :].any(axis=1)


def _row_words(budget: int, tree: Tree) -> int:
    """Words that can be filled with rows: the last one of each cell is not full."""
    return budget // _WORD_BYTES - tree.n_cells


def _least_bytes(grids: _Grids, cells: Cells) -> int:
    """Bytes of the fewest rows, see `_row_words`."""
    rows = np.where(_are_constant(grids, cells), 0, _LEAST_ROWS)
    return _WORD_BYTES * (cells.tree.n_cells + int(words_for(rows @ row_bits(grids.widths), 1)))
