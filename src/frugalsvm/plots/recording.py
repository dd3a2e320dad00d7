"""Estimators followed through a stream: what the curves are drawn from."""

import copy
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalsvm.plots._vectors import model_bytes, model_inside, n_terms

History = Mapping[str, Mapping[str, NDArray]]

# What a model says about its own quality, where it does.
CERTIFICATES = (
    "member_gap_",
    "normalized_gap_",
    "gradient_error_",
    "kkt_violation_",
    "dual_objective_",
    "objective_",
    "suboptimality_bound_",
)


def record_stream(
    estimators: Any,
    batches: Iterable[Any],
    *,
    classes: ArrayLike | None = None,
    test: tuple[Any, ArrayLike] | None = None,
    sizes: bool = True,
    certificates: Sequence[str] = CERTIFICATES,
    rehearse: bool = True,
) -> dict[str, dict[str, NDArray]]:
    """Follow estimators through one stream: every batch is predicted first, and then learned.

    Parameters
    ----------
    estimators : dict, list or estimator
        Classifiers with `partial_fit`, by name; without names they are called as their classes are. They learn: after
        the call they have seen the stream. Those that are fitted already are tested from the first batch on. A
        `DriftWatch` is taken as the classifier that it watches.
    batches : iterable
        Of pairs ``(X, y)``, such as those of `frugalsvm.datasets.stream`, or of `frugalsvm.streams.Batch`.
    classes : array-like, default=None
        All classes, passed to the first `partial_fit` of estimators that are not fitted.
    test : tuple (X, y), default=None
        Other examples, on which the models are tested after every batch as well.
    sizes : bool, default=True
        Whether to note the size of the models after every batch.
    certificates : sequence of str
        Attributes to be noted after every batch, if an estimator has them.
    rehearse : bool, default=True
        Whether copies learn the first batch before, so that compiling, which happens once, is not in the seconds.

    Returns
    -------
    dict of dict of ndarray
        For every name: ``examples`` and ``seconds`` learned (both since the start), ``n_tested`` and ``n_right`` of
        each batch, ``n_terms`` (support vectors or features), ``model_bytes`` and ``median_age`` (of the support
        vectors of budgeted models, in examples), ``test_accuracy`` if there is a test, ``n_drifts`` that a `DriftWatch`
        has found since the start, and the certificates. A `ConformalClassifier` also has ``n_covered``, the number of
        examples of each batch that were tested and whose sets had their label, and what was ``promised``. A number is
        nan where the model does not have it yet.

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.datasets import stream
    >>> from frugalsvm.plots import record_stream
    >>> batches = stream("checkerboard", 3000, chunk_size=1000, random_state=0)
    >>> history = record_stream({"30": BSGDClassifier(budget=30, gamma=5.0)}, batches)
    >>> history["30"]["examples"]
    array([1000, 2000, 3000])
    >>> history["30"]["n_tested"]
    array([   0, 1000, 1000])
    """
    followed = {name: _Followed(estimator, classes) for name, estimator in named(estimators).items()}
    n_batches = 0
    for batch in batches:
        X, y, options = _parts(batch)
        n_batches += 1
        for one in followed.values():
            if n_batches == 1 and rehearse:
                one.rehearse(X, y, options)
            one.take(X, y, options)
            one.note(test, sizes, certificates)
    if n_batches == 0:
        raise ValueError("The stream has no batches: was it read before? A generator can be read only once.")
    return {name: one.history() for name, one in followed.items()}


def named(estimators: Any) -> dict[str, Any]:
    """Estimators by name; those without one are called as their classes are."""
    if isinstance(estimators, Mapping):
        chosen = {str(name): estimator for name, estimator in estimators.items()}
    else:
        alone = [estimators] if hasattr(estimators, "get_params") else list(estimators)
        chosen = {}
        for estimator in alone:
            name = type(estimator).__name__
            n_same = sum(key.split(" ")[0] == name for key in chosen)
            chosen[name if not n_same else f"{name} {n_same + 1}"] = estimator
    if not chosen:
        raise ValueError("There is no estimator: give one, or a dict of them by name.")
    return chosen


def _parts(batch):
    """Rows, labels and the further arguments of `partial_fit`."""
    try:
        X, y = batch[0], batch[1]
        n_rows, n_labels = X.shape[0], len(y)
    except (TypeError, IndexError, KeyError, AttributeError):
        raise ValueError("Every batch must be a pair (X, y) of rows and labels; a single one is [(X, y)].") from None
    if n_rows != n_labels or np.ndim(y) != 1 or len(X.shape) != 2:
        raise ValueError(
            f"A batch has rows of shape {X.shape} and labels of shape {np.shape(y)}: batches must be pairs (X, y), and "
            "a single pair is [(X, y)]."
        )
    weights, columns = getattr(batch, "weights", None), getattr(batch, "columns", None)
    options = {} if weights is None else {"sample_weight": weights}
    return (X if columns is None else (X, columns)), np.asarray(y), options


