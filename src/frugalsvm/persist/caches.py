"""Caches of kernel rows in model files.

Learners that come back to their members sum kernel values in another order when they compute them again: to continue
bit for bit, the cache must come back as it was. Its memory is as large as the user allowed and mostly untouched, so
only the part up to the last byte that is not zero is stored.
"""

from typing import Any

import numpy as np

from frugalsvm.core.cache import KernelRows
from frugalsvm.persist.errors import ModelFileError
from frugalsvm.persist.records import plain_fields, todays_fields

__all__ = ["MAX_CACHE", "cache_from", "state_of_cache"]

MAX_CACHE = 2**36  # bytes that a cache may reserve (not use: untouched zeros take no memory)
_BLOCK = 2**20


def state_of_cache(rows: KernelRows) -> dict[str, Any]:
    """All fields of a cache, and how large its memory is."""
    fields = plain_fields(rows)
    del fields["values"]  # part of the buffer
    size = rows.buffer.size
    used = size
    while used > 0 and not rows.buffer[max(0, used - _BLOCK) : used].view(np.uint8).any():
        used = max(0, used - _BLOCK)
    return {**fields, "buffer": rows.buffer[:used], "size": size}


def cache_from(saved: Any) -> KernelRows:
    """The cache that was saved."""
    fields = set(KernelRows._fields) - {"values"} | {"size"}
    if not isinstance(saved, dict) or set(saved) != fields:
        raise ModelFileError("The model file is malformed: a cache does not have the expected fields.")
    state = dict(saved)
    size, used = state.pop("size"), state["buffer"]
    if not all(isinstance(part, np.ndarray) for part in state.values()) or used.ndim != 1 or type(size) is not int:
        raise ModelFileError("The model file is malformed: a cache is not made of arrays.")
    n_rows, capacity = state["slot"].size, state["place"].size
    if size < max(n_rows * capacity, used.size) or size * used.itemsize > MAX_CACHE:
        raise ModelFileError(f"The cache in the model file is impossible, or larger than {MAX_CACHE} bytes.")
    buffer = np.zeros(size, used.dtype)
    buffer[: used.size] = used
    state["buffer"], state["values"] = buffer, buffer[: n_rows * capacity].reshape(n_rows, capacity)
    return KernelRows(**todays_fields(KernelRows, state))
