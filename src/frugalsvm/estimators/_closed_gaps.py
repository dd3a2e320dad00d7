"""What is stored of rows when some of them have gone: the last ones take their places, without a copy of the others."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

__all__ = ["Gaps", "closed", "gaps_of"]


class Gaps(NamedTuple):
    """Where rows have gone."""

    places: np.ndarray  # ascending; those at the end are not among them
    moved: np.ndarray  # the last rows, which take these places
    n_left: int


def gaps_of(n_rows: int, gone: np.ndarray) -> Gaps:
    """The gaps that some of the rows leave."""
    n_left = n_rows - len(gone)
    last = np.ones(len(gone), bool)
    last[gone[gone >= n_left] - n_left] = False
    return Gaps(np.sort(gone[gone < n_left]), n_left + np.flatnonzero(last), n_left)


@contextmanager
def closed(arrays: Sequence[np.ndarray], gaps: Gaps) -> Iterator[list[np.ndarray]]:
    """Context in which the last rows of some arrays are in the gaps; it has views of the rows that are left.

    After it, nothing is left of the rows where they were. If it fails, all rows are as before.
    """
    before = [(each[gaps.places], each[gaps.n_left :].copy()) for each in arrays]
    try:
        for each in arrays:
            each[gaps.places] = each[gaps.moved]
        yield [each[: gaps.n_left] for each in arrays]
        for each in arrays:
            each[gaps.n_left :] = 0
    except BaseException:
        for each, (in_gaps, last) in zip(arrays, before, strict=True):
            each[gaps.places], each[gaps.n_left :] = in_gaps, last
        raise
