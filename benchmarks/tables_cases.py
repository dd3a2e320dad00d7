"""A method on a table: what is measured of it, in the process that calls `measured`."""

import gc
import logging
import pickle
import sys
import time
import warnings
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks.__main__ import machine
from benchmarks.peak_memory import PeakMemory
from benchmarks.tables_data import MADE, TABLES, prepared, split_of
from benchmarks.tables_methods import METHODS, Task, missing_package
from benchmarks.tables_tuning import Effort, error_of, tuned
from frugalsvm.compiling.threads import thread_count

__all__ = ["Case", "machine_here", "measured", "warm_up"]

WARM_ROWS, WARM_ROWS_OF_MADE = 1000, 10_000  # large tables take other ways
SMALL = 0.02  # of a fit: so much compiling is not worth another one


class Case(NamedTuple):
    """What to measure: a method and a table by name, and a seed of both."""

    problem: str
    method: str
    seed: int
    device: str
    effort: Effort
    rows: int | None = None
    validate: bool = False

    @property
    def is_regression(self):
        return {**TABLES, **MADE}[self.problem].is_regression

    @property
    def is_made(self):
        return self.problem in MADE

    def identity(self):
        """What tells its result from others."""
        method, judges = METHODS[self.method], "validation" if self.validate else "test"
        problem = f"{self.problem} ({self.rows:,} rows)" if self.rows else self.problem
        return {
            "problem": problem, "is_regression": self.is_regression, "method": method.label,
            "device": method.device(self.task(0)), "seed": self.seed, "judged_on": judges,
        }  # fmt: skip

    def without_result(self, reason):
        return {**self.identity(), "error": None, "missing": reason}

    def task(self, n_columns):
        return Task(self.is_regression, n_columns, self.device)

    def split(self, rows=None):
        return split_of(self.problem, self.seed, rows=rows or self.rows, validate=self.validate)


def warm_up(case):
    """Have machine code made and libraries started, by a fit of few rows, which may be a poor one."""
    n_rows = WARM_ROWS_OF_MADE if case.is_made else WARM_ROWS
    split, method = case.split(min(n_rows, case.rows or n_rows)), METHODS[case.method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, X_test, _ = _fitted(method, case.task(split.X.shape[1]), split, {}, case.seed)
        model.predict(X_test)
    _release_memory()


def measured(case):
    """A result (errors, seconds, bytes, what was chosen), and the report of the model."""
    memory = PeakMemory()
    method, split = METHODS[case.method], case.split()
    if len(split.y) > method.most_rows:
        return case.without_result(f"for {method.most_rows:,} rows or fewer"), ""
    task, cpu = case.task(split.X.shape[1]), time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        choice = tuned(method, task, split, case.effort, case.seed)
        tuning_cpu = time.process_time() - cpu
        model, X_test, spent = _warm_fit(method, task, split, choice.settings, case.seed)
        peaks = {"peak_bytes": memory.bytes() if case.is_made else None, "gpu_bytes": memory.gpu_bytes()}
        judged = _judged(model, X_test, split.y_test, case.is_regression)
    result = {
        **case.identity(), "rows": len(split.y), **judged,
        "seconds": choice.seconds + spent.seconds, "cpu_seconds": tuning_cpu + spent.cpu_seconds,
        "tuning_seconds": choice.seconds, "candidates": choice.n_tried, "failed_candidates": choice.n_failed,
        "bytes": _pickled_bytes(model), "row_bytes": _bytes_of(split.X), **peaks,
        "chosen": _plain({**choice.settings, **getattr(model, "best_params_", {})}),
        "warned": sorted({str(each.message) for each in caught if issubclass(each.category, UserWarning)}),
    }  # fmt: skip
    report = str(model.report()) if hasattr(model, "report") else ""
    del model
    _release_memory()
    return result, report


class Spent(NamedTuple):
    seconds: float
    cpu_seconds: float


def _warm_fit(method, task, split, settings, seed):
    """A fitted model; where much had to be compiled, that of a second fit, which finds the machine code."""
    compiled = _CompileSeconds()
    logger = logging.getLogger("frugalsvm")
    logger.addHandler(compiled)
    logger.setLevel(logging.INFO)
    try:
        model, X_test, spent = _fitted(method, task, split, settings, seed)
    finally:
        logger.removeHandler(compiled)
    if compiled.total > SMALL * spent.seconds:
        del model
        return _fitted(method, task, split, settings, seed)
    return model, X_test, spent


class _CompileSeconds(logging.Handler):
    """Adds up what the library says of compiling."""

    total = 0.0

    def emit(self, record):
        if record.msg.startswith("Compiled"):
            self.total += record.args[-1]


def _fitted(method, task, split, settings, seed):
    start, cpu = time.perf_counter(), time.process_time()
    X, X_test = prepared(method.columns, split.has_one_unit, split.X, split.y, split.X_test)
    model = method.new(task, settings, seed).fit(X, split.y)
    return model, X_test, Spent(time.perf_counter() - start, time.process_time() - cpu)


def _judged(model, X_test, y_test, is_regression):
    start = time.perf_counter()
    error = error_of(model, X_test, y_test, is_regression)
    judged = {"error": error, "predict_seconds": time.perf_counter() - start, "log_loss": None, "auc": None}
    if is_regression or not hasattr(model, "predict_proba"):
        return judged
    probabilities = np.asarray(model.predict_proba(X_test), np.float64)
    probabilities /= probabilities.sum(axis=1, keepdims=True)  # some come in float32
    n_classes = probabilities.shape[1]
    if y_test.max() >= n_classes:  # a class that no training row has
        return judged
    judged["log_loss"] = float(log_loss(y_test, probabilities, labels=np.arange(n_classes)))
    if n_classes == 2:
        judged["auc"] = float(roc_auc_score(y_test, probabilities[:, 1]))
    return judged


class _Counter:
    """A file that keeps nothing but its length."""

    length = 0

    def write(self, data):
        self.length += len(memoryview(data).cast("B"))


def _pickled_bytes(model):
    counter = _Counter()
    try:
        pickle.Pickler(counter, protocol=5).dump(model)
    except (TypeError, ValueError, pickle.PicklingError):  # models in C++ that cannot be copied
        return None
    return counter.length


def _bytes_of(X):
    return int(X.memory_usage(deep=True).sum()) if hasattr(X, "iloc") else X.nbytes


def _plain(settings):
    """Settings as JSON has them."""
    values = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    return {
        name: value if isinstance(value, int | float | str | bool | None) else str(value)
        for name, value in values.items()
    }


def _release_memory():
    """What one method leaves on a GPU is not there for the next."""
    gc.collect()
    if "torch" in sys.modules:
        sys.modules["torch"].cuda.empty_cache()


def machine_here():
    """Versions of all libraries, the cores of this process, and the GPU where one was used."""
    packages = {method.package for method in METHODS.values() if method.package and not missing_package(method)}
    found = {**machine(), **{package: version(package) for package in sorted(packages)}, "cores": thread_count(-1)}
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return found
    return {**found, "torch": torch.__version__, "GPU": torch.cuda.get_device_name()}
