"""How candidates that learn the same stream are compared, and which of them are dropped when.

Rows are predicted by all candidates before they learn them, so that differences of their accuracies are paired. When
the number of rows has doubled, those in the worse half that are worse than the best by more than chance are dropped.
Both conditions are needed: learning curves cross, and a candidate that is a little behind after some thousand rows is
often ahead later. For the same reason what was judged before a doubling counts a quarter after it.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import NOT_BELOW_ZERO, Count, NotNegative, distinct, stored, within

_MORE_THAN_CHANCE = 3.0  # standard errors of a paired difference
_REMEMBERED = 0.25  # share of what was judged that counts after the number of rows has doubled
_STILL_LEARNING = -1


@stored("stream-race")
class Standing(NamedTuple):
    """Candidates that are left, and what became of the others; it is replaced, never changed.

    Model files have its names: ``racing`` is for candidates that are left.
    """

    racing: Annotated[np.ndarray, "i r"]  # those that still learn
    right: Annotated[np.ndarray, "d r", NOT_BELOW_ZERO]  # of these: the weight of rows that they predicted correctly
    differ: Annotated[np.ndarray, "d rr", NOT_BELOW_ZERO]  # of pairs: the squared weights of rows that one got right
    weight: NotNegative  # of all rows that were judged
    n_rows: Count  # that were learned
    next_cut: Count  # number of rows after which the worst are dropped
    accuracy: Annotated[np.ndarray, "d c", (0, 1)]  # of all candidates, when last judged; 0 if they never were
    dropped_at: Annotated[np.ndarray, "i c"]  # number of rows after which a candidate was dropped; -1 if it was not

    def is_sound(self, sizes: dict[str, int]) -> bool:
        """Whether the numbers fit together."""
        sound = len(self.racing) > 0 and distinct(self.racing) and within(self.racing, len(self.accuracy))
        sound = sound and np.array_equal(np.sort(self.racing), np.flatnonzero(self.dropped_at == _STILL_LEARNING))
        return bool(sound)


def begun(n_candidates: int, n_rows: int, first_cut: int) -> Standing:
    """How candidates stand after all have learned their first rows, on which none was judged."""
    return Standing(
        racing=np.arange(n_candidates),
        right=np.zeros(n_candidates),
        differ=np.zeros((n_candidates, n_candidates)),
        weight=0.0,
        n_rows=n_rows,
        next_cut=max(first_cut, 2 * n_rows),
        accuracy=np.zeros(n_candidates),
        dropped_at=np.full(n_candidates, _STILL_LEARNING),
    )


def judged(standing: Standing, is_right: np.ndarray, weights: np.ndarray | None) -> Standing:
    """How they stand after some rows were predicted: ``is_right`` has a row for each candidate that is left."""
    if weights is None:
        weights = np.ones(is_right.shape[1])
    right = is_right * weights
    only_one = right @ (weights * ~is_right).T
    now = standing._replace(
        right=standing.right + right.sum(axis=1),
        differ=standing.differ + only_one + only_one.T,
        weight=standing.weight + float(weights.sum()),
    )
    if now.weight == 0.0:
        return now
    accuracy = standing.accuracy.copy()
    accuracy[standing.racing] = np.minimum(now.right / now.weight, 1.0)
    return now._replace(accuracy=accuracy)


def learned(standing: Standing, n_rows: int) -> Standing:
    """How they stand after more rows were learned."""
    return standing._replace(n_rows=standing.n_rows + n_rows)


def thinned(standing: Standing) -> tuple[Standing, np.ndarray]:
    """How they stand after a cut, and which of them are left."""
    best = leader(standing)
    order = np.argsort(-standing.right, kind="stable")
    is_behind = standing.right[best] - standing.right > _MORE_THAN_CHANCE * np.sqrt(standing.differ[best])
    is_behind[order[: math.ceil(len(order) / 2)]] = False
    kept = np.flatnonzero(~is_behind)
    left = reduced(standing, kept)
    return left._replace(
        right=_REMEMBERED * left.right,
        differ=_REMEMBERED**2 * left.differ,  # squared weights
        weight=_REMEMBERED * left.weight,
        next_cut=2 * standing.next_cut,
    ), kept


def reduced(standing: Standing, kept: np.ndarray) -> Standing:
    """Some of those that are left; the others are dropped."""
    dropped_at = standing.dropped_at.copy()
    dropped_at[standing.racing] = standing.n_rows
    dropped_at[standing.racing[kept]] = _STILL_LEARNING
    return standing._replace(
        racing=standing.racing[kept],
        right=standing.right[kept],
        differ=np.ascontiguousarray(standing.differ[np.ix_(kept, kept)]),
        dropped_at=dropped_at,
    )


def leader(standing: Standing) -> int:
    """Which of those that are left is the best so far; the first one, if several are."""
    return int(standing.right.argmax())


def accuracies(standing: Standing) -> list[tuple[float | None, int, int | None]]:
    """Of each candidate: accuracy before learning, rows learned, and after how many it was dropped; None: not yet."""
    found = []
    for accuracy, dropped_at in zip(standing.accuracy.tolist(), standing.dropped_at.tolist(), strict=True):
        is_left = dropped_at == _STILL_LEARNING
        n_rows = standing.n_rows if is_left else dropped_at
        found.append((accuracy if standing.weight > 0 else None, n_rows, None if is_left else dropped_at))
    return found
