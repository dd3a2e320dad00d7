"""Rows that are there several times: each counts as often as it is there, and is left out as one.

Leave-one-out errors tell nothing of rows of which there are copies, such as those of a class that somebody has drawn
several times, or of a bootstrap sample: what is left out is still there. Kernels too narrow win then, and errors look
like none. `AutoSVC` and `AutoSVR` learn with these weights; `LocalSVC` and `LocalSVR` keep all rows, and warn.

Rows of few values are alike by chance, too, and new rows will be like them. Their targets show it: rows that
are alike by chance do not always share them.
"""

from collections.abc import Iterable, Sequence

import numpy as np

_MANY = 0.1  # share of rows that are copies of others, from which they matter
_UNLIKE = 0.05  # share of rows of the same values with several targets, from which they are alike by chance
_FACTORS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)  # odd
_SHIFTS = np.uint64(29), np.uint64(32)


def weights_of_copies(
    columns: Iterable[np.ndarray], targets: Sequence[np.ndarray] | np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray | None:
    """Weights in which the first of rows that are the same has those of all, and its copies none.

    None where few are, or where they are alike by chance.
    """
    n_rows = len(targets[0])
    alike = _hashed(columns, np.zeros(n_rows, np.uint64))
    found, first, places = np.unique(_hashed(targets, alike), return_index=True, return_inverse=True)
    if n_rows - len(found) < max(_MANY * n_rows, 1):
        return None
    n_same = np.unique(alike, return_counts=True)[1]
    n_targets = np.unique(alike[first], return_counts=True)[1]
    if np.count_nonzero(n_targets > 1) > _UNLIKE * np.count_nonzero(n_same > 1):
        return None
    merged = np.zeros(n_rows)
    merged[first] = np.bincount(places, weights)
    return merged


def _hashed(columns: Iterable[np.ndarray], start: np.ndarray) -> np.ndarray:
    """A number of 64 bits for each row of some columns, which rows share that are the same."""
    found = start
    for column in columns:
        values = np.asarray(column, np.float64) + 0.0  # -0.0 is 0.0
        found = (found ^ values.view(np.uint64)) * _FACTORS[0]
        found = (found ^ (found >> _SHIFTS[0])) * _FACTORS[1]
        found ^= found >> _SHIFTS[1]
    return found
