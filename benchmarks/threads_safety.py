"""``python -m benchmarks.threads_safety [--rows N] [NAME ...]``: every public estimator in several threads.

Eight threads predict the same rows one by one, each in an order of its own; one that has no method for single rows
predicts batches of one row. Four threads learn the same batch again and again. Differences from what one thread gets
are counted: there must be none, and the exit code says so. `frugalsvm.checks` does the same with few rows.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import numpy as np
from rich.console import Console
from sklearn.base import clone, is_outlier_detector, is_regressor

import frugalsvm
from benchmarks.printing import table
from frugalsvm import conformal, pipelines
from frugalsvm._homes import AUTOMATIC, CONFORMAL, ESTIMATORS, SEARCHES

N_PREDICTING, N_LEARNING, N_BATCHES, BATCH_ROWS = 8, 4, 40, 16
N_FEATURES, N_FITTED = 4, 400
SMALL = {"budget": {"budget": 20}, "n_components": {"n_components": 16}, "time_budget": {"time_budget": "5s"}}
ONE_ROW = ("predict_one_row", "decision_function_one_row", "predict_set_one_row")
ONE_BATCH = ("predict", "decision_function", "predict_set", "predict_interval", "p_values")
NOT_MODELS = {"DelayBuffer"}  # it holds rows back, and has no model of its own


def models():
    """A small model of every public class, by name; with a method for single rows where it is in a pipeline."""
    made = {name: _small(getattr(frugalsvm, name)) for name in (*ESTIMATORS, *AUTOMATIC, *SEARCHES)}
    made |= {f"StreamPipeline({name})": _piped(made[name]) for name in ESTIMATORS if hasattr(made[name], "partial_fit")}
    inner = {
        "ConformalClassifier": "BSGDClassifier",
        "ConformalRegressor": "BSGDRegressor",
        "ConformalDetector": "BSGDOneClassSVM",
    }
    assert set(inner) == set(CONFORMAL) - NOT_MODELS
    return made | {name: getattr(conformal, name)(_piped(made[inside])) for name, inside in inner.items()}


def _small(kind):
    known = kind._get_param_names()
    # Machines in cells have a budget of bytes, and cells of a few rows instead.
    small = {"cell_size": {"cell_size": 50}} if "cell_size" in known else SMALL
    settings = {key: value for name, each in small.items() if name in known for key, value in each.items()}
    return kind(**settings, **({"random_state": 0} if "random_state" in known else {}))


def _piped(estimator):
    return pipelines.StreamPipeline(estimator, warmup_rows=N_FITTED // 2)


def rows_for(model, n_rows):
    """Rows of two classes, of numbers, or without labels."""
    X = np.random.default_rng(0).normal(size=(n_rows, N_FEATURES))
    value = X[:, 0] * X[:, 1] + X[:, 2]
    return X, value if is_regressor(model) else None if is_outlier_detector(model) else (value > 0).astype(int)


def learned(model, X, y):
    getattr(model, "partial_fit" if hasattr(model, "partial_fit") else "fit")(*((X,) if y is None else (X, y)))
    return model


def differences_in_predictions(model, n_rows):
    """How many answers of eight threads are not those of one, for each method that the model has."""
    X = rows_for(model, n_rows)[0]
    found = {}
    for name in (*ONE_ROW, *(() if hasattr(model, ONE_ROW[0]) else ONE_BATCH)):
        ask = getattr(model, name, None)
        if ask is None:
            continue
        answers = np.asarray([ask(x if name in ONE_ROW else x[None]) for x in X])

        def wrong(number, ask=ask, answers=answers, name=name):
            order = np.random.default_rng(number).permutation(len(X))
            return sum(not np.array_equal(ask(X[k] if name in ONE_ROW else X[k : k + 1]), answers[k]) for k in order)

        found[name] = sum(_in_threads(wrong, range(N_PREDICTING), N_PREDICTING))
    return found


def differences_in_learning(model):
    """How many scores of a model that learned in four threads are not those of one that learned in one."""
    X, y = rows_for(model, N_FITTED)
    batch = (X[:BATCH_ROWS], None if y is None else y[:BATCH_ROWS])
    alone, together = (learned(clone(model), X, y) for _ in range(2))
    for _ in range(N_BATCHES):
        learned(alone, *batch)
    _in_threads(lambda _: learned(together, *batch), range(N_BATCHES), N_LEARNING)
    score = "decision_function" if hasattr(alone, "decision_function") else "predict"
    return int((np.asarray(getattr(alone, score)(X)) != np.asarray(getattr(together, score)(X))).sum())


def _in_threads(function, values, n_threads):
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, values))


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads_safety", description=__doc__)
    parser.add_argument("names", nargs="*", help="of estimators (default: all)")
    parser.add_argument("--rows", type=int, default=20_000, help="rows that each thread predicts (default: 20000)")
    options = parser.parse_args()
    sys.setswitchinterval(1e-5)  # threads take turns more often than they usually would
    shown, n_wrong = table("Differences from one thread", "data", "predicting", "learning", "seconds"), 0
    for name, model in models().items():
        if options.names and name not in options.names:
            continue
        began = perf_counter()
        predicting = differences_in_predictions(learned(clone(model), *rows_for(model, N_FITTED)), options.rows)
        learning = differences_in_learning(model) if hasattr(model, "partial_fit") else None
        n_wrong += sum(predicting.values()) + (learning or 0)
        told = ", ".join(f"{method} {count}" for method, count in predicting.items())
        shown.add_row(name, told, "-" if learning is None else str(learning), f"{perf_counter() - began:.0f}")
    Console(width=None if sys.stdout.isatty() else 160).print(shown)
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