class _Followed:
    """An estimator on its way through a stream."""

    def __init__(self, estimator: Any, classes: Any):
        from sklearn.base import is_regressor

        kind = type(estimator).__name__
        if not hasattr(estimator, "partial_fit"):
            raise TypeError(f"{kind} has no partial_fit: it cannot learn from a stream.")
        self._estimator = estimator
        if is_regressor(self._model):
            raise TypeError(f"{kind} is a regressor: accuracy and error are for classifiers.")
        self._is_fitted = _is_fitted(self._model)
        self._first = {} if classes is None or self._is_fitted else {"classes": np.asarray(classes)}
        self._promises = hasattr(estimator, "test_then_train") and hasattr(estimator, "coverage")
        self._seen, self._spent = 0, 0.0
        self._notes: list[dict[str, float]] = []

    @property
    def _model(self):
        """The classifier, which a watch on drifts may exchange for a new one."""
        from frugalsvm.pipelines import DriftWatch

        return self._estimator.model if isinstance(self._estimator, DriftWatch) else self._estimator

    @property
    def _learner(self):
        """What learns inside of a conformal classifier."""
        return self._model.estimator_ if self._promises else self._model

    def rehearse(self, X, y, options):
        """Let a copy learn; a fitted one may have other classes, so that it continues from what it knows."""
        twin = copy.deepcopy(self._estimator)
        twin.partial_fit(X, y, **self._first, **options)
        if getattr(getattr(twin, "estimator_", twin), "n_held_", 0) or getattr(twin, "n_held_", 0):
            twin.predict(X)  # by a copy that has learned

    def take(self, X, y, options):
        """Test, then train."""
        right = int(np.count_nonzero(self._estimator.predict(X) == y)) if self._is_fitted else 0
        tested = len(y) if self._is_fitted else 0
        start, hits = time.perf_counter(), None
        if self._promises:
            hits = covered(self._estimator, X, y, **self._first, **options)
        else:
            self._estimator.partial_fit(X, y, **self._first, **options)
        self._spent += time.perf_counter() - start
        self._first = {}
        self._is_fitted = self._model is self._estimator or _is_fitted(self._model)  # a watch may have begun again
        self._seen += len(y)
        self._notes.append({"examples": self._seen, "seconds": self._spent, "n_tested": tested, "n_right": right})
        if hits is not None:
            n_covered = int(np.count_nonzero(hits)) if tested else 0
            self._notes[-1] |= {"n_covered": n_covered, "promised": self._estimator.coverage}

    def note(self, test, sizes, certificates):
        note = self._notes[-1]
        if hasattr(self._estimator, "drifts_"):
            note["n_drifts"] = len(self._estimator.drifts_)
        if not self._is_fitted:
            return
        if test is not None:
            note["test_accuracy"] = float(np.mean(self._estimator.predict(test[0]) == np.asarray(test[1])))
        if getattr(self._learner, "n_held_", 0):  # a pipeline that has not begun to learn
            return
        model = model_inside(self._estimator)
        if sizes:
            for name, measure in (("n_terms", n_terms), ("model_bytes", model_bytes)):
                value = _or_none(measure, model)
                if value is not None:
                    note[name] = value[0] if isinstance(value, tuple) else value
            ages = getattr(model, "support_ages_", None)
            if ages is not None and len(ages):
                note["median_age"] = float(np.median(ages))
        for name in certificates:
            value = getattr(model, name, None)
            if value is not None:
                note[name] = float(value)

    def history(self):
        names = list(dict.fromkeys(name for note in self._notes for name in note))
        return {name: np.array([note.get(name, np.nan) for note in self._notes]) for name in names}


def covered(estimator: Any, X: Any, y: Any, **options: Any) -> NDArray[np.bool_]:
    """Whether the truth of each row was in its set or interval; the rows are learned."""
    answer, truth = estimator.test_then_train(X, y, **options), np.asarray(y)
    if not hasattr(estimator, "predict_set"):
        return (answer[:, 0] <= truth) & (truth <= answer[:, 1])
    return answer[np.arange(len(truth)), np.searchsorted(estimator.classes_, truth)]


def _or_none(measure, model):
    """A measure of a model that may not have it, as models of other libraries."""
    try:
        return measure(model)
    except ValueError:
        return None


def _is_fitted(model: Any) -> bool:
    from frugalsvm.estimators.validation import is_fitted  # takes a while to import

    return is_fitted(model)
