"""A Gaussian model in whole numbers: the very numbers, and operations, of its C code.

With a step h, a row is ``q = round((x - offset) / h)``, with 16 bits, and vectors have 8 or 16. Squared distances are
whole numbers then; ``2^-e`` with ``e = gamma log2(e) h^2 ||q - v||^2`` comes from a table of 65 powers and straight
lines between them, with 30 bits behind the point; coefficients have 8 or 16 bits, and scores 64.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalsvm.core.fastmath import LOG2E
from frugalsvm.exceptions import ParameterError
from frugalsvm.export.models import PlainModel


class _Precision(NamedTuple):
    """How large whole numbers may be; differences of rows and vectors have 32 bits when squared."""

    dtype: type
    vector: int
    coefficient: int


PRECISIONS = {"int8": _Precision(np.int8, 127, 127), "int16": _Precision(np.int16, 16383, 32767)}
_ROW = 32767
POWERS = np.round(2.0**30 * 2.0 ** (-np.arange(65) / 64)).astype(np.int64)
_FARTHEST = 30  # exponents from which powers of two are nothing
_STEEPNESS_BITS, _MOST_SHIFT = 22, 40
_ROWS_AT_A_TIME = 256


class FixedModel(NamedTuple):
    vectors: NDArray  # (n, n_features) of 8 or 16 bits
    coefficients: NDArray  # (n_outputs, n)
    intercepts: NDArray  # (n_outputs,) int64, in units of the score
    unit: float  # of the score
    steepness: int  # with the shift, a squared distance becomes an exponent with 16 bits behind the point
    shift: int
    far: int  # squared distance from which the kernel is zero
    offset: NDArray  # (n_features,) float32: a row is (x - offset) * steps
    steps: NDArray  # (n_features,) float32
    least: NDArray  # (n_features,) int16: to these limits
    most: NDArray
    filling: NDArray | None

    def rows(self, X: Any) -> NDArray:
        """Rows as whole numbers."""
        X = np.asarray(X, np.float32)
        if self.filling is not None:
            X = np.where(np.isnan(X), self.filling, X)
        with np.errstate(over="ignore"):
            values = np.clip(
                (X - self.offset) * self.steps, self.least.astype(np.float32), self.most.astype(np.float32)
            )
        return np.trunc(values + np.where(values < 0, np.float32(-0.5), np.float32(0.5))).astype(np.int16)

    def scores(self, X: Any) -> NDArray:
        """Scores in units of ``unit``, (n_rows, n_outputs)."""
        rows = self.rows(X).astype(np.int64)
        out = np.empty((len(rows), len(self.coefficients)), np.int64)
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            part = slice(start, start + _ROWS_AT_A_TIME)
            out[part] = self._kernel_values(rows[part]) @ self.coefficients.astype(np.int64).T
        return out + self.intercepts

    def _kernel_values(self, rows):
        """With 30 bits behind the point."""
        sums = np.zeros((len(rows), len(self.vectors)), np.int64)
        for f in range(rows.shape[1]):
            sums += np.square(rows[:, f, None] - self.vectors[:, f].astype(np.int64))
        near = sums < self.far
        e = np.where(near, sums, 0) * self.steepness >> self.shift
        part = e & 0xFFFF
        k, rest = part >> 10, part >> 2 & 0xFF
        values = POWERS[k] - ((POWERS[k] - POWERS[k + 1]) * rest >> 8)
        return np.where(near, values >> (e >> 16), 0)


def fixed_model(model: PlainModel, precision: str) -> FixedModel:
    """A Gaussian model in whole numbers of a precision."""
    sizes = PRECISIONS[precision]
    _refuse(model, precision)
    width = model.n_features
    mean = np.zeros(width) if model.mean is None else model.mean
    scale = np.ones(width) if model.scale is None else model.scale
    vectors = model.vectors.astype(np.float64)
    low, high = vectors.min(axis=0), vectors.max(axis=0)
    middle = (low + high) / 2
    step = float((high - low).max()) / (2 * sizes.vector) or 1.0
    largest = float(np.abs(model.coefficients).max()) or 1.0
    unit = largest / sizes.coefficient / 2.0**30
    steepness, shift = _steepness(model.gamma * LOG2E * step**2)
    least, most = np.full(width, -_ROW), np.full(width, _ROW)
    if model.bounds is not None:
        least, most = np.clip(np.round(((model.bounds - mean) / scale - middle) / step), -_ROW, _ROW)
    return FixedModel(
        np.round((vectors - middle) / step).astype(sizes.dtype),
        np.round(model.coefficients / largest * sizes.coefficient).astype(sizes.dtype),
        np.round(model.intercepts / unit).astype(np.int64),
        unit,
        steepness,
        shift,
        int((_FARTHEST << 16 << shift) // steepness),
        (mean + scale * middle).astype(np.float32),
        (1.0 / (scale * step)).astype(np.float32),
        least.astype(np.int16),
        most.astype(np.int16),
        None if model.filling is None else model.filling.astype(np.float32),
    )


def _steepness(factor: float) -> tuple[int, int]:
    """A whole number and a shift that multiply a squared distance to an exponent with 16 bits behind the point."""
    shift = int(np.clip(np.floor(_STEEPNESS_BITS - 16 - np.log2(factor)), 0, _MOST_SHIFT))
    return max(1, round(factor * 2.0 ** (16 + shift))), shift


def _refuse(model, precision):
    """Refuse what is not there in whole numbers."""
    refused = {
        f"the kernel {model.kernel!r}; use 'rbf'": model.kernel != "rbf",
        "votes of pairs of classes": model.decision == "votes",
        "columns of text": model.encoder is not None,
        "indicators of missing values": model.indicated is not None,
        "a metric": model.directions is not None,
        "cells": model.cells is not None,
        "soft clipping": model.room is not None,
    }
    for what, is_there in refused.items():
        if is_there:
            raise ValueError(f"precision={precision!r} is not for models with {what}.")


def check_precision(precision: Any) -> None:
    """Refuse a precision that there is not."""
    if precision not in PRECISIONS:
        raise ParameterError("precision", precision, "None, 'int8' or 'int16'")
