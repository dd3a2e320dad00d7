"""The base classes of the estimators, from the most general one to that of online learners.

`KernelEstimator`     a kernel, and rows relative to an origin: all of them
`StreamClassifier`    predictions from scores, and ``partial_fit`` in batches: all classifiers
`OnlineClassifier`    a kernel expansion, learned one example after the other in passes: all but the low-rank ones
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, column_or_1d

from frugalsvm._threads import blas_threads
from frugalsvm.arrays.expansion import expansion_values
from frugalsvm.arrays.maps import kernel_map
from frugalsvm.arrays.namespace import arrays_on, is_torch, on_host
from frugalsvm.core.expansion import Expansion
from frugalsvm.core.lookahead import BLOCK_ROWS
from frugalsvm.core.metric import Metric, seen_rows
from frugalsvm.core.origin import Origin, followed, origin_at, relative
from frugalsvm.core.outputs import n_outputs_for, signs
from frugalsvm.core.predict import confidence
from frugalsvm.estimators._auto import choice_of, chooses, is_auto
from frugalsvm.estimators._calibrated import CalibratedClassifier
from frugalsvm.estimators._metric import importances, metric_for, rows_in_metric
from frugalsvm.estimators._origin import absolute_rows, check_size, check_values, first_origin, relative_rows
from frugalsvm.estimators._predictor import Predictor
from frugalsvm.estimators._progress import (
    CallbackSupport,
    begin_callbacks,
    check_verbose,
    end_callbacks,
    following,
    with_callbacks,
)
from frugalsvm.estimators._scoring import Scorer, predicted_labels, scores_by_blocks
from frugalsvm.estimators._unchanged import learn_on_copies, unchanged_on_error
from frugalsvm.estimators._validation import (
    AS_IT_IS,
    check_count,
    distinct_labels,
    encoded_labels,
    example_weights,
    new_kernel,
    validated_rows,
)
from frugalsvm.estimators._warn import warn_caller
from frugalsvm.estimators._warnings import warn_after_fit
from frugalsvm.estimators._writable import forget_learned, prepare_to_learn

__all__ = ["KernelEstimator", "OnlineClassifier", "StreamClassifier", "bytes_per_slot", "expansion_bytes"]


class KernelEstimator(CallbackSupport, BaseEstimator):
    """Base of all estimators: a kernel, and rows in a metric, and relative to an origin, if it is one of differences.

    Subclasses define ``_check_params`` and, where the origin may move, ``_move_rows``.
    """

    _kernel: Any
    _origin: Origin | None = None
    _metric: Metric | None = None
    _in_float32 = False  # whether kernels are computed in float32 whatever type the rows have
    _narrowing = 2.0  # times the gamma of ridge machines is the one for this, where it is to be chosen
    _least_gamma = 0.0  # of those that may be chosen, in multiples of what is usual
    _stays = False  # whether the origin is that of the first rows for ever
    _changed_in_place: ClassVar[tuple[str, ...]] = ()  # attributes with arrays that learning writes to

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def check_parameters(self) -> None:
        """Raise ValueError, with a sentence that says what to do, if parameters are wrong or do not go together."""
        self._check_params()

    def _check_params(self):
        raise NotImplementedError

    @property
    def kernel_(self):
        """The kernel, a part with its parameters as numbers (`frugalsvm.core.kernels`)."""
        return self._kernel

    @property
    def origin_(self) -> Origin | None:
        """What rows are relative to before the kernel sees them (`frugalsvm.core.origin`); None is zero, for good."""
        return self._origin

    @property
    def metric_(self) -> np.ndarray | None:
        """What rows are multiplied by before the kernel sees them; None without a metric.

        A factor for each feature, shape (n_features,), or directions, shape (n_directions, n_features). Rows are as far
        apart with it, on average, as they are without it.
        """
        return None if self._metric is None else self._metric.map.copy()

    @property
    def metric_part_(self) -> Metric | None:
        """The metric as a part, which rows go through before the origin is subtracted (`frugalsvm.core.metric`)."""
        return self._metric

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each feature in the squared distances that the kernel sees, on average: they sum up to 1."""
        if self._metric is None:
            raise AttributeError(f"This {type(self).__name__} has no metric that tells features apart: set metric.")
        return importances(self._metric)

    @property
    def _width(self) -> int:
        """Number of features that the kernel sees."""
        return self.n_features_in_ if self._metric is None else self._metric.width

    @property
    def _sees_rows_as_they_are(self) -> bool:
        return self._metric is None and (self._origin is None or self._origin.is_zero)

    def check_size(self, X) -> None:
        """Refuse rows whose squared norms are too large for the type in which kernels are computed."""
        check_size(X, self._type_of(X))

    def _check_values(self, X):
        check_values(X, self._type_of(X), type(self).__name__)

    def _type_of(self, X):
        """The type in which kernels of rows are computed."""
        return np.dtype(np.float32) if self._in_float32 or is_torch(X) or X.dtype.kind != "f" else X.dtype

    def _new_rows(self, X, dtype):
        """Validated rows of an estimator that is to be fitted; their origin is not known yet."""
        X = validated_rows(self, X, reset=True, dtype=dtype, check_finite=False)
        self._check_values(X)
        return X

    def _known_rows(self, X, dtype):
        """Validated rows of a fitted estimator, in its metric, relative to its origin and of its type."""
        if self._sees_rows_as_they_are:
            X = validated_rows(self, X, reset=False, dtype=dtype, check_finite=False)
        else:
            # Rounding comes after the subtraction.
            X = validated_rows(self, X, reset=False, dtype=AS_IT_IS if dtype == AS_IT_IS else None)
            row_dtype = self._type_of(X) if dtype in (None, AS_IT_IS) else dtype
            X = self._as_seen(X, row_dtype)
        self._check_values(X)
        return X

    def _as_seen(self, X, dtype):
        """Rows or a tensor as the kernel sees them: in the metric, relative to the origin."""
        if is_torch(X):
            return relative_rows(rows_in_metric(X, self._metric, dtype), self._origin, dtype)
        return seen_rows(X, self._metric, self._origin, dtype)

    def _with_metric(self, X, targets, weights, random_state, *, whole):
        """Take or learn the metric for the first rows (``whole`` if no more will come); returns them in it.

        ``targets()`` has signs of classes or values, shape (n_outputs, n).
        """
        self.__dict__.pop("_metric", None)
        if getattr(self, "metric", None) is not None:
            self._metric = metric_for(self, X, targets(), weights, random_state, whole=whole)
            X = rows_in_metric(X, self._metric, self._type_of(X))
        self._choose(X, targets, weights, whole=whole)
        return X

    def _choose(self, X, targets, weights, *, whole):
        """Find values for parameters that are "auto"."""
        self._chosen = None
        if chooses(self):
            self._chosen = choice_of(self, X, targets, weights, whole=whole)
        self._take_strength(self._chosen, X.shape[0] if whole else None)

    def _take_strength(self, choice, n_rows):
        """Keep what was chosen, or take what is usual (None); of a stream, the number of rows is not known (None)."""

    def _new_kernel(self, X):
        """The kernel for rows as it will see them, or for their moments."""
        learned = 0.0 if self._metric is None else self._metric.gamma
        gamma, chosen = self.gamma, self.__dict__.pop("_chosen", None)
        if isinstance(gamma, str) and learned > 0:
            gamma = learned
        elif is_auto(gamma) and chosen is not None:
            gamma = chosen.gamma
        return new_kernel(self.kernel, gamma, self.degree, self.coef0, X)

    def _with_origin(self, X, *, whole):
        """Take the origin from the first rows (``whole`` if no more will come); returns them relative to it."""
        self.__dict__.pop("_origin", None)
        names = getattr(self, "feature_names_in_", None)
        origin = first_origin(X, self._kernel, self._type_of(X), whole=whole, names=names)
        if origin is not None:
            self._origin = origin
        return relative_rows(X, origin, self._type_of(X))

    def _follow(self, X):
        """Move the origin if the rows of a stream, relative to it, have moved away; returns the rows."""
        if self._origin is None or is_torch(X):
            return X
        before = self._origin
        self._origin, shift = followed(before, X, self._kernel, self._type_of(X))
        if shift is None:
            return X
        if self._stays:
            self._origin = origin_at(before.point)
            warn_caller(
                "The rows have moved so far away from the first ones that kernel values lose digits: call fit again.",
                UserWarning,
            )
            return X
        learn_on_copies(self)  # what is moved may share arrays with what was there before
        self._move_rows(shift)
        return relative(X, origin_at(shift), X.dtype)

    def _move_rows(self, shift):
        """Subtract a vector from all rows that the model has, in new arrays."""
        raise NotImplementedError

    def _empty_caches(self):
        """Forget kernel values that are kept, because they may not be those of the model any more."""


