"""``python -m benchmarks.regression_speed``: how fast a budgeted regressor learns, beside the classifier and the limit.

The classifier learns whether the target is above its median, from the same rows. Time for an example is that of rows
after the first pass: what a model chooses by itself on the first rows (epsilon, the strength) takes the same time
however long the stream is, and stands in its own column. One thread; the least of some runs.
"""

import argparse
import sys
from typing import Any

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks.limit import best_of, nanoseconds_per_value
from benchmarks.printing import table
from benchmarks.regression_data import NAMES, split_of
from frugalsvm import BSGDClassifier, BSGDRegressor

BUDGET, ROWS = 500, 30_000
FIRST_ROWS = 2_048  # on which models choose; learned in a moment


def speed_row(name: str, model: Any, X: np.ndarray, y: np.ndarray) -> list[str]:
    model.set_params(budget=BUDGET, gamma=1 / X.shape[1], random_state=0)
    first_seconds = best_of(lambda: model.__class__(**model.get_params()).fit(X[:FIRST_ROWS], y[:FIRST_ROWS]), 3)
    model.fit(X, y)
    updates = model.n_updates_
    seconds = best_of(lambda: model.partial_fit(X, y), 4)  # learns 5 times, with the first to warm up
    share = (model.n_updates_ - updates) / (5 * len(X))
    microseconds = seconds / len(X) * 1e6
    limit = nanoseconds_per_value(model._kernel, X, model.support_vectors_.astype(np.float32)) * BUDGET / 1e3
    cells = (
        100 * share,
        microseconds,
        limit,
        microseconds / limit,
        1e3 * first_seconds - 1e-3 * FIRST_ROWS * microseconds,
    )
    return [name, type(model).__name__, *(f"{cell:.{n}f}" for cell, n in zip(cells, (0, 2, 2, 2, 0), strict=True))]


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regression_speed", description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help=f"any of: {', '.join(NAMES)} (default: all)")
    names = parser.parse_args().names
    shown = table(
        f"{BUDGET} support vectors, one thread",
        "data", "learner", "updates, %", "us an example", "limit", "x limit", "ms to choose",
    )  # fmt: skip
    with threadpool_limits(1):
        for name in names:
            split = split_of(name)
            X, y = np.ascontiguousarray(split.X[:ROWS], np.float32), split.y[:ROWS]
            shown.add_row(*speed_row(name, BSGDRegressor(), X, y))
            shown.add_row(*speed_row(name, BSGDClassifier(), X, y > np.median(y)))
    Console(width=None if sys.stdout.isatty() else 140).print(shown)


if __name__ == "__main__":
    main()
