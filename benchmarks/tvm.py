"""Speed of the Twin Vector Machine and of the exact incremental SVM: ``python -m benchmarks.tvm``.

One pass over a million rows beside BSGD, and `IncrementalSVC` beside `SVC`. Accuracies beside the paper's are those of
``python -m experiments run tvm``.
"""

import sys
import time

import numpy as np
from rich.console import Console
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.printing import table
from frugalsvm import BSGDClassifier, TVMClassifier
from frugalsvm.datasets import load, make_checkerboard


def board_chunks(seed, n_rows, size=100_000):
    """The noisy checkerboard in chunks."""
    for part in range(n_rows // size):
        X, y = make_checkerboard(size, noise=0.15, dtype=np.float64, random_state=1000 * seed + part)
        yield X, np.where(y > 0, 1, -1)


def speed(console):
    """Against BSGD on the same million rows, and exact learning against a batch solver."""
    X, y = (np.concatenate(parts) for parts in zip(*board_chunks(0, 1_000_000), strict=True))
    tvm = TVMClassifier(100, 100.0, gamma=1 / (2 * 0.37), shuffle=False)
    bsgd = BSGDClassifier(budget=100, gamma=1 / (2 * 0.37), shuffle=False)
    out = table("One pass over a million noisy checkerboard rows", "model", "CPU s", "examples/s")
    for name, model in (("BSGD merge", bsgd), ("TVM", tvm)):
        model.fit(X[:500], y[:500])
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
        out.add_row(name, f"{seconds:.2f}", f"{len(y) / seconds:,.0f}")
    console.print(out)
    exact(console)


def exact(console):
    from frugalsvm import IncrementalSVC

    X, y = load("banana")
    X, y = np.asarray(X[:4_000], np.float64), np.asarray(y[:4_000])
    out = table(
        "4,000 banana rows one by one, gamma = 1",
        "C",
        "IncrementalSVC s",
        "SVC s",
        "ratio",
        "unlearn ms",
        "refit / unlearn",
    )
    for C in (1.0, 10.0, 100.0):
        model = IncrementalSVC(C=C, gamma=1.0)
        model.fit(X[:100], y[:100]).unlearn([0])
        seconds, batch = (
            _seconds(lambda model=model: model.fit(X, y)),
            _seconds(lambda C=C: SVC(C=C, gamma=1.0).fit(X, y)),
        )
        chosen = np.random.default_rng(0).permutation(4_000)[:200]
        each = _seconds(lambda model=model, chosen=chosen: [model.unlearn([k]) for k in chosen]) / 200
        out.add_row(
            f"{C:g}",
            f"{seconds:.2f}",
            f"{batch:.2f}",
            f"{seconds / batch:.2f}",
            f"{1000 * each:.2f}",
            f"{batch / each:.0f}",
        )
    console.print(out)


def _seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def main():
    with threadpool_limits(1):
        speed(Console(width=None if sys.stdout.isatty() else 140))


if __name__ == "__main__":
    main()
