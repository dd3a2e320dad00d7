"""`LocalSVC` and `LocalSVR` in steps, for rows that are not all in one place: batches, or partitions of a cluster.

`begin_local` takes the metric, the kernel, the origin and the trunk of each tree (`frugalsvm.cells.trunk`) from some of
the rows, and their targets from what ``targets_of`` gives for all. Then the rows of every part are brought together,
somehow, and divided into cells. ``choose_strength`` looks at a few of these. When all are solved, the estimator gets
what was learned by ``take_cells``, ``take_left_out`` and ``look_back``. Whoever takes these steps gets the same model
from the same rows.

Batches are read three times: to check them, and to read labels and weights; to draw some rows; and to sort all rows by
the parts of the first trunk, on disk (`frugalsvm.cells.spill`). Then rows are memory-mapped, and all is as in `fit`.
What there is a number or two of for each row stays in memory: labels, weights, coefficients, leave-one-out scores.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from frugalsvm.arrays.namespace import on_host
from frugalsvm.cells.spill import sorted_rows
from frugalsvm.cells.tree import Tree, grown_tree
from frugalsvm.cells.trunk import drawn_rows, grown_on, sampling_for
from frugalsvm.estimators._batches import Batches
from frugalsvm.estimators.constraints import is_auto, parsed_bytes
from frugalsvm.estimators.unchanged import unchanged_on_error
from frugalsvm.estimators.validation import numbers_with_weight, refuse_sparse, validated_rows

_SHARE = 4  # of memory: rows that were drawn, rows of a part, and those that wait to be written take one each at most


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


def begin_local(estimator: Any, known: Any, targets: np.ndarray, weights: np.ndarray | None) -> Beginning:
    """Take from some rows all that does not need all of them.

    ``known`` are the rows that have a weight: ``numbers`` among all rows, in order, and ``taken``, rows by numbers.
    """
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
    trunks = [grown_tree(sample, sampling.size, rng, place.threads) for _ in range(estimator.n_trees)]
    return Beginning(size, trunks, int(rng.integers(2**31)), room, place)


def _generator(random_state) -> np.random.Generator:
    return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))


def has_choice(estimator: Any) -> bool:
    """Whether gamma or C are to be chosen."""
    return is_auto(estimator.C) or estimator._has_free_gamma


class LearnsBatches:
    """`fit_batches`; the rest of the estimator is in `local_machine.py`."""

    def fit_batches(self: Any, batches, *, folder=None):
        """Learn from data that does not fit into memory, read batch by batch, three times.

        Of more than 131,072 rows, the metric and the first divisions of each tree come from a sample, of 32,768 at
        least; fewer give the model of `fit`. Rows are sorted by cell in temporary files of twice their size, and stay
        on the disk when all is learned: the model reads those of a cell when it needs them. They are gone with the
        model, so save it to keep it. ``loo_scores_`` are in the order of the batches.

        Parameters
        ----------
        batches : iterable or callable
            Batches ``(X, y)`` or ``(X, y, sample_weight)``: a list, any object that can be iterated again and again, or
            a function that returns a new iterator. They are the same rows in the same order every time.
        folder : str or path, default=None
            Where temporary files are; None is the folder of the system. It should not be one that is in memory.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from frugalsvm import LocalSVR
        >>> X = np.random.default_rng(0).uniform(-3, 3, size=(5000, 2))
        >>> y = np.sin(X[:, 0]) * X[:, 1]
        >>> def batches():  # a file would be read here
        ...     for start in range(0, 5000, 1000):
        ...         yield X[start : start + 1000], y[start : start + 1000]
        >>> model = LocalSVR(kernel="rbf", cell_size=500, random_state=0).fit_batches(batches)
        >>> model.score(X, y) > 0.99
        True
        """
        with unchanged_on_error(self):
            self._check_params()
            self._forget()
            source = Batches(batches)
            survey = source.survey(self)
            targets, weights = self.targets_of(survey.y, survey.sample_weight)
            del survey
            known = _Known(self, source, numbers_with_weight(weights, targets.shape[1]), targets.shape[1])
            left_out, rows, numbers = self._fit_known(known, targets, weights, folder)
            self.take_left_out(left_out, targets, weights)
            self.look_back(rows, numbers, targets, weights)
        return self

    def _fit_known(self: Any, known: "_Known", targets, weights, folder):
        """Learn the rows that have a weight; returns leave-one-out scores of all, these rows and their numbers."""
        size, trunks, seed, room, place = begin_local(self, known, targets, weights)
        rows, order, trees = sorted_rows(
            known.seen(), len(known.numbers), trunks, min(room, len(known.numbers)), folder, place.threads
        )
        numbers = known.numbers[order]
        trees = [grown_on(tree, rows, size, [seed, number], place.threads) for number, tree in enumerate(trees)]
        examples = place.examples(
            rows,
            np.ascontiguousarray(targets[:, numbers], rows.dtype),
            np.empty(0) if weights is None else np.ascontiguousarray(weights[numbers], np.float64),
        )
        left_out = np.empty(targets.T.shape)
        left_out[numbers] = self._fit_cells(place, examples, trees, size)
        known.score_others(left_out)
        return left_out, rows, numbers


class _Known:
    """Those rows of the batches that have a weight."""

    def __init__(self, estimator: Any, source: Batches, numbers: np.ndarray, n_all: int):
        self.estimator, self._source, self.numbers, self._n_all = estimator, source, numbers, n_all

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Batches, each with the number of its first row."""
        start = 0
        for batch in self._source:
            refuse_sparse(self.estimator, batch[0])
            X = validated_rows(self.estimator, on_host(batch[0]), reset=False)
            yield start, X
            start += len(X)
        if start != self._n_all:
            raise ValueError(f"The batches had {self._n_all:,} rows at first, but {start:,} in a later pass.")

    def taken(self, numbers: np.ndarray) -> np.ndarray:
        """The rows with some numbers, which are in order."""
        found = []
        for start, X in self._blocks():
            own = numbers[slice(*np.searchsorted(numbers, (start, start + len(X))))]
            found.append(X[own - start])
        return np.concatenate(found)

    def seen(self) -> Iterator[np.ndarray]:
        """All of them, as the kernel sees them."""
        for start, X in self._blocks():
            own = self.numbers[slice(*np.searchsorted(self.numbers, (start, start + len(X))))]
            X = X if len(own) == len(X) else X[own - start]
            yield seen_by(self.estimator, X)

    def score_others(self, out: np.ndarray) -> None:
        """Scores of the rows without a weight, which were left out anyway."""
        if len(self.numbers) == self._n_all:
            return
        is_other = np.ones(self._n_all, bool)
        is_other[self.numbers] = False
        for start, X in self._blocks():
            own = np.flatnonzero(is_other[start : start + len(X)])
            if len(own):
                out[start + own] = self.estimator.scores_of(X[own])
