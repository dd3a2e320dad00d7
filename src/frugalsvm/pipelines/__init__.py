"""Floor 4: from raw rows to a model and back, batch by batch or row by row: encoder, scaler, estimator, calibration."""

from frugalsvm.pipelines.encoder import ColumnEncoder
from frugalsvm.pipelines.pipeline import StreamPipeline
from frugalsvm.pipelines.scaler import StreamingScaler

__all__ = ["ColumnEncoder", "StreamPipeline", "StreamingScaler"]
