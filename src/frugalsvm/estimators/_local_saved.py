"""Machines in cells in model files."""

from typing import Any

import numpy as np

from frugalsvm.cells.codes import CodedCells
from frugalsvm.cells.solver import Cells
from frugalsvm.core.capabilities import offers
from frugalsvm.estimators._learned_rows import LEARNED_ROWS, learned_rows_are_sound
from frugalsvm.estimators._saved import (
    LARGEST_SCORE,
    OPTIONAL,
    calibration_for_prediction,
    check_loaded_parameters,
    place_is_sound,
    scores_are_bounded,
)
from frugalsvm.estimators.targets import TargetScale
from frugalsvm.persist.savable import FOR_PREDICTION, Saved
from frugalsvm.persist.values import array, integer, is_number, is_positive, part, parts

_ROUNDING = 1 + 1e-6
_LARGEST_PREDICTION = 1e300


def _is_sound(model: Any) -> bool:
    rows, trees = model._rows, model._cells
    n_outputs = trees[0].intercepts.shape[1]
    if rows.shape[1] != model._width or not rows.flags.c_contiguous or not place_is_sound(model):
        return False
    if not _left_out_fits(model, n_outputs):
        return False
    if not learned_rows_are_sound(model, len(trees)):
        return False
    if isinstance(trees[0], CodedCells):
        return len(rows) == 0 and all(_coded_fit(model, cells, n_outputs) for cells in trees)
    if not all(_fits(model, cells, n_outputs) for cells in trees):
        return False
    return _scores_are_bounded(model)


def _coded_fit(model: Any, cells: Any, n_outputs: int) -> bool:
    """Whether coded cells fit a model, and scores cannot overflow."""
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


def _fits(model: Any, cells: Cells, n_outputs: int) -> bool:
    """Whether a tree with its machines is one of the rows and the kernel; the tree in itself is checked before."""
    rows, (directions, *_) = model._rows, cells.tree
    if not isinstance(cells, Cells) or len(cells.tree.members) != len(rows):
        return False
    if cells.coef.shape != (n_outputs, len(rows)) or directions.dtype != rows.dtype:
        return False
    if cells.coef.dtype not in (rows.dtype, np.float64):
        return False
    if not cells.centers.shape[1] == directions.shape[1] == rows.shape[1]:
        return False
    # Centers are means of rows, or zero: what is left of rows is no larger than twice the rows.
    largest = np.abs(rows).max(initial=0.0) if offers(model._kernel, "shift_invariant") else 0.0
    return bool(np.abs(cells.centers).max(initial=0.0) <= largest * _ROUNDING)


def _left_out_fits(model: Any, n_outputs: int) -> bool:
    """Rows without a weight have scores as well, so that these may be more; a machine for prediction has none."""
    scores = getattr(model, "loo_scores_", None)
    if scores is None:
        return True
    return scores.dtype == np.float64 and len(scores) >= len(model._rows) and scores.shape[1] == n_outputs


def _scores_are_bounded(model: Any) -> bool:
    """Whether scores in no cell can overflow: those of all cells together do not."""
    sizes, largest = np.zeros((len(model._cells[0].coef), len(model._rows)), model._rows.dtype), 0.0
    with np.errstate(over="ignore"):
        for cells in model._cells:
            sizes[:, cells.tree.members] += np.abs(cells.coef)
            largest += np.abs(cells.intercepts).max(initial=0.0)
    return scores_are_bounded(model._kernel, model._rows, sizes, largest)


def scale_is_bounded(scale: TargetScale, dtype: Any) -> bool:
    """Whether scores of machines in a type, in units of targets, cannot overflow."""
    largest = LARGEST_SCORE[np.dtype(dtype).str[1:]]
    with np.errstate(over="ignore"):
        sizes = np.abs(scale.center) + scale.spread * largest
    return bool((sizes <= _LARGEST_PREDICTION).all())


def _prediction_state(model: Any) -> dict[str, Any]:
    """Without what is known of the rows that were learned."""
    kept = {name: value for name, value in vars(model).items() if name not in ("loo_scores_", *LEARNED_ROWS)}
    return {**kept, **calibration_for_prediction(model), FOR_PREDICTION: True}


LOCAL = Saved(
    {
        "n_features_in_": integer(1), "_kernel": part("kernel"), "_rows": array("f", 2),
        "_cells": parts("cells", "coded-cells"), "C_": is_positive, "cell_size_": integer(1), "loo_error_": is_number,
    },
    {**OPTIONAL, **LEARNED_ROWS, "loo_scores_": array("f", 2)},
    _is_sound, check_loaded_parameters, _prediction_state,
)  # fmt: skip
