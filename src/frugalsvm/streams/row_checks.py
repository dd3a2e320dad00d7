"""Rows that are not what they should be: missing or infinite values, negative weights, labels with fractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from frugalsvm.exceptions import Sentence
from frugalsvm.streams.bad_lines import BadLines, shown
from frugalsvm.streams.batch import Batch, rows_taken
from frugalsvm.streams.number_notation import is_missing

__all__ = ["without_bad_rows", "without_fractions"]


def _finite_rows(values: NDArray, *, nan_is_good: bool = False) -> NDArray | None:
    """Which rows are finite; None for all, which is the quick and usual answer."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return None
    finite = ~np.isinf(values) if nan_is_good else np.isfinite(values)
    return finite if values.ndim == 1 else finite.all(axis=1)


def _kept(batch: Batch, where: Callable[[int], str], good: NDArray) -> tuple[Batch, Callable[[int], str]]:
    """The good rows, and where those are."""
    kept = np.flatnonzero(good)
    return rows_taken(batch, good), lambda row: where(int(kept[row]))


def without_bad_rows(batch: Batch, names: Sequence[str], where: Callable[[int], str], bad: BadLines) -> Batch:
    """The batch without rows that have missing or infinite numbers, a negative weight, or an impossible label."""
    batch, where = _without_unlabeled(batch, where, bad)
    batch, where = _without_incomplete(batch, where, bad)
    masks = [_finite_rows(part) for part in (batch.y, batch.weights) if part is not None]
    masks.append(_finite_rows(batch.X, nan_is_good=bad.missing == "nan"))
    if batch.weights is not None and batch.weights.min(initial=0.0) < 0.0:
        masks.append(batch.weights >= 0.0)
    wrong = [mask for mask in masks if mask is not None]
    if not wrong:
        return without_fractions(batch, where, bad)
    good = np.logical_and.reduce(wrong)
    for row in np.flatnonzero(~good):
        bad.refuse(where(int(row)), _described(batch, int(row), names, bad))
    return without_fractions(*_kept(batch, where, good), bad)


def _without_unlabeled(batch: Batch, where: Callable[[int], str], bad: BadLines):
    """The batch without rows that have no label: NaN, or a word for a missing value."""
    y = batch.y
    if y is None or y.dtype.kind not in "fOU":
        return batch, where
    if y.dtype.kind == "f":
        lacking = np.isnan(y)
    else:
        words = {word for word in set(y.tolist()) if word is None or is_missing(str(word), is_label=True)}
        lacking = np.array([word in words for word in y.tolist()], dtype=bool) if words else np.zeros(len(y), bool)
    if not lacking.any():
        return batch, where
    if bad.unlabeled == "skip":
        bad.n_unlabeled += int(lacking.sum())
    else:
        for row in np.flatnonzero(lacking):
            bad.refuse(where(int(row)), Sentence("the label is missing", remedies=("unlabeled",)))
    return _kept(batch, where, ~lacking)


def _without_incomplete(batch: Batch, where: Callable[[int], str], bad: BadLines):
    """The batch without rows that lack a feature, where these are to be left out; or a count of what they lack."""
    if bad.missing == "fail" or batch.X.dtype.kind != "f":
        return batch, where
    lacking = np.isnan(batch.X)
    if not lacking.any():
        return batch, where
    if bad.missing == "nan":
        bad.n_missing += int(lacking.sum())
        return batch, where
    incomplete = lacking.any(axis=1)
    bad.n_incomplete += int(incomplete.sum())
    return _kept(batch, where, ~incomplete)


def without_fractions(batch: Batch, where: Callable[[int], str], bad: BadLines) -> Batch:
    """The batch without rows whose labels are numbers with fractions, where labels must be classes."""
    if not bad.class_labels or batch.y is None or batch.y.dtype.kind != "f":
        return batch
    whole = batch.y == np.floor(batch.y)
    if whole.all():
        return batch
    for row in np.flatnonzero(~whole):
        bad.refuse(where(int(row)), f"the label {batch.y[row]:g} is not a class: classes are whole numbers or text")
    return rows_taken(batch, whole)


def _described(batch: Batch, row: int, names: Sequence[str], bad: BadLines) -> Sentence:
    values = batch.X[row]
    wrong = np.flatnonzero(np.isinf(values) if bad.missing == "nan" else ~np.isfinite(values))
    if wrong.size:
        index = int(wrong[0])
        return _not_finite(f"column {shown(names[index])}: the value", values[index])
    if batch.y is not None and batch.y.dtype.kind == "f" and not np.isfinite(batch.y[row]):
        return _not_finite("the label", batch.y[row])
    weight = float(batch.weights[row]) if batch.weights is not None else 0.0
    return Sentence(f"the weight {weight:g} is negative") if weight < 0 else _not_finite("the weight", weight)


def _not_finite(what: str, value: float) -> Sentence:
    if np.isnan(value):
        return Sentence(f"{what} is missing (nan)", remedies=("missing",))
    return Sentence(f"{what} is too large or infinite")
