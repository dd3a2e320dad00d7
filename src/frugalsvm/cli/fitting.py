"""Whether rows are of the kind that a model has learned, with sentences that name columns and labels."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from frugalsvm.cli.running import labels_of

__all__ = ["fitting"]


def fitting(model: Any, batches: Iterable, source: str, *, labelled: bool) -> Iterator:
    """The batches, unless they have other columns of text than a model, or other labels (if these matter)."""
    for batch in batches:
        _check_columns(model, batch, source)
        if labelled and batch.y is not None:
            _check_labels(model, labels_of(batch), source)
        yield batch


def _check_columns(model: Any, batch: Any, source: str) -> None:
    known = set(getattr(getattr(model, "encoder_", None), "names_", ()))
    found = set(batch.columns or {})
    if getattr(model, "encoder", None) is not None and not known:  # all rows are still held back
        return
    if found - known:
        names = ", ".join(map(repr, sorted(found - known)))
        raise ValueError(
            f"{source} has text in {names}, which the model did not learn from: leave that out, or say with --label "
            "that it holds the labels."
        )
    if known - found:
        names = ", ".join(map(repr, sorted(known - found)))
        raise ValueError(f"{source} has no text in {names}, which the model has learned from.")


def _check_labels(model: Any, labels: np.ndarray, source: str) -> None:
    classes = model.classes_
    if labels.size and (labels.dtype.kind in "OUS") != (classes.dtype.kind in "OUS"):
        known = ", ".join(map(repr, classes[:3].tolist())) + (", ..." if len(classes) > 3 else "")
        raise ValueError(
            f"{source} has labels like {labels[:1].tolist()[0]!r}, and the model knows {known}: is --label the right "
            "column?"
        )
