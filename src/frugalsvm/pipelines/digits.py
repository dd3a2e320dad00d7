"""Columns for which float32 has too few digits: their numbers differ by little beside their size, like times."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from frugalsvm.core.seen_rows import COARSE

_VALUES = 1_000_000  # that are looked at
_LEAST_ROWS = 50
_WHOLE = 2.0**24  # up to here, float32 has all whole numbers
_ROUNDING = float(np.finfo(np.float32).eps) / 2  # of a number of size 1
_SPREAD = 1.349  # standard deviations between the quartiles of a normal distribution


def blurred(X: NDArray, *, maybe: bool = False) -> NDArray:
    """The columns of which float32 loses digits that tell rows apart, or has lost them in rows of float32.

    With ``maybe``, also those whose values are all one, which they may have become.

    Examples
    --------
    >>> import numpy as np
    >>> seconds = 1.7e9 + np.arange(600.0)
    >>> blurred(np.column_stack([seconds, seconds - 1.7e9]))
    array([0])
    """
    rows = X[: max(_VALUES // max(X.shape[1], 1), _LEAST_ROWS)]
    is_single = rows.dtype == np.float32
    missing = np.isnan(rows)
    kept = (rows == np.rint(rows)) & (np.abs(rows) < _WHOLE) if is_single else rows == rows.astype(np.float32)
    columns = np.flatnonzero(~(kept | missing).all(axis=0))
    return np.array([k for k in columns if _differ_little(rows[~missing[:, k], k], maybe=maybe)], dtype=np.int64)


def _differ_little(values: NDArray, *, maybe: bool) -> bool:
    """Whether rounding errors are a part of the spread of the values that users should know of."""
    values = values.astype(np.float64)
    if np.ptp(values) == 0:
        return maybe
    low, middle, high = np.percentile(values, (25, 50, 75))
    return _ROUNDING * abs(middle) > COARSE * ((high - low) / _SPREAD or values.std())


def blurred_words(columns: NDArray, names: Sequence[str] | None) -> str:
    """What to say of such columns."""
    name = f"feature {columns[0]}" if names is None else f"column {names[columns[0]]!r}"
    more = f" and {len(columns) - 1} more" if len(columns) > 1 else ""
    return f"numbers of {name}{more} are large and differ little"
