"""Linear models, and neural networks."""

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

from benchmarks.comparison.peers.base import Peer, log_uniform

__all__ = ["Linear", "RealMLP"]


class Linear(Peer):
    name = "linear"
    label = "logistic, ridge regression"
    columns = "scaled"

    def new(self, task, settings):
        if task.is_regression:
            return Ridge(alpha=1 / settings.get("C", 1.0))
        return LogisticRegression(**{"max_iter": 1000, **settings})

    def draw(self, task, rng):
        return {"C": log_uniform(rng, 1e-4, 1e4)}


class RealMLP(Peer):
    """Networks with the defaults of Holzmüller and others (2024), who tuned them on many tables."""

    name = "realmlp"
    label = "RealMLP"
    package = "pytabkit"
    columns = "as they are"
    uses_device = True

    def new(self, task, settings):
        return _RealMLP(task, settings)

    def draw(self, task, rng):
        return {
            "lr": log_uniform(rng, 2e-2, 3e-1),
            "p_drop": float(rng.choice([0.0, 0.15, 0.3])),
            "wd": float(rng.choice([0.0, 2e-2])),
            "plr_sigma": log_uniform(rng, 0.05, 0.5),
        }


class _RealMLP:
    """Text is a category; where numbers are missing, the median is there, and pytabkit wants it so."""

    def __init__(self, task, settings):
        self.task, self.settings = task, settings

    def fit(self, X, y):
        from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

        kind = RealMLP_TD_Regressor if self.task.is_regression else RealMLP_TD_Classifier
        options = {"device": self.task.device, "random_state": self.task.seed, "n_threads": self.task.n_threads}
        self.medians = X.median(numeric_only=True) if hasattr(X, "iloc") else None
        self.model = kind(**options, **self.settings).fit(self._filled(X), y)
        return self

    def _filled(self, X):
        if self.medians is None:
            return X
        text = X.columns.difference(self.medians.index)
        return X.fillna(self.medians).assign(**{name: X[name].astype(object).fillna("").astype(str) for name in text})

    def predict(self, X):
        return np.ravel(self.model.predict(self._filled(X)))

    def __getattr__(self, name):
        if name != "predict_proba" or self.__dict__["task"].is_regression:
            raise AttributeError(name)
        return lambda X: self.model.predict_proba(self._filled(X))
