"""Labels that come late: rows wait, with what was predicted for them, until their label is there."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from frugalsvm._locks import ThreadSafe, exclusive
from frugalsvm.conformal._models import is_river
from frugalsvm.conformal._saved import BUFFER
from frugalsvm.estimators.constraints import check_count
from frugalsvm.exceptions import ParameterError


class DelayBuffer(ThreadSafe):
    """Rows that were predicted and wait for their labels, and the model that learns them when these come.

    A row is learned when its label comes, in the order of the labels. A conformal model judges it by what was said when
    it was predicted: that the label comes late is then part of what the promise is about.

    Parameters
    ----------
    model : estimator
        Anything with ``partial_fit``: an estimator, a `StreamPipeline`, a conformal one; or a model of river.
    max_rows : int, default=10000
        Largest number of rows that wait. If there are more, the oldest ones are given up.
    method : str, default="predict"
        The method of the model that answers, such as "predict_set" or "predict_interval".

    Attributes
    ----------
    n_waiting_ : int
        Number of rows that wait.
    n_given_up_ : int
        Number of rows that were given up.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.conformal import ConformalClassifier, DelayBuffer
    >>> from frugalsvm.datasets import DriftStream
    >>> stream = DriftStream("checkerboard", random_state=0)
    >>> model = ConformalClassifier(BSGDClassifier(budget=50, gamma=5.0, alpha=1e-4)).partial_fit(*stream.take(200))
    >>> buffer = DelayBuffer(model, method="predict_set")
    >>> X, y = stream.take(4)
    >>> sets = buffer.predict(X, keys=["a", "b", "c", "d"])
    >>> buffer.learn([y[2], y[0]], keys=["c", "a"])
    2
    >>> buffer.n_waiting_
    2

    Without keys, labels come in the order of the rows:

    >>> buffer.learn([y[1], y[3]])
    2
    """

    _saved = BUFFER

    def __init__(self, model: Any, max_rows: int = 10_000, *, method: str = "predict"):
        if not hasattr(model, "partial_fit") and not is_river(model):
            raise ParameterError("model", model, "a model with partial_fit or learn_one")
        if not hasattr(model, method):
            raise ParameterError("method", method, f"a method of {type(model).__name__}")
        check_count("max_rows", max_rows)
        self.model = model
        self.max_rows = max_rows
        self.method = method
        self.n_given_up_ = 0
        self._n_rows = 0  # so far: the key of the next row that has none
        self._waiting: dict[Hashable, tuple[Any, Any]] = {}  # rows and outputs by key, in the order in which they came

    @property
    def n_waiting_(self) -> int:
        """Number of rows that wait."""
        return len(self._waiting)

    @exclusive
    def predict(self, X: Any, keys: Iterable[Hashable] | None = None) -> Any:
        """Answer, and keep the rows until their labels come.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Or a sequence of dicts of features.
        keys : iterable, default=None
            Names of the rows, by which their labels will be known. None numbers them, from 0 for the first row ever.

        Returns
        -------
        The answer of the model.
        """
        rows = _separate(X)
        names = list(range(self._n_rows, self._n_rows + len(rows))) if keys is None else list(keys)
        self._check_new(names, len(rows))
        answer = getattr(self.model, self.method)(X)
        outputs = list(self.model.outputs(X)) if hasattr(self.model, "outputs") else [None] * len(rows)
        self._waiting.update(zip(names, zip(rows, outputs, strict=True), strict=True))
        self._n_rows += len(rows)
        while len(self._waiting) > self.max_rows:
            del self._waiting[next(iter(self._waiting))]
            self.n_given_up_ += 1
        return answer

    def _check_new(self, names: list, n_rows: int) -> None:
        if len(names) != n_rows:
            raise ValueError(f"There are {n_rows} rows and {len(names)} keys: a key for each row is needed.")
        twice = next((name for name in names if name in self._waiting), None)
        if twice is not None or len(set(names)) < len(names):
            which = "one of the keys" if twice is None else f"the key {twice!r}"
            raise ValueError(f"Two rows that wait would have {which}: keys must be different.")

    @exclusive
    def learn(self, y: Any, keys: Iterable[Hashable] | None = None) -> int:
        """Learn rows whose labels have come.

        Parameters
        ----------
        y : array-like of shape (n_labels,)
        keys : iterable, default=None
            The rows that they belong to. None takes the rows that have waited longest.

        Returns
        -------
        int
            How many rows were learned. Labels of rows that do not wait (they were given up, or learned) are ignored.
        """
        labels = list(y)
        if keys is None and len(labels) > len(self._waiting):
            raise ValueError(f"{len(labels)} labels came, but {len(self._waiting)} rows wait: pass keys.")
        names = list(self._waiting)[: len(labels)] if keys is None else list(keys)
        if len(names) != len(labels):
            raise ValueError(f"There are {len(labels)} labels and {len(names)} keys: a key for each label is needed.")
        found = {name: label for name, label in zip(names, labels, strict=True) if name in self._waiting}
        if found:
            self._teach([self._waiting[name] for name in found], list(found.values()))
        for name in found:
            del self._waiting[name]
        return len(found)

    def _teach(self, waiting: list[tuple[Any, Any]], labels: list) -> None:
        rows = [row for row, _ in waiting]
        if is_river(self.model):
            for x, label in zip(rows, labels, strict=True):
                self.model.learn_one(x, label)
            return
        X = np.stack(rows) if isinstance(rows[0], np.ndarray) else rows
        more = {}
        outputs = [output for _, output in waiting]
        # A classifier that has met another class since has outputs of another length: then it is asked again.
        if all(output is not None and np.shape(output) == np.shape(outputs[-1]) for output in outputs):
            more["outputs"] = np.stack(outputs)
        self.model.partial_fit(X, np.asarray(labels), **more)

    # --- model files --------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Everything, with rows and outputs as matrices where they are of one shape."""
        state = {name: value for name, value in vars(self).items() if name != "_waiting"}
        rows, outputs = zip(*self._waiting.values(), strict=True) if self._waiting else ((), ())
        return {**state, "_keys": list(self._waiting), "_rows": _joined(rows), "_outputs": _joined(outputs)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        keys, rows, outputs = state.pop("_keys"), state.pop("_rows"), state.pop("_outputs")
        vars(self).update(state)
        self._waiting = dict(zip(keys, zip(rows, outputs, strict=True), strict=True))


def _separate(X: Any) -> list:
    """Rows one by one: copies of those of an array, or dicts."""
    if issparse(X):
        raise ValueError("DelayBuffer keeps dense rows: pass X.toarray().")
    if isinstance(X, list | tuple) and X and isinstance(X[0], dict):
        return [dict(x) for x in X]
    X = np.array(X)
    if X.ndim != 2:
        raise ValueError(f"X must be a matrix, or a sequence of dicts, but has {X.ndim} dimensions.")
    return list(X)


def _joined(values: tuple) -> Any:
    """A matrix of arrays of one shape and type, otherwise a list."""
    alike = values and all(
        isinstance(each, np.ndarray) and (each.shape, each.dtype) == (values[0].shape, values[0].dtype)
        for each in values
    )
    return np.stack(values) if alike else list(values)
