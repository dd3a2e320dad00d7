"""What to do when a detector finds that a stream has changed."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier

from frugalsvm._locks import ThreadSafe, exclusive, shared
from frugalsvm.estimators.constraints import check_choice, check_count, check_positive

ACTIONS = ("reset", "boost")


class DriftDetector(Protocol):
    """A detector: those of ``river.drift`` are, and whatever else has the two."""

    @property
    def drift_detected(self) -> bool:
        """Whether there was a drift at the last number."""
        ...

    def update(self, x: float) -> Any:
        """Take the next number: 1 for a mistake, 0 for a row that was predicted right."""
        ...


def check_on_drift(on_drift: Any) -> None:
    """Refuse what is neither an action nor a function."""
    if not callable(on_drift):
        check_choice("on_drift", on_drift, ACTIONS)


def check_detector(detector: Any, estimator: Any) -> None:
    """Refuse what detects no drift, or is not for an estimator."""
    if not hasattr(detector, "update") or not hasattr(detector, "drift_detected"):
        raise ValueError(f"detector={detector!r} has no update and drift_detected, as those of river.drift have.")
    if isinstance(estimator, BaseEstimator) and not is_classifier(estimator):
        raise ValueError(f"detector= is for classifiers, not for {type(estimator).__name__}.")


class WatchesForDrift:
    """What learns rows, shows its mistakes to ``_watching``, a detector, and acts.

    Subclasses define ``_reset``, which starts again; the rows are those of the drift.
    """

    on_drift: Any
    boost_weight, boost_rows = 3.0, 1000
    drifts_: list[int]
    _watching: Any
    _n_seen: int
    _n_boosted: int  # rows that are still to count more
    _reset: Any

    def _boosted(self, n_rows: int, sample_weight: Any) -> Any:
        """The weights of the next rows: after a drift some count more."""
        if not self._n_boosted:
            return sample_weight
        given = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, np.float64)
        return np.where(np.arange(n_rows) < self._n_boosted, self.boost_weight, 1.0) * given

    def _count(self, n_rows: int) -> None:
        """Rows were learned."""
        self._n_seen += n_rows
        self._n_boosted = max(0, self._n_boosted - n_rows)

    def _show(self, is_wrong: np.ndarray, rows: Any = None) -> None:
        """Show the detector mistakes, one by one, and act if there was a drift."""
        found = False
        for each in is_wrong.tolist():
            self._watching.update(float(each))
            found |= bool(self._watching.drift_detected)
        if not found:
            return
        self.drifts_ = [*self.drifts_, self._n_seen]
        if callable(self.on_drift):
            self.on_drift(self)
        elif self.on_drift == "boost":
            self._n_boosted = self.boost_rows
        else:
            self._reset(rows)


class DriftWatch(ThreadSafe, WatchesForDrift):
    """A classifier whose mistakes are shown to a detector of drift, and what is done when it finds one.

    Rows are predicted before they are learned, and the detector gets 1 for each mistake and 0 for each other row.
    Estimators that forget (``BSGDClassifier(half_life="auto")``) follow many streams without a detector; this is for
    others, and for those who want to know when a stream has changed.

    Parameters
    ----------
    model : estimator or StreamPipeline
        A classifier with `partial_fit`; it is changed.
    detector : DriftDetector
        Such as ``river.drift.ADWIN()`` or ``river.drift.binary.DDM()``.
    on_drift : {"reset", "boost"} or callable, default="reset"
        "reset" starts again with an unfitted model: in a pipeline, scaler and encoder as well. "boost"
        lets the next rows count more. A function gets this object.
    boost_weight : float, default=3.0
        What the weights of rows are multiplied by after a drift, with "boost".
    boost_rows : int, default=1000
        For how many rows.

    Attributes
    ----------
    model : estimator
        The present one.
    drifts_ : list of int
        Numbers of rows after which drifts were found.
    n_seen_ : int
        Rows learned.

    See Also
    --------
    StreamPipeline : Has the same as its parameters ``detector`` and ``on_drift``.

    Notes
    -----
    A batch is predicted as a whole before it is learned: a drift is dealt with after the batch in which it was found.

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> from frugalsvm.pipelines import DriftWatch
    >>> class ManyMistakes:
    ...     drift_detected, mean = False, 0.0
    ...     def update(self, x):
    ...         self.mean += 0.01 * (x - self.mean)
    ...         self.drift_detected = self.mean > 0.6
    >>> X, y = make_checkerboard(3_000, random_state=0)
    >>> y[2_000:] = -y[2_000:]
    >>> watch = DriftWatch(BSGDClassifier(budget=60, gamma=5.0), ManyMistakes())
    >>> for start in range(0, 2_200, 50):
    ...     watch = watch.partial_fit(X[start : start + 50], y[start : start + 50], classes=[-1, 1])
    >>> 2_000 < watch.drifts_[0] <= 2_200
    True
    """

    def __init__(
        self,
        model: Any,
        detector: DriftDetector,
        on_drift: str | Callable[["DriftWatch"], Any] = "reset",
        *,
        boost_weight: float = WatchesForDrift.boost_weight,
        boost_rows: int = WatchesForDrift.boost_rows,
    ):
        check_detector(detector, model)
        check_on_drift(on_drift)
        check_positive("boost_weight", boost_weight)
        check_count("boost_rows", boost_rows)
        self.model, self.detector, self.on_drift = model, detector, on_drift
        self.boost_weight, self.boost_rows = boost_weight, boost_rows
        self.drifts_, self._n_seen, self._n_boosted = [], 0, 0
        self._classes: Any = None

    @property
    def n_seen_(self) -> int:
        """Rows learned."""
        return self._n_seen

    @property
    def _watching(self) -> DriftDetector:  # type: ignore[override]
        return self.detector

    @exclusive
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Show the mistakes of a batch to the detector, learn it, and act if there was a drift.

        Parameters
        ----------
        X, y, classes, sample_weight
            As the model takes them; ``classes`` are remembered for the time after a reset.

        Returns
        -------
        self
        """
        y = np.asarray(y)
        self._classes = classes if classes is not None else self._classes
        is_new = not hasattr(self.model, "classes_")  # or it has just been reset
        is_wrong = None if is_new or not self._n_seen else self.model.predict(X) != y
        weights = self._boosted(len(y), sample_weight)
        # Only the first call needs the classes; most models refuse others later.
        options = {"classes": self._classes if is_new else None, "sample_weight": weights}
        self.model.partial_fit(X, y, **{name: value for name, value in options.items() if value is not None})
        self._count(len(y))
        if is_wrong is not None:
            self._show(is_wrong)
        return self

    def _reset(self, rows):
        self.model = clone(self.model)

    @shared
    def predict(self, X):
        """Predicted class of each row."""
        return self.model.predict(X)

    @shared
    def decision_function(self, X):
        """Decision values of the rows."""
        return self.model.decision_function(X)

    @shared
    def score(self, X, y):
        """Accuracy."""
        return float(np.mean(self.predict(X) == np.asarray(y)))
