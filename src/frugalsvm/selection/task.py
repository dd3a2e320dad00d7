"""What there is to learn, and where it is computed."""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.namespace import HOST
from frugalsvm.cells.on_device import bytes_on_device
from frugalsvm.cells.places import OnDevice, OnThreads, Place
from frugalsvm.cells.solver import cell_bytes
from frugalsvm.compiling.threads import Threads
from frugalsvm.selection.candidates import View

__all__ = ["Machinery", "Task"]


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
