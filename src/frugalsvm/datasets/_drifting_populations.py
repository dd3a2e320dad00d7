"""What the streams of ``drifting.py`` draw: a row for a concept, which is a number."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from frugalsvm.datasets._blocks import Examples, Population, check_at_least
from frugalsvm.datasets._schedules import Schedule

_UNIFORM_STD = np.sqrt(1.0 / 12.0)  # of numbers between 0 and 1


@dataclass(frozen=True, kw_only=True)
class Drifting(Population):
    """What is drawn: subclasses add options and the method `examples`."""

    seed: int
    schedule: Schedule
    noise: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.noise <= 1.0:
            raise ValueError(f"noise must lie in [0, 1], got {self.noise!r}")

    def draw_at(self, rng: np.random.Generator, start: int, size: int) -> Examples:
        # Drawn first and always, so that rows do not depend on the drift more than they must.
        gates = rng.random(size, dtype=np.float32)
        concept = self.schedule.concepts(np.arange(start, start + size), gates)
        return self.examples(rng, concept)

    def examples(self, rng: np.random.Generator, concept: NDArray[np.float64]) -> Examples:
        """Draw a row for each of the concepts."""
        raise NotImplementedError

    def _fixed(self) -> np.random.Generator:
        """A generator for what is drawn once for a stream."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(self.stream_key,)))

    def _signs(self, rng: np.random.Generator, is_positive: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Labels with noise, which is drawn last."""
        is_flipped = rng.random(len(is_positive), dtype=np.float32) < self.noise
        return np.where(is_positive ^ is_flipped, 1, -1)


@dataclass(frozen=True, kw_only=True)
class _Checkerboard(Drifting):
    """A board that moves: subclasses say where rows are on it."""

    n_features: ClassVar[int] = 2

    noise: float = 0.15
    cells: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("cells", self.cells, 1)

    def examples(self, rng: np.random.Generator, concept: NDArray[np.float64]) -> Examples:
        unit = rng.random((len(concept), 2), dtype=np.float32)
        cells = np.floor(self.places(unit, concept)).astype(np.int64)
        y = self._signs(rng, (cells[:, 0] + cells[:, 1]) & 1 == 0)
        return self._scaled(unit.astype(self.dtype, copy=False), 0.5, _UNIFORM_STD), y

    def places(self, unit: NDArray[np.float32], concept: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class _ShiftedCheckerboard(_Checkerboard):
    stream_key: ClassVar[int] = 5

    shift: float = 1.0

    def places(self, unit: NDArray[np.float32], concept: NDArray[np.float64]) -> NDArray[np.float64]:
        moved = np.multiply(unit, self.cells, dtype=np.float64)
        moved[:, 0] -= self.shift * concept
        return moved


@dataclass(frozen=True, kw_only=True)
class _RotatingCheckerboard(_Checkerboard):
    stream_key: ClassVar[int] = 6

    def places(self, unit: NDArray[np.float32], concept: NDArray[np.float64]) -> NDArray[np.float64]:
        across, up = self.cells * (unit.astype(np.float64).T - 0.5)
        cosine, sine = _turned(concept)
        return np.stack([cosine * across + sine * up, cosine * up - sine * across], axis=1)


@dataclass(frozen=True, kw_only=True)
class _Sea(Drifting):
    n_features: ClassVar[int] = 3
    stream_key: ClassVar[int] = 7
    thresholds: ClassVar[tuple[float, ...]] = (8.0, 9.0, 7.0, 9.5)

    noise: float = 0.1

    def examples(self, rng: np.random.Generator, concept: NDArray[np.float64]) -> Examples:
        X = 10.0 * rng.random((len(concept), 3), dtype=np.float32)
        n_thresholds = len(self.thresholds)
        around = (*self.thresholds, self.thresholds[0])
        threshold = np.interp(concept % n_thresholds, np.arange(n_thresholds + 1), around)
        y = self._signs(rng, X[:, 0].astype(np.float64) + X[:, 1] <= threshold)
        return self._scaled(X.astype(self.dtype, copy=False), 5.0, 10.0 * _UNIFORM_STD), y


@dataclass(frozen=True, kw_only=True)
class _Hyperplane(Drifting):
    stream_key: ClassVar[int] = 8

    n_features: int = 10  # type: ignore[misc]
    noise: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("n_features", self.n_features, 2)

    def examples(self, rng: np.random.Generator, concept: NDArray[np.float64]) -> Examples:
        unit = rng.random((len(concept), self.n_features), dtype=np.float32)
        # An orthonormal pair of directions, between which the normal of the hyperplane turns.
        plane, _ = np.linalg.qr(self._fixed().standard_normal((self.n_features, 2)))
        first, second = ((unit.astype(np.float64) - 0.5) @ plane).T
        cosine, sine = _turned(concept)
        y = self._signs(rng, cosine * first + sine * second >= 0.0)
        return self._scaled(unit.astype(self.dtype, copy=False), 0.5, _UNIFORM_STD), y


@dataclass(frozen=True, kw_only=True)
class _MovingRBF(Drifting):
    stream_key: ClassVar[int] = 9

    n_features: int = 10  # type: ignore[misc]
    n_centers: int = 20
    n_classes: int = 2
    spread: float = 0.07
    distance: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("n_features", self.n_features, 1)
        check_at_least("n_classes", self.n_classes, 2)
        check_at_least("n_centers", self.n_centers, self.n_classes)

    def examples(self, rng: np.random.Generator, concept: NDArray[np.float64]) -> Examples:
        size, fixed = len(concept), self._fixed()
        start = fixed.random((self.n_centers, self.n_features))
        direction = fixed.standard_normal((self.n_centers, self.n_features))
        direction *= self.distance / np.linalg.norm(direction, axis=1, keepdims=True)
        chosen = rng.integers(self.n_centers, size=size)
        # Out and back between the walls at 0 and 1: a straight way, folded.
        way = (start[chosen] + concept[:, None] * direction[chosen]) % 2.0
        X = np.where(way > 1.0, 2.0 - way, way)
        X += self.spread * rng.standard_normal((size, self.n_features), dtype=np.float32)
        y = chosen % self.n_classes
        # Another class, each with the same probability.
        is_replaced = rng.random(size, dtype=np.float32) < self.noise
        other = (y + rng.integers(1, self.n_classes, size=size)) % self.n_classes
        X = X.astype(np.float32).astype(self.dtype, copy=False)
        return self._scaled(X, 0.5, np.sqrt(1.0 / 12.0 + self.spread**2)), np.where(is_replaced, other, y)


@dataclass(frozen=True, kw_only=True)
class _Friedman(Drifting):
    stream_key: ClassVar[int] = 10
    target_dtype: ClassVar[type] = np.float64

    n_features: int = 10  # type: ignore[misc]
    noise: float = 1.0

    def __post_init__(self) -> None:
        if self.noise >= 0.0:
            Population.__post_init__(self)
        else:
            raise ValueError(f"noise must not be negative, got {self.noise!r}")
        check_at_least("n_features", self.n_features, 5)

    def examples(self, rng: np.random.Generator, concept: NDArray[np.float64]) -> Examples:
        unit = rng.random((len(concept), self.n_features), dtype=np.float32)
        before = np.floor(concept)
        share = concept - before
        first = before.astype(np.int64)
        y = (1.0 - share) * self._target(unit, first) + share * self._target(unit, first + 1)
        y += self.noise * rng.standard_normal(len(concept))
        return self._scaled(unit.astype(self.dtype, copy=False), 0.5, _UNIFORM_STD), y

    def _target(self, unit: NDArray[np.floating], first: NDArray[np.int64]) -> NDArray[np.float64]:
        """Friedman's function of the features from a number on; after the last comes the first."""
        rows = np.arange(len(unit))
        a, b, c, d, e = (unit[rows, (first + k) % self.n_features].astype(np.float64) for k in range(5))
        return 10.0 * np.sin(np.pi * a * b) + 20.0 * (c - 0.5) ** 2 + 10.0 * d + 5.0 * e


POPULATIONS: dict[str, type[Drifting]] = {
    "checkerboard": _ShiftedCheckerboard,
    "friedman": _Friedman,
    "hyperplane": _Hyperplane,
    "moving_rbf": _MovingRBF,
    "rotating_checkerboard": _RotatingCheckerboard,
    "sea": _Sea,
}


def _turned(quarters: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cosine and sine of quarter turns; whole turns are left out, so that they stay exact in long streams."""
    angle = 0.5 * np.pi * (quarters % 4.0)
    return np.cos(angle), np.sin(angle)
