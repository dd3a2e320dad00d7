"""``python -m benchmarks.conformal``: coverage in every window of drifting streams, sizes of sets, and what they cost.

Rows come in batches of ``--batch`` rows (10). Every row gets its set, its interval or its alarm before it is learned,
with the threshold that the rows before it left. Windows are all those of 5 000 consecutive rows after the first 1 000.
"split" has the same windows of scores and a level that stays what was promised. Microseconds are CPU time on one
thread, of taking scores alone: what the model itself takes is in neither. Single rows are measured with models that do
nothing, so that all time is that of the promise.
"""

import argparse
import sys
import time
from collections.abc import Iterator

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks.conformal_rows import row_costs
from benchmarks.printing import table
from frugalsvm import BSGDClassifier, BSGDOneClassSVM, BSGDRegressor
from frugalsvm.conformal import ConformalClassifier, ConformalDetector, ConformalRegressor
from frugalsvm.core.score_reservoir import Promise, new_reservoir, observe
from frugalsvm.datasets import DriftStream

WINDOW, BURN_IN = 5_000, 1_000
ENDLESS = 1e12  # patience of a level that stays
GAMMAS = {"checkerboard": 5.0, "rotating_checkerboard": 5.0, "moving_rbf": 0.3}
CLASSIFIED = ("checkerboard", "rotating_checkerboard", "sea", "hyperplane", "moving_rbf")
DRIFTS = ("none", "abrupt", "gradual", "recurring", "incremental")


def in_windows(hits: np.ndarray) -> np.ndarray:
    """The share in every window."""
    total = np.concatenate([[0], np.cumsum(hits[BURN_IN:])])
    return (total[WINDOW:] - total[:-WINDOW]) / WINDOW


def sets_of(name: str, drift: str, patience: float | None, options) -> tuple[np.ndarray, float]:
    """Which sets had the label, and the mean number of labels in a set."""
    stream = DriftStream(name, drift, changes=options.changes, random_state=options.seed)
    estimator = BSGDClassifier(budget=200, gamma=GAMMAS.get(name, 0.1), alpha=1e-4)
    model = ConformalClassifier(estimator, patience=patience).partial_fit(*stream.take(100))
    hits, sizes = [], []
    for X, y in stream.chunks(options.rows, options.batch):
        sets = model.test_then_train(X, y)
        hits.append(sets[np.arange(len(y)), np.searchsorted(model.classes_, y)])
        sizes.append(sets.sum(axis=1))
    return np.concatenate(hits), float(np.concatenate(sizes)[BURN_IN:].mean())


def intervals_of(quantiles: bool, drift: str, patience: float | None, options) -> tuple[np.ndarray, float]:
    """Which intervals had the number, and their mean width."""
    stream = DriftStream("friedman", drift, changes=options.changes, random_state=options.seed)
    more = {"loss": "pinball", "quantile": [0.05, 0.95], "non_crossing": True} if quantiles else {}
    model = ConformalRegressor(BSGDRegressor(budget=200, **more), patience=patience).partial_fit(*stream.take(500))
    hits, widths = [], []
    for X, y in stream.chunks(options.rows, options.batch):
        low, high = model.test_then_train(X, y).T
        hits.append((low <= y) & (y <= high))
        widths.append(high - low)
    return np.concatenate(hits), float(np.concatenate(widths)[BURN_IN:].mean())


def alarms_of(drift: str, patience: float | None, options) -> tuple[np.ndarray, float]:
    """Which rows were alarms, and nothing."""
    rng = np.random.default_rng(options.seed)
    stream = DriftStream("sea", drift, changes=options.changes)
    model = ConformalDetector(BSGDOneClassSVM(gamma=0.1), patience=patience).partial_fit(rng.normal(size=(300, 5)))
    alarms = []
    for start in range(0, options.rows, options.batch):
        # The mean moves by three standard deviations from one concept to the next.
        center = 3.0 * stream.concepts(np.arange(start, start + options.batch))
        alarms.append(model.test_then_train(center[:, None] + rng.normal(size=(options.batch, 5))) == -1)
    return np.concatenate(alarms), np.nan


def cases(options) -> Iterator[tuple[str, object]]:
    for name in CLASSIFIED:
        for drift in options.drifts:
            yield f"{name}, {drift}", lambda patience, name=name, drift=drift: sets_of(name, drift, patience, options)
    for drift in options.drifts:
        for kind, quantiles in (("friedman", False), ("friedman, quantiles", True)):
            yield (
                f"{kind}, {drift}",
                lambda patience, quantiles=quantiles, drift=drift: intervals_of(quantiles, drift, patience, options),
            )
    for drift in options.drifts:
        yield f"alarms (1 %), {drift}", lambda patience, drift=drift: alarms_of(drift, patience, options)


def microseconds(window: int, n_rows: int) -> float:
    """CPU time of taking a score, in calls of so many rows."""
    reservoir, promise = new_reservoir(window), Promise(0.1, 20.0, False)
    scores = np.random.default_rng(0).normal(size=(max(1, 200_000 // n_rows) if n_rows > 1 else 50_000, n_rows))
    thresholds = np.empty(n_rows)
    observe(reservoir, promise, np.random.default_rng(1).normal(size=window), np.empty(window))
    start = time.process_time()
    for part in scores:
        observe(reservoir, promise, part, thresholds)
    return 1e6 * (time.process_time() - start) / scores.size


def percents(shares: np.ndarray) -> str:
    return f"{100 * shares.min():.2f} - {100 * shares.max():.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conformal", description=__doc__)
    parser.add_argument("--rows", type=int, default=40_000, help="of each stream")
    parser.add_argument("--changes", type=int, default=10_000, help="rows between two changes")
    parser.add_argument("--batch", type=int, default=10, help="rows that are learned at once")
    parser.add_argument("--seeds", type=int, default=1, help="streams of each kind; windows are those of all of them")
    parser.add_argument("--drifts", nargs="+", choices=DRIFTS, default=DRIFTS)
    parser.add_argument("--adaptive", action="store_true", help="without the level that stays")
    parser.add_argument("--only", default="", help="only streams whose name has this text")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 140)
    found = table(
        "Coverage, or alarms, in windows of 5 000 rows, least and largest, %",
        "data", "adaptive", "size or width", "split", "size or width",
    )  # fmt: skip
    with threadpool_limits(1):
        for name, run in cases(options):
            if options.only in name:
                columns = []
                for patience in (None,) if options.adaptive else (None, ENDLESS):
                    shares, sizes = [], []
                    for seed in range(options.seeds):
                        options.seed = seed
                        hits, size = run(patience)
                        shares.append(in_windows(hits))
                        sizes.append(size)
                    size = float(np.mean(sizes))
                    columns += [percents(np.concatenate(shares)), "" if np.isnan(size) else f"{size:.3f}"]
                print(name, *columns, flush=True)  # as soon as it is known: all of them take a while
                found.add_row(name, *columns)
        console.print(found)
        costs = table("Microseconds a row", "scores that are kept", "1 row a call", "10", "100", "1 000")
        for window in (1_000, 2_000, 10_000):
            costs.add_row(f"{window:,}", *(f"{microseconds(window, n_rows):.2f}" for n_rows in (1, 10, 100, 1_000)))
        console.print(costs)
        single = table(
            "Microseconds for a single row", "estimator", "learn", "predict", "partial_fit", "predict, batch of 1"
        )
        for name, values in row_costs():
            single.add_row(name, *(f"{value:.1f}" for value in values))
        console.print(single)


if __name__ == "__main__":
    main()
