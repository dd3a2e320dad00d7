"""Probabilities of classifiers: calibrated on rows that are judged before they are learned, or by a model without them.

A learner that goes through the rows one by one judges them on its way, at no cost but that of predicting them:

- a batch of `partial_fit` by the model before it. One that is long compared with all rows before it is judged in parts,
  each by the model that has learned those before it.
- the last rows of the last pass of `fit`, which the passes before leave out.

Where decision values on the way are not those at the end, because `fit` ends with another phase, a fifth of the rows is
judged by a model of the others, which is thrown away.
"""

import copy
import warnings
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from frugalsvm._locks import exclusive, shared
from frugalsvm.calibration import METHODS, MOST_ROWS, calibration_for
from frugalsvm.core.lookahead import BLOCK_ROWS
from frugalsvm.estimators.labels import distinct_labels
from frugalsvm.estimators.parameters import parameter, parameters
from frugalsvm.estimators.unchanged import LONG_BATCH
from frugalsvm.exceptions import ParameterError

_SHARE = 5  # one row in five is held out
_ENOUGH = 500  # held-out rows, where one pass predicts them anyway, before it learns them
_PARTS = 8  # in which held-out rows are judged and learned
_FOLDS, _FEW_ROWS = 5, 1000  # so few are all judged, in folds
_STREAM = 23  # of random numbers


def _a_calibration(name: str, value: Any) -> None:
    """None, or a way to calibrate."""
    if value is not None and value not in list(METHODS):
        raise ParameterError(name, value, f"None, {' or '.join(map(repr, METHODS))}")


def is_calibrated(estimator: Any) -> bool:
    """Whether an estimator calibrates itself."""
    return getattr(estimator, "calibrate", None) is not None


