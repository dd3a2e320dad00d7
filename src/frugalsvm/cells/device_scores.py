"""Scores of rows on a device: what `scores.py` does, in batches of cells and of the rows that fall into them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.kernel_values import kernel_values
from frugalsvm.cells.batches import Padded, batches_of, near, padded_places, taken
from frugalsvm.cells.device_tree import cells_of_rows
from frugalsvm.cells.scores import in_parts
from frugalsvm.cells.solver import Cells

_PART_ROWS = 128  # of one cell that are scored together; more, where cells have more than the usual number of rows
_USUAL_SIZE = 2048
_MATRICES = 5  # as large as that of a part that are there at a time, at most


class _Model(NamedTuple):
    """The machines of a tree, on the device."""

    kernel: Any
    rows: Any  # or on the host, if there is no room for them
    members: Any
    coef: Any  # (n_rows, n_outputs)
    intercepts: Any
    centers: Any


def scores_on_device(arrays: Any, kernel: Any, rows: Any, trees: Sequence[Cells], X: Any, memory: int) -> np.ndarray:
    """Scores (n, n_outputs) of rows X, as the kernel sees them; rows and X may be on the device already."""
    models = [_model_of(arrays, kernel, near(arrays, rows), cells) for cells in trees]
    out = np.empty((X.shape[0], len(trees[0].coef)))
    n_together = max(1, memory // (8 * _MATRICES * X.shape[1]))
    with arrays.products():
        for start in range(0, X.shape[0], n_together):
            part = slice(start, start + n_together)
            out[part] = _part_scores(arrays, models, trees, X[part], memory)
    return out


def _model_of(arrays, kernel, rows, cells: Cells) -> _Model:
    return _Model(kernel, rows, *map(arrays.asarray, (cells.tree.members, cells.coef.T, *cells[3:])))


def _part_scores(arrays, models, trees, X, memory) -> np.ndarray:
    X = arrays.asarray(X)
    out = arrays.zeros((X.shape[0], models[0].coef.shape[1]))
    for model, cells in zip(models, trees, strict=True):
        _add_scores(arrays, model, cells, X, out, memory)
    return arrays.host(out / len(trees))


def _add_scores(arrays, model: _Model, cells: Cells, X, out, memory) -> None:
    numbers = cells_of_rows(arrays, cells.tree, X)
    order = arrays.xp.argsort(numbers, stable=True)
    counts = np.bincount(arrays.host(numbers), minlength=cells.tree.n_cells)
    # The machine of a row that is there again and again is a constant: one of them is enough.
    sizes = np.where(cells.tree.sizes > cells.size, 1, cells.tree.sizes)
    n_most = _PART_ROWS * max(1, min(int(sizes.max()) // _USUAL_SIZE, int(counts.max()) // _PART_ROWS))
    of_cells, begins, ends = in_parts(counts, n_most).T

    def bytes_of(length):
        return model.coef.itemsize * _MATRICES * length * (n_most + X.shape[1])

    for positions, length in batches_of(sizes[of_cells], bytes_of, memory):
        own = of_cells[positions]
        members = padded_places(arrays, cells.tree.starts[own], sizes[own], length)
        places = padded_places(arrays, begins[positions], (ends - begins)[positions], n_most).places
        index = order[places]  # past the end of a part, its last row, which has the same scores again
        out[index] += _scores_of(arrays, model, arrays.asarray(own), members, X[index])


def _scores_of(arrays, model: _Model, numbers, members: Padded, X):
    """Scores (n_parts, n, n_outputs) in float64."""
    places, is_there = members
    centers = model.centers[numbers][:, None, :]
    own, X = (
        arrays.cast(arrays.double(rows) - centers, model.coef.dtype)
        for rows in (taken(arrays, model.rows, model.members[places]), X)
    )
    coef = model.coef[places] * is_there[:, :, None]
    values = kernel_values(arrays, model.kernel, X, own) @ coef
    return arrays.double(values) + model.intercepts[numbers][:, None, :]
