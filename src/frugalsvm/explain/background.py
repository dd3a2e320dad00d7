"""Background rows: those whose values stand in for columns that are left out."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from frugalsvm.core.seen_rows import Directions
from frugalsvm.estimators.local_machine import LocalMachine
from frugalsvm.exceptions import ParameterError
from frugalsvm.explain.columns import Columns, unscaled
from frugalsvm.export.models import PlainModel
from frugalsvm.pipelines import StreamPipeline

AUTO = "auto"
_ROWS = 100  # of the model, unless others are given
_MOST_LEARNED = 1000  # of those that it has learned


class Background(NamedTuple):
    """Rows as the estimator inside takes them, and what they are."""

    rows: NDArray
    words: str


def background_for(model: Any, columns: Columns, background: Any) -> Background | None:
    """The background rows that users give, or those of the model itself; None where none are wanted."""
    if background is None:
        return None
    if isinstance(background, str):
        if background != AUTO:
            raise ParameterError("background", background, "rows, 'auto' or None")
        return own_rows(model, columns)
    rows = columns.prepared(background)
    if not len(rows):
        raise ValueError("background has no rows.")
    return Background(rows, f"the {len(rows):,} background rows given")


def own_rows(model: Any, columns: Columns, most: int = _ROWS) -> Background:
    """Training rows that a pipeline has kept, or else vectors of the model."""
    pipeline = model if isinstance(model, StreamPipeline) else getattr(model, "pipeline_", None)
    kept = getattr(pipeline, "typical_rows_", None)
    if kept is not None:
        rows = _some(kept, most)
        return Background(rows, f"{len(rows):,} training rows that the model keeps")
    vectors, name = _vectors(columns.estimator)
    if vectors is None or not len(vectors):
        raise ValueError(
            f"This {type(columns.estimator).__name__} keeps no rows that could be background rows: give some, about "
            "100 rows of the training data."
        )
    rows = _some(vectors, most)
    return Background(rows, f"{len(rows):,} {name} of the model")


def _some(rows: Any, most: int) -> NDArray:
    """``most`` of the rows, evenly from first to last."""
    chosen = rows[np.unique(np.linspace(0, rows.shape[0] - 1, most).astype(int))]
    return np.asarray(chosen.toarray() if issparse(chosen) else chosen, np.float64)


def _vectors(estimator: Any) -> tuple[Any, str]:
    """Vectors of an estimator as rows that it takes, if they can be known, and what they are called."""
    if isinstance(estimator, PlainModel):
        return _plain_vectors(estimator), "vectors"
    if hasattr(estimator, "steps"):  # scalers, and a model of this library
        *scalers, (_, last) = estimator.steps
        rows, name = _vectors(last)
        for _, step in reversed(scalers):
            if rows is not None and hasattr(step, "transform"):
                rows = step.inverse_transform(rows) if hasattr(step, "inverse_transform") else unscaled(rows, step)
        return rows, name
    metric = getattr(estimator, "metric_part_", None)
    if isinstance(metric, Directions) and metric.directions.shape[0] < metric.directions.shape[1]:
        return None, ""  # rows that the kernel does not tell apart differ in columns
    if isinstance(estimator, LocalMachine):
        return estimator.learned_rows(_MOST_LEARNED), "training rows"
    if hasattr(estimator, "landmarks_"):
        return estimator.landmarks_, "landmarks"
    return getattr(estimator, "support_vectors_", None), "support vectors"


def _plain_vectors(model: PlainModel) -> Any:
    if model.directions is not None or model.kernel == "fourier":
        return None
    return model.vectors * (1.0 if model.scale is None else model.scale) + (0.0 if model.mean is None else model.mean)
