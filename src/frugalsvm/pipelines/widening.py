"""Features that come late: a pipeline takes them up as if they had been there from the beginning, with one value.

That value is zero (or, where missing values are filled, what they are filled with, zero again): the model stays exactly
what it is. To the scaler such a feature was constant, so that it gets statistics of its own once it varies for long.
"""

from typing import Any

import numpy as np

from frugalsvm.pipelines.rows import LabeledRows
from frugalsvm.pipelines.watching import RangeWatch


def wider_rows(rows: LabeledRows, n_new: int, value: float) -> LabeledRows:
    """Rows with further features, which all have one value."""
    return rows._replace(X=_wider(rows.X, n_new, value))


def widen_filler(filler: Any, n_new: int) -> None:
    """Let a fitted filler take further features."""
    filler.statistics_ = _wider(filler.statistics_, n_new)
    filler.n_features_in_ += n_new


def widen_scaler(scaler: Any, n_new: int) -> None:
    """Let a fitted scaler take further features, which were zero so far."""
    limit = 1.0 if scaler.clip is None else float(scaler.clip)
    for name, value in {"mean_": 0, "var_": 0, "median_": 0, "scale_": 1, "limit_": limit, "constant_": True}.items():
        before = vars(scaler).get(name)
        if before is not None:
            setattr(scaler, name, _wider(before, n_new, value))
    if scaler.watches:
        scaler._watch = _wider_watch(scaler._watch, n_new, records_all=scaler.half_life is not None)
    scaler.n_features_in_ += n_new


def _wider_watch(watch: RangeWatch, n_new: int, *, records_all: bool) -> RangeWatch:
    counts = (watch.n_beyond, watch.n_blocks, watch.n_renewals)
    n_beyond, n_blocks, n_renewals = (_wider(each, n_new) for each in counts)
    suspects, values = watch.suspects, watch.values
    if records_all:
        suspects, values = np.arange(len(n_beyond)), _wider(values, n_new)
    return RangeWatch(watch.n_rows.copy(), n_beyond, n_blocks, n_renewals, suspects, values)


def _wider(array: np.ndarray, n_new: int, value: float = 0.0) -> np.ndarray:
    """An array with further columns, or entries."""
    return np.concatenate([array, np.full((*array.shape[:-1], n_new), value, array.dtype)], axis=-1)
