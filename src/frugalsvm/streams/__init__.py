"""Rows from files, folders and pipes, in batches: LIBSVM, CSV, TSV, Parquet, Arrow and NumPy data.

`open_stream` reads, `shuffled` mixes all rows, or within a buffer, `prefetched` reads on a second thread.
"""

from frugalsvm.streams.bad_lines import StreamError
from frugalsvm.streams.batch import Batch
from frugalsvm.streams.columns import Column, Schema
from frugalsvm.streams.prefetch import Prefetched, prefetched
from frugalsvm.streams.shuffling import Permuted, Shuffled, shuffled
from frugalsvm.streams.stream import FORMATS, Stream, open_stream

__all__ = [
    "FORMATS",
    "Batch",
    "Column",
    "Permuted",
    "Prefetched",
    "Schema",
    "Shuffled",
    "Stream",
    "StreamError",
    "open_stream",
    "prefetched",
    "shuffled",
]
