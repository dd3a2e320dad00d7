"""Tracking the optimum and choosing examples: ``python -m benchmarks.tracking [gap] [selection] [starts] [orders]``.

``gap``: the mean normalised duality gap of Algorithms 1 and 2 on Adult against the number of steps (Figs 2 and 4 of
the tracking paper). ``selection``: test error and kernel values on MNIST, 8 against the rest, with examples in random
order and selected by margin (Figs 5 and 6). ``starts``: the spread of accuracies of all LASVM variants over 50 shuffled
prefixes. ``orders``: streams in adversarial orders.
"""

import argparse
import sys

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks.dual import VARIANTS, split_of
from frugalsvm import LASVMClassifier, TrackingSVC
from frugalsvm.metrics import geometric_mean_score

PARTS = ("gap", "selection", "starts", "orders")
STEPS = (1, 2, 5, 10, 15, 20, 50, 100)


def table(title, *headings):
    made = Table(title=title, title_justify="left")
    for heading in headings:
        made.add_column(heading, justify="right")
    return made


def gap(n_rows):
    """Mean normalised gap against K, and the slope in the logarithms."""
    X, y, _, _ = split_of("a9a", 0)
    means = {process: [] for process in (False, True)}
    for process in means:
        for n_steps in STEPS:
            model = TrackingSVC(n_steps, 1.0, gamma=0.005, process=process, cache_size=512, random_state=0)
            means[process].append(model.fit(X[:n_rows], y[:n_rows]).mean_normalized_gap_)
    out = table(f"Adult, first {n_rows:,} rows, C = 1: mean normalised gap", "", *(f"K={k}" for k in STEPS), "slope")
    for process, values in means.items():
        slope = np.polyfit(np.log(STEPS), np.log(values), 1)[0]
        out.add_row(f"Algorithm {1 + process}", *(f"{value:.4f}" for value in values), f"{slope:.2f}")
    return out


def selection(n_rows):
    """Errors after growing numbers of examples, at random and selected."""
    X, y, X_test, y_test = split_of("mnist-8", 0)
    X, y = X[: 4 * n_rows], y[: 4 * n_rows]
    out = table(
        "MNIST 8 against the rest, C = 1000, gamma = 0.005",
        "order",
        "examples",
        "error %",
        "M kernel values",
        "without pool",
    )
    for order, counts in (
        ("random", (n_rows // 4, n_rows, 4 * n_rows)),
        ("margin", (n_rows // 8, n_rows // 4, n_rows // 2)),
    ):
        for count in counts:
            parameters = {"C": 1000.0, "gamma": 0.005, "cache_size": 512, "random_state": 0}
            if order == "random":
                rows = np.random.default_rng(0).permutation(len(X))[:count]
                model, seen = LASVMClassifier("g", **parameters), rows
            else:
                model, seen = (
                    LASVMClassifier("g", selection="margin", n_selected=count, **parameters),
                    np.arange(len(X)),
                )
            model.fit(X[seen], y[seen])
            # For each pick, a pool's kernel values with the support vectors of that time, half of the last ones.
            pool = 50 * count * model.n_support_[0] / 2 if order == "margin" else 0
            error = 100 * (1 - model.score(X_test, y_test))
            evals = model.n_kernel_evals_
            out.add_row(order, f"{count:,}", f"{error:.2f}", f"{(evals + pool) / 1e6:.1f}", f"{evals / 1e6:.1f}")
    return out


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
        if "gap" in options.parts:
            console.print(gap(options.rows))
        if "selection" in options.parts:
            console.print(selection(options.rows))
        if "starts" in options.parts:
            console.print(starts(options.rows, options.seeds))
        if "orders" in options.parts:
            console.print(orders(options.rows))


if __name__ == "__main__":
    main()
