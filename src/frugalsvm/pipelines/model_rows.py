"""Rows for a model that is trained: read as those that it has learned, and refused if they are of another kind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector

from frugalsvm.exceptions import Sentence
from frugalsvm.persist import ModelFileError, describe
from frugalsvm.pipelines.pipeline import StreamPipeline
from frugalsvm.pipelines.reading import DataOptions, Opened, name_features, open_data
from frugalsvm.pipelines.surprises import Surprises
from frugalsvm.streams import StreamError
from frugalsvm.streams.batch import labels_of, rows_of
from frugalsvm.words import few


def open_for(model: Any, model_file: Path, options: DataOptions, *, has_labels: bool | None = None) -> Opened:
    """Data that a model is to predict; with labels that matter, by default (see `open_data`)."""
    if not hasattr(model, "predict"):
        raise ModelFileError(f"It holds a {type(model).__name__}, which predicts nothing.")
    of_classes = hasattr(model, "classes_")
    opened = open_data(_as_learned(options, model_file, model), has_labels=has_labels, of_classes=of_classes)
    if isinstance(model, StreamPipeline):
        name_features(model, opened.stream)
    surprises = Surprises()
    batches = _checked(model, opened, surprises, labeled=has_labels is None)
    return opened._replace(batches=batches, surprises=surprises)


def _as_learned(options: DataOptions, model_file: Path, model: Any) -> DataOptions:
    """Options with the columns that the model has learned from, in the same way."""
    impute = getattr(model, "impute", None)
    begun = describe(model_file).training.get("data", {})
    return options._replace(
        columns=begun.get("columns"),
        notation=begun.get("notation"),
        hash_features=begun.get("hash_features"),
        zero_based=begun.get("zero_based"),
        dtype=begun.get("dtype", "float32"),
        # What is done about missing numbers; the pipeline fills them, in whichever way
        missing="fail" if impute is None else impute if isinstance(impute, str) else "median",
        n_features=getattr(model, "n_features_in_", None) or None,  # text alone has no width
        shuffle="no",
    )


def _checked(model: Any, opened: Opened, surprises: Surprises, *, labeled: bool) -> Iterator:
    """The batches, unless they have other columns of text than a model, or other labels (if these matter)."""
    source = opened.stream.name
    for batch in opened.batches:
        _check_columns(model, batch, source)
        if labeled and batch.y is not None:
            _check_labels(model, labels_of(batch), source)
        surprises.add(surprises_in(model, rows_of(batch), opened.stream))
        yield batch


def surprises_in(model: Any, rows: Any, stream: Any) -> Surprises:
    """What rows of a stream have that the training data of a model had not."""
    if not isinstance(model, StreamPipeline):
        return Surprises()
    return model.surprises(rows, None if stream.schema is None else stream.schema.numbers)


def _check_columns(model: Any, batch: Any, source: str) -> None:
    known = set(getattr(getattr(model, "encoder_", None), "names_", ()))
    found = set(batch.columns or {})
    if getattr(model, "encoder", None) is not None and not known:  # all rows are still held back
        return
    if found - known:
        names = ", ".join(map(repr, sorted(found - known)))
        words = f"{source} has text in {names}, which the model did not learn from"
        raise StreamError(Sentence(words, ": leave that out, or say with {label} that it holds the labels."))
    if known - found:
        names = ", ".join(map(repr, sorted(known - found)))
        raise ValueError(f"{source} has no text in {names}, which the model has learned from.")


def _check_labels(model: Any, labels: np.ndarray, source: str) -> None:
    classes, are_text = getattr(model, "classes_", None), labels.dtype.kind in "OUS"
    if classes is None:
        is_other = are_text and not is_outlier_detector(model)
        known = "the model predicts numbers" if is_other else None
    else:
        other = labels.size and are_text != (classes.dtype.kind in "OUS")
        known = f"the model knows {few(classes.tolist())}" if other else None
    if known is not None:
        found = f"labels like {labels[:1].tolist()[0]!r}"
        raise StreamError(Sentence(f"{source} has {found}, and {known}", ": is {label} the right column?"))
