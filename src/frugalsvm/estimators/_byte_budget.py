"""Models of cells in a number of bytes, for `LocalSVC` and `LocalSVR`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from frugalsvm.cells.budget import BudgetTooSmall, exact_bytes, trained_within
from frugalsvm.cells.codes import CodedCells
from frugalsvm.cells.places import Place
from frugalsvm.cells.solver import Cells
from frugalsvm.cells.tree import Tree
from frugalsvm.core.capabilities import offers
from frugalsvm.estimators._saved import LARGEST_SCORE, scores_are_bounded
from frugalsvm.estimators.validation import parsed_bytes
from frugalsvm.exceptions import ParameterError

__all__ = ["coded_are_sound", "trained_in_bytes"]


def trained_in_bytes(
    model: Any,
    place: Place,
    examples: Any,
    trees: list[Tree],
    size: int,
    ridge: float,
    advance: Callable[[int], Any],
) -> tuple[np.ndarray, list[Cells] | list[CodedCells], np.ndarray]:
    """The rows of a model, its cells, and leave-one-out scores; exact if there is no budget, or one for all of it."""
    kernel = model._kernel
    beside = model._bytes_beside(len(examples.rows), len(examples.targets))
    budget = None if model.budget is None else parsed_bytes("budget", model.budget) - beside
    if budget is None or exact_bytes(examples, trees) <= budget:
        cells, left_out = place.trained(kernel, examples, trees, size, ridge, advance)
        return place.rows_of(examples), cells, left_out
    memory, threads = parsed_bytes("memory", model.memory), model._threads()
    try:
        coded, left_out = trained_within(kernel, examples, trees, size, ridge, budget, memory, threads, advance)
    except BudgetTooSmall as error:
        n_cells, least = sum(tree.n_cells for tree in trees), error.least + beside
        problem = (
            f"is too small for {n_cells:,} cells of up to {size:,} rows, which need at least {least}B: raise it, or "
            "cell_size"
        )
        raise ParameterError("budget", model.budget, problem=problem) from None
    return examples.rows[:0].copy(), coded, left_out


def coded_are_sound(model: Any) -> bool:
    """Whether coded cells fit a model, and scores cannot overflow."""
    n_outputs = model._cells[0].intercepts.shape[1]
    return len(model._rows) == 0 and all(_is_sound(model, cells, n_outputs) for cells in model._cells)


def _is_sound(model: Any, cells: Any, n_outputs: int) -> bool:
    width, dtype = model._width, model._rows.dtype
    if not isinstance(cells, CodedCells) or cells.intercepts.shape[1] != n_outputs:
        return False
    directions = cells.tree.directions
    if directions.shape[1] != width or directions.dtype != dtype:
        return False
    if cells.is_centered != offers(model._kernel, "shift_invariant"):
        return False
    highest = cells.lows + cells.steps.astype(np.float64) * (2.0**cells.widths - 1.0)
    largest = np.maximum(np.abs(cells.lows), np.abs(highest)).max(axis=0)
    if (largest > LARGEST_SCORE[dtype.str[1:]]).any():
        return False
    # A row and coefficients as large as any, as often as there are rows
    count = len(model._cells) * max(1, int(cells.tree.starts[-1]))
    row, coef = largest[None, :width].astype(dtype), count * largest[width:, None]
    return scores_are_bounded(model._kernel, row, coef, np.abs(cells.intercepts).max(initial=0.0))
