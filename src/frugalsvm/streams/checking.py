"""Rows that are not what they should be: missing or infinite values, negative weights, labels with fractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from frugalsvm.streams.bad_lines import BadLines, shown
from frugalsvm.streams.batch import Batch, rows_taken

__all__ = ["without_bad_rows", "without_fractions"]


def _finite_rows(values: NDArray) -> NDArray | None:
    """Which rows are finite; None for all, which is the quick and usual answer."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return None
    finite = np.isfinite(values)
    return finite if values.ndim == 1 else finite.all(axis=1)


def without_bad_rows(batch: Batch, names: Sequence[str], where: Callable[[int], str], bad: BadLines) -> Batch:
    """The batch without rows that have missing or infinite numbers, a negative weight, or a label that is no class."""
    masks = [_finite_rows(part) for part in (batch.X, batch.y, batch.weights) if part is not None]
    if batch.weights is not None and batch.weights.min(initial=0.0) < 0.0:
        masks.append(batch.weights >= 0.0)
    wrong = [mask for mask in masks if mask is not None]
    if not wrong:
        return without_fractions(batch, where, bad)
    good = np.logical_and.reduce(wrong)
    for row in np.flatnonzero(~good):
        bad.refuse(where(int(row)), _described(batch, int(row), names))
    kept = np.flatnonzero(good)
    return without_fractions(rows_taken(batch, good), lambda row: where(int(kept[row])), bad)


def without_fractions(batch: Batch, where: Callable[[int], str], bad: BadLines) -> Batch:
    """The batch without rows whose labels are numbers with fractions, where labels must be classes."""
    if not bad.class_labels or batch.y is None or batch.y.dtype.kind != "f":
        return batch
    whole = batch.y == np.floor(batch.y)
    if whole.all():
        return batch
    for row in np.flatnonzero(~whole):
        bad.refuse(where(int(row)), f"the label {batch.y[row]:g} is no class: classes are whole numbers or text")
    return rows_taken(batch, whole)


def _described(batch: Batch, row: int, names: Sequence[str]) -> str:
    wrong = np.flatnonzero(~np.isfinite(batch.X[row]))
    if wrong.size:
        place = int(wrong[0])
        return f"column {shown(names[place])}: the value {_what(batch.X[row, place])}"
    if batch.y is not None and batch.y.dtype.kind == "f" and not np.isfinite(batch.y[row]):
        return f"the label {_what(batch.y[row])}"
    weight = float(batch.weights[row]) if batch.weights is not None else 0.0
    return f"the weight {weight:g} is negative" if weight < 0 else f"the weight {_what(weight)}"


def _what(value: float) -> str:
    return "is missing (nan)" if np.isnan(value) else "is too large or infinite"
