"""From dicts and data frames of features to rows of numbers."""

from collections.abc import Hashable, Iterable
from operator import itemgetter
from typing import Any

import numpy as np
from sklearn.utils import murmurhash3_32

REMEMBERED = 100_000  # hashed names that are remembered at most


class NamedFeatures:
    """One feature for each key: sorted ones of the first example, then new ones; missing keys are ``absent``."""

    def __init__(self, names: Iterable[Hashable], absent: float = 0.0):
        self.names: list[Hashable] = []
        self.absent = absent
        self.add(names)
        if not self.names:
            raise ValueError("The first example has no features.")

    def new_in(self, names: Iterable[Hashable]) -> list[Hashable]:
        """Those of the names that have no feature yet."""
        return [] if self._known.issuperset(names) else [name for name in names if name not in self._known]

    def add(self, names: Iterable[Hashable]) -> None:
        """Features for new names, after those that are there."""
        self.names = [*self.names, *sorted(names, key=str)]
        self._known = frozenset(self.names)
        self._values = itemgetter(*self.names) if len(self.names) > 1 else None

    def row(self, x: dict) -> np.ndarray:
        """The features of an example."""
        try:
            if self._values is not None:
                return np.array(self._values(x), np.float64)
        except KeyError:
            pass
        except (TypeError, ValueError):
            for name in self.names:
                _number(name, x.get(name, self.absent))
            raise
        return np.array([_number(name, x.get(name, self.absent)) for name in self.names])

    def matrix(self, frame: Any) -> np.ndarray:
        """The features of a data frame."""
        whole = np.full((len(frame), len(self.names)), self.absent)
        for index, name in enumerate(self.names):
            if name in frame.columns:
                try:
                    whole[:, index] = frame[name].to_numpy(dtype=np.float64)
                except (TypeError, ValueError):
                    raise ValueError(f"Column {name!r} is not numeric; n_features= hashes text.") from None
        return whole


class HashedFeatures:
    """A fixed number of features, to which keys are hashed as scikit-learn's `FeatureHasher` does; text values too."""

    def __init__(self, n_features: int):
        self.n_features = n_features
        self._indices: dict[str, tuple[int, float]] = {}

    def _index(self, name: str) -> tuple[int, float]:
        index = self._indices.get(name)
        if index is None:
            if len(self._indices) >= REMEMBERED:
                self._indices.clear()
            value = murmurhash3_32(name, seed=0)
            index = self._indices[name] = (abs(value) % self.n_features, 1.0 if value >= 0 else -1.0)
        return index

    def row(self, x: dict) -> np.ndarray:
        """The features of an example."""
        row = np.zeros(self.n_features)
        for key, value in sorted(x.items(), key=lambda item: str(item[0])):  # sums are rounded in the same order
            if isinstance(value, str):
                index, sign = self._index(f"{key}={value}")
                row[index] += sign
            else:
                index, sign = self._index(str(key))
                row[index] += sign * _number(key, value)
        return row

    def matrix(self, frame: Any) -> np.ndarray:
        """The features of a data frame."""
        rows = [self.row(x) for x in frame.to_dict(orient="records")]
        return np.array(rows).reshape(len(rows), self.n_features)


def _number(name, value) -> float:
    """A value as a number, or one clear sentence; None is one that is missing."""
    try:
        return np.nan if value is None else float(value)
    except (TypeError, ValueError):
        hint = "; n_features= hashes text" if isinstance(value, str) else ""
        raise ValueError(f"Feature {name!r} has the value {value!r}, which is not a number{hint}.") from None
