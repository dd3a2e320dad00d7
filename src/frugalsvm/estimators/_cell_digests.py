"""The digest of a model in cells, and how exact its machines are."""

import hashlib
from typing import Any

import numpy as np

from frugalsvm.cells.changes.mending import Settings, Staged, solved_in_float64
from frugalsvm.cells.solver import Cells

__all__ = ["digest_of", "largest_residual"]


def digest_of(model: Any) -> str:
    """SHA-256 of all that predicts, and of leave-one-out scores; where the model stores rows does not matter."""
    digest = hashlib.sha256(repr((model._kernel, float(model.C_), model.cell_size_)).encode())
    for cells in model._cells:
        tree = cells.tree
        for array in (tree.directions, tree.cuts, tree.children, tree.starts, cells.intercepts, cells.centers):
            digest.update(np.ascontiguousarray(array).data)
        for cell in range(tree.n_cells):
            members = tree.members_of(cell)
            digest.update(model._row_ids[members].data)
            digest.update(model._rows[members].data)
            digest.update(np.ascontiguousarray(cells.coef[:, slice(*tree.starts[cell : cell + 2])]).data)
    digest.update(np.ascontiguousarray(model.loo_scores_).data)
    return digest.hexdigest()


def largest_residual(staged: Staged, trees: list[Any], settings: Settings) -> float:
    """The largest difference of coefficients to those of a factorization in float64, relative to the largest one."""
    found = 0.0
    for each in trees:
        cells: Cells = each.cells
        for cell in each.numbers:
            exact = solved_in_float64(staged, cells, int(cell), settings)
            own = cells.coef[:, slice(*cells.tree.starts[cell : cell + 2])]
            largest = float(np.abs(exact).max(initial=0.0))
            if largest > 0.0:
                found = max(found, float(np.abs(own - exact).max()) / largest)
    return found
