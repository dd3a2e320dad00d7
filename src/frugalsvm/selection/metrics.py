"""Learned metrics as candidates: judged by rows that they have not seen, beside the best plain ones.

A metric that was learned from rows fits these better than others. A part of the rows is therefore kept out of its
learning; machines of the other rows, with and without the metric, are compared on them.
"""

import numpy as np
from scipy.sparse import issparse

from frugalsvm._threads import blas_threads
from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.kernels import KERNELS
from frugalsvm.metric_learning.machine import Rows
from frugalsvm.metric_learning.race import race
from frugalsvm.selection.candidates import Candidate, View, gamma_for, width_step
from frugalsvm.selection.heats import Entry, Heat, Task

__all__ = ["METRIC", "judge_rows", "learned_view", "metric_entries"]

METRIC = "learned metric"
_SHARE, _LARGEST_SHARE = 0.15, 0.25
_FEW_JUDGES, _MOST_JUDGES = 1000, 4096
_MOST_ROWS = 2**15


def judge_rows(n_rows: int) -> int:
    """How many rows judge a metric."""
    few = min(_FEW_JUDGES, int(_LARGEST_SHARE * n_rows))
    return min(max(int(_SHARE * n_rows), few), _MOST_JUDGES)


def learned_view(task: Task, view: View, index: np.ndarray, kernel: str) -> View:
    """The view of a metric that is learned from some rows, for a kernel."""
    part = KERNELS[kernel](gamma=1.0)  # type: ignore[call-arg]
    index = index[:_MOST_ROWS]
    values = view.take(index)
    rows = Rows(
        np.asarray(values.toarray() if issparse(values) else values, np.float64),
        _standardized(task.targets[:, index].T.astype(np.float64), classes=task.classes),
        task.weights[index].astype(np.float64),
    )
    kinds = ("factors", "matrix") if is_of_products(part) and not issparse(values) else ("factors",)
    arrays, threads = task.machinery.arrays, task.machinery.threads.count
    with blas_threads(threads):
        rows = Rows(*(arrays.asarray(each, "float64") for each in tuple(rows)))
        found = race(part, rows, task.rng, kinds=kinds, classes=task.classes)
    A = np.asarray(found.point.A, np.float64)
    return view._replace(name=f"{METRIC} ({kernel})", metric=A, base=view.name)


def _standardized(targets, *, classes):
    if classes:
        return targets
    spread = targets.std(axis=0)
    return (targets - targets.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def metric_entries(heat: Heat, view: str, kernels: tuple[str, ...], reserve: float) -> list[Entry]:
    """Kernels in a learned metric, at two widths: for that which it was learned with, the one that came with it."""
    entries: list[Entry] = []
    for kernel in kernels:
        rows = heat.task.views[view].take(heat.index[: 2**11])
        own = view.endswith(f"({kernel})")
        gamma = 1.0 if own else gamma_for(kernel, rows, heat.task.rng)
        here = Candidate(view, kernel, gamma)
        for candidate in (here, here.narrower(2.0) if own else width_step(here, up=True)):
            if not entries or heat.clock.fits(heat.ridge_seconds, reserve):
                entries.append(heat.ridge_entry(candidate))
    return entries
