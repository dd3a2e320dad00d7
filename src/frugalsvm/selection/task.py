"""What there is to learn, and where; and candidates: a kernel with a width, for rows in one view or another.

Rows are seen scaled, with long tails drawn in, in proportion, or in a learned metric.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frugalsvm.arrays.namespace import HOST
from frugalsvm.cells.on_device import bytes_on_device
from frugalsvm.cells.places import OnDevice, OnThreads, Place
from frugalsvm.cells.solver import cell_bytes
from frugalsvm.compiling.threads import Threads
from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.metric import mapped
from frugalsvm.metric_learning.machine import median_distance

__all__ = ["Candidate", "Machinery", "Task", "View", "gamma_for", "new_view", "similar_gamma"]

_CENTER_ROWS = 4096
_START_WIDTHS = {"rbf": 1.0, "laplacian": 1.0, "matern12": 0.25, "matern32": 0.5, "matern52": 0.5}


class View(NamedTuple):
    """All rows, seen in one way; they are prepared when they are taken."""

    name: str
    rows_at: Callable[[Any], Any]  # (n, d) array or CSR matrix of some rows, by an index or a slice
    width: int
    is_sparse: bool
    center: np.ndarray  # kernels of differences do not see it, but float32 does; zeros for sparse rows
    metric: np.ndarray | None = None  # factors or a matrix
    base: str = ""  # the view that a metric is for, if there is one

    def take(self, index: Any) -> Any:
        """Some rows, as a kernel sees them."""
        rows = self.rows_at(index)
        if issparse(rows):
            rows = rows.astype(np.float32)
            if self.metric is not None:
                rows.data *= self.metric[rows.indices]
            return rows
        rows = rows - self.center
        return np.ascontiguousarray(rows if self.metric is None else mapped(rows, self.metric), np.float32)

    def dense(self, index: Any) -> np.ndarray:
        """The same as an array, without columns of sparse rows that are zero in all of these, which may be many."""
        rows = self.take(index)
        return rows[:, np.union1d(rows.indices, 0)].toarray() if issparse(rows) else rows

    def softened(self) -> "View":
        """The view of a metric half-way between a learned one and none: the square roots of its factors.

        A metric that is learned from few rows overstates what it found: with 600 to 4000 rows, half of it has fewer
        errors in two cases of three. The mean squared distance of rows that are scaled is the same.
        """
        A: Any = self.metric
        if A.ndim == 1:
            half = np.sqrt(A)
        else:
            left, sizes, right = np.linalg.svd(A, full_matrices=False)
            half = (left * np.sqrt(sizes)) @ right
        return self._replace(name=f"{self.name}, softened", metric=half * (np.linalg.norm(A) / np.linalg.norm(half)))


def new_view(name: str, rows_at: Callable[[Any], Any]) -> View:
    first = rows_at(slice(0, _CENTER_ROWS))
    center = np.zeros(first.shape[1]) if issparse(first) else first.mean(axis=0, dtype=np.float64)
    return View(name, rows_at, first.shape[1], issparse(first), center)


class Candidate(NamedTuple):
    """A kernel with a width."""

    view: str
    kernel: str
    gamma: float

    def part(self) -> Any:
        """The kernel as compiled code knows it."""
        kernel: Any = KERNELS[self.kernel]
        return kernel(gamma=float(self.gamma))

    def narrower(self, factor: float) -> "Candidate":
        """With distances multiplied by the root of a factor; those of L1 likewise."""
        return self._replace(gamma=self.gamma * factor ** (1.0 if is_of_products(self.part()) else 0.5))


def gamma_for(kernel: str, rows: np.ndarray, rng: np.random.Generator) -> float:
    """A gamma to begin with: one over the median distance of rows, as the kernel measures it, or near that."""
    part: Any = KERNELS[kernel]
    distance = median_distance(part(gamma=1.0), np.asarray(rows, np.float64), rng)
    return _START_WIDTHS[kernel] / (distance**2 if is_of_products(part(gamma=1.0)) else distance)


def similar_gamma(candidate: Candidate, kernel: str, n_features: int) -> float:
    """The gamma of another kernel that is about as wide: differences of rows are taken to be alike in all features."""
    is_square, was_square = (is_of_products(KERNELS[each](gamma=1.0)) for each in (kernel, candidate.kernel))  # type: ignore[call-arg]
    steepness = candidate.gamma / _START_WIDTHS[candidate.kernel]
    if was_square and not is_square:
        steepness = (steepness / n_features) ** 0.5
    elif is_square and not was_square:
        steepness = steepness**2 * n_features
    return float(_START_WIDTHS[kernel] * steepness)


class Machinery(NamedTuple):
    """Where machines are solved."""

    arrays: Any = HOST
    threads: Threads = Threads(1)
    memory: int = 4 * 2**30

    @property
    def place(self) -> Place:
        """Where cells are solved."""
        on_threads = OnThreads(self.threads, self.memory)
        return on_threads if self.arrays is HOST else OnDevice(self.arrays, self.memory, self.threads)

    def cell_bytes(self, size: int, n_features: int, n_outputs: int) -> int:
        """What a cell of ``size`` rows takes while it is solved, about."""
        if self.arrays is HOST:
            return cell_bytes(size, n_features, n_outputs, np.float32)
        return bytes_on_device(size, n_features, n_outputs, 4)


class Task(NamedTuple):
    """What there is to learn."""

    views: dict[str, View]
    targets: np.ndarray  # (n_outputs, n) float32: signs of classes, or values
    labels: np.ndarray | None  # (n,) indices of classes
    weights: np.ndarray  # (n,) float32
    loss: Any  # of low-rank machines
    machinery: Machinery
    rng: np.random.Generator

    @property
    def classes(self) -> bool:
        return self.labels is not None

    @property
    def n_outputs(self) -> int:
        return len(self.targets)

    @property
    def n_rows(self) -> int:
        return len(self.weights)
