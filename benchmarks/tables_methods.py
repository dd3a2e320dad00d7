"""Methods of the benchmark of tables: what is fixed about each, and the settings among which it is tuned.

The first candidate of every method is its default; the others are drawn at random from the ranges below.
"""

from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.svm import SVC, SVR

from frugalsvm import ASSETClassifier, ASSETRegressor, AutoSVC, AutoSVR

__all__ = ["METHODS", "Task", "missing_package"]

PATH = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4)  # of C
KERNELS = ("rbf", "laplacian", "matern12")
MAX_STEPS = 300_000  # of SVC and SVR: with a large C, they would take hours for the last digits
MAX_TREES, PATIENCE = 2000, 50  # boosting stops after so many rounds, or so many that did not help


class Task(NamedTuple):
    """What a method must know of the data and of the machine."""

    is_regression: bool
    n_columns: int
    n_components: int
    device: str


class Method:
    """A method: ``candidates`` are settings, ``new`` makes an estimator of some."""

    label = ""
    package: str | None = None  # that it needs
    columns = "raw"  # or "scaled"
    max_rows: int | None = None
    is_single_threaded = False  # candidates are then fitted side by side
    kinds: tuple[dict, ...] = ({},)  # settings with machine code of their own
    counts_for = 1  # how many candidates one of its settings counts for

    def title(self, task):
        return self.label

    def device(self, task):
        return "cpu"

    def candidates(self, task, n, rng):
        return [{}, *(self.draw(task, rng) for _ in range(n - 1))]

    def draw(self, task, rng):
        raise NotImplementedError

    def new(self, task, settings, seed):
        raise NotImplementedError


class ASSET(Method):
    """Values of C on a path count as candidates: with eighteen of them, there are six for each of three kernels."""

    columns = "scaled"

    kinds = tuple({"kernel": kernel} for kernel in KERNELS)
    counts_for = len(PATH)

    def __init__(self, label, metric):
        self.label, self.metric = label, metric

    def title(self, task):
        return f"{self.label}, s = {task.n_components}"

    def device(self, task):
        return task.device

    def candidates(self, task, n, rng):
        n_paths = max(1, n // self.counts_for)
        return [*self.kinds, *(self.draw(task, rng) for _ in range(n_paths - len(self.kinds)))][:n_paths]

    def draw(self, task, rng):
        return {"kernel": str(rng.choice(KERNELS)), "gamma": log_uniform(rng, 0.1, 10) / task.n_columns}

    def new(self, task, settings, seed):
        settings = {"n_components": task.n_components, "C": list(PATH), "device": task.device, **settings}
        settings.update(metric=self.metric, n_jobs=-1, random_state=seed)
        if task.is_regression:  # the error is that of squares, so the loss is
            return ASSETRegressor(loss="squared_epsilon_insensitive", epsilon=0.0, **settings)
        return ASSETClassifier(**settings)


class Auto(Method):
    """`AutoSVC` and `AutoSVR`: kernel, metric, gamma and C are their own business, and its time is that of the fit."""

    label = "AutoSVC, AutoSVR"

    def title(self, task):
        return f"{self.label}, s = {task.n_components}"

    def device(self, task):
        return task.device

    def candidates(self, task, n, rng):
        return [{}]

    def new(self, task, settings, seed):
        kind = AutoSVR if task.is_regression else AutoSVC
        return kind(n_components=task.n_components, device=task.device, n_jobs=-1, random_state=seed)


class HistGradientBoosting(Method):
    label = "HistGradientBoosting"

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


class LightGBM(Method):
    label = "LightGBM"
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


class XRFM(Method):
    """Defaults and ranges are those of its authors, for the kernel that needs no further package."""

    label = "xRFM"
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


class SVM(Method):
    label = "SVC, SVR"
    columns = "scaled"
    max_rows = 20_000  # its time grows with the square of the rows
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
    "asset": ASSET("ASSET, learned metric", "auto"),
    "plain": ASSET("ASSET, plain metric", None),
    "hgb": HistGradientBoosting(),
    "lightgbm": LightGBM(),
    "xrfm": XRFM(),
    "svm": SVM(),
}


def missing_package(method):
    """The name of the package that a method needs and that is not installed, or None."""
    return method.package if method.package and find_spec(method.package) is None else None


def log_uniform(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
