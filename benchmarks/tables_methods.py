"""Methods of the benchmark of tables: what is fixed about each, and the settings among which it is tuned.

The first candidate of every method is its default; the others are drawn at random from the ranges below.
"""

from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.svm import SVC, SVR

from frugalsvm import AutoSVC, AutoSVR
from frugalsvm.compiling.threads import thread_count

__all__ = ["METHODS", "Task", "missing_package"]

MAX_STEPS = 300_000  # of SVC and SVR: with a large C, they would take hours for the last digits
MAX_TREES, PATIENCE = 2000, 50  # boosting stops after so many rounds, or so many that did not help


class Task(NamedTuple):
    """What a method must know of the data and of the machine."""

    is_regression: bool
    n_columns: int
    device: str


class Method:
    """A method: ``candidates`` are settings, ``new`` makes an estimator of some."""

    label = ""
    package: str | None = None  # that it needs
    columns = "numbers"  # "as they are" (data frames, too), "numbers" or "scaled"
    most_rows: float = np.inf  # it is not measured on more
    is_single_threaded = False  # candidates are then fitted side by side

    def device(self, task):
        return "cpu"

    def candidates(self, task, n, rng):
        return [{}, *(self.draw(task, rng) for _ in range(n - 1))]

    def draw(self, task, rng):
        raise NotImplementedError

    def new(self, task, settings, seed):
        raise NotImplementedError


class Untuned:
    """What comes without settings to choose."""

    def candidates(self, task, n, rng):
        return [{}]


class Auto(Untuned, Method):
    """`AutoSVC` and `AutoSVR`: all choices are their own business, and their time is that of the fit."""

    label = "AutoSVC, AutoSVR"
    columns = "as they are"

    def device(self, task):
        return task.device

    def new(self, task, settings, seed):
        kind = AutoSVR if task.is_regression else AutoSVC
        return kind(device=task.device, n_jobs=thread_count(-1), random_state=seed)


class HistGradientBoosting(Method):
    label = "HistGradientBoosting, tuned"

    def draw(self, task, rng):
        return {
            "learning_rate": log_uniform(rng, 0.03, 0.3),
            "max_leaf_nodes": round(log_uniform(rng, 15, 127)),
            "min_samples_leaf": round(log_uniform(rng, 2, 60)),
            "l2_regularization": log_uniform(rng, 1e-4, 10),
            "max_features": rng.uniform(0.4, 1.0),
        }

    def new(self, task, settings, seed):
        kind = HistGradientBoostingRegressor if task.is_regression else HistGradientBoostingClassifier
        stop = {"max_iter": MAX_TREES, "early_stopping": True, "n_iter_no_change": PATIENCE}
        return kind(random_state=seed, **stop, **settings)


class PlainHistGradientBoosting(Untuned, Method):
    label = "HistGradientBoosting"

    def new(self, task, settings, seed):
        kind = HistGradientBoostingRegressor if task.is_regression else HistGradientBoostingClassifier
        return kind(random_state=seed)


class LightGBM(Method):
    label = "LightGBM, tuned"
    package = "lightgbm"

    def draw(self, task, rng):
        return {
            "learning_rate": log_uniform(rng, 0.03, 0.3),
            "num_leaves": round(log_uniform(rng, 15, 127)),
            "min_child_samples": round(log_uniform(rng, 2, 60)),
            "reg_lambda": log_uniform(rng, 1e-4, 10),
            "colsample_bytree": rng.uniform(0.4, 1.0),
            "subsample": rng.uniform(0.6, 1.0),
        }

    def new(self, task, settings, seed):
        from benchmarks.tables_peers import LightGBMModel

        return LightGBMModel(task.is_regression, {"n_estimators": MAX_TREES, **settings}, PATIENCE, seed)


class PlainLightGBM(Untuned, Method):
    label = "LightGBM"
    package = "lightgbm"

    def new(self, task, settings, seed):
        from lightgbm import LGBMClassifier, LGBMRegressor

        kind = LGBMRegressor if task.is_regression else LGBMClassifier
        return kind(n_jobs=thread_count(-1), random_state=seed, verbose=-1)


class XRFM(Method):
    """Defaults and ranges are those of its authors, for the kernel that needs no further package."""

    label = "xRFM, tuned"
    package = "xrfm"
    columns = "scaled"

    def device(self, task):
        return task.device

    def draw(self, task, rng):
        return {
            "bandwidth": log_uniform(rng, 0.5, 200),
            "exponent": rng.uniform(0.7, 1.4),
            "diag": bool(rng.integers(2)),
            "reg": log_uniform(rng, 1e-6, 10),
        }

    def new(self, task, settings, seed):
        from benchmarks.tables_peers import XRFMModel

        return XRFMModel(task.is_regression, settings, task.device, seed)


class PlainXRFM(Untuned, XRFM):
    label = "xRFM"


class LiquidSVM(Untuned, Method):
    """It chooses gamma and C of every cell by cross-validation of its own."""

    label = "liquidSVM"
    package = "liquidSVM"
    columns = "scaled"

    def new(self, task, settings, seed):
        from benchmarks.tables_peers import LiquidSVMModel

        return LiquidSVMModel(task.is_regression, thread_count(-1))


class SVM(Method):
    label = "SVC, SVR, tuned"
    columns = "scaled"
    most_rows = 20_000  # its time grows with the square of the rows
    is_single_threaded = True

    def draw(self, task, rng):
        gamma = log_uniform(rng, 0.03, 10) / task.n_columns
        if task.is_regression:
            return {"C": log_uniform(rng, 0.1, 30), "gamma": gamma, "epsilon": log_uniform(rng, 0.01, 0.3)}
        return {"C": log_uniform(rng, 0.1, 1e3), "gamma": gamma}

    def new(self, task, settings, seed):
        kind = SVR if task.is_regression else SVC
        return kind(cache_size=1000, max_iter=MAX_STEPS, **settings)


METHODS = {
    "auto": Auto(),
    "hgb": HistGradientBoosting(),
    "hgb-plain": PlainHistGradientBoosting(),
    "lightgbm": LightGBM(),
    "lightgbm-plain": PlainLightGBM(),
    "xrfm": XRFM(),
    "xrfm-plain": PlainXRFM(),
    "liquidsvm": LiquidSVM(),
    "svm": SVM(),
}


def missing_package(method):
    """The name of the package that a method needs and that is not installed, or None."""
    return method.package if method.package and find_spec(method.package) is None else None


def log_uniform(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
