"""The base classes of classifiers; those of all estimators are in ``kernel_model.py`` and ``expansion_model.py``.

`ScoreClassifier`     predictions from scores: all classifiers
`StreamClassifier`    and ``partial_fit`` in batches: all but those in cells
`OnlineClassifier`    a kernel expansion, learned one example after the other in passes: all but the low-rank ones
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import unique_labels

from frugalsvm._locks import shared
from frugalsvm.arrays.namespace import arrays_on, on_host
from frugalsvm.compiling.threads import Threads, row_blocks, thread_count
from frugalsvm.core.outputs import n_outputs_for, signs
from frugalsvm.core.predict import confidence
from frugalsvm.estimators.calibrated import CalibratedClassifier
from frugalsvm.estimators.constraints import check_choice, check_count
from frugalsvm.estimators.expansion_model import ExpansionModel
from frugalsvm.estimators.fit_warnings import warn_after_fit
from frugalsvm.estimators.kernel_model import Fits, FitsAndFollows
from frugalsvm.estimators.labels import (
    check_classes_have_weight,
    check_two_classes,
    classes_in,
    column_of,
    encoded_labels,
    example_weights,
    refuse_no_target,
)
from frugalsvm.estimators.progress import following

_ROWS_OF_SCORES = 2**13  # that a thread compares at a time
LARGEST_WEIGHT = 100.0  # of an example of a rare class, where classes are balanced on a stream


class Labels(NamedTuple):
    """Targets that are classes."""

    indices: np.ndarray  # of the class of each row; or 0 and 1, (n, n_labels), for labels in columns
    classes: np.ndarray  # all that the model will know with these rows, sorted
    known: Any = None  # indices of those that it knows already, and can judge, in a batch of a stream

    @property
    def signs(self) -> np.ndarray:
        """One row per output."""
        return signs(self.indices, n_outputs_for(len(self.classes)))

    def at(self, numbers: np.ndarray) -> "Labels":
        """Those of some rows."""
        return self._replace(indices=self.indices[numbers])


class ScoreClassifier(CalibratedClassifier, Fits):
    """Base of classifiers that predict from scores, whatever their model is.

    Subclasses define ``_scores(X)`` (one column per output) and ``_device_scores(X, arrays)``.
    """

    # --- predictions --------------------------------------------------------------------------------------

    def _scores_on(self, X, device) -> np.ndarray:
        """Scores that are computed on a device; None is where the estimator computes anyway."""
        return self._scores(X) if device is None else self._device_scores(X, arrays_on(device))

    @shared
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

    @shared
    def predict(self, X, *, device=None):
        """Predicted class of each row of ``X``; ``device`` as in `decision_function`."""
        scores = self._scores_on(X, device)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(scores))
        return predicted_labels(scores, self.classes_, self.n_jobs)

    @shared
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
        """
        check_count("n", n)
        if not hasattr(self, "classes_"):
            return np.arange(min(n, X.shape[0]))
        return np.argsort(confidence(self._scores(X)), kind="stable")[:n]

    def _validated(self, X, y, *, reset):
        """Rows, their labels as users have them, and the distinct ones."""
        refuse_no_target(type(self).__name__, y)
        X = self._new_rows(X, self._first_dtype) if reset else self._known_rows(X, self._dtype)
        y = column_of(on_host(y))
        if X.shape[0] != y.shape[0]:
            raise ValueError(
                f"X has {X.shape[0]} rows, but y has {y.shape[0]} labels: inconsistent numbers of samples."
            )
        return X, y, classes_in(y)

    def _examples_of(self, X, y, sample_weight, *, first):
        X, y, seen = self._validated(X, y, reset=first)
        classes = seen if first else self._known_classes(seen)
        return X, *self._labeled(y, seen, classes, X, sample_weight, first=first)

    def _labeled(self, y, seen, classes, X, sample_weight, *, first=True):
        """Labels and weights of all rows for `fit`, the first one or one more with some classes."""
        if first:
            check_two_classes(classes)
        labels = encoded_labels(y, seen, classes, may_grow=self._may_grow)
        weights = example_weights(on_host(sample_weight), self.class_weight, X, classes, labels)
        if first:
            check_classes_have_weight(weights, classes, labels)
        return Labels(labels, classes), weights

    _may_grow = property(lambda self: hasattr(self, "new_classes"), doc="Whether there is a parameter ``new_classes``.")

    def _known_classes(self, seen):
        """The classes of the model after rows with some labels."""
        return self.classes_  # encoded_labels refuses what is not there

    def _outputs(self, targets, weights, *, whole):
        return targets.signs


