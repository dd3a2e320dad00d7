"""`LocalSVC` and `LocalSVR` in steps, for rows that are not all in one place: batches, or partitions of a cluster.

`begin_local` takes the metric, the kernel, the origin and the trunk of each tree (`frugalsvm.cells.trunk`) from some of
the rows, and their targets from what ``targets_of`` gives for all. Then the rows of every part are brought together,
somehow, and divided into cells. ``choose_strength`` looks at a few of these. When all are solved, the estimator gets
what was learned by ``take_cells``, ``take_left_out`` and ``look_back``. Whoever takes these steps gets the same model
from the same rows.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.utils import check_random_state

from frugalsvm.cells.training import grown_trees
from frugalsvm.cells.tree import Tree
from frugalsvm.cells.trunk import drawn_rows, sampling_for
from frugalsvm.estimators.constraints import is_auto
from frugalsvm.estimators.validation import parsed_bytes

__all__ = [
    "Beginning",
    "KnownRows",
    "begin_local",
    "has_choice",
    "numbers_of",
    "seen_by",
]

_SHARE = 4  # of memory: rows that were drawn, rows of a part, and those that wait to be written take one each at most


class KnownRows(Protocol):
    """Rows that have a weight, among others."""

    @property
    def numbers(self) -> np.ndarray: ...  # among all rows, in order

    def taken(self, numbers: np.ndarray) -> np.ndarray: ...  # rows by their numbers, which are in order


class Beginning(NamedTuple):
    """What is known before rows are brought together."""

    size: int  # most rows of a cell
    trunks: list[Tree]
    seed: int  # of branches
    room: int  # rows that may be in memory at a time
    place: Any  # where cells are solved: see `frugalsvm.cells.places`


def seen_by(estimator: Any, X: np.ndarray) -> np.ndarray:
    """Rows as the kernel of an estimator sees them, in its type."""
    return np.ascontiguousarray(estimator._as_seen(X, estimator._dtype))


def numbers_of(targets: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """The numbers of all rows that have a weight."""
    known = np.arange(targets.shape[1]) if weights is None else np.flatnonzero(weights)
    if not len(known):
        raise ValueError("All weights are zero: there is nothing to learn.")
    return known


def begin_local(estimator: Any, known: KnownRows, targets: np.ndarray, weights: np.ndarray | None) -> Beginning:
    """Take from some rows all that does not need all of them."""
    if estimator.tree == "public":
        raise ValueError("tree='public' is for fit, which has all rows in memory: use it, or tree='rows'.")
    drawn, n_rows = known.numbers, len(known.numbers)
    size = estimator._size_for(n_rows)
    room = parsed_bytes("memory", estimator.memory) // _SHARE // (8 * estimator.n_features_in_)
    sampling, random_state = sampling_for(n_rows, size, room), check_random_state(estimator.random_state)
    estimator._is_of_sample = sampling.n_rows < n_rows
    if estimator._is_of_sample:
        drawn = drawn[drawn_rows(n_rows, sampling.n_rows, _generator(random_state))]
    some = (targets[:, drawn], None if weights is None else weights[drawn])
    sample = estimator._seen_first(known.taken(drawn), *some, random_state).astype(estimator._dtype, copy=False)
    place = estimator._place_for(min(size, n_rows), len(targets))
    rng = _generator(random_state)
    trunks = grown_trees(sample, sampling.size, estimator.n_trees, rng, place.threads)
    return Beginning(size, trunks, int(rng.integers(2**31)), room, place)


def _generator(random_state) -> np.random.Generator:
    return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))


def has_choice(estimator: Any) -> bool:
    """Whether gamma or C are to be chosen."""
    return is_auto(estimator.C) or estimator._has_free_gamma
