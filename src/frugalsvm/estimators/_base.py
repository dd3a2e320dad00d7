"""What all classifiers share whose model is a kernel expansion: predictions and published attributes."""

from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import ThreadpoolController

from frugalsvm.arrays.expansion import expansion_values
from frugalsvm.arrays.maps import kernel_map
from frugalsvm.arrays.namespace import arrays_on
from frugalsvm.core.expansion import Expansion
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.predict import decision_values
from frugalsvm.estimators._origin import RelativeRows
from frugalsvm.estimators._predictor import Predictor
from frugalsvm.estimators._threads import thread_count
from frugalsvm.estimators._validation import AS_IT_IS, check_choice, check_positive, gamma_value
from frugalsvm.exceptions import ParameterError

__all__ = [
    "KernelExpansionClassifier",
    "ScoringClassifier",
    "blas_threads",
    "bytes_per_slot",
    "expansion_bytes",
    "new_kernel",
    "unchanged_on_error",
]


@cache
def _thread_controller() -> ThreadpoolController:
    return ThreadpoolController()


def blas_threads(n_jobs):
    """Context in which matrix products use ``n_jobs`` threads, counted as in joblib; None is one.

    Blocks are small: a second thread gains little on an idle machine and loses much on a busy one.
    """
    return _thread_controller().limit(limits=thread_count(n_jobs), user_api="blas")


@contextmanager
def unchanged_on_error(estimator):
    """Give an estimator back all its attributes if what is done to it fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def new_kernel(name, gamma, degree, coef0, X):
    """The kernel part for the parameters of an estimator; its fields get the parameters of the same names.

    ``X`` are rows from which gamma is taken, or their `Moments`.
    """
    check_choice("kernel", name, KERNELS)
    part: Any = KERNELS[name]
    fields, values = part._fields, {}
    if "gamma" in fields:
        values["gamma"] = gamma_value(gamma, X)
    if "coef0" in fields:
        check_positive("coef0", coef0, zero=True)
        values["coef0"] = float(coef0)
    if "degree" in fields:
        if not isinstance(degree, int | np.integer) or degree < 1:
            raise ParameterError("degree", degree, "an integer of at least 1")
        values["degree"] = int(degree)
    return part(**values)


class ScoringClassifier(ClassifierMixin, BaseEstimator):
    """Base of classifiers that predict from scores: subclasses define ``_scores``, one column per output."""

    classes_: np.ndarray

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def check_parameters(self) -> None:
        """Raise ValueError, with a sentence that says what to do, if parameters are wrong or do not go together."""
        self._check_params()

    def _check_params(self):
        raise NotImplementedError

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
        indices = (scores[:, 0] >= 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[indices]


class KernelExpansionClassifier(RelativeRows, ScoringClassifier):
    """Base of classifiers with a kernel ``_kernel`` and an expansion ``_expansion``.

    Subclasses set both in their fitting methods and define ``_coefficients`` (the true coefficients, one column
    per output).
    """

    _expansion: Expansion
    _predictor: Predictor | None = None  # of a model that was saved for prediction, and has no other state

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
        X = self._known_rows(X, self._dtype)
        with blas_threads(self.n_jobs):
            return decision_values(self._kernel, self.scoring_expansion(), X)

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
        return self._absolute(self.support_rows())

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


def bytes_per_slot(n_features: int, n_outputs: int, dtype) -> int:
    """Bytes that prediction needs for one support vector."""
    return np.dtype(dtype).itemsize * (n_features + 1 + n_outputs)


def expansion_bytes(expansion: Expansion) -> int:
    """Bytes that prediction needs for a model."""
    rows, n_slots = expansion.rows, int(expansion.counts[0]["n_slots"])
    return n_slots * bytes_per_slot(rows.shape[1], expansion.n_outputs, rows.dtype)
