"""Numbers of a state under their names: types of structured arrays, all of whose fields have one type.

An array of shape (1,) holds the numbers of one state, one of shape (n_outputs,) those of each output. They are read and
written as ``state.counts[0]["n_slots"]``, in compiled code as in Python.
"""

import numpy as np

__all__ = ["float_record", "integer_record"]


def integer_record(*names: str) -> np.dtype:
    """The type of a record of integers."""
    return np.dtype([(name, np.int64) for name in names])


def float_record(*names: str) -> np.dtype:
    """The type of a record of floats."""
    return np.dtype([(name, np.float64) for name in names])