def n_held_out(n_rows: int, *, is_free: bool = False) -> int:
    """How many rows are held out to calibrate a model; more of few where that costs nothing."""
    return min(MOST_ROWS, max(n_rows // _SHARE, min(_ENOUGH, n_rows // 2) if is_free else 0))


def _has_probabilities(estimator: Any) -> bool:
    if estimator.calibrate is None:
        raise AttributeError("Probabilities need calibrate='platt' or calibrate='isotonic'.")
    return True


class Judged(NamedTuple):
    """Rows whose decision values are those of a model that has not learned them."""

    values: np.ndarray  # (n, n_outputs)
    labels: np.ndarray
    weights: np.ndarray | None

    @classmethod
    def joined(cls, parts: "list[Judged]") -> "Judged":
        values, labels, weights = zip(*parts, strict=True)
        return cls(
            np.concatenate(values), np.concatenate(labels), None if weights[0] is None else np.concatenate(weights)
        )


@parameters
class CalibratedClassifier(ClassifierMixin):
    """Base of classifiers with a parameter ``calibrate``, which have probabilities if it is set.

    Subclasses define ``_seen_scores`` (scores of rows as the kernel sees them; None while there are none).

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of the classes ("balanced" in `fit` only).
    calibrate : {"platt", "isotonic"} or None
        How to calibrate `predict_proba`, see :ref:`calibration`: by sigmoids of decision values, or by any
        increasing function of them, which needs some thousands of rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    calibration_ : object
        With ``calibrate``: what turns decision values into probabilities; it has ``probabilities(values)``.
    """

    class_weight: Any = None
    calibrate: Any = parameter(default=None, check=_a_calibration)

    _judges_on_its_way: ClassVar[Any] = True  # whether values in the last pass of `fit` are like those at its end

    @available_if(_has_probabilities)
    @shared
    def predict_proba(self, X, *, device=None):
        """Probabilities of the classes, if ``calibrate`` is set; the highest is that of the predicted class.

        Parameters
        ----------
        X : array-like, sparse matrix or tensor of shape (n_samples, n_features)
        device : {"cpu", "cuda", "auto"}, default=None
            As in `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        scores = self._scores_on(X, device)
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        if not hasattr(self, "calibration_"):
            self._calibrate_late()
        if not hasattr(self, "calibration_"):
            raise NotFittedError(
                f"This {type(self).__name__} has learned without calibrate={self.calibrate!r}: call fit or partial_fit."
            )
        return self.calibration_.probabilities(scores)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X, *, device=None):
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X, device=device))

    # --- calibration --------------------------------------------------------------------------------------

    @exclusive
    def calibrate_on(self, values: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> None:
        """Calibrate again, with decision values (n, n_outputs) of rows that were not learned."""
        self._forget_calibration()
        self._calibrate([Judged(values, labels, weights)])

    def _forget_calibration(self) -> None:
        self.__dict__.pop("calibration_", None)

    def _calibrate_late(self) -> None:
        """Calibrate when probabilities are asked for and there is no calibration: for models that have their rows."""

    @exclusive
    def calibrate_on_one(self, values: np.ndarray, label: int) -> None:
        """Calibrate on with the decision values (n_outputs,) of one row: `partial_fit` of that row does the same."""
        known = self._calibration_so_far()
        if known.is_new:
            self._calibrate([Judged(np.array(values, np.float64)[None], np.array([label]), None)])
        else:
            self.calibration_ = known.updated_by_one(values, label)

    def _calibration_so_far(self) -> Any:
        """The calibration, or a new one if there is none of the method that is asked for."""
        fresh = calibration_for(self.calibrate)
        known = getattr(self, "calibration_", fresh)
        return known if type(known) is type(fresh) else fresh

    def _calibrate(self, parts: list[Judged]) -> None:
        """Learn on from judged rows, or from the beginning."""
        known = self._calibration_so_far()
        if parts:
            rows = Judged.joined(parts)
            known = known.settled(*rows) if known.is_new else known.updated(*rows)
        self.calibration_ = known

    def _judged(self, X, labels, weights, rows) -> list[Judged]:
        """The rows of some indices, judged by the model as it is: one part, or none."""
        if weights is not None:
            rows = rows[weights[rows] > 0]
        rows = rows[-MOST_ROWS:]
        values = self._seen_scores(X[rows]) if len(rows) else None
        if values is None:
            return []
        return [Judged(values, labels[rows], None if weights is None else weights[rows])]

    # --- streams ------------------------------------------------------------------------------------------

    def _learn_some(self, X, labels, weights, rows) -> None:
        """Learn rows that are given by their indices."""
        self._learn(X, labels, weights, rows)

    def _learn_batch(self, X, labels, weights, known: np.ndarray, *, first: bool) -> None:
        """Learn a batch in its order, of a model that knew some classes before; calibrate on the way."""
        n_rows = X.shape[0]
        if self.calibrate is None:
            self._learn(X, labels, weights, np.arange(n_rows))
            return
        parts: list[Judged] = []
        from_row = max(n_rows - MOST_ROWS, n_rows // 2 if first else 0)  # rows before it do not count any more
        for start, stop in _parts_of_batch(n_rows, self.t_, whole=not first and n_rows <= LONG_BATCH):
            rows = np.arange(start, stop)
            if stop > from_row and (start or not first):
                is_known = np.isin(labels[rows], known)
                parts += self._judged(X, labels, weights, rows[is_known])
            self._learn_some(X, labels, weights, rows)
        self._calibrate(parts)

    # --- all rows -----------------------------------------------------------------------------------------

    def _is_judged_apart(self, n_rows: int) -> bool:
        return self.calibrate is not None and (n_rows <= _FEW_ROWS or not self._judges_on_its_way)

    def _learn_calibrating(self, X, labels, weights, orders, progress) -> None:
        """Learn all rows, once for each order; some only at the end of the last pass, after they were judged."""
        n_rows, n_passes = X.shape[0], self._n_passes
        held, is_held = np.zeros(0, np.int64), np.zeros(n_rows, bool)
        for number, order in enumerate(orders, 1):
            if number == 1:
                held = order[n_rows - n_held_out(n_rows, is_free=n_passes == 1) :]
                is_held[held] = True
            others = order[~is_held[order]]
            if number < n_passes:
                self._learn(X, labels, weights, others)
            else:
                self._learn_and_judge(X, labels, weights, np.concatenate([others, held]), len(held))
            progress.advance(n_rows)

    def _learn_and_judge(self, X, labels, weights, order, n_held: int) -> None:
        """Learn rows in an order, and calibrate with the last of them on the way."""
        # Learners look ahead over blocks of rows: parts of whole blocks give the same model bit for bit.
        n_first = -(-(len(order) - n_held) // BLOCK_ROWS) * BLOCK_ROWS
        step = max(1, n_held // (_PARTS * BLOCK_ROWS)) * BLOCK_ROWS
        parts: list[Judged] = []
        self._learn_some(X, labels, weights, order[:n_first])
        for start in range(n_first, len(order), step):
            rows = order[start : start + step]
            parts += self._judged(X, labels, weights, rows)
            self._learn_some(X, labels, weights, rows)
        self._calibrate(parts)

    def _calibrate_apart(self, X, y, weights) -> None:
        """Calibrate with rows, given as they came, that are judged by models of others, which are thrown away."""
        known = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
        rng = np.random.default_rng([_seed_of(self), _STREAM])
        folds = folds_of(y[known], rng)
        parts: list[Judged] = []
        for fold in range(folds.max() + 1 if len(known) <= _FEW_ROWS else 1):
            out, others = known[folds == fold], known[folds != fold]
            parts += self._judged_apart(X, y, weights, out, others)
        self._calibrate(parts)

    def _judged_apart(self, X, y, weights, out, others) -> list[Judged]:
        if len(distinct_labels(y[others])) < 2:
            return []
        model = clone(self).set_params(calibrate=None, class_weight=None)  # the weights have those of the classes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say, the model of all rows says
            model.fit(X[others], y[others], None if weights is None else weights[others])
        values = model.decision_function(X[out])
        values = values[:, None] if values.ndim == 1 else values
        labels = np.searchsorted(model.classes_, y[out])
        return [Judged(values, labels, None if weights is None else weights[out])]


def _parts_of_batch(n_rows: int, n_learned: int, *, whole: bool):
    """Beginnings and ends of parts of a batch, each short compared with all that was learned before it."""
    start = 0
    while start < n_rows:
        n_part = max(BLOCK_ROWS, (n_learned + start) // 4 // BLOCK_ROWS * BLOCK_ROWS)
        stop = n_rows if whole else min(n_rows, start + n_part)
        yield start, stop
        start = stop


def _seed_of(estimator: Any) -> int:
    """A seed that leaves the random numbers of the estimator as they are."""
    state = check_random_state(copy.deepcopy(estimator.get_params(deep=False).get("random_state", 0)))
    return int(state.randint(np.iinfo(np.int32).max))


def folds_of(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The fold of each row: classes are spread evenly, and the only row of a class (-1) is always learned."""
    folds = np.empty(len(y), np.int64)
    places, labels = np.arange(len(y)), np.unique(y, return_inverse=True)[1]
    order = rng.permutation(len(y))
    order = order[np.argsort(labels[order], kind="stable")]
    folds[order] = places % _FOLDS
    folds[np.bincount(labels)[labels] == 1] = -1
    return folds
