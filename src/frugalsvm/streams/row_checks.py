"""Rows that are not what they should be: missing or infinite values, negative weights, labels that are not classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from frugalsvm.exceptions import Sentence
from frugalsvm.streams.bad_lines import BadLines, shown
from frugalsvm.streams.batch import Batch, rows_taken
from frugalsvm.streams.number_notation import is_missing

_FIRST_ROUNDED = 2.0**53  # as floats, this whole number and the next one are equal


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
        return with_classes(batch, where, bad)
    good = np.logical_and.reduce(wrong)
    for row in np.flatnonzero(~good):
        bad.refuse(where(int(row)), _described(batch, int(row), names, bad))
    return with_classes(*_kept(batch, where, good), bad)


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
        if y.dtype.kind != "f":
            bad.unlabeled_words.update(word.strip() for word in y[lacking].tolist() if word and word.strip())
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


def are_classes(labels: NDArray) -> NDArray:
    """Which labels, given as floats, can be classes: whole numbers that are certain to be those that were written.

    Examples
    --------
    >>> import numpy as np
    >>> are_classes(np.array([-1.0, 0.5, 9007199254740993.0]))
    array([ True, False, False])
    """
    return (labels == np.floor(labels)) & (np.abs(labels) < _FIRST_ROUNDED)


def why_no_class(label: float) -> str:
    """Why a label is not a class, after words that say so.

    Examples
    --------
    >>> why_no_class(0.5)
    'classes are whole numbers or text'
    """
    if label != np.floor(label):
        return "classes are whole numbers or text"
    return "whole numbers from 2**53 on are rounded, which would mix up classes"


def with_classes(batch: Batch, where: Callable[[int], str], bad: BadLines) -> Batch:
    """The batch without rows whose labels are numbers but not classes, where labels must be classes."""
    if not bad.class_labels or batch.y is None or batch.y.dtype.kind != "f":
        return batch
    good = are_classes(batch.y)
    if good.all():
        return batch
    for row in np.flatnonzero(~good):
        label = batch.y[row]
        bad.refuse(where(int(row)), f"the label {label:g} is not a class: {why_no_class(label)}")
    return rows_taken(batch, good)


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
