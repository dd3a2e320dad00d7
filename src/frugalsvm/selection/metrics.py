"""Learned metrics as candidates: judged by rows that they have not seen, beside the best plain ones.

A metric that was learned from rows fits these better than others. A part of the rows is therefore kept out of its
learning; machines of the other rows, with and without the metric, are compared on them.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import issparse

from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.kernels import KERNELS
from frugalsvm.metric_learning.machine import Rows, standardized
from frugalsvm.metric_learning.race import race
from frugalsvm.selection.candidates import Candidate, View, similar_gamma, width_step
from frugalsvm.selection.heats import Entry, Heat, Task, best_of

__all__ = ["METRIC", "learned_view", "metric_entries"]

METRIC = "learned metric"
_MOST_ROWS = 2**15


def learned_view(task: Task, view: View, index: np.ndarray, kernel: str) -> View:
    """The view of a metric that is learned from some rows, for a kernel."""
    part = KERNELS[kernel](gamma=1.0)  # type: ignore[call-arg]
    index = index[:_MOST_ROWS]
    values = view.take(index)
    rows = Rows(
        np.asarray(values.toarray() if issparse(values) else values, np.float64),
        standardized(task.targets[:, index].T.astype(np.float64)),
        task.weights[index].astype(np.float64),
    )
    kinds = ("factors", "matrix") if is_of_products(part) and not issparse(values) else ("factors",)
    arrays, n_threads = task.machinery.arrays, task.machinery.threads.count
    rows = Rows(*(arrays.asarray(each, "float64") for each in tuple(rows)))
    found = race(part, rows, task.rng, kinds=kinds, classes=task.classes, n_threads=n_threads)
    A = np.asarray(found.point.A, np.float64)
    return view._replace(name=f"{METRIC} ({kernel})", metric=A, base=view.name)


def metric_entries(heat: Heat, view: str, kernel: str, kernels: Sequence[str], reserve: float) -> list[Entry]:
    """Kernels in a metric that was learned with one of them: at the width that came with it, and at similar ones."""
    here = Candidate(view, kernel, 1.0)
    entries = heat.all_entries(lambda each: [heat.ridge_entry(each)], [here, here.narrower(2.0)])
    best, n_features = best_of(entries).candidate, heat.task.views[view].X.shape[1]
    others = []
    for other in kernels:
        if other != kernel:
            like = best._replace(kernel=other, gamma=similar_gamma(best, other, n_features))
            others += [like, width_step(like, up=False)]

    def if_there_is_time(candidate):
        return [heat.ridge_entry(candidate)] if heat.clock.fits(heat.ridge_seconds, reserve) else []

    return entries + heat.all_entries(if_there_is_time, others)