class StreamClassifier(ScoreClassifier, FitsAndFollows):
    """Base of classifiers that learn batch by batch.

    Subclasses define ``_seen_scores``, ``_learn`` (rows in an order) and, where they can meet new classes,
    ``_set_classes`` and the parameter ``new_classes``.
    """

    _widest = 2.0**-2  # nearly linear kernels would need huge coefficients, which hinge losses do not reach in one pass
    _balances_streams = False  # whether class_weight="balanced" is for `partial_fit`, too

    # --- learning -----------------------------------------------------------------------------------------

    _grows = property(lambda self: self._may_grow and self.new_classes == "grow")

    def _set_classes(self, classes):
        """Give the model outputs for new classes, if there are any."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from a batch of rows, in the given order, once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or, for estimators that take labels in columns, (n_samples, n_labels)
        classes : array-like, default=None
            All classes that will ever come. Needed in the first call if that batch does not have all of them. Labels in
            columns need none.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self

        See Also
        --------
        frugalsvm.pipelines.StreamPipeline.learn_one_row : For rows that come one by one: a call of `partial_fit` takes
            about a millisecond for its checks, however few its rows are.
        """
        return self._partial_fit(X, y, sample_weight, announced=classes)

    def _next_examples(self, X, y, sample_weight, *, first, announced=None):
        if isinstance(self.class_weight, str) and not self._balances_streams:
            raise ValueError(
                "class_weight='balanced' needs all labels beforehand; "
                "for partial_fit pass a dict of weights or sample_weight."
            )
        X, y, seen = self._validated(X, y, reset=first)
        classes = self._classes_after(first, seen, announced)
        labels = encoded_labels(y, seen, classes, may_grow=self._may_grow)
        weights = self._stream_weights(on_host(sample_weight), X, classes, labels, first=first)
        known = np.arange(len(classes)) if first else np.searchsorted(classes, self.classes_)
        return X, Labels(labels, classes, known), weights

    def _begin(self, X, targets, weights, random_state, *, whole):
        self._forget_calibration()
        if whole:
            self._look_at_all(X, targets, weights)
        return super()._begin(X, targets, weights, random_state, whole=whole)

    def _look_at_all(self, X, targets, weights):
        """What `fit` does with all rows, as they came, before it learns them."""

    def _resume(self, attempt, targets, n_rows=None):
        super()._resume(attempt, targets, n_rows if len(targets.classes) == len(self.classes_) else None)
        self._set_classes(targets.classes)

    def _learn_next(self, X, targets, weights, *, first):
        if len(targets.classes) > 1:  # until then there is nothing to tell apart
            self._learn_batch(X, targets.indices, weights, targets.known, first=first)

    _kept_of_counts: Any = 1.0  # what is left of the counts of classes after another example

    def _stream_weights(self, sample_weight, X, classes, labels, *, first):
        """Weights of a batch, or None where all are 1; classes are balanced by the examples so far."""
        if not isinstance(self.class_weight, str):
            return example_weights(sample_weight, self.class_weight, X, classes, labels)
        check_choice("class_weight", self.class_weight, ("balanced",))
        before = None if first else getattr(self, "_class_counts", None)
        counts = _counts_for(before, None if before is None else self.classes_, classes)
        weights, self._class_counts = balanced_weights(counts, labels, self._kept_of_counts)
        own = example_weights(sample_weight, None, X, classes, labels)
        return weights if own is None else weights * own

    def teach(self, X, y, classes=None, sample_weight=None):
        """Learn rows that were labeled after `query`: the same as `partial_fit`.

        Parameters
        ----------
        X, y, classes, sample_weight
            As in `partial_fit`.

        Returns
        -------
        self
        """
        return self.partial_fit(X, y, classes, sample_weight)

    def _classes_after(self, first, seen, announced):
        """The sorted classes that the model will know after a batch with the labels ``seen``."""
        if not first:
            if announced is None or np.array_equal(np.unique(announced), self.classes_):
                return self._known_classes(seen)
            if not self._grows:
                raise ValueError(
                    f"classes={announced!r} differs from the classes of the first call: {self.classes_!r}."
                )
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
            return super()._known_classes(seen)
        if (self.classes_.dtype.kind in "biuf") != (seen.dtype.kind in "biuf"):
            raise ValueError(f"Labels like {seen[:1].tolist()[0]!r} do not mix with the classes {self.classes_!r}.")
        return np.union1d(self.classes_, seen)


