"""Watching whether features stay within the limits that they had when their statistics were taken, and following them.

Rows are counted in blocks, from the first row after the statistics, so that it does not matter in which batches they
come. A feature is *outside* in a block if it is beyond its limit in more than half of the rows; or, if it was constant,
if it has another value in more than a tenth of them. A feature that was outside in two blocks in a row is due: its
statistics are taken again, from the values of the second. The next time it takes three blocks, then five, nine, ...: a
feature that only grows, such as a date, is soon left alone at its limit.

Scalers that follow the stream join the statistics of every block with those before. There all features are suspects,
and ``n_blocks`` are the blocks that their statistics are of. Of n rows before, with center c and scale s, and a block
of m rows with center d and scale r,

    c' = c + w (d - c),     s'^2 = (1 - w) s^2 + w r^2 + w (1 - w) (d - c)^2,      w = m / (n + m)

are the statistics of all of them together. Rows before count for no more than a number of rows that the half-life
gives, so that old ones are forgotten.

A feature that was constant until now takes the statistics of the block as they are. One that is constant in the block
keeps its own: it may come back, and what it is then must look as it did before.
"""

import copy
from typing import Annotated, Any, NamedTuple

import numpy as np

from frugalsvm._stored import COUNTED, stored, within
from frugalsvm.core.moments import moments_of
from frugalsvm.core.schedules import clock_of
from frugalsvm.pipelines.statistics import ROUNDING, Statistics, standard_statistics

BLOCK_LENGTHS = (100, 1000)  # at least and at most; otherwise as many as the statistics were taken from
LARGEST_SHARE = 0.5  # of the rows of a block, beyond the limit
LARGEST_SHARE_OF_CONSTANT = 0.1  # with another value
NAMED = 5  # features in a warning, at most
MOST_RENEWALS = 30  # that the number of blocks is doubled for


@stored("range-watch")
class RangeWatch(NamedTuple):
    """What was seen since the statistics were taken; arrays are changed in place."""

    n_rows: Annotated[np.ndarray, "i 1"]  # (1,) of the present block
    n_beyond: Annotated[np.ndarray, "i f", COUNTED]  # (n_features,) rows of the present block
    n_blocks: Annotated[np.ndarray, "i f", COUNTED]  # blocks in a row in which the feature was outside
    n_renewals: Annotated[np.ndarray, "i f", COUNTED]  # (n_features,)
    suspects: Annotated[np.ndarray, "i k"]  # features that are recorded: they were outside in the block before
    values: Annotated[np.ndarray, "d bk"]  # (block_rows, n_suspects) of the present block

    @property
    def block_rows(self) -> int:
        return self.values.shape[0]

    @property
    def is_full(self) -> bool:
        """Whether the block has all its rows."""
        return self.n_rows.item() >= self.block_rows

    def is_sound(self, sizes) -> bool:
        """Whether suspects are features, and the rows are counted."""
        return within(self.suspects, sizes["f"]) and within(self.n_rows, sizes["b"] + 1)


def _begun(n_blocks: np.ndarray, n_renewals: np.ndarray, suspects: np.ndarray, block_rows: int) -> RangeWatch:
    """A watch at the beginning of a block."""
    n_beyond, values = np.zeros_like(n_blocks), np.zeros((block_rows, len(suspects)))
    return RangeWatch(np.zeros(1, np.int64), n_beyond, n_blocks, n_renewals, suspects, values)


def new_watch(n_features: int, n_rows: int) -> RangeWatch:
    """A watch that has seen nothing, for statistics that were taken from ``n_rows`` rows."""
    least, most = BLOCK_LENGTHS
    n_blocks, n_renewals = np.zeros((2, n_features), np.int64)
    return _begun(n_blocks, n_renewals, np.zeros(0, np.int64), min(max(n_rows, least), most))


