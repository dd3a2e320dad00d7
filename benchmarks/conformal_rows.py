"""What a promise costs for a single row: conformal estimators around models that do nothing."""

import time
import timeit
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin

from frugalsvm.conformal import ConformalClassifier, ConformalDetector, ConformalRegressor

__all__ = ["row_costs"]

N_CALLS, N_TIMES = 5_000, 7
ROW = np.zeros(3)


class _Nothing(BaseEstimator):
    """As a `StreamPipeline` that learns nothing."""

    n_held_ = 0

    def fit(self, X, y=None):
        return self

    def partial_fit(self, X, y=None, classes=None):
        self.t_ = 1
        return self

    def learn_one_row(self, x, y=None):
        pass


class _Labels(ClassifierMixin, _Nothing):
    def __init__(self, n_classes=2):
        self.n_classes = n_classes

    def partial_fit(self, X, y=None, classes=None):
        if not hasattr(self, "classes_"):
            self.classes_ = np.arange(self.n_classes)
            self.values_ = np.linspace(0.1, 0.3, self.n_classes if self.n_classes > 2 else 1)
        return self

    def decision_function(self, X):
        return np.repeat(self.values_[None], len(X), axis=0) if self.n_classes > 2 else np.repeat(self.values_, len(X))

    def decision_function_one_row(self, x):
        return self.values_


class _Numbers(RegressorMixin, _Nothing):
    def predict(self, X):
        return np.zeros(len(X))

    def predict_one_row(self, x):
        return 0.0


class _Alarms(OutlierMixin, _Nothing):
    def score_samples(self, X):
        return np.zeros(len(X))

    def score_samples_one_row(self, x):
        return 0.0


def _microseconds(call: Callable) -> float:
    """The least of some times: others use the machine, too."""
    return 1e6 * min(timeit.repeat(call, timer=time.process_time, number=N_CALLS, repeat=N_TIMES)) / N_CALLS


def row_costs() -> Iterator[tuple[str, tuple[float, float, float, float]]]:
    """For each estimator: learn_one_row, the prediction of one row, and both in batches of one."""
    for name, model, predict in (
        ("classifier, 2 classes", ConformalClassifier(_Labels(2)), "predict_set"),
        ("classifier, 5 classes", ConformalClassifier(_Labels(5)), "predict_set"),
        ("regressor", ConformalRegressor(_Numbers()), "predict_interval"),
        ("detector", ConformalDetector(_Alarms()), "predict"),
    ):
        X, y = np.zeros((20, 3)), np.arange(20) % 2
        model.partial_fit(X, y)
        for i in range(2_000):
            model.learn_one_row(ROW, i % 2)
        batch, label = X[:1], y[:1]
        answer, one_row = getattr(model, predict), getattr(model, f"{predict}_one_row")
        yield (
            name,
            (
                _microseconds(lambda model=model: model.learn_one_row(ROW, 1)),
                _microseconds(lambda one_row=one_row: one_row(ROW)),
                _microseconds(lambda model=model, batch=batch, label=label: model.partial_fit(batch, label)),
                _microseconds(lambda answer=answer, batch=batch: answer(batch)),
            ),
        )
