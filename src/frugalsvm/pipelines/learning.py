"""How a pipeline learns: rows are held back until there are enough of them to take statistics from."""

import copy
from contextlib import ExitStack
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.multiclass import unique_labels

from frugalsvm._locks import exclusive
from frugalsvm.calibration import PlattCalibration
from frugalsvm.estimators.automatic import chooses_in_order, for_stream, learns_streams, may_follow
from frugalsvm.estimators.constraints import check_count
from frugalsvm.estimators.labels import distinct_labels, encoded_labels
from frugalsvm.estimators.seen_rows import learns_metric
from frugalsvm.estimators.unchanged import unchanged_on_error
from frugalsvm.exceptions import warn_caller
from frugalsvm.pipelines.mapping import check_enough_rows
from frugalsvm.pipelines.preparing import PreparingPipeline
from frugalsvm.pipelines.watching import left_range
from frugalsvm.pipelines.widening import widen_filler, widen_scaler, wider_rows
from frugalsvm.streams.batch import rows_taken, stacked

NO_FEATURES = np.zeros(0, np.int64)
USUAL_ROWS = 1000
METRIC_ROWS = 2000  # that a metric, or gamma in the order of rows, is from at least: it is that of the first for ever
HELD_OUT = 5  # one row in five is held out to calibrate rows that come all at once


