"""Fields of parts in files: arrays of records as plain arrays, and fields that older files have otherwise."""

from typing import Any

import numpy as np

from frugalsvm._stored import stored_as
from frugalsvm.core.records import as_numbers

__all__ = ["plain_fields", "todays_fields"]


def plain_fields(part: Any) -> dict[str, Any]:
    """The fields of a part, declared arrays of records as arrays of numbers."""
    declared = stored_as(type(part))
    records = [] if declared is None else [name for name, how in declared.arrays.items() if isinstance(how, tuple)]
    return {**part._asdict(), **{name: as_numbers(np.ascontiguousarray(getattr(part, name))) for name in records}}


def _as_records(array: Any, dtype: np.dtype, n_dimensions: int) -> Any:
    """An array of numbers as one of records, if it can be; one record may lack its dimension, as in older files."""
    fits = type(array) is np.ndarray and array.flags.c_contiguous and array.ndim in (n_dimensions, n_dimensions + 1)
    if not fits or array.dtype != dtype[0] or array.shape[-1:] != (len(dtype.names or ()),):
        return array
    return array.reshape(-1).view(dtype).reshape(array.shape[:-1] or (1,))


def todays_fields(cls: type, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a part as its class has them now."""
    declared = stored_as(cls)
    if declared is None:
        return fields
    if declared.earlier is not None:
        fields = declared.earlier(fields)
    for name, array_type in declared.arrays.items():
        if isinstance(array_type, tuple) and name in fields:
            dtype, shape = array_type
            fields = {**fields, name: _as_records(fields[name], dtype, len(shape))}
    return fields
