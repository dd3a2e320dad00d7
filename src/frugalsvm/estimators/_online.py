"""What all classifiers share that learn one example after the other: passes, batches, classes, weights."""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, column_or_1d

from frugalsvm.arrays.namespace import on_host
from frugalsvm.core.predict import confidence
from frugalsvm.estimators._base import KernelExpansionClassifier, ScoringClassifier, unchanged_on_error
from frugalsvm.estimators._origin import RelativeRows
from frugalsvm.estimators._validation import (
    check_count,
    distinct_labels,
    encoded_labels,
    example_weights,
)
from frugalsvm.estimators._warnings import warn_after_fit
from frugalsvm.estimators._writable import forget_learned, prepare_to_learn

__all__ = ["FIRST_SLOTS", "OnlineClassifier", "OnlineLearner", "StreamLearner"]

FIRST_SLOTS = 256  # room to begin with where there is no budget


class StreamLearner(RelativeRows, ScoringClassifier):
    """Base of classifiers with ``partial_fit`` in batches, whatever their model is.

    Subclasses define ``_check_params``, ``_start`` (an empty model), ``_learn`` (rows in an order) and, where they can
    meet new classes, ``_set_classes`` and the parameter ``new_classes``.
    """

    _first_dtype: type | None = None  # the type of the rows; None is that of the first ones

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
        with unchanged_on_error(self):
            self._partial_fit(X, y, classes, sample_weight)
        return self

    def _partial_fit(self, X, y, classes, sample_weight):
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
        if first:
            self._start(X, known, check_random_state(self.random_state))
            X = self._with_origin(X, whole=False)
        else:
            prepare_to_learn(self)
            self._set_classes(known)
        X = self._follow(X)
        if len(known) > 1:  # until then there is nothing to tell apart
            self._learn(X, labels, weights, np.arange(X.shape[0]))

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


class OnlineLearner(StreamLearner):
    """Base of classifiers whose ``fit`` is passes over all rows; ``_finish`` comes after them."""

    @property
    def _n_passes(self):
        return self.max_iter

    def _finish(self, X, labels, weights, random_state):
        """What ``fit`` does after its passes."""

    def fit(self, X, y, sample_weight=None):
        """Learn from all rows, in ``max_iter`` passes.

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
        with unchanged_on_error(self):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X, y, sample_weight):
        self._check_params()
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
            self._set_classes(classes)
        else:
            forget_learned(self)
            self._start(X, classes, random_state)
            X = self._with_origin(X, whole=True)
        self._passes(X, labels, weights, random_state)
        self.n_iter_ = self._n_passes
        self._finish(X, labels, weights, random_state)
        warn_after_fit(self, X, labels, weights)

    def _passes(self, X, labels, weights, random_state):
        for _ in range(self._n_passes):
            self._learn(X, labels, weights, self._order(X.shape[0], random_state))

    def _order(self, n_rows, random_state):
        if not self.shuffle:
            return np.arange(n_rows)
        # A generator permutes twice as fast as the RandomState that seeds it.
        return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max)).permutation(n_rows)


class OnlineClassifier(OnlineLearner, KernelExpansionClassifier):
    """Base of classifiers that learn a kernel expansion one example after the other."""

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
