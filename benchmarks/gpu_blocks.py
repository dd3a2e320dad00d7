"""Whether online learners gain from a GPU: ``python -m benchmarks.gpu_blocks``.

BSGD on MNIST with large budgets that are full: milliseconds for a thousand rows on the CPU, with one thread and with
all, and with kernel values from a GPU; and the errors of the models on test rows, which should be alike.
"""

import time

import numpy as np
from rich.console import Console

from benchmarks.gpu import error, plain_rows
from benchmarks.printing import table
from frugalsvm import BSGDClassifier
from frugalsvm.arrays.namespace import available_devices

BUDGETS = (512, 1024, 4096, 8192)
FIRST, LEARNED = 20_000, 8192  # rows before the clock starts, and after
PLACES = {"one thread": {}, "all threads": {"n_jobs": -1}, "GPU": {"device": "cuda"}}


def main():
    X, y, X_test, y_test = plain_rows("mnist")
    console = Console(width=150)
    console.print(available_devices())
    out = table("MNIST, ms per 1000 rows", "maintenance", "budget", *PLACES, "gain", "updates %", "error % (CPU, GPU)")
    for maintenance in ("merge", "remove"):
        for budget in BUDGETS:
            learned = {place: learn(X, y, maintenance, budget, **where) for place, where in PLACES.items()}
            seconds = {place: each[1] for place, each in learned.items()}
            errors = [error(learned[place][0], X_test, y_test) for place in ("one thread", "GPU")]
            out.add_row(
                maintenance,
                str(budget),
                *(f"{1e6 * each / LEARNED:.1f}" for each in seconds.values()),
                f"{seconds['one thread'] / seconds['GPU']:.1f}x",
                f"{learned['GPU'][2]:.1f}",
                ", ".join(f"{each:.2f}" for each in errors),
            )
            console.print(maintenance, budget, seconds)
    console.print(out)


def learn(X, y, maintenance, budget, **where):
    """A model, the seconds that it took for the rows after the first ones, and the share of them that changed it."""
    model = BSGDClassifier(budget=budget, gamma=0.02, alpha=1e-5, maintenance=maintenance, random_state=0, **where)
    # Labels at random: all rows are mistakes, and the budget is full as soon as can be.
    model.partial_fit(X[: budget + 64], np.random.default_rng(0).permutation(y[: budget + 64]), classes=np.unique(y))
    model.partial_fit(X[-FIRST:], y[-FIRST:])
    before, start = model.n_updates_, time.perf_counter()
    model.partial_fit(X[10_000 : 10_000 + LEARNED], y[10_000 : 10_000 + LEARNED])
    return model, time.perf_counter() - start, 100 * (model.n_updates_ - before) / LEARNED


if __name__ == "__main__":
    main()
