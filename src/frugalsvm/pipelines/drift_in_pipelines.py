"""Pipelines that show their mistakes to a detector of drift, and act: as a `DriftWatch` of themselves."""

import copy
from typing import Any

import numpy as np

from frugalsvm.estimators._unchanged import unchanged_on_error
from frugalsvm.pipelines.drift import BOOST_ROWS, Boost, check_on_drift, finds_drift
from frugalsvm.pipelines.learning import LearningPipeline
from frugalsvm.pipelines.saved import WATCHED

__all__ = ["WatchedPipeline"]


class WatchedPipeline(LearningPipeline):
    """The part of `StreamPipeline` that deals with drifts."""

    detector: Any
    on_drift: Any
    detector_: Any
    drifts_: list[int]
    predict: Any  # of `StreamPipeline`
    _n_seen: int
    _n_boosted: int  # rows that are still to count more

    def _check_params(self):
        super()._check_params()
        check_on_drift(self.on_drift)
        if self.detector is None:
            return
        if not hasattr(self.detector, "update") or not hasattr(self.detector, "drift_detected"):
            raise ValueError(
                f"detector={self.detector!r} has no update and drift_detected, as those of river.drift have."
            )
        if not self._classifies:
            raise ValueError(f"detector= is for classifiers, not for {type(self.estimator).__name__}.")

    def _begin(self, rows):
        super()._begin(rows)
        for name in WATCHED:
            self.__dict__.pop(name, None)
        if self.detector is not None:
            self.detector_ = copy.deepcopy(self.detector)
            self.drifts_, self._n_seen, self._n_boosted = [], 0, 0

    def _learn_watched(self, X, y, classes, sample_weight):
        """Predict rows, learn them, show the mistakes to the detector, and act if there was a drift."""
        self._check_params()
        predicted = self.predict(X) if hasattr(self, "_held") else None
        boost = Boost(n_left=getattr(self, "_n_boosted", 0))
        with unchanged_on_error(self):
            left = self._take(X, y, classes, boost.weights(len(y), sample_weight))
            self._n_boosted, self._n_seen = boost.after(len(y)).n_left, self._n_seen + len(y)
        # The detector is shown what the pipeline has learned: rows that were refused would stay in it.
        if predicted is not None:
            self._show(predicted != np.asarray(y), X, y, sample_weight)
        return left

    def _show(self, is_wrong, X, y, sample_weight):
        if not finds_drift(self.detector_, is_wrong):
            return
        self.drifts_ = [*self.drifts_, self._n_seen]
        if callable(self.on_drift):
            self.on_drift(self)
        elif self.on_drift == "boost":
            self._n_boosted = BOOST_ROWS
        else:
            self._begin_anew(X, y, sample_weight)

    def _begin_anew(self, X, y, sample_weight):
        """Forget all but the classes and the detector, and take the rows of the drift as the first ones."""
        known = self.estimator_.classes_ if self._held is None else self._announced
        kept = {name: vars(self)[name] for name in WATCHED}
        with unchanged_on_error(self):
            self._begin(self._checked(X, y, sample_weight, reset=False))
            self.__dict__.update(kept)
            self._announced = known
            self._take(X, y, None, sample_weight)