def watch_of_all(n_blocks: np.ndarray, block_rows: int) -> RangeWatch:
    """A watch at the beginning of a block that records the values of all features."""
    return _begun(n_blocks, np.zeros(len(n_blocks), np.int64), np.arange(len(n_blocks)), block_rows)


def copied(watch: RangeWatch) -> RangeWatch:
    """A watch that can be changed without changing this one."""
    return RangeWatch(*(array.copy() for array in watch))


def bounds_of(statistics: Statistics, dtype) -> np.ndarray:
    """Distances from the center that a feature may have: up to its limit, or none if it was constant."""
    rounding = ROUNDING * np.finfo(dtype).eps * np.abs(statistics.center)
    bounds: np.ndarray = np.where(statistics.constant, rounding, np.asarray(statistics.limit))
    return bounds


def take(watch: RangeWatch, X: np.ndarray, center: np.ndarray, bounds: np.ndarray) -> int:
    """Count the first rows of ``X``, up to the end of the block. Returns how many they were."""
    start = int(watch.n_rows[0])
    X = X[: watch.block_rows - start]
    with np.errstate(over="ignore"):
        watch.n_beyond[:] += np.count_nonzero(np.abs(X - center) > bounds, axis=0)
    if watch.suspects.size:
        watch.values[start : start + X.shape[0]] = X[:, watch.suspects]
    watch.n_rows[0] += X.shape[0]
    return X.shape[0]


def take_one(watch: RangeWatch, x: np.ndarray, is_beyond: np.ndarray) -> bool:
    """Count one row, of which it is known where it is beyond its bounds. Returns whether the block is full."""
    np.add(watch.n_beyond, is_beyond, out=watch.n_beyond)
    row = watch.n_rows.item()
    if watch.suspects.size:
        watch.values[row] = x[watch.suspects]
    watch.n_rows[0] = row + 1
    return row + 1 >= watch.block_rows


def end_block(watch: RangeWatch, constant: np.ndarray) -> tuple[RangeWatch, np.ndarray]:
    """The watch at the beginning of the next block, and the features that are due.

    Those are indices into ``watch.suspects``, whose values are in ``watch.values``.
    """
    most = np.where(constant, LARGEST_SHARE_OF_CONSTANT, LARGEST_SHARE) * watch.block_rows
    n_blocks = np.where(watch.n_beyond > most, watch.n_blocks + 1, 0)
    is_due = n_blocks > 2 ** np.minimum(watch.n_renewals, MOST_RENEWALS)
    due = np.flatnonzero(is_due[watch.suspects])
    n_blocks[is_due] = 0
    return _begun(n_blocks, watch.n_renewals + is_due, np.flatnonzero(n_blocks), watch.block_rows), due


def followed(
    before: Statistics, watch: RangeWatch, block: Statistics, half_life: float
) -> tuple[Statistics, RangeWatch]:
    """The statistics after a block, and the watch for the next one."""
    n_rows = np.minimum(watch.n_blocks * watch.block_rows, clock_of(half_life))
    share = watch.block_rows / (n_rows + watch.block_rows)
    step = block.center - before.center
    with np.errstate(over="ignore"):
        square = (1 - share) * before.scale**2 + share * block.scale**2 + share * (1 - share) * step**2
    begins = before.constant & (~block.constant | (step != 0))
    stays = block.constant & ~before.constant
    scale = np.where(begins, block.scale, np.where(stays | before.constant, before.scale, np.sqrt(square)))
    center = np.where(begins, block.center, np.where(stays, before.center, before.center + share * step))
    limit: np.ndarray = np.where(begins, np.asarray(block.limit), np.asarray(before.limit) / before.scale * scale)
    n_blocks = np.where(begins, 1, watch.n_blocks + ~stays)
    return Statistics(center, scale, limit, before.constant & block.constant), watch_of_all(n_blocks, watch.block_rows)