class LearningPipeline(PreparingPipeline):
    """The learning half of `StreamPipeline`.

    ``_held`` are the batches that were held back, None once the estimator has begun to learn; ``_announced`` the
    classes that were given beforehand, or None. Everything is replaced rather than changed, so that a failure leaves no
    trace.
    """

    detector: Any
    learn_one_row: Any  # of `StreamPipeline`

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_held")

    # --- what is known -------------------------------------------------------------------------------------

    @property
    def _grows(self) -> bool:
        return getattr(self.estimator, "new_classes", None) == "grow"

    @property
    def n_held_(self) -> int:
        """Number of rows that are held back."""
        held = self.__dict__.get("_held")
        return sum(len(rows.y) for rows in held) if held else 0

    @property
    def n_warmup(self) -> int:
        """Number of rows that are held back at first: ``warmup_rows``, or more to learn a metric from, or gamma."""
        needs_more = learns_metric(self.estimator) or chooses_in_order(self.estimator)
        # Where nothing was said of forgetting, few rows are few: gamma is what they tell.
        needs_more |= may_follow(self.estimator) and self.warmup_rows >= USUAL_ROWS
        return max(self.warmup_rows, METRIC_ROWS) if needs_more else self.warmup_rows

    # --- learning ------------------------------------------------------------------------------------------

    def _take(self, X, y, classes, sample_weight):
        """Hold rows back or learn them; returns features that left their range."""
        return self._take_rows(self._begun_with(X, y, sample_weight), classes)

    def _begun_with(self, X, y, sample_weight):
        """Checked rows; if they are the first ones, the pipeline begins with them."""
        self._check_params()
        if not learns_streams(self.estimator):
            raise ValueError(
                f"{type(self.estimator).__name__} learns all rows at once: call fit with them, or take an estimator "
                "that learns batch by batch."
            )
        first = not hasattr(self, "_held")
        rows = self._checked(X, y, sample_weight, reset=first)
        if first:
            check_enough_rows(self.feature_map, self.n_warmup or len(rows.y))
            self._begin(rows)
        return rows

    def _take_rows(self, rows, classes):
        if self._held is None:
            return self._learn(rows, classes)
        self._note_classes(rows.y, classes)
        n_lacking = self.n_warmup - self.n_held_
        if not self.warmup_rows:  # whole batches
            n_lacking = max(n_lacking, len(rows.y))
        if len(rows.y) < n_lacking:
            self._held = (*self._held, copy.deepcopy(rows))  # callers may use their arrays again
            return NO_FEATURES
        self._start(stacked((*self._held, rows_taken(rows, slice(n_lacking)))))
        if len(rows.y) > n_lacking:
            return self._learn(rows_taken(rows, slice(n_lacking, None)), None)
        return NO_FEATURES

    def _note_classes(self, y, classes):
        """Refuse labels while they are held back for which the estimator would refuse all rows later."""
        if not self._classifies:
            return
        if self._held and (self._held[0].y.dtype.kind in "biuf") != (y.dtype.kind in "biuf"):
            first, now = self._held[0].y[:1].tolist()[0], y[:1].tolist()[0]
            raise ValueError(f"Labels of two kinds: {first!r} in the first rows, and now {now!r}.")
        if classes is not None:
            classes = unique_labels(classes)
            if self._announced is None:
                self._announced = classes
            elif self._grows:
                self._announced = np.union1d(self._announced, classes)
            elif not np.array_equal(classes, self._announced):
                raise ValueError(
                    f"classes={classes!r} differs from the classes of the first call: {self._announced!r}."
                )
        if self._announced is not None and not self._grows:
            may_grow = hasattr(self.estimator, "new_classes")
            for labels in [y, *(rows.y for rows in (self._held or ()) if classes is not None)]:
                encoded_labels(labels, distinct_labels(labels), self._announced, may_grow=may_grow)

    def _start(self, rows, *, is_preview=False):
        """Take the statistics from the rows, freeze them, and learn the rows."""
        rows = self._take_statistics(rows, is_preview)
        X = self._prepared(rows.X, rows.columns)
        self.estimator_ = for_stream(self.estimator)
        if is_preview and learns_metric(self.estimator):  # of fewer rows than a metric can be learned from
            self.estimator_.set_params(metric=None)
        self._calibrate_held_out(X, rows, "partial_fit")
        self._teach(self.estimator_, X, rows, "partial_fit", self._announced)
        self._held = None

    def _learn(self, rows, classes):
        """Learn rows, in parts if statistics are renewed in between; returns features that left their range."""
        left = NO_FEATURES
        if self.scaler_ is None or not self.scaler_.watches:
            self._learn_part(rows, classes)
            return left
        with ExitStack() as stack:
            stack.enter_context(unchanged_on_error(self.scaler_))
            while len(rows.y):
                scaler, n_rows, due = self.scaler_.after(self._filled(rows.X))
                if n_rows < len(rows.y):  # this part is taken back if a later one fails
                    self._check_known(rows.y)
                    stack.enter_context(unchanged_on_error(self.estimator_)).begin()
                self._learn_part(rows_taken(rows, slice(n_rows)), classes)
                self.scaler_.become(scaler)
                rows, classes, left = rows_taken(rows, slice(n_rows, None)), None, np.union1d(left, due)
        return left

    def _learn_part(self, rows, classes):
        X = self._prepared(rows.X, rows.columns)
        if getattr(self, "filler_", None) is not None:
            self.filler_ = self.filler_.after(rows.X)
        calibration = self._calibrated(X, rows) if self.calibrate else None
        self._teach(self.estimator_, X, rows, "partial_fit", classes)
        if calibration is not None:
            self.calibration_ = calibration

    def _check_known(self, y):
        """Refuse labels that the estimator would refuse."""
        if self._classifies and not self._grows:
            may_grow = hasattr(self.estimator, "new_classes")
            encoded_labels(y, distinct_labels(y), self.estimator_.classes_, may_grow=may_grow)

    def _tell_left(self, features):
        """Warn of features that have left their range for long."""
        if features.size:
            warn_caller(left_range(features, self.scaler_, self._names), UserWarning)

    def _teach(self, estimator, X, rows, method, classes):
        weights = {} if rows.weights is None else {"sample_weight": rows.weights}
        if classes is not None and self._classifies and method == "partial_fit":
            weights["classes"] = classes
        getattr(estimator, method)(X, rows.y, **weights)

    def _fit_all(self, rows):
        self._begin(rows)
        rows = self._take_statistics(rows)
        X = self._prepared(rows.X, rows.columns)
        self.estimator_ = clone(self.estimator)
        self._calibrate_held_out(X, rows, "fit")
        self._teach(self.estimator_, X, rows, "fit", None)
        self._held = None

    @exclusive
    def flush(self):
        """Learn the rows that are held back, with statistics from them alone; the warm-up is over then.

        Returns
        -------
        self
        """
        if self.n_held_ and self._held:
            with unchanged_on_error(self):
                self._start(stacked(self._held))
        return self

    # --- features ------------------------------------------------------------------------------------------

    @exclusive
    def add_features(self, n_new: int):
        """Take up further features, as if they had been there from the beginning: zero, or missing if that is filled.

        Parameters
        ----------
        n_new : int
            How many. They come after those that are known.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the model cannot: the estimator has begun to learn and is not a budgeted one, or there is an encoder, a
            feature map, a metric or an indicator of missing values; or if rows are sparse.
        """
        check_count("n_new", n_new)
        if hasattr(self, "_held"):
            with unchanged_on_error(self):
                self._widen(n_new)
        return self

    def _widen(self, n_new):
        if self._is_sparse or self.encoder is not None:
            raise ValueError("Sparse rows, and those with columns of text, cannot have further features.")
        if self._held is not None:
            value = 0.0 if self.impute is None else np.nan
            self._held = tuple(wider_rows(rows, n_new, value) for rows in self._held)
        else:
            if not hasattr(self.estimator_, "add_features") or self._map is not None or self.indicates:
                name = type(self.estimator_).__name__
                raise ValueError(f"A pipeline with this {name} cannot take up new features once it has begun to learn.")
            for name, widen in (("filler_", widen_filler), ("scaler_", widen_scaler)):
                if getattr(self, name, None) is not None:
                    setattr(self, name, copy.copy(getattr(self, name)))  # so that a failure leaves no trace
                    widen(getattr(self, name), n_new)
            self.estimator_ = copy.copy(self.estimator_)
            self.estimator_.add_features(n_new)
        self.n_features_in_ += n_new
        self.__dict__.pop("feature_names_in_", None)

    # --- calibration ---------------------------------------------------------------------------------------

    def _calibrated(self, X, rows):
        """The calibration after rows that the estimator has not learned yet."""
        classes = self.estimator_.classes_
        mixed = (classes.dtype.kind in "biuf") != (rows.y.dtype.kind in "biuf")  # the estimator will refuse them
        if len(classes) < 2 or mixed:
            return self.calibration_
        indices = np.minimum(np.searchsorted(classes, rows.y), len(classes) - 1)
        known = np.flatnonzero(classes[indices] == rows.y)  # a new class has no decision value yet
        if not known.size:
            return self.calibration_
        weights = None if rows.weights is None else rows.weights[known]
        return self.calibration_.updated(decision_values(self.estimator_, X[known]), indices[known], weights)

    def _calibrate_held_out(self, X, rows, method):
        """The first calibration: every fifth row is judged by a model of the others, which is thrown away."""
        if not self.calibrate:
            return
        self.calibration_ = PlattCalibration()
        is_out = np.arange(len(rows.y)) % HELD_OUT == HELD_OUT - 1
        weights = rows.weights
        if weights is not None:
            is_out &= weights > 0
        kept = np.flatnonzero(~is_out)
        out = np.flatnonzero(is_out & np.isin(rows.y, rows.y[kept]))
        if not out.size or len(distinct_labels(rows.y[kept])) < 2:
            return
        model = clone(self.estimator_)
        part = rows._replace(y=rows.y[kept], weights=None if weights is None else weights[kept])
        self._teach(model, X[kept], part, method, None)
        indices = np.searchsorted(model.classes_, rows.y[out])
        out_weights = None if weights is None else weights[out]
        self.calibration_ = PlattCalibration.settled(decision_values(model, X[out]), indices, out_weights)


def decision_values(estimator, X):
    """Decision values, always with a column for each output."""
    values = estimator.decision_function(X)
    return values[:, None] if values.ndim == 1 else values
