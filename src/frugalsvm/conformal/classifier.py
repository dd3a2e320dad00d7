"""Sets of labels that have the true one as often as promised."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from frugalsvm._locks import exclusive, shared
from frugalsvm.conformal._label_scores import label_scores, row_label_scores, true_scores
from frugalsvm.conformal._models import answers, batch_of, has_learned, is_river, rows_of, teach
from frugalsvm.conformal._promises import KeepsCoverage, checked_outputs, checked_targets, wraps_river
from frugalsvm.conformal._saved import CLASSIFIER
from frugalsvm.core.score_reservoir import HUGE, new_reservoir


class ConformalClassifier(KeepsCoverage, ClassifierMixin, BaseEstimator):
    """A classifier that predicts sets of labels, which have the true label as often as promised.

    Rows are scored before they are learned, and a label is in the set of a row if its score is not above a threshold:
    a quantile of the latest scores of true labels, whose level makes up for sets that missed their label. Therefore
    the promise holds in every long enough part of a stream, whatever it does: with the defaults, in every 5000 rows
    that come one by one the share of sets with the true label is between 88.6 and 91.4 percent.

    Where the classifier is sure and right, sets have one label or, if it is right more often than promised, none for
    some rows; where it is not, they have several.

    Parameters
    ----------
    estimator : classifier
        Of this library, of scikit-learn or of river. It needs ``decision_function`` or ``predict_proba`` (for river,
        ``predict_proba_one``), and ``partial_fit`` to learn a stream. One that is fitted and shall stay as it is can be
        wrapped in scikit-learn's `FrozenEstimator`.
    coverage : float, default=0.9
        The promised share of sets with the true label, between 0 and 1.
    window : int, default=1000
        How many of the latest scores are kept.
    patience : float, default=None
        In misses: sets have all labels after this many misses too many. Small values keep the promise in shorter parts
        of the stream, with sets whose size varies more. None is ``(1 - coverage) / 0.005``, and 2 at least.
    by_class : bool, default=False
        Whether to promise the coverage for every class by itself, with a window for each.
    random_state : int, RandomState instance or None, default=None
        For the rows that `fit` calibrates with.

    Attributes
    ----------
    estimator_ : classifier
        The one that learns.
    classes_ : ndarray of shape (n_classes,)
    thresholds_ : ndarray of shape (1,) or (n_classes,)
        Labels with scores above are not in the set.
    coverage_ : float
        The share of sets so far that had the true label, of rows that came by `partial_fit`.

    Notes
    -----
    The score of a label is the largest decision value of another label, less its own; or one less its probability if
    there are no decision values. A label that comes for the first time is a miss that no set could avoid, and is not
    made up for.

    References
    ----------
    V. Vovk, A. Gammerman, G. Shafer (2005). Algorithmic learning in a random world. Springer.

    I. Gibbs, E. Candes (2021). Adaptive conformal inference under distribution shift. NeurIPS.

    A. N. Angelopoulos, E. Candes, R. J. Tibshirani (2023). Conformal PID control for time series prediction. NeurIPS.

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.conformal import ConformalClassifier
    >>> from frugalsvm.datasets import DriftStream
    >>> stream = DriftStream("checkerboard", changes=[5_000], random_state=0)
    >>> model = ConformalClassifier(BSGDClassifier(budget=100, gamma=5.0, alpha=1e-4))
    >>> for X, y in stream.chunks(10_000, 50):
    ...     model = model.partial_fit(X, y)
    >>> X, y = stream.take(3)
    >>> model.predict_set(X).shape
    (3, 2)
    >>> round(model.coverage_, 2)
    0.9
    """

    _saved = CLASSIFIER
    _ways = ("decision_function_one_row", "predict_proba_one")
    _answers = (("decision_function", "predict_proba"), ("predict_proba_one",))
    _labels: np.ndarray

    def __init__(self, estimator, coverage=0.9, *, window=1000, patience=None, by_class=False, random_state=None):
        self.estimator = estimator
        self.coverage = coverage
        self.window = window
        self.patience = patience
        self.by_class = by_class
        self.random_state = random_state

    @exclusive
    def partial_fit(self, X, y, classes=None, sample_weight=None, *, outputs=None):
        """Score rows, and then learn them in the given order, once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or dicts of features for models of river.
        y : array-like of shape (n_samples,)
        classes : array-like, default=None
            All classes that will ever come, where the estimator has to know.
        sample_weight : array-like of shape (n_samples,), default=None
        outputs : ndarray, default=None
            What `outputs` said when the sets of these rows were made, for labels that come late. None asks now.

        Returns
        -------
        self
        """
        self._learn(X, y, sample_weight, outputs, classes)
        return self

    @exclusive
    def test_then_train(self, X, y, classes=None, sample_weight=None):
        """Predict the sets of rows, each with the threshold that the rows before it left, and learn the rows.

        Parameters
        ----------
        X, y, classes, sample_weight
            As in `partial_fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), bool
            As of `predict_set`. Sets of rows that came before there was a model have all labels.
        """
        scores, thresholds = self._learn(X, y, sample_weight, None, classes)
        return (scores <= thresholds) & (scores < HUGE)  # labels that were unknown at the time are in no set

    def _learn(self, X, y, sample_weight, outputs, classes=None):
        """Score and learn; returns the scores of all labels and the thresholds for them."""
        is_known = self._prepared() is not None
        model = self._new_model()
        if is_river(model):
            return self._learn_from_dicts(model, rows_of(X), list(y))
        y, scores = checked_targets(y), None
        if is_known or has_learned(model):
            known = model.classes_
            scores = self._outputs_of(model, X) if outputs is None else _outputs_before(outputs, len(y), len(known))
            if scores.shape[1] < len(known):  # a class has come since: the model is asked again
                scores = self._outputs_of(model, X)
        teach(model, X, y, classes=classes, sample_weight=sample_weight)
        if scores is None:
            self._keep(model, model.classes_)
            return np.zeros((len(y), len(self.classes_))), np.full((len(y), 1), np.inf)
        self._keep(model, known)
        thresholds = self._take(self._places(y), self._scored(scores, y))
        self._keep(model, model.classes_)
        columns = np.searchsorted(self.classes_, known)
        if self.by_class:
            thresholds = _spread(thresholds, columns, len(self.classes_))
        return _spread(scores, columns, len(self.classes_)), thresholds

    def _learn_from_dicts(self, model, rows, y):
        """The same for models of river, one row after the other; labels are unknown until a row has them."""
        first, shares = dict.fromkeys(getattr(self, "_labels", np.empty(0)).tolist(), -1), []
        for row, (x, label) in enumerate(zip(rows, y, strict=True)):
            shares.append(model.predict_proba_one(x))
            model.learn_one(x, label)
            first.setdefault(label, row)
        labels = np.array(sorted(first))
        scores = np.full((len(y), len(labels)), HUGE)
        for column, label in enumerate(labels.tolist()):
            start = first[label] + 1
            scores[start:, column] = [1.0 - each.get(label, 0.0) for each in shares[start:]]
        self._keep(model, labels)
        y = np.asarray(y)
        return scores, self._take(self._places(y), self._scored(scores, y))

    def _begin(self, model, labels=None):
        labels = model.classes_ if labels is None else labels
        super()._begin(model, len(labels) if self.by_class else 1)
        self._labels = np.asarray(labels)

    def _keep(self, model, labels):
        """Keep the model, and a reservoir for each label if there is to be one."""
        if not hasattr(self, "estimator_"):
            self._begin(model, labels)
        elif self.by_class and len(labels) > len(self._labels):
            old = dict(zip(self._labels.tolist(), self._reservoirs, strict=True))
            self._reservoirs = [old.get(label) or new_reservoir(self.window) for label in labels.tolist()]
        self._labels = np.asarray(labels)

    def _outputs_of(self, model, X):
        if not is_river(model):
            return label_scores(model, X)
        return np.array([self._shares(each) for each in answers(model, X, "", "predict_proba_one")])

    def _shares(self, found):
        """Scores of all labels, from the probabilities of some: one less those."""
        return [1.0 - found.get(label, 0.0) for label in self._labels.tolist()]

    def _scored(self, outputs, y):
        return true_scores(outputs, self._labels, y)

    def _row_outputs(self, made, x):
        found = made.asks_row(x)
        return self._shares(found) if isinstance(found, dict) else row_label_scores(found.tolist())

    def _judged_row(self, made, x, y):
        index = made.index_of(y)
        return None if index is None else (index if self.by_class else 0, self._row_outputs(made, x)[index])

    def _places(self, y):
        if not self.by_class:
            return None
        places = np.minimum(np.searchsorted(self._labels, y), len(self._labels) - 1)
        return np.where(self._labels[places] == y, places, -1)

    # --- predicting ---------------------------------------------------------------------------------------

    @property
    def classes_(self):
        """The classes, sorted."""
        if not hasattr(self, "estimator_"):
            raise AttributeError(f"This {type(self).__name__} has learned nothing yet: it has no classes.")
        return self._labels if wraps_river(self) else self.estimator_.classes_

    @shared
    def predict_set(self, X):
        """The sets of labels of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), bool
            Whether each label, in the order of ``classes_``, is in the set of each row.
        """
        return self.outputs(X) <= self.thresholds_

    @shared
    def p_values(self, X):
        """The share of the latest scores that are at least as strange as that of each label of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        scores = self.outputs(X)
        reservoirs = self._reservoirs if self.by_class else self._reservoirs * scores.shape[1]
        columns = [self._p_values(*pair) for pair in zip(reservoirs, scores.T, strict=True)]
        return np.stack(columns, axis=1)

    @shared
    def predict(self, X):
        """The predicted label of each row, that of the estimator."""
        self._check_learned()
        predicted = answers(self.estimator_, X, "predict", "predict_one")
        return np.array(predicted) if wraps_river(self) else predicted

    @shared
    def predict_set_one_row(self, x):
        """The set of labels of a row, as `predict_set` has it, fast where `learn_one_row` is.

        Parameters
        ----------
        x : array-like of shape (n_features,)

        Returns
        -------
        ndarray of shape (n_classes,), bool
        """
        made = self._fast_model()
        if made is None:
            return self.predict_set(batch_of(self.estimator, x))[0]
        scores = self._row_outputs(made, x)
        takers = made.takers if self.by_class else made.takers * len(scores)
        return np.array([score <= each.threshold for score, each in zip(scores, takers, strict=True)])

    @available_if(wraps_river)
    @shared
    def predict_set_one(self, x):
        """The set of labels of a row: as in river."""
        if self._prepared() is None:
            return set()
        return set(self.classes_[self.predict_set_one_row(x)].tolist())


def _outputs_before(outputs, n_rows, n_classes):
    """What `outputs` said, with a column for each class of the time."""
    outputs = checked_outputs(outputs, n_rows)
    if outputs.ndim != 2 or outputs.shape[1] > n_classes:
        raise ValueError(f"outputs has the shape {outputs.shape}, but there are {n_rows} rows and {n_classes} classes.")
    return outputs


def _spread(values, columns, n_columns):
    """The columns of labels that were known, among those of all that are known now."""
    if len(columns) == n_columns:
        return values
    wide = np.full((len(values), n_columns), HUGE)
    wide[:, columns] = values
    return wide
