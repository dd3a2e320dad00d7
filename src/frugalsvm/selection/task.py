"""What there is to learn, and where and in which time; candidates; and which rows take part in a comparison.

Rows are seen scaled, with long tails drawn in, in proportion, or in a learned metric. A candidate is a kernel with a
width, for rows in one of these views.
"""

import math
import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frugalsvm.arrays.namespace import HOST
from frugalsvm.cells.on_device import bytes_on_device
from frugalsvm.cells.places import OnDevice, OnThreads, Place
from frugalsvm.cells.solver import cell_bytes
from frugalsvm.cells.tree import Tree, cells_of, grown_tree
from frugalsvm.compiling.threads import Threads, row_blocks
from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.seen_rows import mapped
from frugalsvm.metric_learning.machine import median_distance

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


# --- which rows take part --------------------------------------------------------------------------------------------

# Widths and penalties depend on how dense rows are, so that they are chosen in cells that are as dense as those of the
# last fit. A tree of some rows tells where its cells are; all rows are then passed through it once.

FEW = 10  # rows that every class keeps, if it has them
_MOST_ROWS = 2**18  # of an order: more are never looked at
_SAMPLE_ROWS = 2**17  # of a tree
_BLOCK_ROWS = 2**16


def random_order(labels: np.ndarray | None, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """A random order of all rows, or of very many; with labels (indices of classes), classes are in proportion."""
    if n_rows > _MOST_ROWS:
        some = _drawn(labels, n_rows, rng)
        return some[random_order(None if labels is None else labels[some], len(some), rng)]
    order = rng.permutation(n_rows)
    if labels is None:
        return order
    ranks, counts = _ranks(labels[order])
    places = (ranks + rng.random(n_rows)) / counts[labels[order]]
    return order[np.argsort(places, kind="stable")]


def _drawn(labels, n_rows, rng) -> np.ndarray:
    """Some rows, with a few of every class."""
    some = np.unique(rng.integers(n_rows, size=_MOST_ROWS // 2))
    if labels is None:
        return some
    counts = np.bincount(labels, minlength=labels.max() + 1)
    lacking = np.flatnonzero(np.bincount(labels[some], minlength=len(counts)) < np.minimum(counts, FEW))
    return np.unique(np.concatenate([some, *(np.flatnonzero(labels == each)[:FEW] for each in lacking)]))


def sampled(order: np.ndarray, labels: np.ndarray | None, n_rows: int) -> np.ndarray:
    """The first rows of a random order, and a few rows of classes that would have fewer among them."""
    if n_rows >= len(order) or labels is None:
        return order[:n_rows]
    ranks, _ = _ranks(labels[order])
    return order[(np.arange(len(order)) < n_rows) | (ranks < FEW)]


def _ranks(labels):
    """How many rows of its class come before each row, and how many there are of each class."""
    counts = np.bincount(labels)
    by_class = np.argsort(labels, kind="stable")
    first = np.cumsum(counts) - counts
    ranks = np.empty(len(labels), np.int64)
    ranks[by_class] = np.arange(len(labels)) - first[labels[by_class]]
    return ranks, counts


def neighborhoods(task: Task, view: View, size: int, count: int) -> list[np.ndarray]:
    """The rows of some cells of about a size, from all over; one of all rows, where they are no more."""
    n_rows = task.n_rows
    if n_rows <= size or view.is_sparse:  # trees are for dense rows
        return [np.sort(task.rng.choice(n_rows, min(size, n_rows), replace=False, shuffle=False))]
    drawn = np.sort(task.rng.choice(n_rows, min(n_rows, _SAMPLE_ROWS), replace=False, shuffle=False))
    least = max(2, size * len(drawn) // n_rows)
    tree = grown_tree(view.take(drawn), least, task.rng, task.machinery.threads)
    chosen = (np.arange(count) * 2 + 1) * tree.n_cells // (2 * count) if tree.n_cells > count else range(tree.n_cells)
    if len(drawn) == n_rows:
        return [np.sort(tree.members_of(cell)) for cell in chosen]
    return _members(task, view, tree, list(chosen), 2 * size)


def _members(task: Task, view: View, tree: Tree, chosen: list[int], most: int) -> list[np.ndarray]:
    """All rows that fall into some cells, but no more than ``most`` of each."""
    found: list[list[np.ndarray]] = [[] for _ in chosen]
    for block in row_blocks(task.n_rows, 1, most=_BLOCK_ROWS):
        cells = cells_of(tree, view.take(block), task.machinery.threads)
        for cell, parts in zip(chosen, found, strict=True):
            parts.append(block.start + np.flatnonzero(cells == cell))
    return [np.concatenate(parts)[:most] for parts in found]


def divided(task: Task, view: View, members: np.ndarray, size: int) -> list[np.ndarray]:
    """The rows of a cell in smaller ones."""
    if len(members) <= size or view.is_sparse:
        return [members]
    tree = grown_tree(view.take(members), size, np.random.default_rng(0), task.machinery.threads)
    return [np.sort(members[tree.members_of(cell)]) for cell in range(tree.n_cells)]


# --- how long it takes -----------------------------------------------------------------------------------------------

# Estimates are in seconds of a usual core. What this machine takes for as much work is found on the way: a clock
# compares what was foreseen with what it took.

CELLS, LOW_RANK = "cells", "low rank"  # kinds of work


def fit_work(n_rows: int, n_landmarks: int, n_outputs: int) -> float:
    """A fit of a low-rank machine: passes over kernel values, and factorizations."""
    passes = 2e-8 * n_rows * n_landmarks * n_outputs * (1.0 + n_landmarks / 4096)
    return passes + 2e-9 * n_rows * n_landmarks + 4e-10 * n_landmarks**3


def cell_work(n_rows: int, size: int) -> float:
    """Machines of all rows, in cells of a size: factors and inverses, kernel values."""
    return 4e-11 * n_rows * size**2 + 4e-9 * n_rows * size


def largest_within(sizes: tuple[int, ...], work, limit: float) -> int:
    """The largest of some increasing sizes whose work is within a limit, or the smallest."""
    return max((size for size in sizes if work(size) <= limit), default=sizes[0])


class Clock:
    """What is left of a limit of time, and how much work fits in; without a limit, everything does.

    Estimates use what was measured: the median ratio of time and work, of the same kind or else of any. Code that is
    compiled on the way makes for a few large ones.
    """

    def __init__(self, limit: float | None = None, now=time.perf_counter):
        self.limit, self._now, self._start = limit, now, now()
        self._ratios: dict[str, list[float]] = {}  # seconds for a unit of work, by kind

    @property
    def spent(self) -> float:
        return self._now() - self._start

    @property
    def left(self) -> float:
        return math.inf if self.limit is None else self.limit - self.spent

    def seconds_for(self, kind: str, work: float) -> float:
        """What so much work will take."""
        return work * self.ratio(kind)

    def ratio(self, kind: str) -> float:
        """How many seconds this machine takes for one of a usual core."""
        every = [ratio for ratios in self._ratios.values() for ratio in ratios]
        return median(self._ratios.get(kind) or every or [1.0])

    def measure(self, kind: str, work: float, seconds: float) -> None:
        """Remember how long work of a kind has taken."""
        self._ratios.setdefault(kind, []).append(seconds / work)

    def fits(self, seconds: float, reserve: float = 0.0) -> bool:
        """Whether there is time for ``seconds``, and for a reserve after them."""
        return self.left >= seconds + reserve
