"""``kernel="precomputed"``: kernel values in the place of rows, as in `sklearn.svm.SVC`.

Compiled code gets the matrix of all values as a part, and rows with one number each, which is their place in it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm.core.kernels import KERNELS, Precomputed
from frugalsvm.estimators._scoring import Scorer
from frugalsvm.estimators.constraints import check_choice, constraints
from frugalsvm.estimators.validation import validated_rows
from frugalsvm.lowrank.own_kernel import is_symmetric

_NAME = "precomputed"


def _a_kernel(name: str, value: Any) -> None:
    check_choice(name, value, (*KERNELS, _NAME))


class PrecomputedKernel:
    """For bases of estimators whose support vectors are rows of `fit`: `fit` and predictions take kernel values.

    Parameters
    ----------
    kernel : str
        Kernel, see :ref:`kernels`. With "precomputed", X has kernel values: in `fit` those of all rows with all rows,
        in predictions those of new rows with all rows of `fit`, see :ref:`blocks-of-kernel-values`.
    """

    _constraints = constraints(kernel=_a_kernel)
    kernel: Any
    n_features_in_: int
    _scorer: Callable[[], Scorer]

    _is_precomputed = property(lambda self: isinstance(self.kernel, str) and self.kernel == _NAME)

    def _check_params(self) -> None:
        if self._is_precomputed:
            for name, usual in (("metric", None), ("calibrate", None), ("warm_start", False)):
                if getattr(self, name, usual) is not usual:
                    raise ValueError(
                        f"{name} needs the rows themselves: kernel='precomputed' takes {name}={usual} only."
                    )
        super()._check_params()  # type: ignore[misc]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    @property
    def _width(self) -> int:
        return 1 if self._is_precomputed else super()._width  # type: ignore[misc]

    def _new_rows(self, X, dtype):
        if not self._is_precomputed:
            return super()._new_rows(X, dtype)  # type: ignore[misc]
        values = _dense(validated_rows(self, X, reset=True, dtype=np.float64))
        n_rows, n_columns = values.shape
        if n_rows != n_columns:
            raise ValueError(
                f"kernel='precomputed' learns from the kernel values of all rows with all rows, but X has {n_rows} "
                f"rows and {n_columns} columns."
            )
        if not is_symmetric(values):
            raise ValueError("X is not symmetric: with kernel='precomputed', X[i, j] must be X[j, i].")
        self._given_values = values  # until the kernel is made
        return np.arange(n_rows, dtype=np.float64)[:, None]

    def _known_rows(self, X, dtype):
        if self._is_precomputed:
            raise ValueError(
                "kernel='precomputed' has the kernel values of the rows of `fit` only: call fit with those of all rows."
            )
        return super()._known_rows(X, dtype)  # type: ignore[misc]

    def _next_examples(self, X, y, sample_weight, **options):
        if self._is_precomputed:
            self._known_rows(X, None)  # which says why not
        return super()._next_examples(X, y, sample_weight, **options)  # type: ignore[misc]

    def _new_kernel(self, X):
        if self._is_precomputed:
            self.__dict__.pop("_chosen", None)
            return Precomputed(self.__dict__.pop("_given_values"))
        return super()._new_kernel(X)  # type: ignore[misc]

    def _scores(self, X):
        check_is_fitted(self)
        if not self._is_precomputed or self.n_features_in_ == 1:  # rows of `fit` again, which are places
            return super()._scores(X)  # type: ignore[misc]
        values, scorer = _dense(validated_rows(self, X, reset=False, dtype=np.float64)), self._scorer()
        expansion = scorer.expansion
        index = expansion.rows[: expansion.counts[0]["n_slots"], 0].astype(np.int64)
        coefficients = expansion.coef if scorer.in_float64 else expansion.weights
        scores = values[:, index] @ coefficients[:, : len(index)].T + scorer.bias
        return scores if scorer.finish is None else scorer.finish(scores)


def _dense(X) -> np.ndarray:
    return X if isinstance(X, np.ndarray) else X.toarray()
