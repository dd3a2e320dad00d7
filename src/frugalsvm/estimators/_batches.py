"""Data that does not fit into memory: batches that can be read again and again."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frugalsvm.arrays.namespace import on_host
from frugalsvm.core.moments import Moments, joined_moments, moments_of
from frugalsvm.estimators.seen_rows import check_size
from frugalsvm.estimators.validation import validated_rows


class Survey(NamedTuple):
    """What a first pass over all batches finds."""

    y: np.ndarray
    sample_weight: np.ndarray | None
    moments: Moments  # of those rows of X that have a weight


class Batches:
    """Batches ``(X, y)`` or ``(X, y, sample_weight)``, from a collection or from a function that begins again."""

    def __init__(self, source: Callable[[], Iterable] | Iterable):
        if not callable(source) and iter(source) is source:
            raise ValueError(
                "Training reads the batches several times, but an iterator can be read only once. Pass a list, an "
                "object that can be iterated again, or a function that returns a new iterator."
            )
        self._source = source

        self._estimator: Any = None
        self._numbers: np.ndarray | None = None

    def seen_by(self, estimator: Any) -> "Batches":
        """The same batches, whose `rows` are those that the kernel of an estimator sees."""
        same = self.only(self._numbers)
        same._estimator = None if estimator._sees_rows_as_they_are else estimator
        return same

    def only(self, numbers: np.ndarray | None) -> "Batches":
        """The same batches, whose `rows` are those with some numbers, which are in order; None is all."""
        same = Batches(self._source)
        same._estimator, same._numbers = self._estimator, numbers
        return same

    def __iter__(self):
        return iter(self._source() if callable(self._source) else self._source)

    def rows(self):
        """The rows of each batch."""
        start = 0
        for batch in self:
            X = on_host(batch[0])
            X = X.tocsr() if issparse(X) else np.asarray(X)
            if self._numbers is not None:
                own = self._numbers[slice(*np.searchsorted(self._numbers, (start, start + X.shape[0])))] - start
                start += X.shape[0]
                X = X[own]
            yield X if self._estimator is None else self._estimator._as_seen(X, np.float32)

    def survey(self, estimator) -> Survey:
        """Check all batches, and read all that is small."""
        labels: list[np.ndarray] = []
        weights: list[np.ndarray] = []
        moments: Moments | None = None
        for batch in self:
            _refuse_text(batch)
            X, y, *weight = (on_host(each) for each in batch)
            X = validated_rows(estimator, X, reset=not labels)
            check_size(X, np.float32)
            y = np.array(y)  # a copy: a view would keep the memory of the whole batch
            if y.shape != (X.shape[0],):
                raise ValueError(f"Batch {len(labels)} has {X.shape[0]} rows, but its y has the shape {y.shape}.")
            if len(weight) and weight[0] is not None:
                weights.append(np.array(weight[0], np.float64))
                if weights[-1].shape != y.shape:
                    raise ValueError(
                        f"Batch {len(labels)} has {len(y)} rows, but its weights have the shape {weights[-1].shape}."
                    )
            labels.append(y)
            X = X[np.flatnonzero(weights[-1])] if len(weights) == len(labels) else X
            if X.shape[0]:
                found = moments_of(X)
                moments = found if moments is None else joined_moments(moments, found)
        if moments is None:
            why = "All weights are zero: there is nothing to learn."
            raise ValueError(why if labels else "There are no batches: nothing to learn from.")
        if weights and len(weights) != len(labels):
            raise ValueError("Some batches have sample weights and some have none.")
        return Survey(np.concatenate(labels), np.concatenate(weights) if weights else None, moments)


def _refuse_text(batch: Any) -> None:
    """Refuse batches of a stream (`frugalsvm.streams`) that have columns of text, which X does not have."""
    columns = getattr(batch, "columns", None)
    if columns:
        raise ValueError(
            f"The batches have columns of text ({', '.join(map(repr, columns))}), which would not be learned: encode "
            "them, or leave them out when the stream is opened (ignore=)."
        )