def left_range(features: np.ndarray, scaler: Any, names: Any = None) -> str:
    """What to say of features that have left their range for long, by their names or else their numbers."""
    first = [str(k) if names is None else repr(names[k]) for k in features[:NAMED].tolist()]
    listed = ", ".join(first) + (", ..." if features.size > NAMED else "")
    what, whose, them = ("Feature", "its", "it") if features.size == 1 else ("Features", "their", "them")
    has = "has" if features.size == 1 else "have"
    n_rows = 2 * scaler._watch.block_rows
    what = (
        f"{what} {listed} {has} left the range of the rows that the scaler took its statistics from, for {n_rows} rows"
    )
    if scaler.renew:
        return (
            f"{what} or more: {whose} center and scale were taken again from the last rows. If this happens again and "
            f"again, leave {them} out or learn differences instead."
        )
    return f"{what} or more: {whose} values are clipped. StreamingScaler(renew=True) takes new statistics then."


# --- a scaler whose rows are watched as they are learned -------------------------------------------------------------


class WatchesRanges:
    """The part of `StreamingScaler` that watches rows; how it takes statistics and scales, is in ``scaler.py``."""

    _watch: RangeWatch | None = None

    @property
    def watches(self: Any) -> bool:
        """Whether learned rows are watched: there are limits that they can leave, and they are dense."""
        return self._watch is not None

    @property
    def statistics(self: Any) -> Statistics:
        """How rows are scaled by a scaler that watches."""
        return Statistics(self.center_, self.scale_, self.limit_, self.constant_)

    def after(self: Any, X: Any) -> tuple[Any, int, np.ndarray]:
        """The scaler after validated rows were learned; this one stays as it is.

        Returns
        -------
        scaler : StreamingScaler
        n_rows : int
            How many rows it took; less than all if it has new statistics, with which the others are to be scaled.
        due : ndarray of int
            Features that have left their range for long.
        """
        made, due, n_taken = copy.copy(self), np.zeros(0, np.int64), 0
        made._watch = watch = copied(self._watch)
        center, bounds = self.center_, bounds_of(self.statistics, X.dtype)
        while n_taken < X.shape[0] and made.scale_ is self.scale_ and not due.size:
            n_taken += take(watch, X[n_taken:], center, bounds)
            if watch.is_full:
                due = made.end_block(X.dtype)
                watch = made._watch
        return made, n_taken, due

    def become(self: Any, other: Any) -> None:
        """Take over what another one is, as `after` made it."""
        self.__dict__.update(vars(other))

    def make_writable(self: Any) -> None:
        """Let single rows be counted in place, also where the arrays come from a file that was mapped to be read."""
        if self._watch is not None and not all(array.flags.writeable for array in self._watch):
            self._watch = copied(self._watch)

    def end_block(self: Any, dtype) -> np.ndarray:
        """Begin a new block of rows; features that have left their range for long get new statistics."""
        seen = self._watch
        if self.half_life is not None:
            self._follow(seen, dtype)
            return np.zeros(0, np.int64)
        self._watch, indices = end_block(seen, self.constant_)
        due = seen.suspects[indices]
        if due.size and self.renew:
            self._renew(due, seen.values[:, indices].astype(dtype))
        return due

    def _follow(self: Any, seen, dtype):
        """Join the statistics of a block with those before."""
        block = self._statistics_of(seen.values.astype(dtype))
        statistics, self._watch = followed(self.statistics, seen, block, self.half_life)
        if not self._is_robust:
            self.var_ = statistics.scale**2
        self._publish(statistics)

    def _statistics_of(self: Any, values):
        return self._robust(values) if self._is_robust else standard_statistics(moments_of(values), self.clip)

    def _renew(self: Any, features, values):
        """New statistics for some features, from their values; arrays are replaced, not changed."""
        new = self._statistics_of(values)
        if not self._is_robust:
            self.var_ = _replaced(self.var_, features, new.scale**2)
        pairs = zip(self.statistics, new, strict=True)
        self._publish(Statistics(*(_replaced(before, features, after) for before, after in pairs)))


def _replaced(array, indices, values):
    array = array.copy()
    array[indices] = values
    return array
