"""How streams are read: examples are drawn in blocks of fixed size, each with its own random generator.

Block ``b`` of a population is seeded by ``(random_state, b)``. Example ``i`` is therefore the same whatever the chunk
size, the number of samples asked for, or the row where reading starts; any example can be reached in constant time.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

RandomState = int | np.random.Generator | np.random.RandomState | None
Examples = tuple[NDArray[np.floating], NDArray[Any]]

# Large enough to hide the cost of seeding a generator (some 20 microseconds), small enough that one block of
# the widest population stays in the processor's cache. Changing it changes every stream.
BLOCK_SIZE = 16_384


@dataclass(frozen=True, kw_only=True)
class Population:
    """What is drawn: subclasses add options and the method `draw`."""

    n_features: ClassVar[int]
    # Keeps the populations independent of each other under one seed.
    stream_key: ClassVar[int]
    target_dtype: ClassVar[type] = np.int64

    standardize: bool = True
    dtype: DTypeLike = np.float32

    def __post_init__(self) -> None:
        if np.dtype(self.dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, got {np.dtype(self.dtype)}")

    def draw(self, rng: np.random.Generator, size: int) -> Examples:
        # Subclasses draw in float32 for either dtype, so that the dtype does not change the examples.
        raise NotImplementedError

    def draw_at(self, rng: np.random.Generator, start: int, size: int) -> Examples:
        """Draw the rows from a position on; in populations that do not change, the position is of no importance."""
        return self.draw(rng, size)

    def _scaled(self, X: NDArray[np.floating], mean: Any, std: Any) -> NDArray[np.floating]:
        """Standardize X in place if asked to."""
        if self.standardize:
            X -= np.asarray(mean, dtype=X.dtype)
            X *= np.asarray(1.0 / np.asarray(std), dtype=X.dtype)
        return X


class Reader:
    """Random access to the examples of one population under one seed."""

    def __init__(self, population: Population, random_state: RandomState) -> None:
        self._population = population
        self._seed = as_seed(random_state)
        self._block_number = -1
        self._block: Examples

    def read(self, start: int, size: int) -> Examples:
        """Return examples ``start`` to ``start + size - 1`` in new arrays."""
        X = np.empty((size, self._population.n_features), dtype=self._population.dtype)
        y: NDArray[Any] = np.empty(size, dtype=self._population.target_dtype)
        done = 0
        while done < size:
            number, offset = divmod(start + done, BLOCK_SIZE)
            X_block, y_block = self._load_block(number)
            step = min(BLOCK_SIZE - offset, size - done)
            X[done : done + step] = X_block[offset : offset + step]
            y[done : done + step] = y_block[offset : offset + step]
            done += step
        return X, y

    def _load_block(self, number: int) -> Examples:
        # Small chunks visit one block many times: keep the last one.
        if number != self._block_number:
            spawn_key = (self._population.stream_key, number)
            rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=spawn_key))
            self._block = self._population.draw_at(rng, number * BLOCK_SIZE, BLOCK_SIZE)
            self._block_number = number
        return self._block


def first_examples(population: Population, n_samples: int, random_state: RandomState) -> Examples:
    check_at_least("n_samples", n_samples, 0)
    return Reader(population, random_state).read(0, n_samples)


def check_chunks(start: int, n_samples: int | None, chunk_size: int) -> None:
    if n_samples is not None:
        check_at_least("n_samples", n_samples, 0)
    check_at_least("start", start, 0)
    check_at_least("chunk_size", chunk_size, 1)


def chunks_of(reader: Reader, start: int, n_samples: int | None, chunk_size: int) -> Iterator[Examples]:
    check_chunks(start, n_samples, chunk_size)
    # A generator function would delay the checks until the first chunk is asked for.
    starts = count(start, chunk_size) if n_samples is None else range(start, start + n_samples, chunk_size)
    end = math.inf if n_samples is None else start + n_samples
    return (reader.read(first, int(min(chunk_size, end - first))) for first in starts)


def as_seed(random_state: RandomState) -> int:
    if random_state is None:
        return np.random.SeedSequence().entropy  # type: ignore[return-value]
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    check_at_least("random_state", random_state, 0)
    return int(random_state)


def check_at_least(name: str, value: int, smallest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < smallest:
        raise ValueError(f"{name} must be at least {smallest}, got {value}")
