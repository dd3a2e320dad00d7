"""Rows that are prepared when they are asked for: a search looks at some of them, and needs no copy of all."""

from typing import Any

from frugalsvm.pipelines.rows import LabeledRows

__all__ = ["RowsOnDemand"]


class RowsOnDemand:
    """Prepared rows as an array has them, by numbers or a slice, of which none are there.

    Parameters
    ----------
    pipeline : StreamPipeline
        With the statistics of `survey`.
    rows : LabeledRows
        What `survey` has returned.
    dtype : dtype, default=None
        As in `prepared_rows`.
    """

    def __init__(self, pipeline: Any, rows: LabeledRows, *, dtype: Any = None):
        self._pipeline, self._rows, self._asked = pipeline, rows, dtype
        first = self[:1]
        self.shape, self.dtype = (rows.X.shape[0], first.shape[1]), first.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        return self._pipeline.prepared_rows(self._rows, index, dtype=self._asked).X
