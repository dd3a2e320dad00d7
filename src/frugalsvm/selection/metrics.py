"""Learned metrics as views of the rows; rows that are kept out of the learning judge them."""

import numpy as np

from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.kernels import KERNELS
from frugalsvm.metric_learning.machine import Rows, standardized
from frugalsvm.metric_learning.race import race
from frugalsvm.selection.candidates import View
from frugalsvm.selection.task import Task

__all__ = ["METRIC", "MOST_ROWS", "learned_view", "number_of_judges"]

METRIC = "learned metric"
MOST_ROWS = 2**16
_SHARE, _MOST_JUDGES = 0.25, 2**14


def number_of_judges(n_rows: int) -> int:
    """How many rows are kept out of the learning, at least."""
    return min(int(_SHARE * n_rows), _MOST_JUDGES)


def learned_view(task: Task, view: View, index: np.ndarray, kernel: str) -> View:
    """The view of a metric that is learned from some rows, for a kernel."""
    part = KERNELS[kernel](gamma=1.0)  # type: ignore[call-arg]
    X = view.take(index)
    rows = Rows(
        (X.toarray() if view.is_sparse else X).astype(np.float64),
        standardized(task.targets[:, index].T.astype(np.float64)),
        task.weights[index].astype(np.float64),
    )
    kinds = ("factors", "matrix") if is_of_products(part) and not view.is_sparse else ("factors",)
    arrays, n_threads = task.machinery.arrays, task.machinery.threads.count
    rows = Rows(*(arrays.asarray(each, "float64") for each in tuple(rows)))
    found = race(part, rows, task.rng, kinds=kinds, classes=task.classes, n_threads=n_threads)
    A = np.asarray(found.point.A, np.float64)
    return view._replace(name=f"{METRIC} ({kernel})", metric=A, base=view.name)
