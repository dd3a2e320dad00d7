"""From dicts and data frames of features to rows of numbers."""

from collections.abc import Hashable, Iterable
from operator import itemgetter
from typing import Any

import numpy as np
from sklearn.utils import murmurhash3_32

__all__ = ["HashedFeatures", "NamedFeatures"]

REMEMBERED = 100_000  # hashed names that are remembered at most


class NamedFeatures:
    """One feature for each key of the first example, sorted; keys that lack are 0, keys that come later are ignored."""

    def __init__(self, names: Iterable[Hashable]):
        self.names = sorted(names, key=str)
        if not self.names:
            raise ValueError("The first example has no features.")
        self._row = np.zeros(len(self.names))
        self._values = itemgetter(*self.names) if len(self.names) > 1 else None

    def row(self, x: dict) -> np.ndarray:
        """The features of an example, in an array that is used again."""
        row = self._row
        try:
            if self._values is None:
                row[0] = x.get(self.names[0], 0.0)
            else:
                row[:] = self._values(x)
        except KeyError:
            row[:] = [_number(name, x.get(name, 0.0)) for name in self.names]
        except (TypeError, ValueError):
            for name in self.names:
                _number(name, x.get(name, 0.0))
            raise
        return row

    def matrix(self, frame: Any) -> np.ndarray:
        """The features of a data frame; columns that lack are 0."""
        whole = np.zeros((len(frame), len(self.names)))
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
        self._row = np.zeros(n_features)
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
        """The features of an example, in an array that is used again."""
        row = self._row
        row[:] = 0.0
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
        rows = [self.row(x).copy() for x in frame.to_dict(orient="records")]
        return np.array(rows).reshape(len(rows), self.n_features)


def _number(name, value) -> float:
    """A value as a number, or one clear sentence."""
    try:
        return float(value)
    except (TypeError, ValueError):
        hint = "; n_features= hashes text" if isinstance(value, str) else ""
        raise ValueError(f"Feature {name!r} has the value {value!r}, which is not a number{hint}.") from None
