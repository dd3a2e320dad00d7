"""From raw rows to a model and back, by batches or rows: encoder, scaler, map, estimator, calibration."""

import frugalsvm._scikit_learn  # noqa: F401
from frugalsvm.pipelines.drift import DriftWatch
from frugalsvm.pipelines.encoder import ColumnEncoder
from frugalsvm.pipelines.imputer import MissingValueFiller
from frugalsvm.pipelines.pipeline import StreamPipeline
from frugalsvm.pipelines.scaler import StreamingScaler

__all__ = ["ColumnEncoder", "DriftWatch", "MissingValueFiller", "StreamPipeline", "StreamingScaler"]
