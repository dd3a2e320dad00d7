"""``python -m benchmarks.novelty``: anomalies in streams, found on the way.

Rows come in random order, anomalies among them. Each is scored before it is learned, and nobody tells which were
anomalies; the AUC is that of all scores after the first 1000 rows, by which features are standardized. Detectors with a
parameter nu are run with three values, of which the best counts; otherwise they have their defaults (100 support
vectors). CPU time, on one thread.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDOneClassSVM
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.printing import table
from frugalsvm import BSGDOneClassSVM
from frugalsvm.compiling.memory import peak_megabytes
from frugalsvm.datasets import load

NAMES = ("ad_shuttle", "ad_http", "ad_mammography", "ad_satellite")
FIRST, BATCH, CLIP = 1000, 250, 10.0
NUS = (0.1, 0.5, 0.9)
RATE, WINDOW = 0.01, 10_000


def stream_of(name: str, seed: int, n_rows: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Rows in random order, standardized by the first ones, and whether they are anomalies."""
    X, y = load(name)
    order = np.random.default_rng(seed).permutation(len(X))[:n_rows]
    X = np.asarray(X, np.float64)[order]
    spread = X[:FIRST].std(axis=0)
    X = (X - X[:FIRST].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return X.clip(-CLIP, CLIP).astype(np.float32), np.asarray(y)[order] != 0


# --- detectors: functions of a stream that return a score for every row after the first, high for anomalies ----------


def ours(X: np.ndarray, seed: int, nu: float) -> np.ndarray:
    return _in_batches(BSGDOneClassSVM(nu), X)


def sgd_on_nystroem(X: np.ndarray, seed: int, nu: float) -> np.ndarray:
    """Features of as many landmarks as we have support vectors, of the first rows, with the same gamma."""
    features = Nystroem(gamma=1.0 / X[:FIRST].var(axis=0).sum(), n_components=100, random_state=seed).fit(X[:FIRST])
    return _in_batches(SGDOneClassSVM(nu=nu, random_state=seed), X, features.transform)


def _in_batches(model: Any, X: np.ndarray, prepared: Callable = lambda rows: rows) -> np.ndarray:
    model.partial_fit(prepared(X[:FIRST]))
    scores = []
    for start in range(FIRST, len(X), BATCH):
        rows = prepared(X[start : start + BATCH])
        scores.append(-model.score_samples(rows))
        model.partial_fit(rows)
    return np.concatenate(scores)


def half_space_trees(X: np.ndarray, seed: int) -> np.ndarray:
    from river.anomaly import HalfSpaceTrees

    return _one_by_one(HalfSpaceTrees(seed=seed), np.clip(X / 8.0 + 0.5, 0.0, 1.0))  # it expects values from 0 to 1


def loda(X: np.ndarray, seed: int) -> np.ndarray:
    from river.anomaly import LODA

    return _one_by_one(LODA(seed=seed), X)


def river_one_class(X: np.ndarray, seed: int, nu: float) -> np.ndarray:
    from river.anomaly import OneClassSVM

    return _one_by_one(OneClassSVM(nu=nu), X)


def _one_by_one(model: Any, X: np.ndarray) -> np.ndarray:
    names, scores = [str(j) for j in range(X.shape[1])], []
    for row in X.tolist():
        x = dict(zip(names, row, strict=True))
        scores.append(model.score_one(x))
        model.learn_one(x)
    return np.asarray(scores[FIRST:], float)


def with_every_nu(detector: Callable) -> dict[str, Callable]:
    return {f"nu={nu:g}": lambda X, seed, nu=nu: detector(X, seed, nu) for nu in NUS}


DETECTORS: dict[str, dict[str, Callable]] = {
    "BSGDOneClassSVM": with_every_nu(ours),
    "SGDOneClassSVM + Nystroem": with_every_nu(sgd_on_nystroem),
    "river HalfSpaceTrees": {"": half_space_trees},
    "river LODA": {"": loda},
    "river OneClassSVM": with_every_nu(river_one_class),
}


# --- what is measured ---------------------------------------------------------------------------------------------


def measured(variants: dict[str, Callable], streams: list) -> str:
    """Mean AUC of the best variant, which one that is, and rows per second of CPU time."""
    aucs, seconds, n_rows = {}, 0.0, 0
    for name, variant in variants.items():
        found = []
        variant(streams[0][0][: FIRST + BATCH], 0)  # machine code is loaded
        for seed, (X, is_odd) in enumerate(streams):
            start = time.process_time()
            scores = variant(X, seed)
            seconds, n_rows = seconds + time.process_time() - start, n_rows + len(X)
            found.append(roc_auc_score(is_odd[FIRST:], scores))
        aucs[name] = float(np.mean(found))
    best = max(aucs, key=aucs.__getitem__)
    return f"{aucs[best]:.4f} {best} ({n_rows / seconds:,.0f})"


def learning_of(name: str, batch_rows: int = 1000) -> tuple[float, float]:
    """Rows per second of learning alone, all rows of a set; and by how many megabytes the peak of memory grew."""
    X, _ = stream_of(name, 0, None)
    model = BSGDOneClassSVM().partial_fit(X[:batch_rows])
    start, before = time.process_time(), peak_megabytes()
    for first in range(batch_rows, len(X), batch_rows):
        model.partial_fit(X[first : first + batch_rows])
    return (len(X) - batch_rows) / (time.process_time() - start), peak_megabytes() - before


def alarms_in_windows(seed: int = 0) -> np.ndarray:
    """Alarms in % of every 10 000 rows of a stationary stream, where 1 % was promised."""
    X = np.random.default_rng(seed).normal(size=(200_000, 5)).astype(np.float32)
    model = BSGDOneClassSVM(alarm_rate=RATE).partial_fit(X[:2000])
    n_alarms = []
    for start in range(2000, len(X), BATCH):
        rows = X[start : start + BATCH]
        n_alarms.append(np.sum(model.predict(rows) == -1))
        model.partial_fit(rows)
    return 100 * np.convolve(n_alarms, np.ones(WINDOW // BATCH), "valid") / WINDOW


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.novelty", description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help=f"any of: {', '.join(NAMES)} (default: all)")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000, help="of each stream at most (river takes its time)")
    parser.add_argument("--detectors", nargs="+", default=list(DETECTORS), choices=list(DETECTORS))
    parser.add_argument("--alarms", action="store_true", help="measure the alarm rate and the speed, and nothing else")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 140)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if options.alarms:
            found = alarms_in_windows()
            console.print(f"alarms in windows of {WINDOW:,} rows: {found.min():.2f} to {found.max():.2f} %")
            speed, growth = learning_of("ad_http")
            console.print(f"ad_http: {speed:,.0f} rows learned per second; memory grew by {growth:.1f} MB")
            return
        shown = table(f"AUC, mean of {options.seeds} seeds (rows/s)", "data", *options.detectors)
        for name in options.names:
            streams = [stream_of(name, seed, options.rows) for seed in range(options.seeds)]
            shown.add_row(name, *(measured(DETECTORS[detector], streams) for detector in options.detectors))
        console.print(shown)


if __name__ == "__main__":
    main()
