"""A scaler whose rows are watched as they are learned: features that leave their range get new statistics."""

import copy
from typing import Any

import numpy as np

from frugalsvm.core.moments import moments_of
from frugalsvm.pipelines.statistics import Statistics, standard_statistics
from frugalsvm.pipelines.watching import RangeWatch, bounds_of, copied, end_block, followed, take

__all__ = ["WatchesRanges"]


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
