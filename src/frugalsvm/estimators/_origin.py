"""Estimators that keep rows relative to an origin (`frugalsvm.core.origin`), and warn of rows they cannot carry."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from frugalsvm.arrays.namespace import is_torch, on_host
from frugalsvm.core.capabilities import offers
from frugalsvm.core.origin import (
    FAR_ROWS,
    Origin,
    cancellation,
    followed,
    lost_digits,
    new_origin,
    origin_at,
    relative,
    some_rows,
)
from frugalsvm.estimators._tensors import relative_tensor
from frugalsvm.estimators._validation import AS_IT_IS, validated_rows
from frugalsvm.estimators._warn import warn_caller

__all__ = ["RelativeRows", "check_size", "for_known_rows", "largest_size"]

_TENSOR_ROWS = 2**16
_CANCELS = 1e-4  # errors of squared distances, relative to their size, of which users should know


class RelativeRows:
    """The part of an estimator that keeps rows relative to an origin: for kernels of differences, never for others."""

    _kernel: Any
    _origin: Origin | None = None
    _in_float32 = False  # whether kernels are computed in float32 whatever type the rows have
    _stays = False  # whether the origin is that of the first rows for ever

    @property
    def kernel_(self):
        """The kernel, a part with its parameters as numbers (`frugalsvm.core.kernels`)."""
        return self._kernel

    @property
    def origin_(self) -> Origin | None:
        """What rows are relative to before the kernel sees them (`frugalsvm.core.origin`); None is zero, for good."""
        return self._origin

    def check_size(self, X) -> None:
        """Refuse rows whose squared norms are too large for the type in which kernels are computed."""
        check_size(X, self._type_of(X))

    def _type_of(self, X):
        """The type in which kernels of rows are computed."""
        return np.dtype(np.float32) if self._in_float32 or is_torch(X) or X.dtype.kind != "f" else X.dtype

    def _new_rows(self, X, dtype):
        """Validated rows of an estimator that is to be fitted; their origin is not known yet."""
        X = validated_rows(self, X, reset=True, dtype=dtype)
        self.check_size(X)
        return X

    def _known_rows(self, X, dtype):
        """Validated rows of a fitted estimator, relative to its origin and of its type."""
        origin = self._origin
        if origin is None or origin.is_zero:
            X = validated_rows(self, X, reset=False, dtype=dtype)
        else:
            # Rounding comes after the subtraction.
            X = validated_rows(self, X, reset=False, dtype=AS_IT_IS if dtype == AS_IT_IS else None)
            X = self._relative(X, dtype)
        self.check_size(X)
        return X

    def _relative(self, X, dtype=None):
        """Rows relative to the origin; in the given type, or in that in which kernels are computed."""
        if self._origin is None or self._origin.is_zero:
            return X
        if is_torch(X):
            return relative_tensor(X, self._origin, _TENSOR_ROWS)
        return relative(X, self._origin, self._type_of(X) if dtype in (None, AS_IT_IS) else dtype)

    def _with_origin(self, X, *, whole):
        """Take the origin from the first rows, which are ``whole`` if no more will come; returns them relative to it.

        Of a stream, a few rows say too little. The origin then is zero, and follows.
        """
        vars(self).pop("_origin", None)
        check_gamma(getattr(self._kernel, "gamma", None), self._type_of(X))
        rows = on_host(some_rows(X)) if is_torch(X) else X
        self._warn_of_lost_digits(rows, self._type_of(X))
        if offers(self._kernel, "shift_invariant"):
            enough = X.shape[0] >= (2 if whole else FAR_ROWS)
            self._origin = new_origin(rows, self._type_of(X)) if enough else origin_at(np.zeros(X.shape[1]))
        return self._relative(X)

    def _warn_of_lost_digits(self, rows, dtype):
        """Warn of rows that their type, or the type in which kernels are computed, is too coarse for."""
        if rows.dtype.kind != "f":
            return
        found = lost_digits(rows)
        if found is not None:
            names = getattr(self, "feature_names_in_", None)
            feature = found[0] if names is None else repr(str(names[found[0]]))
            warn_caller(
                f"Feature {feature} of X is rounded to {rows.dtype}: its values are large and differ little, so that "
                f"rounding errors are {found[1]:.1g} of its standard deviation. Subtract a constant from it"
                f"{' before it becomes float32, or pass float64' if rows.dtype == np.float32 else ''}.",
                UserWarning,
            )
        if issparse(rows) and offers(self._kernel, "shift_invariant") and cancellation(rows, dtype) > _CANCELS:
            warn_caller(
                "X is sparse, but its features are far from zero and differ little, so that kernel values lose digits. "
                "Pass a dense array, or subtract a constant from the features.",
                UserWarning,
            )

    def _follow(self, X):
        """Move the origin if the rows of a stream, relative to it, have moved away; returns the rows."""
        if self._origin is None or is_torch(X):
            return X
        before = self._origin
        self._origin, shift = followed(before, X, self._kernel, self._type_of(X))
        if shift is None:
            return X
        if self._stays:
            self._origin = origin_at(before.point)
            warn_caller(
                "The rows have moved so far away from the first ones that kernel values lose digits: call fit again.",
                UserWarning,
            )
            return X
        self._move_rows(shift)
        return relative(X, origin_at(shift), X.dtype)

    def _move_rows(self, shift):
        """Subtract a vector from all rows that the model has, in new arrays."""
        raise NotImplementedError

    def _absolute(self, rows):
        """Rows of the model as users know them; in float64 if they are relative to an origin."""
        if self._origin is None or self._origin.is_zero:
            return rows.copy()
        return rows + self._origin.point


def for_known_rows(estimator):
    """A copy of an estimator for rows as it has them: arrays, relative to its origin."""
    same: Any = object.__new__(type(estimator))  # not by `copy`, which leaves caches out and makes new ones
    vars(same).update(vars(estimator))
    same._origin = None
    vars(same).pop("feature_names_in_", None)
    return same


def check_gamma(gamma, dtype) -> None:
    """Refuse a kernel that cannot be computed in a type."""
    if gamma is not None and not gamma < float(np.finfo(dtype).max) / 1000:
        raise ValueError(
            f"gamma is {gamma:.1e}, which is too large for {np.dtype(dtype)}: features are that small. Scale them, for "
            "example with sklearn.preprocessing.StandardScaler."
        )


def largest_size(n_features, dtype) -> float:
    """The largest value that rows may have: squared norms, and their sums with others, do not overflow."""
    return (float(np.finfo(dtype).max) / (4 * n_features)) ** 0.5


def check_size(X, dtype) -> None:
    """Refuse rows whose squared norms overflow."""
    values = X if isinstance(X, np.ndarray) or is_torch(X) else X.data
    if 0 in values.shape or (not is_torch(values) and values.dtype.kind != "f"):
        return
    largest = max(abs(float(values.max())), abs(float(values.min())))
    if largest > largest_size(X.shape[1], dtype):
        raise ValueError(
            f"X has values as large as {largest:.1e}, whose squares are too large for {np.dtype(dtype)}: scale the "
            "features, for example with sklearn.preprocessing.StandardScaler."
        )
