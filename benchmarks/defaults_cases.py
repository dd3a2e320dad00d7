"""What users get without choosing anything: every public estimator on every data set, one score each, more is better.

A *case* is a way to learn and a data set. Rows are limited for each method, so that all cases together take about an
hour of one core. Apart from the seed, which also draws the rows, no parameter has another value than its default.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import frugalsvm
from benchmarks.mixed_rows import mixed_rows
from benchmarks.source_splits import TABLES
from frugalsvm._homes import AUTOMATIC, CONFORMAL, ESTIMATORS, SEARCHES
from frugalsvm.conformal import ConformalClassifier, ConformalDetector, ConformalRegressor
from frugalsvm.datasets import fetch, get_data_home, load
from frugalsvm.pipelines import ColumnEncoder, StreamPipeline

__all__ = ["CASES", "PUBLIC", "RAW_TABLES", "Case", "tables_folder"]

PUBLIC = sorted({*ESTIMATORS, *AUTOMATIC, *SEARCHES, *CONFORMAL} - {"DelayBuffer"})  # that one only hands rows on

REGRESSION = [name for name, table in TABLES.items() if table.is_regression]
CLASSIFICATION = [name for name, table in TABLES.items() if not table.is_regression and table.positive is None]
SPARSE = ["reuters_money_fx"]
DENSE_ONLY = ["LocalSVC"]  # it refuses sparse rows
ANOMALIES = ["ad_http", "ad_mammography", "ad_satellite", "ad_shuttle"]
STREAMS = {"elec2": 45_312, "covtype": 30_000, "ijcnn1": 30_000}  # rows in their given order
RAW_TABLES = {
    "churn": "Churn",
    "diamonds": "price",
    "housing": "median_house_value",
    "mpg": "mpg",
    "penguins": "species",
    "titanic": "Survived",
}
REGRESSION_TABLES = ("diamonds", "housing", "mpg")

# Training rows at most: what costs much with many rows gets few.
ROWS = {
    "ASSETClassifier": 10_000,
    "AutoSVC": 3000,
    "AutoSVR": 3000,
    "IncrementalSVC": 1000,
    "LASVMClassifier": 3000,
    "TVMClassifier": 3000,
    "TrackingSVC": 3000,
}
MOST_ROWS, TEST_ROWS, TABLE_ROWS = 20_000, 4000, 4000
MANY_ROWS = 50_000  # of what also learns middle and large tables
MANY = {"AutoSVC": ("letter", "elec2", "covtype"), "AutoSVR": ("pol", "protein")}
BATCH = 100  # rows that are predicted and learned at a time by what has no faster way for one


class Case(NamedTuple):
    method: str
    data: str
    score_of: Callable[[int], float]  # a function of the seed

    @property
    def name(self) -> str:
        return f"{self.method} on {self.data}"


# --- rows -------------------------------------------------------------------------------------------------------------


def _split(data: str, seed: int, n_rows: int) -> tuple[Any, Any, Any, Any]:
    """Random training rows, and test rows: those of the source where it has some."""
    rng = np.random.default_rng(seed)
    found = fetch(data)
    if "X_test" in found:
        X, y, X_test, y_test = found.X_train, found.y_train, found.X_test, found.y_test
    else:
        order = rng.permutation(len(found.y_train))
        known, unknown = order[TEST_ROWS // 2 :], order[: TEST_ROWS // 2]
        X, y = found.X_train[known], found.y_train[known]
        X_test, y_test = found.X_train[unknown], found.y_train[unknown]
    rows, test_rows = rng.permutation(len(y))[:n_rows], rng.permutation(len(y_test))[:TEST_ROWS]
    return X[rows], y[rows], X_test[test_rows], y_test[test_rows]


def tables_folder() -> Path:
    """Raw CSV files lie beside the data sets."""
    return Path(os.environ.get("FRUGALSVM_TABLES", get_data_home().parent / "tables"))


def _raw_table(name: str, seed: int, n_rows: int = TABLE_ROWS) -> tuple[Any, Any]:
    import pandas as pd

    frame = pd.read_csv(tables_folder() / f"{name}.csv.gz")
    train, test = train_test_split(frame, test_size=0.25, random_state=seed)
    return train[:n_rows], test[:TEST_ROWS]


# --- ways to learn ----------------------------------------------------------------------------------------------------


def _new(method: str, seed: int) -> Any:
    cls = getattr(frugalsvm, method)
    return cls(random_state=seed) if "random_state" in cls().get_params() else cls()


def _fitted(method: str, data: str, wrapped: Callable[[Any, Any], Any], seed: int, n_rows: int | None = None) -> float:
    """Accuracy, or R^2, of an estimator that ``wrapped`` puts behind something that scales the rows."""
    X, y, X_test, y_test = _split(data, seed, n_rows or ROWS.get(method, MOST_ROWS))
    return float(wrapped(_new(method, seed), X).fit(X, y).score(X_test, y_test))


def _scaled(model: Any, X: Any) -> Any:
    return make_pipeline(StandardScaler(with_mean=not sp.issparse(X)), model)


def _in_pipeline(model: Any, X: Any) -> Any:
    return StreamPipeline(model)


def _encoded(model: Any, X: Any) -> Any:
    return StreamPipeline(model, encoder=ColumnEncoder(), impute="median")


def _alone(model: Any, X: Any) -> Any:
    return model


def _in_order(method: str, data: str, seed: int) -> float:
    """Accuracy of rows that are predicted, each before it is learned, in the order of the source."""
    X, y = load(data)
    X, y = X[: STREAMS[data]], y[: STREAMS[data]]
    model = StreamPipeline(_new(method, seed)).partial_fit(X[:BATCH], y[:BATCH], classes=np.unique(y))
    if hasattr(model, "learn_one_row"):
        return _row_by_row(model, X, y)
    n_right = 0
    for start in range(BATCH, len(y), BATCH):
        rows = slice(start, start + BATCH)
        n_right += np.sum(model.predict(X[rows]) == y[rows])
        model.partial_fit(X[rows], y[rows])
    return float(n_right / (len(y) - BATCH))


def _row_by_row(model: Any, X: Any, y: Any) -> float:
    n_right = 0
    for x, label in zip(X[BATCH:], y[BATCH:], strict=True):
        n_right += model.predict_one_row(x) == label
        model.learn_one_row(x, label)
    return float(n_right / (len(y) - BATCH))


def _anomalies(method: str, data: str, wrapped: Callable[[Any, Any], Any], seed: int) -> float:
    """Area under the ROC curve of scores of the rows that were learned, without labels."""
    X, y = load(data)
    rows = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS]
    model = wrapped(_new(method, seed), X).fit(np.asarray(X[rows], np.float64))
    return float(roc_auc_score(y[rows] == 0, model.decision_function(X[rows])))


def _coverage(conformal: Any, method: str, data: str, seed: int) -> float:
    """How near coverage on test rows comes to the promised share: 1 is best."""
    X, y, X_test, y_test = _split(data, seed, MOST_ROWS)
    model = conformal(StreamPipeline(_new(method, seed)), random_state=seed).fit(X, y)
    if hasattr(model, "predict_set"):
        covered = np.take_along_axis(model.predict_set(X_test), _places(model, y_test), axis=1)
    else:
        low, high = model.predict_interval(X_test).T
        covered = (low <= y_test) & (y_test <= high)
    return float(1.0 - abs(np.mean(covered) - model.coverage))


def _places(model: Any, y: Any) -> Any:
    return np.searchsorted(model.classes_, y)[:, None]


def _alarms(data: str, seed: int) -> float:
    """How near the share of normal rows with an alarm comes to the promised one: 1 is best."""
    X, y = load(data)
    order = np.random.default_rng(seed).permutation(np.flatnonzero(y == 0))[:MOST_ROWS]
    learned, others = order[: len(order) // 2], order[len(order) // 2 :]
    model = ConformalDetector(StreamPipeline(_new("BSGDOneClassSVM", seed)), random_state=seed).fit(X[learned])
    return float(1.0 - abs(np.mean(model.predict(X[others]) == -1) - model.alarm_rate))


def _frame(method: str, name: str, wrapped: Callable[[Any, Any], Any], seed: int, n_rows: int = TABLE_ROWS) -> float:
    """A raw table as a data frame."""
    train, test = _raw_table(name, seed, n_rows)
    label = RAW_TABLES[name]
    model = wrapped(_new(method, seed), train).fit(train.drop(columns=label), train[label])
    predicted, y = model.predict(test.drop(columns=label)), test[label].to_numpy()
    return float(r2_score(y, predicted) if name in REGRESSION_TABLES else np.mean(predicted == y))


def _flights(seed: int) -> float:
    """Area under the ROC curve of a large table of dates, clock times, numbers and text."""
    (X, y), (X_test, y_test) = mixed_rows(MANY_ROWS, 2 * seed), mixed_rows(TEST_ROWS, 2 * seed + 1)
    model = _new("AutoSVC", seed).fit(X, y)
    return float(roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]))


def _command_line(name: str, seed: int) -> float:
    """A raw table as a file, by ``frugalsvm train FILE --label L`` and ``frugalsvm evaluate``."""
    train, test = _raw_table(name, seed)
    with tempfile.TemporaryDirectory() as folder:
        train.to_csv(f"{folder}/train.csv", index=False)
        test.to_csv(f"{folder}/test.csv", index=False)
        _run(folder, "train", "train.csv", "--label", RAW_TABLES[name], "--quiet")
        scores = json.loads(_run(folder, "evaluate", "model.frugal", "test.csv", "--json"))
    return float(scores["r2"] if name in REGRESSION_TABLES else scores["accuracy"])


def _run(folder: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "frugalsvm.cli", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"frugalsvm {' '.join(arguments)} failed: {done.stderr.strip()}")
    return done.stdout


# --- all cases --------------------------------------------------------------------------------------------------------


def _cases_of_classifiers():
    for method in ESTIMATORS:
        if method.endswith(("Regressor", "SVR", "OneClassSVM")):
            continue
        for data in (*CLASSIFICATION, *(() if method in DENSE_ONLY else SPARSE)):
            yield Case(method, data, partial(_fitted, method, data, _scaled))
        for data in CLASSIFICATION:
            yield Case(f"StreamPipeline({method})", data, partial(_fitted, method, data, _in_pipeline))
    for data in (*CLASSIFICATION, *SPARSE):
        yield Case("AutoSVC", data, partial(_fitted, "AutoSVC", data, _alone))
    for data in CLASSIFICATION:
        yield Case("StreamTuner", data, partial(_fitted, "StreamTuner", data, _scaled))


def _cases_of_regressors():
    for data in REGRESSION:
        for method in ("ASSETRegressor", "BSGDRegressor", "LocalSVR"):
            yield Case(method, data, partial(_fitted, method, data, _scaled))
            yield Case(f"StreamPipeline({method})", data, partial(_fitted, method, data, _in_pipeline))
        yield Case("AutoSVR", data, partial(_fitted, "AutoSVR", data, _alone))


def _cases_of_detectors():
    for data in ANOMALIES:
        for method in ("ASSETOneClassSVM", "BSGDOneClassSVM"):
            yield Case(method, data, partial(_anomalies, method, data, _scaled))
        piped = partial(_anomalies, "BSGDOneClassSVM", data, _in_pipeline)
        yield Case("StreamPipeline(BSGDOneClassSVM)", data, piped)
        yield Case("ConformalDetector", data, partial(_alarms, data))


def _cases_of_streams():
    learners = (
        "BPAClassifier",
        "BSGDClassifier",
        "BudgetedPerceptron",
        "LASVMClassifier",
        "StreamTuner",
        "TVMClassifier",
    )
    for data in STREAMS:
        for method in learners:
            yield Case(f"StreamPipeline({method}), in order", data, partial(_in_order, method, data))


def _cases_of_promises():
    for data in ("letter", "pendigits", "satimage"):
        yield Case("ConformalClassifier", data, partial(_coverage, ConformalClassifier, "BSGDClassifier", data))
    for data in REGRESSION:
        yield Case("ConformalRegressor", data, partial(_coverage, ConformalRegressor, "BSGDRegressor", data))


def _cases_of_many_rows():
    for method, names in MANY.items():
        for data in names:
            many = partial(_fitted, method, data, _alone, n_rows=MANY_ROWS)
            yield Case(f"{method}, many rows", data, many)
    many = partial(_frame, "AutoSVR", "diamonds", _alone, n_rows=MANY_ROWS)
    yield Case("AutoSVR, many rows", "the table diamonds", many)
    yield Case("AutoSVC, many rows", "flights", _flights)


def _cases_of_raw_tables():
    for name in RAW_TABLES:
        auto, learner = ("AutoSVR", "BSGDRegressor") if name in REGRESSION_TABLES else ("AutoSVC", "BSGDClassifier")
        data = f"the table {name}"
        yield Case(auto, data, partial(_frame, auto, name, _alone))
        yield Case(f"StreamPipeline({learner})", data, partial(_frame, learner, name, _encoded))
        yield Case("frugalsvm train", data, partial(_command_line, name))


CASES = {
    case.name: case
    for cases in (
        _cases_of_streams,  # they take longest
        _cases_of_classifiers,
        _cases_of_regressors,
        _cases_of_detectors,
        _cases_of_promises,
        _cases_of_many_rows,
        _cases_of_raw_tables,
    )
    for case in cases()
}
