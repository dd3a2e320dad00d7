"""Scratch arrays of one learner, so that compiled loops allocate nothing."""

from typing import NamedTuple

import numpy as np

_LINE = 64  # bytes in a line of the cache


class Workspace(NamedTuple):
    kernel_row: np.ndarray  # kernel values of the example at hand with the slots
    products: np.ndarray  # inner products, for rows that are needed besides
    closeness: np.ndarray  # for the partner search
    overlaps: np.ndarray  # for the partner search with several outputs
    scores: np.ndarray  # (n_outputs,) raw scores of the example at hand, float64
    direction: np.ndarray  # (n_outputs,) float64
    vector: np.ndarray  # (1, n_features)
    least_size: np.ndarray  # (1,) no support vector is smaller; 0 where that is not known


def scratch(size, dtype):
    """Zeros that begin with a line of the cache: vectors that lie across two lines take twice as long to load."""
    memory = np.zeros(size * np.dtype(dtype).itemsize + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size * np.dtype(dtype).itemsize].view(dtype)


def new_workspace(expansion):
    """Scratch arrays that fit an expansion."""
    capacity, n_features = expansion.rows.shape
    dtype = expansion.rows.dtype
    n_outputs = expansion.n_outputs
    return Workspace(
        kernel_row=scratch(capacity, dtype),
        products=scratch(capacity, dtype),
        closeness=scratch(capacity, dtype),
        overlaps=scratch(capacity, dtype),
        scores=np.zeros(n_outputs),
        direction=np.zeros(n_outputs),
        vector=np.zeros((1, n_features), dtype),
        least_size=np.zeros(1),
    )
