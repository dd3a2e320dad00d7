"""Dual learners on hard streams: ``python -m benchmarks.tracking [starts] [orders]``.

``starts``: the spread of accuracies of all LASVM variants over 50 shuffled prefixes. ``orders``: streams in adversarial
orders. The figures of the tracking paper are in `experiments.tracking`.
"""

import argparse
import sys

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks.dual import VARIANTS
from experiments.lasvm.data import split_of
from frugalsvm import LASVMClassifier
from frugalsvm.metrics import geometric_mean_score

PARTS = ("starts", "orders")


def table(title, *headings):
    made = Table(title=title, title_justify="left")
    for heading in headings:
        made.add_column(heading, justify="right")
    return made


HARD = (("a9a", 100.0, 0.005), ("mnist-8", 100.0, 0.001))  # data, C, gamma


def starts(n_rows, n_seeds=50):
    """Least accuracy below the median over seeds."""
    out = table(f"{n_seeds} shuffled prefixes of {n_rows:,} rows", "data", "variant", "median %", "least %", "below")
    for name, C, gamma in HARD:
        X, y, X_test, y_test = split_of(name, 0)
        X_test, y_test = X_test[:4000], y_test[:4000]
        for variant in VARIANTS:
            scores = []
            for seed in range(n_seeds):
                rows = np.random.default_rng(seed).permutation(len(X))[:n_rows]
                model = LASVMClassifier(variant, C, gamma=gamma, random_state=seed, finish=False)
                scores.append(100 * model.fit(X[rows], y[rows]).score(X_test, y_test))
            middle, least = np.median(scores), np.min(scores)
            out.add_row(name, variant, f"{middle:.2f}", f"{least:.2f}", f"{middle - least:.2f}")
    return out


def orders(n_rows):
    """Models after streams in adversarial orders: accuracy and the geometric mean of the recalls, in percent."""
    out = table(
        f"{n_rows:,} rows in adversarial orders (partial_fit): accuracy % / g-means %",
        "data",
        "variant",
        "majority",
        "shuffled",
        "-1 first",
        "+1 first",
        "outliers first",
    )
    for name, C, gamma in HARD:
        X, y, X_test, y_test = split_of(name, 0)
        X, y = X[:n_rows], y[:n_rows]
        margins = y * LASVMClassifier("g", C, gamma=gamma, random_state=0).fit(X, y).decision_function(X)
        in_turn = [np.arange(len(y)), *(np.argsort(key, kind="stable") for key in (y, -y, margins))]
        majority = f"{100 * max(np.mean(y_test == 1), np.mean(y_test == -1)):.1f}"
        for variant in VARIANTS:
            cells = []
            for order in in_turn:
                model = LASVMClassifier(variant, C, gamma=gamma).partial_fit(X[order], y[order], classes=[-1, 1])
                guesses = model.predict(X_test)
                cells.append(
                    f"{100 * np.mean(guesses == y_test):.1f} / {100 * geometric_mean_score(y_test, guesses):.1f}"
                )
            out.add_row(name, variant, majority, *cells)
    return out


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tracking", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=50)
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 130)
    with threadpool_limits(1):
        if "starts" in options.parts:
            console.print(starts(options.rows, options.seeds))
        if "orders" in options.parts:
            console.print(orders(options.rows))


if __name__ == "__main__":
    main()
