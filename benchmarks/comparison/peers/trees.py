"""Boosted trees, and random forests."""

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from benchmarks.comparison.peers.base import Peer, log_uniform
from benchmarks.comparison.splits import parts_of, rows_at

__all__ = ["CatBoost", "Forest", "HistGradientBoosting", "LightGBM", "StoppedEarly", "XGBoost"]

MAX_TREES, PATIENCE = 2000, 50  # tuned ones stop after this number of rounds, or of rounds that did not help
JUDGED = 0.1  # of the rows, which say when


class StoppedEarly:
    """A booster with as many trees as are best for a tenth of the rows; ``fit`` has both parts of them."""

    def __init__(self, model, fit, task):
        self.model, self._fit, self.task = model, fit, task

    def fit(self, X, y):
        learned, judged = parts_of(y, JUDGED, self.task.is_regression, self.task.seed)
        if not self.task.is_regression:
            judged = judged[np.isin(y[judged], y[learned])]
        self._fit(self.model, rows_at(X, learned), y[learned], (rows_at(X, judged), y[judged]))
        return self

    def predict(self, X):
        return np.ravel(self.model.predict(X))

    def __getattr__(self, name):
        if name in ("model", "task") or self.task.is_regression or name != "predict_proba":
            raise AttributeError(name)
        return self.model.predict_proba

    def __getstate__(self):
        return self.model


class HistGradientBoosting(Peer):
    name = "hgb"
    label = "HistGradientBoosting"

    def new(self, task, settings):
        kind = HistGradientBoostingRegressor if task.is_regression else HistGradientBoostingClassifier
        stop = {"max_iter": MAX_TREES, "early_stopping": True, "n_iter_no_change": PATIENCE} if settings else {}
        return kind(random_state=task.seed, **stop, **settings)

    def draw(self, task, rng):
        return {
            "learning_rate": log_uniform(rng, 0.03, 0.3),
            "max_leaf_nodes": round(log_uniform(rng, 15, 127)),
            "min_samples_leaf": round(log_uniform(rng, 2, 60)),
            "l2_regularization": log_uniform(rng, 1e-4, 10),
            "max_features": rng.uniform(0.4, 1.0),
        }


class LightGBM(Peer):
    name = "lightgbm"
    label = "LightGBM"
    package = "lightgbm"

    def new(self, task, settings):
        from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping

        kind = LGBMRegressor if task.is_regression else LGBMClassifier
        model = kind(n_jobs=task.n_threads, random_state=task.seed, verbose=-1, **settings)
        if not settings:
            return model

        def fit(model, X, y, judged):
            stop = early_stopping(PATIENCE, verbose=False)
            model.fit(X, y, eval_X=judged[0], eval_y=judged[1], callbacks=[stop])

        return StoppedEarly(model.set_params(n_estimators=MAX_TREES, subsample_freq=1), fit, task)

    def draw(self, task, rng):
        return {
            "learning_rate": log_uniform(rng, 0.03, 0.3),
            "num_leaves": round(log_uniform(rng, 15, 127)),
            "min_child_samples": round(log_uniform(rng, 2, 60)),
            "reg_lambda": log_uniform(rng, 1e-4, 10),
            "colsample_bytree": rng.uniform(0.4, 1.0),
            "subsample": rng.uniform(0.6, 1.0),
        }


class XGBoost(Peer):
    name = "xgboost"
    label = "XGBoost"
    package = "xgboost"
    install = "pip install xgboost-cpu"

    def new(self, task, settings):
        from xgboost import XGBClassifier, XGBRegressor

        kind = XGBRegressor if task.is_regression else XGBClassifier
        stop = {"n_estimators": MAX_TREES, "early_stopping_rounds": PATIENCE} if settings else {}
        model = kind(n_jobs=task.n_threads, random_state=task.seed, enable_categorical=True, **stop, **settings)
        if not settings:
            return model
        return StoppedEarly(model, lambda model, X, y, judged: model.fit(X, y, eval_set=[judged], verbose=False), task)

    def draw(self, task, rng):
        return {
            "learning_rate": log_uniform(rng, 0.03, 0.3),
            "max_depth": int(rng.integers(3, 11)),
            "min_child_weight": log_uniform(rng, 0.5, 60),
            "reg_lambda": log_uniform(rng, 1e-4, 10),
            "colsample_bytree": rng.uniform(0.4, 1.0),
            "subsample": rng.uniform(0.6, 1.0),
        }


class CatBoost(Peer):
    """It has text as it is, and makes numbers of it in a way of its own."""

    name = "catboost"
    label = "CatBoost"
    package = "catboost"
    columns = "categories"

    def new(self, task, settings):
        from catboost import CatBoostClassifier, CatBoostRegressor

        kind = CatBoostRegressor if task.is_regression else CatBoostClassifier
        files = {"allow_writing_files": False, "verbose": False}
        trees = {"iterations": MAX_TREES} if settings else {}
        model = kind(thread_count=task.n_threads, random_seed=task.seed, **files, **trees, **settings)
        if not settings:
            return _WithText(model)

        def fit(model, X, y, judged):
            model.fit(X, y, eval_set=judged, early_stopping_rounds=PATIENCE)

        return StoppedEarly(_WithText(model), fit, task)

    def draw(self, task, rng):
        return {
            "learning_rate": log_uniform(rng, 0.03, 0.3),
            "depth": int(rng.integers(4, 9)),
            "l2_leaf_reg": log_uniform(rng, 0.5, 10),
            "random_strength": log_uniform(rng, 0.1, 10),
        }


class _WithText:
    """CatBoost wants to know which columns are text, and no text to be missing."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y, eval_set=None, **options):
        names = [name for name in X if X[name].dtype == "category"] if hasattr(X, "iloc") else []
        self.names = names
        if eval_set is not None:
            options["eval_set"] = (self._filled(eval_set[0]), eval_set[1])
        self.model.fit(self._filled(X), y, cat_features=names, **options)
        return self

    def _filled(self, X):
        return (
            X.assign(**{name: X[name].astype(object).fillna("").astype(str) for name in self.names})
            if self.names
            else X
        )

    def predict(self, X):
        return np.ravel(self.model.predict(self._filled(X)))

    def __getattr__(self, name):
        if name != "predict_proba" or not hasattr(self.__dict__.get("model"), name):
            raise AttributeError(name)
        return lambda X: self.model.predict_proba(self._filled(X))


class Forest(Peer):
    name = "forest"
    label = "random forest"
    columns = "filled"

    def new(self, task, settings):
        kind = RandomForestRegressor if task.is_regression else RandomForestClassifier
        return kind(n_jobs=task.n_threads, random_state=task.seed, **settings)

    def draw(self, task, rng):
        return {
            "n_estimators": 300,
            "max_features": float(log_uniform(rng, 0.05, 1.0)),
            "min_samples_leaf": round(log_uniform(rng, 1, 20)),
        }