class OnlineClassifier(ExpansionModel, StreamClassifier):
    """Base of classifiers that learn a kernel expansion one example after the other; ``fit`` is passes over all rows.

    Subclasses set ``_kernel`` in ``_start``, have an ``_expansion`` and define, where it applies, ``_finish``.
    """

    def _finish(self, X, labels, weights, random_state):
        """What ``fit`` does after its passes."""

    def _look_at_all(self, X, targets, weights):
        self.__dict__.pop("_class_counts", None)
        if self._is_judged_apart(X.shape[0]):
            self._calibrate_apart(X, targets.classes[targets.indices], weights)

    def _resume(self, attempt, targets, n_rows=None):
        super()._resume(attempt, targets, n_rows)
        if n_rows is None and self._judges_on_its_way:
            self._forget_calibration()

    def _learn_all(self, X, targets, weights, random_state):
        self._passes(X, targets.indices, weights, random_state)
        self.n_iter_ = self._n_passes
        self._finish(X, targets.indices, weights, random_state)
        warn_after_fit(self, X, targets.indices, weights)

    def _passes(self, X, labels, weights, random_state):
        if self.calibrate is None or hasattr(self, "calibration_"):
            super()._passes(X, labels, weights, random_state)
            return
        orders = (self._order(X.shape[0], random_state) for _ in range(self._n_passes))
        with following(self, X.shape[0] * self._n_passes, "rows", has_model=True) as progress:
            self._learn_calibrating(X, labels, weights, orders, progress)


def _counts_for(counts: np.ndarray | None, old_classes, new_classes) -> np.ndarray:
    """The counts for a larger sorted set of classes; None is none of any class."""
    made = np.zeros(len(new_classes))
    if counts is not None:
        made[np.searchsorted(new_classes, old_classes)] = counts
    return made


def balanced_weights(counts: np.ndarray, labels: np.ndarray, kept: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights of examples in their order, and the counts after them; ``kept`` of a count is left after an example.

    An example of class c has the weight ``(N + K) / (K (N_c + 1))``, where N_c are the examples of its class, itself
    included, N those of all K classes: what scikit-learn takes for all labels, with one example more of each class.
    Where the estimator forgets, old examples count less. A class that has not come for long is not weighted for ever
    more.
    """
    from scipy.signal import lfilter  # takes a while

    if not len(labels):
        return np.ones(0), counts
    is_class = (labels[:, None] == np.arange(len(counts))).astype(np.float64)
    # count = 1 or 0 + kept * count before, one after the other: it does not matter in which batches rows come.
    running, _ = lfilter([1.0], [1.0, -kept], is_class, axis=0, zi=kept * counts[None])
    own = running[np.arange(len(labels)), labels]
    weights = (running.sum(axis=1) + len(counts)) / (len(counts) * (own + 1.0))
    return np.minimum(weights, LARGEST_WEIGHT), running[-1].copy()


def predicted_labels(scores: np.ndarray, classes: np.ndarray, n_jobs: Any) -> np.ndarray:
    """The class of the largest score in each row, the first one of equals; of two, the second one from zero upwards."""
    labels = np.empty(len(scores), classes.dtype)
    is_binary, threads = scores.shape[1] == 1, Threads(thread_count(n_jobs))

    def choose(block):
        here = scores[block]
        best = (here[:, 0] >= 0).view(np.int8) if is_binary else here.argmax(axis=1)
        np.take(classes, best, out=labels[block], mode="clip")  # without a branch, which is guessed wrong often

    least = _ROWS_OF_SCORES * (8 if is_binary else 1)
    threads.run(choose, row_blocks(len(scores), threads.count, least))
    return labels
