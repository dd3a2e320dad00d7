"""Pipelines that show their mistakes to a detector of drift, and act: as a `DriftWatch` of themselves."""

import copy
from contextlib import ExitStack
from typing import Any

import numpy as np

from frugalsvm.estimators.unchanged import unchanged_on_error
from frugalsvm.pipelines.drift import WatchesForDrift
from frugalsvm.pipelines.learning import NO_FEATURES
from frugalsvm.pipelines.predicting import PredictingPipeline
from frugalsvm.pipelines.saved import WATCHED
from frugalsvm.streams.batch import rows_taken


class WatchedPipeline(WatchesForDrift, PredictingPipeline):
    """The part of `StreamPipeline` that deals with drifts."""

    detector: Any
    detector_: Any

    @property
    def _watching(self) -> Any:
        return self.detector_

    def _begin_watching(self):
        self.detector_ = copy.deepcopy(self.detector)
        self.drifts_, self._n_seen, self._n_boosted = [], 0, 0

    def _learn_watched(self, X, y, classes, sample_weight):
        """Learn rows one after the other, each predicted before; the detector sees every mistake at its time.

        In larger parts, what is found would depend on the sizes of batches, and a long one would hide a drift.
        """
        with ExitStack() as stack:
            stack.enter_context(unchanged_on_error(self))
            rows, left = self._begun_with(X, y, sample_weight), NO_FEATURES
            if len(rows.y) > 1:  # if a row is refused, those before are taken back
                self.detector_ = copy.deepcopy(self.detector_)
                if self._held is None:
                    self._check_known(rows.y)
                    stack.enter_context(unchanged_on_error(self.estimator_)).begin()
            while len(rows.y):
                # Without a warm-up, the first batch is what statistics are from.
                n_rows = 1 if self._held is None or self.warmup_rows else len(rows.y)
                left = np.union1d(left, self._watch(rows_taken(rows, slice(n_rows)), classes))
                rows = rows_taken(rows, slice(n_rows, None))
        return left

    def _watch(self, rows, classes):
        """Predict a row, learn it, and act if the detector finds a drift; several rows only if they are the first."""
        if self._n_seen and rows.weights is None and not self._n_boosted and self._row_path() is not None:
            self.learn_one_row(rows.X[0], rows.y[0])
            return NO_FEATURES  # which the detector was given
        is_wrong = self._predicted(rows) != rows.y if self._n_seen else None
        left = self._take_rows(rows._replace(weights=self._boosted(len(rows.y), rows.weights)), classes)
        self._count(len(rows.y))
        if is_wrong is not None:
            self._show(is_wrong, rows)
        return left

    def _predicted(self, rows):
        """The classes of rows that were checked."""
        answering = self._answering() if self._held != () else None
        if answering is None:
            return self.classes_[:1]
        return answering.estimator_.predict(answering._prepared(rows.X, rows.columns))

    def _reset(self, rows):
        """Forget all but the classes and the detector, and take the rows of the drift as the first ones."""
        known = self.estimator_.classes_ if self._held is None else self._announced
        kept = {name: vars(self)[name] for name in WATCHED}
        with unchanged_on_error(self):
            self._begin(rows)
            self.__dict__.update(kept)
            self._announced = known
            self._take_rows(rows, None)
