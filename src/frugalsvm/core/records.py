"""Numbers of a state under their names: types of structured arrays, all of whose fields have one type.

An array of shape (1,) holds the numbers of one state, one of shape (n_outputs,) those of each output. They are read and
written as ``state.counts[0]["n_slots"]``, in compiled code as in Python. Model files hold them as plain numbers.
"""

import numpy as np


def integer_record(*names: str) -> np.dtype:
    """The type of a record of integers."""
    return np.dtype([(name, np.int64) for name in names], align=True)


def float_record(*names: str) -> np.dtype:
    """The type of a record of floats."""
    return np.dtype([(name, np.float64) for name in names], align=True)


def as_numbers(records: np.ndarray) -> np.ndarray:
    """The numbers of records as a matrix with a row for each record; it shares their memory."""
    return records.view(records.dtype[0]).reshape(len(records), -1)
