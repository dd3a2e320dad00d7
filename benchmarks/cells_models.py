"""What ``benchmarks.cells`` compares: `LocalSVC` and `LocalSVR` in some settings, and what one would take instead."""

from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from benchmarks.comparison import peers
from frugalsvm import AutoSVC, AutoSVR, LocalSVC, LocalSVR
from frugalsvm.compiling.threads import thread_count

__all__ = ["PEERS", "WAYS", "Metric", "Peer", "Place", "Way", "learned_metric", "new_local", "warm_up"]

_METRIC_ROWS = 30_000
_WARM_ROWS, _WARM_SIZE = 1000, 100


class Place(NamedTuple):
    """Where it is computed."""

    name: str
    device: str
    n_jobs: int


class Way(NamedTuple):
    """A way to use `LocalSVC`."""

    settings: dict
    has_metric: bool = False  # rows and metric of `AutoSVC`, instead of standardized columns
    has_kernel: bool = False  # its kernel, too


WAYS = {
    "cells of 1024": Way({"cell_size": 1024}),
    "cells of 2048": Way({"cell_size": 2048}),
    "cells of 2048, 3 trees": Way({"cell_size": 2048, "n_trees": 3}),
    "metric of AutoSVC": Way({"cell_size": 2048}, has_metric=True),
    "metric of AutoSVC, 3 trees": Way({"cell_size": 2048, "n_trees": 3}, has_metric=True),
    "metric and kernel of AutoSVC": Way({"cell_size": 2048}, has_metric=True, has_kernel=True),
}


def new_local(way: Way, is_regression: bool, place: Place, seed: int, **settings: Any):
    kind = LocalSVR if is_regression else LocalSVC
    return kind(device=place.device, n_jobs=place.n_jobs, random_state=seed, **{**way.settings, **settings})


def warm_up(model, X, y):
    """Have machine code made and libraries started: by a few cells, on a GPU by a whole fit, which knows all sizes."""
    if model.device == "cpu":
        X, y = X[:_WARM_ROWS], y[:_WARM_ROWS]
        model = type(model)(**{**model.get_params(), "cell_size": _WARM_SIZE})
    model.fit(X, y).predict(X[:_WARM_ROWS])


class Metric(NamedTuple):
    """What `AutoSVC` or `AutoSVR` has found on some rows: rows as it prepares them, its metric, if any, its kernel."""

    X: np.ndarray
    X_test: np.ndarray
    metric: np.ndarray | None
    kernel: str


def learned_metric(split, is_regression: bool, place: Place, seed: int) -> Metric:
    kind = AutoSVR if is_regression else AutoSVC
    some = slice(0, _METRIC_ROWS)  # rows are in random order
    auto = kind(device=place.device, n_jobs=place.n_jobs, random_state=seed).fit(split.X[some], split.y[some])
    rows = (np.ascontiguousarray(auto.pipeline_.estimator_rows(X), np.float32) for X in (split.X, split.X_test))
    return Metric(*rows, auto.model_.metric_, auto.model_.kernel)


class Peer:
    """Another library: ``new`` makes an estimator."""

    package: str | None = None
    columns = "raw"  # or "scaled"
    may_use_gpu = False

    @property
    def missing(self) -> str | None:
        return self.package if self.package and find_spec(self.package) is None else None

    def new(self, is_regression: bool, place: Place, seed: int) -> Any:
        raise NotImplementedError


def _of_comparison(name, is_regression, place, seed, **settings):
    task = peers.Task(is_regression, 0, thread_count(place.n_jobs), seed, place.device)
    return peers.PEERS[name].new(task, settings)


class HistGradientBoosting(Peer):
    def __init__(self, **settings):
        self.settings = settings

    def new(self, is_regression, place, seed):
        kind = HistGradientBoostingRegressor if is_regression else HistGradientBoostingClassifier
        return kind(random_state=seed, **self.settings)


class LightGBM(Peer):
    package = "lightgbm"

    def new(self, is_regression, place, seed):
        return _of_comparison("lightgbm", is_regression, place, seed, num_leaves=255)


class XRFM(Peer):
    package = "xrfm"
    columns = "scaled"
    may_use_gpu = True

    def new(self, is_regression, place, seed):
        return _of_comparison("xrfm", is_regression, place, seed)


class LiquidSVM(Peer):
    package = "liquidSVM"
    columns = "scaled"

    def new(self, is_regression, place, seed):
        return _of_comparison("liquidsvm", is_regression, place, seed)


_LARGE_TREES = {"max_iter": 1000, "max_leaf_nodes": 255, "early_stopping": True}
PEERS = {
    "hgb": HistGradientBoosting(),
    "hgb-large": HistGradientBoosting(**_LARGE_TREES),
    "lightgbm": LightGBM(),
    "xrfm": XRFM(),
    "liquidsvm": LiquidSVM(),
}
