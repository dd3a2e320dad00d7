"""``python -m benchmarks.outliers``: what a few wild rows do to models behind each scaler, and what scalers cost.

In 0.8 % of the training rows all values are multiplied by 100; test rows are as they are. Accuracies are means over
seeds, which draw the wild rows, the training rows of larger sets and all that is random in a model. The difference of
two such means is given with its standard error. The cost is CPU time for a value, on one thread, in batches of a
stream, and for scaling them afterward.
"""

import argparse
import sys
import time
import warnings

import numpy as np
from rich.console import Console
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.printing import table
from experiments.data import split
from frugalsvm import ASSETClassifier, BSGDClassifier
from frugalsvm.datasets import load
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.pipelines.preparing import SCALERS, new_scaler

NAMES = ("letter", "phoneme", "satimage", "pendigits", "ijcnn1", "elec2")
SHARE, FACTOR = 0.008, 100.0
MOST_ROWS = 10_000
MODELS = {
    "ASSET": lambda seed: ASSETClassifier(n_components=500, C=[0.1, 1.0, 10.0, 100.0, 1000.0], random_state=seed),
    "BSGD": lambda seed: BSGDClassifier(budget=300, alpha=1e-4, random_state=seed),
}
BATCH_ROWS, N_BATCHES, N_FEATURES = 1000, 100, 20


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.outliers", description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help=f"any of: {', '.join(NAMES)} (default: all)")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--cost", action="store_true", help="measure what scalers cost, and nothing else")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 140)
    with threadpool_limits(1):
        if options.cost:
            console.print(_costs())
            return
        for model in options.models:
            headings = (f"{scale} {what}" for scale in SCALERS for what in ("clean", "change"))
            shown = table(f"{model}, accuracy %, and its change by wild rows", "data", *headings)
            for name in options.names:
                shown.add_row(name, *_cells(name, model, options.seeds))
            console.print(shown)


def _cells(name, model, n_seeds):
    for scale in SCALERS:
        found = 100 * np.array([list(_accuracies(name, model, scale, seed)) for seed in range(n_seeds)])
        change = found[:, 1] - found[:, 0]
        error = change.std(ddof=1) / np.sqrt(n_seeds) if n_seeds > 1 else np.nan
        yield f"{found[:, 0].mean():.2f}"
        yield f"{change.mean():+.2f} ± {error:.2f}"


def _accuracies(name, model, scale, seed):
    """On test rows, after clean training rows and after the same with some that are wild."""
    X, y, X_test, y_test = _rows(name, seed)
    wild = np.random.default_rng(seed).random(len(X)) < SHARE
    for rows in (X, np.where(wild[:, None], np.float32(FACTOR) * X, X)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of models that the wild rows spoil
            pipeline = StreamPipeline(MODELS[model](seed), scale=scale).fit(rows, y)
        yield pipeline.score(X_test, y_test)


def _rows(name, seed):
    if name != "elec2":
        return split(name, seed, MOST_ROWS)
    X, y = load(name)
    X, X_test, y, y_test = train_test_split(X, y, train_size=MOST_ROWS, random_state=seed)  # the order of time is lost
    return X.astype(np.float32), y, X_test.astype(np.float32), y_test


def _costs():
    X = np.random.default_rng(0).normal(size=(BATCH_ROWS * N_BATCHES, N_FEATURES)).astype(np.float32)
    shown = table(
        f"nanoseconds of CPU for a value, batches of {BATCH_ROWS} x {N_FEATURES}", "data", "learn", "transform"
    )
    scalers = {"scikit-learn's StandardScaler": StandardScaler(), **{name: new_scaler(name) for name in SCALERS}}
    for name, scaler in scalers.items():
        shown.add_row(name, f"{_cost(scaler.partial_fit, X):.1f}", f"{_cost(scaler.transform, X):.1f}")
    return shown


def _cost(method, X):
    started = time.process_time()
    for start in range(0, len(X), BATCH_ROWS):
        method(X[start : start + BATCH_ROWS])
    return (time.process_time() - started) / X.size * 1e9


if __name__ == "__main__":
    main()
