"""``python -m benchmarks.outputs``: what several outputs on shared landmarks cost, and how well quantiles cover.

``cost``: CPU seconds of a fit of ``ASSETClassifier`` with one label and with 20, in turns, medians.
``coverage``: share of test rows below the 5, 50 and 95 % quantiles of ``ASSETRegressor``, and of gradient boosting with
one model for each quantile. Parameters of both are those with the least pinball loss on a fifth of the training rows.
"""

import argparse
import itertools
import sys
import time
from typing import NamedTuple

import numpy as np
from rich.console import Console
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss
from threadpoolctl import threadpool_limits

from benchmarks.printing import table
from benchmarks.regression_data import Split, split_of
from frugalsvm import ASSETClassifier, ASSETRegressor

NAMES = ("kin40k", "protein")
QUANTILES = (0.05, 0.5, 0.95)
N_LABELS, N_FEATURES, N_LANDMARKS, N_RUNS = 20, 20, 512, 5
SIZES = (10_000, 40_000)

GAMMAS, STRENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0), (1.0, 10.0, 100.0)  # gamma in units of 1 / n_features
RATES, LEAVES = (0.05, 0.1), (31, 127)


class Judged(NamedTuple):
    """Predicted quantiles of rows: how well they fit, and what they cost."""

    predicted: np.ndarray  # (n_rows, n_quantiles)
    seconds: float  # of CPU time, for the fit

    def losses(self, y) -> np.ndarray:
        each = zip(QUANTILES, self.predicted.T, strict=True)
        return np.array([mean_pinball_loss(y, own, alpha=q) for q, own in each])

    def coverage(self, y) -> np.ndarray:
        return (y[:, None] <= self.predicted).mean(axis=0)

    def crossing(self) -> float:
        return float((np.diff(self.predicted, axis=1) < 0).any(axis=1).mean())


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.outputs", description=__doc__)
    parser.add_argument("what", nargs="*", default=["cost", "coverage"], help="cost, coverage (default: both)")
    parser.add_argument("--names", nargs="+", default=NAMES, help=f"data for coverage (default: {' '.join(NAMES)})")
    parser.add_argument("--landmarks", type=int, default=1000, help="of the quantile machine (default: 1000)")
    parser.add_argument("--rows", type=int, default=5000, help="training rows to choose parameters on (default: 5000)")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 140)
    with threadpool_limits(1):
        if "cost" in options.what:
            console.print(_costs())
        if "coverage" in options.what:
            for name in options.names:
                console.print(_coverages(name, options))


# --- cost -----------------------------------------------------------------------------------------------------------


def _costs():
    shown = table("CPU seconds of a fit", "rows", "one label", f"{N_LABELS} labels", "ratio")
    _seconds(*_labeled(1000), 1), _seconds(*_labeled(1000), N_LABELS)  # machine code
    for n_rows in SIZES:
        X, Y = _labeled(n_rows)
        runs = np.array([[_seconds(X, Y, n) for n in (1, N_LABELS)] for _ in range(N_RUNS)])
        one, several = np.median(runs, axis=0)
        shown.add_row(f"{n_rows:,}", f"{one:.2f}", f"{several:.2f}", f"{np.median(runs[:, 1] / runs[:, 0]):.2f}")
    return shown


def _labeled(n_rows):
    """Rows, and labels that are waves in different directions, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_FEATURES)).astype(np.float32)
    directions = rng.normal(size=(N_FEATURES, N_LABELS)) / np.sqrt(N_FEATURES)
    waves = np.sin(2 * X @ directions + rng.uniform(0, 6, N_LABELS))
    return X, (waves + 0.3 * rng.normal(size=waves.shape) > 0).astype(int)


def _seconds(X, Y, n_labels):
    start = time.process_time()
    ASSETClassifier(n_components=N_LANDMARKS, random_state=0).fit(X, Y[:, :n_labels] if n_labels > 1 else Y[:, 0])
    return time.process_time() - start


# --- coverage -------------------------------------------------------------------------------------------------------


def _coverages(name, options):
    split = split_of(name)
    headings = ("below 5 %", "below 50 %", "below 95 %", "loss 5 %", "loss 50 %", "loss 95 %", "crossing", "CPU s")
    shown = table(f"{name}: {len(split.X):,} training rows, {len(split.X_test):,} test rows", "data", *headings)
    for method, judged in (("ASSET", _by_machine), ("boosting", _by_trees)):
        grid = _machines(split, options.landmarks) if judged is _by_machine else _forests()
        some = split.held_out(options.rows)
        best = min(grid, key=lambda settings: judged(some, settings).losses(some.y_test).sum())
        found = judged(split, best)
        coverage, losses = 100 * found.coverage(split.y_test), found.losses(split.y_test)
        cells = (*(f"{x:.1f}" for x in coverage), *(f"{x:.4f}" for x in losses))
        shown.add_row(method, *cells, f"{found.crossing():.1%}", f"{found.seconds:.1f}")
    return shown


def _machines(split, n_landmarks):
    n_features = split.X.shape[1]
    for gamma, C in itertools.product(GAMMAS, STRENGTHS):
        yield {"gamma": gamma / n_features, "C": C, "n_components": n_landmarks}


def _forests():
    for rate, n_leaves in itertools.product(RATES, LEAVES):
        yield {"learning_rate": rate, "max_leaf_nodes": n_leaves}


def _by_machine(split: Split, settings) -> Judged:
    model = ASSETRegressor(loss="pinball", quantile=QUANTILES, non_crossing=True, random_state=0, **settings)
    start = time.process_time()
    model.fit(split.X, split.y)
    seconds = time.process_time() - start
    return Judged(model.predict(split.X_test), seconds)


def _by_trees(split: Split, settings) -> Judged:
    """Early stopping decides on the number of trees."""
    start = time.process_time()
    models = [
        HistGradientBoostingRegressor(
            loss="quantile", quantile=q, max_iter=1000, early_stopping=True, random_state=0, **settings
        ).fit(split.X, split.y)
        for q in QUANTILES
    ]
    seconds = time.process_time() - start
    return Judged(np.column_stack([model.predict(split.X_test) for model in models]), seconds)


if __name__ == "__main__":
    main()
