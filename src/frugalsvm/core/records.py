"""Records: the counters and single numbers of a state, by their names, in an array that compiled code writes to.

A state has an array of one record, ``state.counts[0]["n_slots"]``, or of one for each output. All fields of a record
have the same type, so that a record is a row of numbers as well (`as_numbers`): model files hold it so.
"""

import numpy as np

__all__ = ["as_numbers", "record_type"]


def record_type(kind, *names: str) -> np.dtype:
    """The type of a record with these fields, all of one type."""
    return np.dtype([(name, kind) for name in names], align=True)


def as_numbers(records: np.ndarray) -> np.ndarray:
    """The fields of records as a matrix with a row for each; it shares their memory."""
    fields = records.dtype.fields
    assert fields is not None, "not an array of records"
    kind = next(iter(fields.values()))[0]
    return records.view(kind).reshape(len(records), -1)
