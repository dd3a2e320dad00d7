"""A tree with its machines after rows have come and gone: only the cells that have changed are solved again.

While a change is made, rows that come are numbered after those that there were, and rows that go keep their numbers:
nothing is overwritten, so that the model stays as it was if anything fails. `without_gaps` ends it: the last rows move
to where rows have gone.

Members of a cell are in the order of their ids. So the system of a cell, and its solution, are those of a training on
the rows that are left, to the last bit.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cells.changes.structure import NO_LEVEL, Parents, outermost, parts_to_merge, regrown
from frugalsvm.cells.solver import Cells, Examples, solved_cells
from frugalsvm.cells.tree import Tree, cells_of
from frugalsvm.compiling.threads import ONE_THREAD, Threads

_TOGETHER = 2**17  # rows that are gathered at a time
_FEW = 16  # rows that are looked for in their cells, not among all members
_JOINED = 2  # parts of a tree with at most this part of the most rows of a cell become one cell


class Staged(NamedTuple):
    """All rows, those that go and those that come included."""

    rows: np.ndarray  # (n, n_features) as the kernel sees them
    ids: np.ndarray  # (n,) of a row that is updated there are two
    targets: Callable[[np.ndarray], np.ndarray]  # (n_outputs, m) of m rows
    weights: np.ndarray | None  # (n,), or None where all are 1
    gone: np.ndarray  # numbers
    new: np.ndarray

    def examples(self, members: np.ndarray) -> Examples:
        """Some of the rows, with their targets and weights."""
        weights = np.empty(0) if self.weights is None else self.weights[members]
        return Examples(self.rows[members], np.ascontiguousarray(self.targets(members)), weights)


class Settings(NamedTuple):
    """What stays the same."""

    kernel: Any
    ridge: float
    threads: Threads = ONE_THREAD
    memory: float = inf
    seed: Sequence[int] = (0,)  # of parts that are grown again


class Mended(NamedTuple):
    """A tree after a change of rows."""

    cells: Cells  # members have the numbers of the staged rows
    solved: np.ndarray  # numbers of the rows of cells that were solved again
    errors: np.ndarray  # (n_outputs, n_solved) their leave-one-out errors
    before: np.ndarray  # (n_outputs, n_solved) the same before the change; 0 of new rows, or where it is not needed
    numbers: np.ndarray  # of the cells that were solved
    n_grown: int  # parts of the tree that were grown again


def mended(
    staged: Staged,
    cells: Cells,
    settings: Settings,
    *,
    levels: np.ndarray | None = None,
    tree: Tree | None = None,
    may_grow: bool = True,
    with_errors_before: bool = False,
) -> Mended:
    """The cells without the rows that go, and with those that come.

    Parameters
    ----------
    staged : Staged
    cells : Cells
    settings : Settings
    levels : ndarray of shape (n,), default=None
        Where rows have made the tree (`structure.levels_of`): parts that were made of rows that go are grown again, and
        the array is brought up to date. None keeps all cuts.
    tree : Tree, default=None
        The tree that there is to be, where that is known already.
    may_grow : bool, default=True
        Whether parts of the tree may be grown again, also because they are too large or too small.
    with_errors_before : bool, default=False
        Whether to compute leave-one-out errors before the change as well.

    Returns
    -------
    Mended
    """
    n_grown = 0
    if tree is not None:
        before = _same_cells(cells.tree, tree, len(staged.rows))
    else:
        changed = _changed_members(staged, cells.tree)
        parts = _parts_to_grow(staged, cells, changed, levels) if may_grow else []
        tree, before = _with_members(cells.tree, changed), np.arange(cells.tree.n_cells)
        before[list(changed)] = -1
        if parts:
            rows, ids, n_grown, kept = staged.rows, staged.ids, len(parts), before
            tree, before = regrown(tree, parts, rows, ids, cells.size, settings.seed, levels, settings.threads)
            before = np.where(before >= 0, kept[before], -1)
    again = np.flatnonzero(before < 0)
    solved = np.concatenate([tree.members_of(cell) for cell in again] or [np.empty(0, np.int64)])
    found, errors = _solved_again(staged, cells, tree, again, settings)
    errors_before = np.zeros_like(errors)
    if with_errors_before:
        old = np.setdiff1d(np.arange(cells.tree.n_cells), before)
        members = np.concatenate([cells.tree.members_of(cell) for cell in old] or [np.empty(0, np.int64)])
        every = np.zeros((len(errors), len(staged.rows)))
        every[:, members] = _solved_again(staged, cells, cells.tree, old, settings)[1]
        errors_before = every[:, solved]
    return Mended(_joined(cells, tree, before, found), solved, errors, errors_before, again, n_grown)


# --- members ------------------------------------------------------------------------------------------------


def _changed_members(staged: Staged, tree: Tree) -> dict[int, np.ndarray]:
    """The members of the cells that rows leave or join."""
    changed: dict[int, np.ndarray] = {}
    for cell, is_gone in _cells_left(staged, tree):
        changed[cell] = tree.members_of(cell)[~is_gone]
    joined = cells_of(tree, staged.rows[staged.new])
    for cell in np.unique(joined).tolist():
        members = np.concatenate([changed.get(cell, tree.members_of(cell)), staged.new[joined == cell]])
        changed[cell] = members[np.argsort(staged.ids[members], kind="stable")]
    return changed


def _cells_left(staged: Staged, tree: Tree) -> list[tuple[int, np.ndarray]]:
    """The cells that rows leave, each with whether a member is one of these rows."""
    gone = staged.gone
    found = cells_of(tree, staged.rows[gone])
    parts = [
        (cell, np.isin(tree.members_of(cell), gone[found == cell], assume_unique=True))
        for cell in np.unique(found).tolist()
    ]
    if sum(np.count_nonzero(is_gone) for _, is_gone in parts) == len(gone):
        return parts
    # A device rounds projections in another way: rows next to a cut may be on its other side.
    is_gone = np.isin(tree.members, gone)
    cells = np.unique(np.searchsorted(tree.starts, np.flatnonzero(is_gone), side="right") - 1)
    return [(cell, is_gone[slice(*tree.starts[cell : cell + 2])]) for cell in cells.tolist()]


def _with_members(tree: Tree, changed: dict[int, np.ndarray]) -> Tree:
    """The tree with other members of some cells, maybe none."""
    sizes, parts, done = tree.sizes, [], 0
    for cell in sorted(changed):
        parts += [tree.members[done : tree.starts[cell]], changed[cell]]
        done = tree.starts[cell + 1]
        sizes[cell] = len(changed[cell])
    members = np.concatenate([*parts, tree.members[done:]])
    return tree._replace(starts=np.concatenate([[0], np.cumsum(sizes)]), members=members)


def _same_cells(old: Tree, new: Tree, n_rows: int) -> np.ndarray:
    """For each cell of a new tree the one with the same members in the old tree, or -1."""
    cell_of = np.full(n_rows, -1)
    cell_of[old.members] = np.repeat(np.arange(old.n_cells), old.sizes)
    first = cell_of[new.members[new.starts[:-1]]]
    is_same = np.logical_and.reduceat(cell_of[new.members] == np.repeat(first, new.sizes), new.starts[:-1])
    is_same &= (first >= 0) & (new.sizes == old.sizes[first])
    return np.where(is_same, first, -1)


def _parts_to_grow(staged: Staged, cells: Cells, changed: dict[int, np.ndarray], levels: Any) -> list[int]:
    """Parts that were made of rows that go, cells that are too large, and parts that are too small."""
    tree, parents = cells.tree, Parents(cells.tree)
    sizes, parts, smaller = tree.sizes, set(), []
    for cell, members in changed.items():
        left = np.setdiff1d(tree.members_of(cell), members, assume_unique=True)
        if len(members) > cells.size and not _are_same(staged.rows[members]):
            parts.add(~cell)
        if len(left):
            smaller.append(cell)
            level = NO_LEVEL if levels is None else int(levels[left].min())
            if level < NO_LEVEL:
                parts.add(parents.path(~cell)[level])
        sizes[cell] = len(members)
    return outermost(parents, parts | parts_to_merge(tree, parents, sizes, smaller, cells.size // _JOINED))


def _are_same(rows: np.ndarray) -> bool:
    return bool((rows == rows[0]).all())


# --- machines -----------------------------------------------------------------------------------------------


def _solved_again(
    staged: Staged, cells: Cells, tree: Tree, numbers: np.ndarray, settings: Settings
) -> tuple[list[Cells], np.ndarray]:
    """The machines of some cells, a number of cells at a time, and leave-one-out errors of their members."""
    found, errors = [], [np.zeros((len(cells.coef), 0))]
    for part in _together(numbers, tree.sizes):
        members = [tree.members_of(cell) for cell in part]
        examples = staged.examples(np.concatenate(members))
        errors.append(np.zeros(examples.targets.shape))
        found.append(
            solved_cells(
                settings.kernel, examples, _unconnected(members, examples.rows), cells.size, settings.ridge,
                errors[-1], settings.threads, memory=settings.memory,
            )  # type: ignore[arg-type]
        )  # fmt: skip
    return found, np.concatenate(errors, axis=1)


def _solved_in_float64(staged: Staged, cells: Cells, cell: int, settings: Settings) -> np.ndarray:
    """Coefficients (n_outputs, n) of one cell, from a factorization of its own in float64."""
    rows, targets, weights = staged.examples(cells.tree.members_of(cell))
    examples = Examples(rows.astype(np.float64), targets.astype(np.float64), weights)
    tree, errors = _unconnected([np.arange(len(rows))], examples.rows), np.zeros(targets.shape)
    found = solved_cells(settings.kernel, examples, tree, cells.size, settings.ridge, errors, settings.threads)
    return found.coef  # type: ignore[union-attr]


def largest_residual(staged: Staged, trees: Sequence[Mended], settings: Settings) -> float:
    """The largest difference of coefficients to those of a factorization in float64, relative to the largest one."""
    found = 0.0
    for each in trees:
        cells = each.cells
        for cell in each.numbers:
            exact = _solved_in_float64(staged, cells, int(cell), settings)
            own = cells.coef[:, slice(*cells.tree.starts[cell : cell + 2])]
            largest = float(np.abs(exact).max(initial=0.0))
            if largest > 0.0:
                found = max(found, float(np.abs(own - exact).max()) / largest)
    return found


def solved_from_scratch(staged: Staged, cells: Cells, settings: Settings) -> np.ndarray:
    """Coefficients (n_outputs, n_rows) of all cells of a tree, solved again."""
    found, _ = _solved_again(staged, cells, cells.tree, np.arange(cells.tree.n_cells), settings)
    return np.concatenate([each.coef for each in found], axis=1)


def _together(numbers: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    """Cells in groups of some number of rows."""
    groups = np.cumsum(sizes[numbers]) // _TOGETHER
    return [each for each in np.split(numbers, np.flatnonzero(np.diff(groups)) + 1) if len(each)]


def _unconnected(members: list[np.ndarray], rows: np.ndarray) -> Tree:
    """Cells of rows that are in their order, without a tree above them."""
    starts = np.concatenate([[0], np.cumsum([len(each) for each in members])])
    nothing = np.empty((0, rows.shape[1]), rows.dtype)
    return Tree(nothing, np.empty(0, np.float32), np.empty((0, 2), np.int64), starts, np.arange(starts[-1]))


def _joined(cells: Cells, tree: Tree, before: np.ndarray, again: list[Cells]) -> Cells:
    """Machines of all cells: those that were there before, and those that were solved again."""
    dtype = np.result_type(cells.coef, *(each.coef for each in again))
    coef = np.empty((len(cells.coef), len(tree.members)), dtype)
    intercepts = np.empty((tree.n_cells, len(cells.coef)))
    centers = np.empty((tree.n_cells, cells.centers.shape[1]))
    for first, last in _stretches(before):
        start, source = tree.starts[first], cells.tree.starts[before[first]]
        n_rows = tree.starts[last] - start
        coef[:, start : start + n_rows] = cells.coef[:, source : source + n_rows]
        old = slice(before[first], before[first] + last - first)
        intercepts[first:last], centers[first:last] = cells.intercepts[old], cells.centers[old]
    numbers = iter(np.flatnonzero(before < 0))
    for part in again:
        for number in range(part.tree.n_cells):
            cell = next(numbers)
            coef[:, slice(*tree.starts[cell : cell + 2])] = part.coef[:, slice(*part.tree.starts[number : number + 2])]
            intercepts[cell], centers[cell] = part.intercepts[number], part.centers[number]
    return Cells(tree, cells.size, coef, intercepts, centers)


def _stretches(before: np.ndarray) -> Iterator[tuple[int, int]]:
    """Cells that were next to each other before, and are so now: the first one, and the one after the last."""
    distance = np.where(before >= 0, before - np.arange(len(before)), 2 * len(before) + before.max(initial=0))
    starts = np.concatenate([[0], np.flatnonzero(np.diff(distance)) + 1, [len(before)]])
    for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if before[first] >= 0:
            yield first, last


# --- the end of a change ------------------------------------------------------------------------------------


class Gaps(NamedTuple):
    """Where rows have gone."""

    places: np.ndarray  # ascending; those at the end are not among them
    moved: np.ndarray  # the last rows, which take these places
    n_left: int


def gaps_of(n_rows: int, gone: np.ndarray) -> Gaps:
    """The gaps that some of the rows leave."""
    n_left = n_rows - len(gone)
    last = np.ones(len(gone), bool)
    last[gone[gone >= n_left] - n_left] = False
    return Gaps(np.sort(gone[gone < n_left]), n_left + np.flatnonzero(last), n_left)


@contextmanager
def closed(arrays: Sequence[np.ndarray], gaps: Gaps) -> Iterator[list[np.ndarray]]:
    """Context in which the last rows of some arrays are in the gaps; it has views of the rows that are left.

    After it, nothing is left of the rows where they were. If it fails, all rows are as before.
    """
    before = [(each[gaps.places], each[gaps.n_left :].copy()) for each in arrays]
    try:
        for each in arrays:
            each[gaps.places] = each[gaps.moved]
        yield [each[: gaps.n_left] for each in arrays]
        for each in arrays:
            each[gaps.n_left :] = 0
    except BaseException:
        for each, (in_gaps, last) in zip(arrays, before, strict=True):
            each[gaps.places], each[gaps.n_left :] = in_gaps, last
        raise


def without_gaps(cells: Cells, rows: np.ndarray, gaps: Gaps) -> Cells:
    """Cells whose last rows have moved to gaps; rows are as they were before.

    The members are changed in place: those of a tree after a change are its own.
    """
    if len(gaps.moved):
        members = cells.tree.members
        places, numbers = _places_of(cells.tree, rows, gaps.moved)
        members[places] = gaps.places[numbers]
    return cells


def _places_of(tree: Tree, rows: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where some rows, in ascending order, are among the members of a tree; and which of them is there."""
    if len(wanted) <= _FEW:
        in_cells = cells_of(tree, rows[wanted]).tolist()
        found = [
            tree.starts[cell] + np.flatnonzero(tree.members_of(cell) == row)
            for cell, row in zip(in_cells, wanted.tolist(), strict=True)
        ]
        if all(map(len, found)):  # a device may have put it on the other side of a cut: see `_cells_left`
            return np.concatenate(found), np.arange(len(wanted))
    places = np.flatnonzero(tree.members >= wanted.min())
    where = np.searchsorted(wanted, tree.members[places])
    is_wanted = (where < len(wanted)) & (wanted[np.minimum(where, len(wanted) - 1)] == tree.members[places])
    return places[is_wanted], where[is_wanted]
