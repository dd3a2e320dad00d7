"""`StreamTuner`: the best of several classifiers, found while they learn."""

from contextlib import ExitStack
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import ThreadSafe, shared
from frugalsvm.compiling.threads import Threads, blas_threads, thread_count
from frugalsvm.estimators.automatic import may_follow
from frugalsvm.estimators.bsgd import BSGDClassifier
from frugalsvm.estimators.constraints import check_count
from frugalsvm.estimators.labels import check_two_classes, classes_in, column_of, distinct_labels, refuse_no_target
from frugalsvm.estimators.targets import checked_weights
from frugalsvm.estimators.unchanged import LONG_BATCH, unchanged_on_error, undone_on_error
from frugalsvm.estimators.validation import rows_that_count, validated_rows
from frugalsvm.stream_search.candidates import candidates_for, check_candidates
from frugalsvm.stream_search.judging import Batch, steps_of, teach
from frugalsvm.stream_search.saved import TUNER
from frugalsvm.stream_search.standing import Standing, accuracies, begun, judged, leader, learned, thinned
from frugalsvm.stream_search.turns import in_turns

_FIRST_ROWS = 1000  # of `fit`: learned before any is judged, and the default grid is taken from them
_FIT_ROWS = 4096  # that `fit` takes at a time
# Rows are judged in blocks: short ones are all checks of input, long ones are judged by models that lack many rows.
_BLOCK_SHARE, _LONGEST_BLOCK = 8, 2048  # of the rows learned; rows
_JUDGED = 2  # one row in two is judged: half as many kernel values again are the most that a search costs


def _has_probabilities(tuner) -> bool:
    given = tuner.estimator if isinstance(tuner.estimator, list | tuple) else [tuner.estimator]
    return all(hasattr(each, "predict_proba") for each in given)


