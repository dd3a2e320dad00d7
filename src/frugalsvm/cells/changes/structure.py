"""Which rows a tree was made of, and parts of a tree that are grown again.

A node of a balanced tree (``cells/tree.py``) is made of few of its rows: those that its direction was drawn from, and
the two on either side of its cut. Any other row can leave without a trace in the tree. Where one of these leaves, the
part of the tree below its node is grown again from the rows that are left.

Parts are named as children of nodes are: a node by its number, a cell by ``~cell``.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from frugalsvm.cells.tree import SAMPLE_ROWS, Tree
from frugalsvm.cells.trunk import branch_of, grafted
from frugalsvm.compiling.threads import ONE_THREAD, Threads

NO_LEVEL = 127  # of rows that no node was made of
_NEAR = 64.0  # rounding errors of projections within which a row may be the one at a cut


class Parents:
    """The node above each node and above each cell; -1 above the root."""

    def __init__(self, tree: Tree):
        n_nodes, children = len(tree.cuts), tree.children.ravel()
        self.of_nodes, self.of_cells = np.full(n_nodes, -1), np.full(tree.n_cells, -1)
        above = np.repeat(np.arange(n_nodes), 2)
        self.of_nodes[children[children >= 0]] = above[children >= 0]
        self.of_cells[~children[children < 0]] = above[children < 0]

    def above(self, part: int) -> int:
        """The node above a part."""
        return int(self.of_nodes[part] if part >= 0 else self.of_cells[~part])

    def path(self, part: int) -> list[int]:
        """The nodes above a part, from the root on."""
        found = []
        while (part := self.above(part)) >= 0:
            found.append(part)
        return found[::-1]


def outermost(parents: Parents, parts: Iterable[int]) -> list[int]:
    """Those of some parts that are within no other one."""
    chosen = set(parts)
    return sorted(part for part in chosen if not chosen.intersection(parents.path(part)))


def parts_to_merge(tree: Tree, parents: Parents, sizes: np.ndarray, cells: Iterable[int], least: int) -> set[int]:
    """Nodes to be grown again because a part of them is empty, or because they have at most ``least`` rows.

    ``sizes`` are those that all cells have now, and ``cells`` the ones that have become smaller.
    """
    found = set()
    for cell in cells:
        part, n_rows = ~cell, int(sizes[cell])
        while (above := parents.above(part)) >= 0:
            n_above = int(sizes[cells_below(tree, above)].sum())
            if n_rows > 0 and n_above > least:
                break
            part, n_rows = above, n_above
        if part != ~cell:
            found.add(part)
    return found


def cells_below(tree: Tree, part: int) -> list[int]:
    """The cells of a part, from left to right."""
    found, parts = [], [part]
    while parts:
        part = parts.pop()
        if part < 0:
            found.append(~part)
        else:
            parts += [int(tree.children[part, 1]), int(tree.children[part, 0])]
    return found


def regrown(
    tree: Tree,
    parts: Sequence[int],
    rows: np.ndarray,
    ids: np.ndarray,
    size: int,
    seed: Sequence[int],
    levels: np.ndarray | None = None,
    threads: Threads = ONE_THREAD,
) -> tuple[Tree, np.ndarray]:
    """A tree some parts of which are grown again; and its cells that were there before.

    Parameters
    ----------
    tree : Tree
        Its cells may have any members, also none.
    parts : sequence of int
        None is within another one.
    rows : ndarray of shape (n_rows, n_features)
    ids : ndarray of shape (n_rows,)
        Rows are taken in the order of their ids.
    size : int
        Most rows of a cell.
    seed : sequence of int
    levels : ndarray of shape (n_rows,), default=None
        Where rows have made the tree, see `levels_of`: is brought up to date.
    threads : Threads, default=ONE_THREAD

    Returns
    -------
    tree : Tree
    before : ndarray of shape (n_cells,)
        The number that each cell had, or -1 for those that were grown.
    """
    parents, (trunk, leaves) = Parents(tree), _trunk_of(tree, set(parts))
    branches, before = [], []
    for number, leaf in enumerate(leaves):
        if leaf in parts:
            members = trunk.members_of(number)
            members[:] = members[np.argsort(ids[members], kind="stable")]
            branch = branch_of(rows[members], size, [*seed, int(ids[members[0]])], threads)
            if levels is not None:
                _take_levels(levels, members[branch.members], len(parents.path(leaf)), branch, rows[members])
        else:
            branch = _one_cell(trunk, int(trunk.sizes[number]))
        branches.append(branch)
        before += [-1] * branch.n_cells if leaf in parts else [~leaf]
    return grafted(trunk, branches), np.array(before)


def _take_levels(levels: np.ndarray, members: np.ndarray, depth: int, branch: Tree, rows: np.ndarray) -> None:
    """Levels of the members of a branch, in its order; nodes above it have been made of the same rows as before."""
    own = levels_of(branch, rows, np.arange(len(rows))).astype(np.int64)
    own = np.where(own < NO_LEVEL, np.minimum(own + depth, NO_LEVEL - 1), NO_LEVEL)
    levels[members] = np.where(levels[members] < depth, levels[members], own)


def _trunk_of(tree: Tree, parts: set[int]) -> tuple[Tree, list[int]]:
    """The tree in which some parts are single cells, and the part that each of its cells was."""
    nodes: list[int] = []
    leaves: list[int] = []
    children: list[list[int]] = []
    waiting = [(0 if len(tree.cuts) else ~0, -1, 0)]
    for part, above, side in waiting:  # grows while it is gone through: level by level
        if part < 0 or part in parts:
            number = ~len(leaves)
            leaves.append(part)
        else:
            number = len(nodes)
            nodes.append(part)
            children.append([0, 0])
            waiting += [(int(tree.children[part, k]), number, k) for k in range(2)]
        if above >= 0:
            children[above][side] = number
    members = [
        np.concatenate([tree.members_of(cell) for cell in cells_below(tree, leaf)]) if leaf >= 0
        else tree.members_of(~leaf)
        for leaf in leaves
    ]  # fmt: skip
    starts = np.concatenate([[0], np.cumsum([len(each) for each in members])])
    below = np.array(children, np.int64).reshape(-1, 2)
    return Tree(tree.directions[nodes], tree.cuts[nodes], below, starts, np.concatenate(members)), leaves


def _one_cell(tree: Tree, n_rows: int) -> Tree:
    nothing = np.empty((0, tree.directions.shape[1]), tree.directions.dtype)
    starts, members = np.array([0, n_rows]), np.arange(n_rows)
    return Tree(nothing, np.empty(0, np.float32), np.empty((0, 2), np.int64), starts, members)


def levels_of(tree: Tree, rows: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """For each member, in the order of the tree, the first level with a node that was made of it; or `NO_LEVEL`.

    The root is at level 0. The tree is as it was grown from these rows, in the order of their ids.
    """
    levels = np.full(len(tree.members), NO_LEVEL, np.int8)
    waiting = [(0, 0)] if len(tree.cuts) else []
    for node, level in waiting:
        left, right = (_places_below(tree, int(part)) for part in tree.children[node])
        places = np.concatenate([left, right])
        members = tree.members[places]
        in_order = places[np.argsort(ids[members], kind="stable")]
        made_of = [in_order[:: -(-len(places) // SAMPLE_ROWS)]]
        made_of += _at_cut(rows[members], tree.directions[node], places, len(left))
        for each in made_of:
            levels[each] = np.minimum(levels[each], min(level, NO_LEVEL - 1))
        waiting += [(int(part), level + 1) for part in tree.children[node] if part >= 0]
    return levels


def _places_below(tree: Tree, part: int) -> np.ndarray:
    """Where the members of a part are."""
    ranges = [np.arange(*tree.starts[cell : cell + 2]) for cell in cells_below(tree, part)]
    return np.concatenate(ranges)


def _at_cut(rows: np.ndarray, direction: np.ndarray, places: np.ndarray, n_left: int) -> list[np.ndarray]:
    """Rows next to the cut, up to rounding; and the ends of a feature that was cut because it is the widest."""
    projections = (rows @ direction).astype(np.float64)
    near = _NEAR * np.finfo(np.float32).eps * np.abs(projections).max()
    is_near = projections[:n_left] >= projections[:n_left].max() - near
    is_near = np.concatenate([is_near, projections[n_left:] <= projections[n_left:].min() + near])
    found = [places[is_near]]
    if np.count_nonzero(direction) == 1:
        found.append(places[(projections == projections.min()) | (projections == projections.max())])
    return found
