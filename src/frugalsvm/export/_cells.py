"""Trees whose cells have machines of their own, as plain numbers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalsvm.cells.solver import Cells


class PlainCells(NamedTuple):
    """All nodes, cells and members of several trees, one tree after the other."""

    directions: NDArray  # (n_nodes, n_seen) what rows, as the kernel sees them, are projected on
    cuts: NDArray  # (n_nodes,) projections below it are on the left
    children: NDArray  # (n_nodes, 2) left and right: another node, or ~cell
    roots: NDArray  # (n_trees,) the first node of a tree, or ~cell
    starts: NDArray  # (n_cells + 1,) where the members of each cell begin
    members: NDArray  # (n_members,) vectors
    intercepts: NDArray  # (n_cells, n_outputs)

    @property
    def has_one_machine(self) -> bool:
        """Whether no tree divides rows: the model is one machine of all vectors then."""
        return bool((self.roots < 0).all())

    def joined(self, coefficients: NDArray, n_vectors: int) -> NDArray:
        """The coefficients (n_outputs, n_vectors) of that machine."""
        out = np.zeros((len(coefficients), n_vectors))
        for vector, added in zip(self.members, coefficients.T, strict=True):
            out[:, vector] += added
        return out

    def mapped(self, change: Callable[[NDArray], NDArray]) -> "PlainCells":
        """For rows whose products with changed directions are what they were with these."""
        return self._replace(directions=np.ascontiguousarray(change(self.directions)))

    def shifted(self, rest: NDArray) -> "PlainCells":
        """For rows from which a vector has not been subtracted yet."""
        return self._replace(cuts=self.cuts + self.directions @ rest)

    def cells_of(self, rows: NDArray, tree: int) -> NDArray:
        """The cell of a tree that each row falls into."""
        nodes = np.full(len(rows), self.roots[tree])
        while len(left := np.flatnonzero(nodes >= 0)):
            here = nodes[left]
            is_right = np.einsum("if,if->i", rows[left], self.directions[here]) >= self.cuts[here]
            nodes[left] = self.children[here, is_right.astype(int)]
        return ~nodes

    def values(self, rows: NDArray, machine: Callable[[NDArray, NDArray, slice], NDArray]) -> NDArray:
        """Values of rows (n, n_outputs): ``machine(rows, vectors, members)`` has those of a cell, without intercepts.

        ``vectors`` are numbers of the cell's vectors, ``members`` is where they are among all.
        """
        out = np.zeros((len(rows), self.intercepts.shape[1]))
        for tree in range(len(self.roots)):
            numbers = self.cells_of(rows, tree)
            for cell in np.unique(numbers):
                inside, members = numbers == cell, slice(*self.starts[cell : cell + 2])
                out[inside] += machine(rows[inside], self.members[members], members) + self.intercepts[cell]
        return out


def plain_cells(trees: list[Cells], spread: Any = 1.0) -> tuple[PlainCells, NDArray]:
    """The trees of a model, and the coefficients (n_outputs, n_members) of all members; outputs times ``spread``.

    Cells that predict a constant have no members, whose coefficients are zero.
    """
    factor = np.asarray(spread) / len(trees)
    parts, coefficients, n_nodes, n_cells, n_members = [], [], 0, 0, 0
    for cells in trees:
        tree, is_used = cells.tree, cells.coef.any(axis=0)
        n_used = np.concatenate([[0], np.cumsum(is_used)])
        children = np.where(tree.children >= 0, tree.children + n_nodes, tree.children - n_cells)
        root = n_nodes if len(tree.cuts) else ~n_cells
        starts = n_members + n_used[tree.starts[:-1]]
        parts.append((tree.directions, tree.cuts, children, [root], starts, tree.members[is_used], cells.intercepts))
        coefficients.append(cells.coef[:, is_used].astype(np.float64).T * factor)
        n_nodes, n_cells, n_members = n_nodes + len(tree.cuts), n_cells + tree.n_cells, n_members + n_used[-1]
    directions, cuts, children, roots, starts, members, intercepts = map(np.concatenate, zip(*parts, strict=True))
    found = PlainCells(
        directions.astype(np.float64), cuts.astype(np.float64), children, roots, np.append(starts, n_members), members,
        intercepts * factor,
    )  # fmt: skip
    return found, np.ascontiguousarray(np.concatenate(coefficients).T)