class StreamTuner(ClassifierMixin, ThreadSafe, BaseEstimator):
    """The best of several classifiers, found in one pass: all learn the stream side by side until one is left.

    Rows are predicted before they are learned, every second one by every candidate. Whenever the number of rows has
    doubled, candidates in the worse half that are worse than the best by more than chance (three standard errors of the
    paired difference) are dropped. Predictions are those of the best so far, and the last one continues alone.

    Choose it for streams and for files that are read once. For tables in memory, `AutoSVC` compares more.

    Parameters
    ----------
    estimator : estimator or list of estimators, default=None
        A classifier with ``partial_fit``, of which ``param_grid`` makes candidates, or the candidates themselves.
        None is ``BSGDClassifier()``.
    param_grid : dict or list of dict, default=None
        Parameters and lists of their values, as for scikit-learn's `ParameterGrid`. None takes nine candidates: gamma
        is what the first rows suggest (``gamma="auto"``, see :ref:`first-rows`), or twice or four times as much; alpha
        is 1e-4, 1e-3 or 1e-5 (or C is 1, 10 or 100). For a `BSGDClassifier` of which nothing was chosen there is a
        tenth, with ``half_life="auto"``, which follows streams that change.
    min_rows : int, default=4000
        Number of rows after which candidates are dropped for the first time. Smaller numbers cost less, and more often
        drop what would have been the best in the end: learning curves cross.
    shuffle : bool, default=True
        Whether `fit` visits the rows in random order.
    n_jobs : int, default=None
        Threads on which candidates learn; None is one, -1 all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        For shuffling.

    Attributes
    ----------
    best_estimator_ : estimator
        The best candidate so far.
    best_params_ : dict
        What sets it apart: its combination of ``param_grid``, or all its parameters if candidates were given.
    best_index_ : int
        Its place in ``results_``.
    results_ : list of dict
        For each candidate ``params``; ``accuracy``, on rows before they were learned, recent ones above all (None if
        none was judged yet); ``rows``, the number that it has learned; and ``dropped_at``, the number of rows after
        which it was dropped, or None.
    classes_ : ndarray of shape (n_classes,)
    t_ : int
        Examples learned from.
    n_features_in_ : int

    Notes
    -----
    The first batch of `partial_fit` is learned without being judged; with the default grid it should have 2000 rows. In
    a `StreamPipeline`, which holds rows back at first, it has.

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier, StreamTuner
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = make_checkerboard(10_000, random_state=0)
    >>> grid = {"gamma": [0.05, 0.5, 5.0]}
    >>> tuner = StreamTuner(BSGDClassifier(budget=100, alpha=1e-5), grid, min_rows=1000)
    >>> for start in range(0, 8_000, 500):
    ...     tuner = tuner.partial_fit(X[start : start + 500], y[start : start + 500])
    >>> tuner.best_params_
    {'gamma': 5.0}
    >>> tuner.score(X[8_000:], y[8_000:]) > 0.8
    True
    """

    _race: Standing  # model files have these names
    _racers: list[Any]  # candidates that are left
    _params: list[dict[str, Any]]

    _saved = TUNER

    def __init__(self, estimator=None, param_grid=None, *, min_rows=4000, shuffle=True, n_jobs=None, random_state=None):
        self.estimator = estimator
        self.param_grid = param_grid
        self.min_rows = min_rows
        self.shuffle = shuffle
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_race")

    @property
    def may_follow(self) -> bool:
        """Whether one of the candidates follows the stream: a pipeline then holds more of the first rows back."""
        return self.param_grid is None and may_follow(BSGDClassifier() if self.estimator is None else self.estimator)

    @property
    def new_classes(self) -> str:
        """ "grow" if all candidates learn classes that were not announced, otherwise "error"."""
        given = self.estimator if isinstance(self.estimator, list | tuple) else [self.estimator]
        return "grow" if all(getattr(each, "new_classes", None) == "grow" for each in given) else "error"

    # --- learning ------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
        """Learn from all rows, in one pass.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._check_params()
            X, y, weights = self._checked(X, y, sample_weight, reset=True)
            classes = distinct_labels(y)
            check_two_classes(classes)
            order = np.arange(len(y))
            if self.shuffle:
                order = check_random_state(self.random_state).permutation(len(y))
            n_first = min(_FIRST_ROWS, -(-len(y) // 2))
            self._begin(*_rows_at(order[:n_first], X, y, weights), classes)
            self._learn_all(X, y, weights, order[n_first:], None, _FIT_ROWS)
        return self

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
        """
        with unchanged_on_error(self):
            self._check_params()
            first = not hasattr(self, "_race")
            X, y, weights = self._checked(X, y, sample_weight, reset=first)
            if first:
                self._begin(X, y, weights, distinct_labels(y) if classes is None else unique_labels(classes))
            else:
                self._go_on(X, y, weights, classes)
        return self

    def _check_params(self):
        check_candidates(self.estimator, self.param_grid)
        check_count("min_rows", self.min_rows)
        thread_count(self.n_jobs)

    def _checked(self, X, y, sample_weight, *, reset):
        refuse_no_target(type(self).__name__, y)
        X, y = validated_rows(self, X, reset=reset), column_of(y)
        if X.shape[0] != len(y):
            raise ValueError(f"X has {X.shape[0]} rows, but y has {len(y)} labels: inconsistent numbers of samples.")
        classes_in(y)  # which refuses what cannot be classes
        return X, y, checked_weights(sample_weight, X)

    def _begin(self, X, y, weights, classes):
        """Make the candidates, and have them learn their first rows."""
        known = [rows_that_count(each, weights) for each in (X, y)]
        self._racers, self._params = candidates_for(self.estimator, self.param_grid, *known, classes)
        self._race = begun(len(self._racers), len(y), self.min_rows)
        with blas_threads(None):  # one for each: candidates would change the number for one another
            threads = Threads(thread_count(self.n_jobs))
            threads.run(lambda candidate: teach(candidate, X, y, weights, classes), self._racers)

    def _go_on(self, X, y, weights, classes):
        """Judge and learn rows, and drop candidates when it is time; if anything fails, all are as before."""
        with ExitStack() as stack:
            for candidate in self._racers:
                attempt = stack.enter_context(undone_on_error(candidate))
                if len(self._racers) > 1:  # a single one takes care of itself
                    attempt.begin(len(y))
            self._learn_all(X, y, weights, np.arange(len(y)), classes, len(y))

    def _learn_all(self, X, y, weights, order, classes, most_rows):
        """Judge and learn rows in an order, ``most_rows`` at a time, and drop candidates when it is time."""
        norms = None if issparse(X) else np.einsum("ij,ij->i", X, X, dtype=np.float64)
        start = 0
        while start < len(order):
            if len(self._racers) == 1:
                rows = order[start : (start // most_rows + 1) * most_rows]
                teach(self._racers[0], *_rows_at(rows, X, y, weights), classes)
                self._race = learned(self._race, len(rows))
            else:
                n_learned = self._race.n_rows
                rows = order[start : start + self._race.next_cut - n_learned]
                blocks = _blocks_of_batches(n_learned, start, start + len(rows), most_rows)
                is_judged = np.arange(n_learned, n_learned + len(rows)) % _JUDGED == 0
                self._learn(Batch(X, y, weights, norms, rows, classes, is_judged, blocks))
            start += len(rows)

    def _learn(self, batch):
        """Learn rows up to the next cut."""
        with blas_threads(None):  # one for each: candidates would change the number for one another
            tasks = [steps_of(candidate, batch) for candidate in self._racers]
            is_right = np.array(in_turns(tasks, Threads(thread_count(self.n_jobs))))
        weights = None if batch.weights is None else batch.weights[batch.order][batch.is_judged]
        self._race = learned(judged(self._race, is_right, weights), len(batch.order))
        if self._race.n_rows == self._race.next_cut:
            self._race, kept = thinned(self._race)
            self._racers = [self._racers[k] for k in kept]

    # --- what was found ------------------------------------------------------------------------------------

    @property
    def best_estimator_(self):
        """The best candidate so far."""
        check_is_fitted(self)
        return self._racers[leader(self._race)]

    @property
    def best_index_(self) -> int:
        """Which of the candidates is the best so far: its place in ``results_``."""
        check_is_fitted(self)
        return int(self._race.racing[leader(self._race)])

    @property
    def best_params_(self) -> dict[str, Any]:
        """What sets the best candidate so far apart."""
        return dict(self._params[self.best_index_])

    @property
    def results_(self) -> list[dict[str, Any]]:
        """What became of each candidate."""
        check_is_fitted(self)
        return [
            {"params": dict(params), "accuracy": accuracy, "rows": n_rows, "dropped_at": dropped_at}
            for params, (accuracy, n_rows, dropped_at) in zip(self._params, accuracies(self._race), strict=True)
        ]

    @property
    def classes_(self):
        """The classes, sorted."""
        if not hasattr(self, "_race"):
            raise AttributeError(f"This {type(self).__name__} has learned nothing yet: it has no classes.")
        return self.best_estimator_.classes_

    @property
    def t_(self) -> int:
        """Number of examples learned from."""
        check_is_fitted(self)
        return self._race.n_rows

    # --- predicting ----------------------------------------------------------------------------------------

    @shared
    def _ask(self, method, X):
        check_is_fitted(self)
        return getattr(self.best_estimator_, method)(validated_rows(self, X, reset=False))

    def predict(self, X):
        """Predicted class of each row of ``X``."""
        return self._ask("predict", X)

    def decision_function(self, X):
        """Decision values of the rows of ``X``, as those of the best candidate."""
        return self._ask("decision_function", X)

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Probabilities of the classes, a row for each row of ``X``, if all candidates have them."""
        return self._ask("predict_proba", X)


def _rows_at(which, X, y, weights):
    return X[which], y[which], None if weights is None else weights[which]


def _blocks(n_learned, n_rows):
    """Parts of a batch, each an eighth of those learned before it, in whole blocks of learners."""
    start, blocks = 0, []
    while start < n_rows:
        n_whole = (n_learned + start) // (_BLOCK_SHARE * LONG_BATCH)
        stop = start + min(max(n_whole, 1) * LONG_BATCH, _LONGEST_BLOCK)
        blocks.append(slice(start, min(stop, n_rows)))
        start = stop
    return blocks


def _blocks_of_batches(n_learned, start, stop, most_rows):
    """The same for rows from ``start`` to ``stop`` of a stream in batches of ``most_rows``, relative to the first."""
    blocks, at = [], start
    while at < stop:
        end = min(stop, (at // most_rows + 1) * most_rows)
        shift = at - start
        blocks += [slice(each.start + shift, each.stop + shift) for each in _blocks(n_learned + shift, end - at)]
        at = end
    return blocks
