"""How candidates that learn the same stream are compared, and which of them are dropped when.

Rows are predicted by all candidates before they learn them, so that differences of their accuracies are paired. When
the number of rows has doubled, those in the worse half that are worse than the best by more than chance are dropped.
Both conditions are needed: learning curves cross, and a candidate that is a little behind after some thousand rows is
often ahead later. For the same reason what was judged before a doubling counts a quarter after it.
"""

import math
from typing import NamedTuple

import numpy as np

from frugalsvm._stored import ANY_COUNT, NOT_NEGATIVE, distinct, stored, within

__all__ = ["Race", "accuracies", "begun", "judged", "leader", "learned", "reduced", "thinned"]

_MORE_THAN_CHANCE = 3.0  # standard errors of a paired difference
_REMEMBERED = 0.25  # share of what was judged that counts after the number of rows has doubled
_IN_THE_RACE = -1


@stored(
    "stream-race",
    arrays={"racing": "i r", "right": "d r", "differ": "d rr", "accuracy": "d c", "dropped_at": "i c"},
    ranges={"weight": NOT_NEGATIVE, "n_rows": ANY_COUNT, "next_cut": ANY_COUNT},
)
class Race(NamedTuple):
    """Candidates that race, and what became of the others; it is replaced, never changed."""

    racing: np.ndarray  # those that still learn
    right: np.ndarray  # of these: the weight of rows that they predicted correctly
    differ: np.ndarray  # of pairs of these: the squared weights of rows that one of the two predicted correctly
    weight: float  # of all rows that were judged
    n_rows: int  # that were learned
    next_cut: int  # number of rows after which the worst are dropped
    accuracy: np.ndarray  # of all candidates, as it was when they were last judged; 0 if they never were
    dropped_at: np.ndarray  # number of rows after which a candidate was dropped; -1 if it was not

    def is_sound(self, sizes: dict[str, int]) -> bool:
        """Whether the numbers fit together."""
        sound = len(self.racing) > 0 and distinct(self.racing) and within(self.racing, len(self.accuracy))
        sound = sound and np.array_equal(np.sort(self.racing), np.flatnonzero(self.dropped_at == _IN_THE_RACE))
        sizes_right = (self.right >= 0).all() and (self.differ >= 0).all()
        return bool(sound and sizes_right and ((self.accuracy >= 0) & (self.accuracy <= 1)).all())


def begun(n_candidates: int, n_rows: int, first_cut: int) -> Race:
    """The race after all candidates have learned their first rows, on which none was judged."""
    return Race(
        racing=np.arange(n_candidates),
        right=np.zeros(n_candidates),
        differ=np.zeros((n_candidates, n_candidates)),
        weight=0.0,
        n_rows=n_rows,
        next_cut=max(first_cut, 2 * n_rows),
        accuracy=np.zeros(n_candidates),
        dropped_at=np.full(n_candidates, _IN_THE_RACE),
    )


def judged(race: Race, is_right: np.ndarray, weights: np.ndarray | None) -> Race:
    """The race after some rows were predicted: ``is_right`` has a row for each candidate that races."""
    if weights is None:
        weights = np.ones(is_right.shape[1])
    right = is_right * weights
    only_one = right @ (weights * ~is_right).T
    now = race._replace(
        right=race.right + right.sum(axis=1),
        differ=race.differ + only_one + only_one.T,
        weight=race.weight + float(weights.sum()),
    )
    if now.weight == 0.0:
        return now
    accuracy = race.accuracy.copy()
    accuracy[race.racing] = np.minimum(now.right / now.weight, 1.0)
    return now._replace(accuracy=accuracy)


def learned(race: Race, n_rows: int) -> Race:
    """The race after more rows were learned."""
    return race._replace(n_rows=race.n_rows + n_rows)


def thinned(race: Race) -> tuple[Race, np.ndarray]:
    """The race after a cut, and which of those that raced are left."""
    best = leader(race)
    order = np.argsort(-race.right, kind="stable")
    is_behind = race.right[best] - race.right > _MORE_THAN_CHANCE * np.sqrt(race.differ[best])
    is_behind[order[: math.ceil(len(order) / 2)]] = False
    kept = np.flatnonzero(~is_behind)
    left = reduced(race, kept)
    return left._replace(
        right=_REMEMBERED * left.right,
        differ=_REMEMBERED**2 * left.differ,  # squared weights
        weight=_REMEMBERED * left.weight,
        next_cut=2 * race.next_cut,
    ), kept


def reduced(race: Race, kept: np.ndarray) -> Race:
    """The race of some of those that race; the others are dropped."""
    dropped_at = race.dropped_at.copy()
    dropped_at[race.racing] = race.n_rows
    dropped_at[race.racing[kept]] = _IN_THE_RACE
    return race._replace(
        racing=race.racing[kept],
        right=race.right[kept],
        differ=np.ascontiguousarray(race.differ[np.ix_(kept, kept)]),
        dropped_at=dropped_at,
    )


def leader(race: Race) -> int:
    """Which of those that race is the best so far; the first one, if several are."""
    return int(race.right.argmax())


def accuracies(race: Race) -> list[tuple[float | None, int, int | None]]:
    """Of each candidate: accuracy before learning, rows learned, and after how many it was dropped; None: not yet."""
    told = []
    for accuracy, dropped_at in zip(race.accuracy.tolist(), race.dropped_at.tolist(), strict=True):
        is_racing = dropped_at == _IN_THE_RACE
        n_rows = race.n_rows if is_racing else dropped_at
        told.append((accuracy if race.weight > 0 else None, n_rows, None if is_racing else dropped_at))
    return told