class StreamClassifier(CalibratedClassifier, KernelEstimator):
    """Base of classifiers that predict from scores and learn batch by batch, whatever their model is.

    Subclasses define ``_scores`` (one column per output), ``_seen_scores``, ``_device_scores``, ``_start`` (an empty
    model), ``_learn`` (rows in an order) and, where they can meet new classes, ``_set_classes`` and the parameter
    ``new_classes``.
    """

    classes_: np.ndarray
    _first_dtype: type | None = None  # the type of the rows; None is that of the first ones

    # --- predictions --------------------------------------------------------------------------------------

    def _scores(self, X) -> np.ndarray:
        raise NotImplementedError

    def _scores_on(self, X, device) -> np.ndarray:
        """Scores that are computed on a device; None is where the estimator computes anyway."""
        return self._scores(X) if device is None else self._device_scores(X, arrays_on(device))

    def _device_scores(self, X, arrays) -> np.ndarray:
        raise NotImplementedError

    def decision_function(self, X, *, device=None):
        """Decision values of the rows of ``X``.

        Parameters
        ----------
        X : array-like, sparse matrix or tensor of shape (n_samples, n_features)
        device : {"cpu", "cuda", "auto"}, default=None
            Where they are computed: with "cuda" on a GPU, in float32 and many rows at a time.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, one value per row: from zero upwards means ``classes_[1]``.
        """
        scores = self._scores_on(X, device)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X, *, device=None):
        """Predicted class of each row of ``X``; ``device`` as in `decision_function`."""
        scores = self._scores_on(X, device)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(scores))
        return predicted_labels(scores, self.classes_, self.n_jobs)

    # --- learning -----------------------------------------------------------------------------------------

    @property
    def _may_grow(self):
        """Whether there is a parameter ``new_classes``."""
        return hasattr(self, "new_classes")

    @property
    def _grows(self):
        return self._may_grow and self.new_classes == "grow"

    def _start(self, X, classes, random_state):
        raise NotImplementedError

    def _learn(self, X, labels, weights, order):
        raise NotImplementedError

    def _set_classes(self, classes):
        """Give the model outputs for new classes, if there are any."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from a batch of rows, in the given order, once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, default=None
            All classes that will ever come. Needed in the first call if that batch does not have all of them.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self

        See Also
        --------
        frugalsvm.pipelines.StreamPipeline.learn_one_row : For rows that come one by one: a call of `partial_fit` takes
            about a millisecond for its checks, however few its rows are.
        """
        with unchanged_on_error(self) as attempt:
            self._partial_fit(attempt, X, y, classes, sample_weight)
        return self

    def _partial_fit(self, attempt, X, y, classes, sample_weight):
        self._check_params()
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all labels beforehand; "
                "for partial_fit pass a dict of weights or sample_weight."
            )
        y, sample_weight = on_host(y), on_host(sample_weight)
        first = not hasattr(self, "classes_")
        X, y, seen = self._validated(X, y, reset=first)
        known = self._classes_after(first, seen, classes)
        labels = encoded_labels(y, seen, known, may_grow=self._may_grow)
        weights = example_weights(sample_weight, self.class_weight, X, known, labels)
        judged = np.arange(len(known)) if first else np.searchsorted(known, self.classes_)
        if first:
            self._forget_calibration()
            random_state = check_random_state(self.random_state)
            X = self._with_metric(X, _signs_of(labels, known), weights, random_state, whole=False)
            self._start(X, known, random_state)
            X = self._with_origin(X, whole=False)
        else:
            prepare_to_learn(self)
            attempt.begin(X.shape[0] if len(known) == len(self.classes_) else None)
            self._set_classes(known)
        X = self._follow(X)
        if len(known) > 1:  # until then there is nothing to tell apart
            self._learn_batch(X, labels, weights, judged, first=first)  # new classes have no decision values yet

    def query(self, X, n=1):
        """Which rows of an unlabeled pool to label next: those that the model is least sure of.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The pool.
        n : int, default=1
            Number of rows.

        Returns
        -------
        ndarray of int
            Their indices, the least sure first. A model that has learned nothing yet takes the first rows.

        See Also
        --------
        teach : Learn the rows that were labeled.
        """
        check_count("n", n)
        if not hasattr(self, "classes_"):
            return np.arange(min(n, X.shape[0]))
        return np.argsort(confidence(self._scores(X)), kind="stable")[:n]

    def teach(self, X, y, classes=None, sample_weight=None):
        """Learn rows that were labeled after `query`: the same as `partial_fit`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, default=None
            All classes that will ever come, needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        return self.partial_fit(X, y, classes, sample_weight)

    def _validated(self, X, y, *, reset):
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = self._new_rows(X, self._first_dtype) if reset else self._known_rows(X, self._dtype)
        y = column_or_1d(y, warn=True)
        if X.shape[0] != y.shape[0]:
            raise ValueError(
                f"X has {X.shape[0]} rows, but y has {y.shape[0]} labels: inconsistent numbers of samples."
            )
        if y.dtype.kind not in "iub":  # whole numbers need no look at every one of them
            check_classification_targets(y)
        return X, y, distinct_labels(y)

    def _classes_after(self, first, seen, announced):
        """The sorted classes that the model will know after a batch with the labels ``seen``."""
        if not first:
            if announced is None or np.array_equal(np.unique(announced), self.classes_):
                return self._known_classes(seen)
            if not self._grows:
                raise ValueError(f"classes={announced!r} is not what the first call was told: {self.classes_!r}.")
            return self._known_classes(np.union1d(announced, seen))
        classes = seen if announced is None else unique_labels(announced)
        if self._grows:
            return np.union1d(classes, seen)
        if len(classes) < 2:
            raise ValueError(
                f"The first batch has one class only, {classes[:1].tolist()[0]!r}; pass all classes as `classes`"
                f"{', or set new_classes=' + repr('grow') if self._may_grow else ''}."
            )
        return classes

    def _known_classes(self, seen):
        if not self._grows:
            return self.classes_  # encoded_labels refuses what is not there
        if (self.classes_.dtype.kind in "biuf") != (seen.dtype.kind in "biuf"):
            raise ValueError(f"Labels like {seen[:1].tolist()[0]!r} do not mix with the classes {self.classes_!r}.")
        return np.union1d(self.classes_, seen)


class OnlineClassifier(StreamClassifier):
    """Base of classifiers that learn a kernel expansion one example after the other; ``fit`` is passes over all rows.

    Subclasses set ``_kernel`` in ``_start``, have an ``_expansion``, and define ``_coefficients`` (the true
    coefficients, one column per output) and, where it applies, ``_finish`` (what ``fit`` does after its passes).
    """

    _expansion: Expansion
    _predictor: Predictor | None = None  # of a model that was saved for prediction, and has no other state
    _learns_in_order = True  # whether ``_learn`` may be called for one part of an order after the other

    # --- learning -----------------------------------------------------------------------------------------

    def _finish(self, X, labels, weights, random_state):
        """What ``fit`` does after its passes."""

    def _products_with(self, n_slots, n_rows=BLOCK_ROWS):
        """Context in which the products of blocks of rows with so many vectors use the threads that pay."""
        return blas_threads(self.n_jobs, min(n_rows, BLOCK_ROWS) * self._width * n_slots)

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Learn from all rows, in ``max_iter`` passes.

        Ctrl-C leaves the model that was there before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the examples; one of weight 0 is as if it were not there.

        Returns
        -------
        self
        """
        begin_callbacks(self, X, y)
        with unchanged_on_error(self) as attempt:
            self._fit(attempt, X, y, sample_weight)
        end_callbacks(self, X, y)
        return self

    def _fit(self, attempt, X, y, sample_weight):
        self._check_params()
        check_verbose(self)
        y, sample_weight = on_host(y), on_host(sample_weight)
        random_state = check_random_state(self.random_state)
        goes_on = getattr(self, "warm_start", False) and hasattr(self, "classes_")
        X, y, seen = self._validated(X, y, reset=not goes_on)
        if len(seen) < 2 and not goes_on:
            raise ValueError(
                f"Learning needs two classes at least, but all labels are {seen[:1].tolist()[0]!r}: one class."
            )
        classes = self._known_classes(seen) if goes_on else seen
        labels = encoded_labels(y, seen, classes, may_grow=self._may_grow)
        weights = example_weights(sample_weight, self.class_weight, X, classes, labels)
        if goes_on:
            prepare_to_learn(self)
            attempt.begin()
            self._set_classes(classes)
            if self._judges_on_its_way:
                self._forget_calibration()
        else:
            forget_learned(self)
            self._forget_calibration()
            if self._is_judged_apart(X.shape[0]):
                self._calibrate_apart(X, y, weights)
            X = self._with_metric(X, _signs_of(labels, classes), weights, random_state, whole=True)
            self._start(X, classes, random_state)
            X = self._with_origin(X, whole=True)
        self._passes(X, labels, weights, random_state)
        self.n_iter_ = self._n_passes
        self._finish(X, labels, weights, random_state)
        warn_after_fit(self, X, labels, weights)

    @property
    def _n_passes(self):
        """One where there is no such parameter, since the result does not depend on the order."""
        return getattr(self, "max_iter", 1)

    def _passes(self, X, labels, weights, random_state):
        orders = (self._order(X.shape[0], random_state) for _ in range(self._n_passes))
        with following(self, X.shape[0] * self._n_passes, "rows", has_model=True) as progress:
            if self.calibrate is not None and not hasattr(self, "calibration_"):
                self._learn_calibrating(X, labels, weights, orders, progress)
                return
            for order in orders:
                for part in progress.parts(order) if self._learns_in_order else [order]:
                    self._learn(X, labels, weights, part)
                    if progress.advance(len(part)):
                        return

    def _order(self, n_rows, random_state):
        if not self.shuffle:
            return np.arange(n_rows)
        # A generator permutes twice as fast as the RandomState that seeds it.
        return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max)).permutation(n_rows)

    # --- what was learned ---------------------------------------------------------------------------------

    @property
    def _dtype(self):
        """Type of the stored rows."""
        return self._expansion.rows.dtype

    def _coefficients(self) -> np.ndarray:
        raise NotImplementedError

    @property
    def row_dtype_(self):
        """Type of the stored rows, in which kernel values are computed."""
        return np.dtype(self._dtype)

    def scoring_expansion(self, again: Expansion | None = None) -> Expansion:
        """The expansion with the true coefficients as weights; training's counters stay as they are.

        ``again`` is an earlier one of the same rows, which is brought up to date instead.
        """
        expansion = self._expansion
        if again is None:
            again = expansion._replace(weights=np.zeros_like(expansion.weights), counts=expansion.counts.copy())
        n = expansion.counts[0]["n_slots"]
        again.weights[:, :n] = self._coefficients().T
        again.weights[:, n:] = 0.0
        again.counts[:] = expansion.counts
        return again

    def _scores(self, X) -> np.ndarray:
        check_is_fitted(self)
        return scores_by_blocks(self, X, self._scorer())

    def _seen_scores(self, X) -> np.ndarray:
        scorer = self._scorer()
        with self._products_with(int(scorer.expansion.counts[0]["n_slots"]), X.shape[0]):
            return scorer.scores(X)

    def _scorer(self) -> Scorer:
        """The model, ready to score rows: what does not depend on them is done once."""
        expansion = self.scoring_expansion()
        return Scorer(self._kernel, expansion, np.zeros(expansion.n_outputs))

    def _device_scores(self, X, arrays) -> np.ndarray:
        check_is_fitted(self)
        if arrays.device == "cpu" and not arrays.is_torch:
            return self._scores(X)
        X = self._known_rows(X, AS_IT_IS)
        device_map = kernel_map(arrays, self._kernel, arrays.asarray(self.support_rows(), "float32"))
        return self._class_scores(expansion_values(arrays, device_map, self.dual_coef_, X) + self.intercept_)

    def _class_scores(self, values) -> np.ndarray:
        """Scores of classes, from the values of all outputs."""
        return values

    def support_rows(self):
        """The support vectors as the kernel sees them, relative to the origin: a view."""
        expansion = self._expansion
        return expansion.rows[: expansion.counts[0]["n_slots"]]

    @property
    def support_vectors_(self):
        """Support vectors, shape (n_support_vectors, n_features)."""
        check_is_fitted(self)
        return absolute_rows(self.support_rows(), self._origin, self._metric)

    @property
    def dual_coef_(self):
        """Their coefficients, shape (1, n_support_vectors) or (n_classes, n_support_vectors)."""
        check_is_fitted(self)
        return np.ascontiguousarray(self._coefficients().T)

    @property
    def intercept_(self):
        """Zeros: these models have no bias term."""
        check_is_fitted(self)
        return np.zeros(self._expansion.n_outputs)

    @property
    def gamma_(self):
        """The kernel's gamma as a number."""
        check_is_fitted(self)
        return getattr(self._kernel, "gamma", None)

    @property
    def t_(self):
        """Number of examples learned from, over all passes."""
        check_is_fitted(self)
        return int(self._expansion.counts[0]["n_seen"])

    @property
    def n_kernel_evals_(self):
        """Number of kernel values computed in training."""
        check_is_fitted(self)
        return int(self._expansion.counts[0]["n_kernel_evals"])

    @property
    def model_bytes_(self):
        """Bytes that prediction needs: support vectors, their squared norms and coefficients."""
        check_is_fitted(self)
        return expansion_bytes(self._expansion)

    @property
    def n_updates_(self):
        """Number of examples that changed the model."""
        check_is_fitted(self)
        return int(self._expansion.counts[0]["n_updates"])

    @property
    def n_maintenance_(self):
        """Number of support vectors that were removed, projected or merged."""
        check_is_fitted(self)
        return int(self._expansion.counts[0]["n_maintenance"])


def _signs_of(labels, classes):
    """A function, for what is seldom needed."""
    return lambda: signs(labels, n_outputs_for(len(classes)))


def bytes_per_slot(n_features: int, n_outputs: int, dtype) -> int:
    """Bytes that prediction needs for one support vector."""
    return np.dtype(dtype).itemsize * (n_features + 1 + n_outputs)


def expansion_bytes(expansion: Expansion) -> int:
    """Bytes that prediction needs for a model."""
    rows, n_slots = expansion.rows, int(expansion.counts[0]["n_slots"])
    return n_slots * bytes_per_slot(rows.shape[1], expansion.n_outputs, rows.dtype)
