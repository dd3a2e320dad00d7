"""What to do when a detector finds that a stream has changed."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import clone

from frugalsvm._locks import ThreadSafe, exclusive, shared
from frugalsvm.estimators._validation import check_choice, check_count, check_positive

__all__ = ["ACTIONS", "Boost", "DriftDetector", "DriftWatch", "check_on_drift", "finds_drift"]

ACTIONS = ("reset", "boost")
BOOST_WEIGHT, BOOST_ROWS = 3.0, 1000


class DriftDetector(Protocol):
    """A detector: those of ``river.drift`` are, and whatever else has the two."""

    @property
    def drift_detected(self) -> bool:
        """Whether the last number told of a drift."""
        ...

    def update(self, x: float) -> Any:
        """Take the next number: 1 for a mistake, 0 for a row that was predicted right."""
        ...


def check_on_drift(on_drift: Any) -> None:
    """Refuse what is neither an action nor a function."""
    if not callable(on_drift):
        check_choice("on_drift", on_drift, ACTIONS)


def finds_drift(detector: DriftDetector, is_wrong: np.ndarray) -> bool:
    """Show mistakes to a detector, one by one; whether it found a drift."""
    found = False
    for each in is_wrong.tolist():
        detector.update(float(each))
        found |= bool(detector.drift_detected)
    return found


class Boost(NamedTuple):
    """Rows that count more after a drift."""

    weight: float = BOOST_WEIGHT
    n_left: int = 0

    def weights(self, n_rows: int, sample_weight: Any) -> Any:
        """The weights of the next rows."""
        if not self.n_left:
            return sample_weight
        given = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, np.float64)
        return np.where(np.arange(n_rows) < self.n_left, self.weight, 1.0) * given

    def after(self, n_rows: int) -> "Boost":
        """What is left after a number of rows."""
        return self._replace(n_left=max(0, self.n_left - n_rows)) if self.n_left else self


class DriftWatch(ThreadSafe):
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
        boost_weight: float = BOOST_WEIGHT,
        boost_rows: int = BOOST_ROWS,
    ):
        check_on_drift(on_drift)
        check_positive("boost_weight", boost_weight)
        check_count("boost_rows", boost_rows)
        self.model, self.detector, self.on_drift = model, detector, on_drift
        self.boost_weight, self.boost_rows = boost_weight, boost_rows
        self.drifts_: list[int] = []
        self.n_seen_ = 0
        self._boost = Boost(boost_weight)
        self._classes: Any = None

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
        has_drifted = self._judge(X, y) if self.n_seen_ else False
        weights = self._boost.weights(len(y), sample_weight)
        self._boost = self._boost.after(len(y))
        # Only the first call needs the classes; most models refuse others later.
        own = {} if weights is None else {"sample_weight": weights}
        self.model.partial_fit(X, y, **({"classes": self._classes} if self._is_new else {}), **own)
        self.n_seen_ += len(y)
        if has_drifted:
            self.drifts_.append(self.n_seen_)
            self._act()
        return self

    @property
    def _is_new(self) -> bool:
        return not hasattr(self.model, "classes_") and self._classes is not None

    def _judge(self, X, y) -> bool:
        if not hasattr(self.model, "classes_"):  # it has just been reset
            return False
        return finds_drift(self.detector, self.model.predict(X) != y)

    def _act(self) -> None:
        if callable(self.on_drift):
            self.on_drift(self)
        elif self.on_drift == "reset":
            self.model = clone(self.model)
        else:
            self._boost = Boost(self.boost_weight, self.boost_rows)

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
