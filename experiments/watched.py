"""Classifiers that are looked at while they learn: the curves of the LASVM and of the tracking paper."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from frugalsvm import LASVMClassifier, TrackingSVC
from frugalsvm.dual.online import new_work, solver_of
from frugalsvm.dual.tracking import make_rounds

__all__ = ["WatchedBatch", "WatchedLASVM", "WatchedTracking", "checkpoints"]


def checkpoints(n_rows: int, count: int, first: int = 0) -> list[int]:
    """Numbers of examples after which to look, the last of them ``n_rows``.

    Equally far from each other, or equally far in the logarithm from ``first`` on.
    """
    places = np.geomspace(first, n_rows, count) if first else np.linspace(0, n_rows, count + 1)[1:]
    return sorted({int(place) for place in np.rint(places)})


class Watched:
    """A dual classifier that is looked at while it learns.

    It gets its rows in parts between the looks, which costs time: seconds are to be measured without.
    """

    def watch(self, **looks: tuple[Iterable[int], Callable[[Any], dict[str, float]]]):
        """Look in these ways, each after so many examples; what is seen is in ``records`` by the name of the look."""
        self._looks = {name: (frozenset(places), look) for name, (places, look) in looks.items()}
        self.records: dict[str, list[dict[str, float]]] = {name: [] for name in looks}
        self._n_learned = self._n_pool_values = 0
        return self

    @property
    def n_pool_values(self) -> int:
        """Kernel values that were computed to choose examples from pools."""
        return self._n_pool_values

    @property
    def n_kernel_values(self) -> int:
        return int(self._solver.state.working_set.counts[0]["n_kernel_evals"])

    def _pick(self, X, labels, support):
        before = self.n_kernel_values
        place = super()._pick(X, labels, support)
        self._n_pool_values += self.n_kernel_values - before
        return place

    def _learn_rows(self, X, labels, boxes, order):
        ends = np.arange(1, len(order) + 1)
        watched = sorted(set().union(*(places for places, _ in self._looks.values())))
        for part in np.split(order, ends[np.isin(self._n_learned + ends, watched)]):
            if len(part):
                super()._learn_rows(X, labels, boxes, part)
                self._n_learned += len(part)
                self._look()

    def _look(self):
        for name, (places, look) in self._looks.items():
            if self._n_learned in places:
                self.records[name].append({"n": self._n_learned, **look(self)})


class WatchedLASVM(Watched, LASVMClassifier):
    pass


class WatchedTracking(Watched, TrackingSVC):
    pass


class WatchedBatch(Watched, TrackingSVC):
    """The batch counterpart of the tracking algorithms, looked at after rounds of steps instead of examples.

    Loading the rows is no step: kernel values are counted from the first step on, with an empty cache.
    """

    def _passes(self, X, labels, weights, random_state):
        tracking = self._learner
        looks, self._looks = self._looks, {"": ((), None)}
        self._learner = tracking._replace(n_steps=0, process=False, cached=False)
        self._learn(X, labels, weights, self._order(X.shape[0], random_state))
        self._learner, self._looks, self._n_learned = tracking, looks, 0
        self._solver = solver_of(self._solver.state, int(self.cache_size * 2**20))
        state, cache = self._solver
        state.working_set.counts[0]["n_kernel_evals"] = 0
        for n_rounds in sorted(set().union(*(places for places, _ in looks.values()))):
            make_rounds(tracking, n_rounds - self._n_learned, state, cache, new_work(state))
            self._n_learned = n_rounds
            self._look()
