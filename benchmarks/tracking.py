"""Tracking the optimum and choosing examples: ``python -m benchmarks.tracking [gap] [selection] [starts] [orders]``.

``gap``: the mean normalised duality gap of Algorithms 1 and 2 on Adult against the number of steps (Figs 2 and 4 of
the tracking paper). ``selection``: test error on MNIST, 8 against the rest, against examples and kernel values, in
random order and selected by margin (Figs 5 and 6), and how many times fewer of them selection needs. ``starts``: the
spread of accuracies of all LASVM variants over 50 shuffled prefixes. ``orders``: streams in adversarial orders.
"""

import argparse
import sys

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks.dual import VARIANTS, split_of
from frugalsvm import LASVMClassifier, TrackingSVC
from frugalsvm.core.expansion import N_KERNEL_EVALS
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


class Watched:
    """A classifier that is tested while it learns."""

    def watch(self, checks, X_test, y_test):
        """Test after so many examples each time."""
        self._checks, self._test = set(checks), (X_test, y_test)
        self._n_learned = self._n_pool = 0
        self.curve = []  # examples, error in percent, kernel values, those of them for pools
        return self

    def _pick(self, X, labels, support):
        before = self._n_values()
        place = super()._pick(X, labels, support)
        self._n_pool += self._n_values() - before
        return place

    def _learn_rows(self, X, labels, boxes, order):
        ends = np.arange(1, len(order) + 1)
        cuts = ends[np.isin(self._n_learned + ends, list(self._checks))]
        for part in np.split(order, cuts):
            if len(part) == 0:
                continue
            super()._learn_rows(X[part], labels[part], boxes[part], np.arange(len(part)))
            self._n_learned += len(part)
            if self._n_learned in self._checks:
                error = 100 * (1 - self.score(*self._test))
                self.curve.append((self._n_learned, error, self._n_values(), self._n_pool))

    def _n_values(self):
        return int(self._machine.dual.members.counts[N_KERNEL_EVALS])


class WatchedTracking(Watched, TrackingSVC):
    pass


class WatchedLASVM(Watched, LASVMClassifier):
    pass


MNIST = {"C": 1000.0, "gamma": 0.005, "cache_size": 512}  # Table 1 of the tracking paper
LEARNERS = {  # the paper also shows K = 10, which is noisier and needs more of everything
    "Algorithm 1, K = 100": lambda **how: WatchedTracking(100, process=False, **MNIST, **how),
    "LASVM-G": lambda **how: WatchedLASVM("g", **MNIST, **how),
}
ERRORS = (1.5, 1.2, 1.0, 0.9)  # percent


def selection(n_rows, n_seeds=3):
    """Learning curves of the mean over seeds in random order and selected, and where they reach some errors."""
    X, y, X_test, y_test = split_of("mnist-8", 0)
    selected = np.geomspace(n_rows / 20, n_rows / 2, 13).astype(int)
    checks = {"random": 8 * selected, "margin": selected}
    title = f"MNIST 8 against the rest, mean of {n_seeds} runs: "
    ratios = table(
        title + "where an error is reached first; M kernel values, how many times fewer with selection",
        "learner",
        "error %",
        "examples: random",
        "margin",
        "fewer",
        "values: random",
        "margin",
        "fewer",
        "without pools",
        "fewer",
    )
    for name, new in LEARNERS.items():
        curves = {"random": [], "margin": []}
        for seed in range(n_seeds):
            rows = np.random.default_rng(seed).permutation(len(X))[: checks["random"][-1]]
            model = new(random_state=seed).watch(checks["random"], X_test, y_test)
            curves["random"].append(model.fit(X[rows], y[rows]).curve)
            model = new(random_state=seed, selection="margin", pool_size=50, n_selected=checks["margin"][-1])
            curves["margin"].append(model.watch(checks["margin"], X_test, y_test).fit(X, y).curve)
        curves = {order: np.mean(runs, axis=0) for order, runs in curves.items()}
        yield curves_table(title + name, curves)
        for error in ERRORS:
            ratios.add_row(name, f"{error}", *ratio_cells(curves, error))
    yield ratios


def curves_table(title, curves):
    orders = ("random: examples", "error %", "M values"), ("margin: examples", "error %", "M values", "of them pools")
    out = table(title, *orders[0], *orders[1])
    for drawn, picked in zip(curves["random"], curves["margin"], strict=True):
        n_drawn, error_drawn, values_drawn, _ = drawn
        n_picked, error_picked, values_picked, pools = picked
        cells = f"{n_drawn:,.0f}", f"{error_drawn:.2f}", f"{values_drawn / 1e6:.1f}"
        cells += f"{n_picked:,.0f}", f"{error_picked:.2f}", f"{values_picked / 1e6:.1f}", f"{pools / 1e6:.1f}"
        out.add_row(*cells)
    return out


def ratio_cells(curves, error):
    """Examples, kernel values with pools and without at an error: in random order, selected, and their ratio."""
    cells = []
    for what in (lambda c: c[:, 0], lambda c: c[:, 2] / 1e6, lambda c: (c[:, 2] - c[:, 3]) / 1e6):
        (drawn, more), (picked, late) = (first_at(c[:, 1], what(c), error) for c in curves.values())
        digits = 0 if not cells else 1
        values = f"{more}{drawn:,.{digits}f}", f"{late}{picked:,.{digits}f}"
        ratio = "" if late else f"{more}{drawn / picked:.1f}"
        cells += [*values, ratio] if len(cells) < 6 else [values[1], ratio]  # nothing is pooled in random order
    return cells


def first_at(errors, costs, error):
    """The cost at which a curve first comes down to an error, and ">" if it does not until its end.

    Between two tests it falls along a line over the logarithm of the cost.
    """
    reached = np.flatnonzero(errors <= error)
    if len(reached) == 0:
        return costs[-1], "> "
    k = reached[0]
    if k == 0:
        return costs[0], ""
    part = (errors[k - 1] - error) / (errors[k - 1] - errors[k])
    return costs[k - 1] * (costs[k] / costs[k - 1]) ** part, ""


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
            for result in selection(options.rows):
                console.print(result)
        if "starts" in options.parts:
            console.print(starts(options.rows, options.seeds))
        if "orders" in options.parts:
            console.print(orders(options.rows))


if __name__ == "__main__":
    main()
