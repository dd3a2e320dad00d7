"""Columns by their distinct values, of which there are few: what is to be done for each row is done once for each."""

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalsvm.estimators.labels import is_nothing

_SEVERAL = 20  # texts: most of fewer may differ by chance


class Coded(NamedTuple):
    """A column by its distinct values."""

    values: NDArray  # in the order in which they come, as objects
    codes: NDArray  # the place of each row's value among them


class CodedText(NamedTuple):
    """A column of text by its distinct values."""

    text: NDArray  # the values as text
    present: NDArray  # whether each is one: others stand for what is missing
    codes: NDArray  # the place of each row's value among them


def coded(values: Any) -> Coded:
    """The distinct values of a column, which may be known already."""
    if isinstance(values, Coded):
        return values
    values = np.asarray(values, dtype=object)
    if values.ndim != 1:
        raise ValueError(f"A column of text must have one dimension, not {values.ndim}.")
    pandas = sys.modules.get("pandas")  # which is fast, and there where frames are its own
    if pandas is not None and pandas.api.types.infer_dtype(values, skipna=True) == "string":
        codes, distinct = pandas.factorize(values, use_na_sentinel=False)
        return Coded(np.asarray(distinct, object), codes.astype(np.int64, copy=False))
    places: dict[Any, int] = {}
    # 1, 1.0 and True are equal, and have different texts.
    keys = (value if type(value) is str else (type(value), str(value)) for value in values)
    codes = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.int64)
    first = np.zeros(len(places), np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return Coded(values[first], codes)


def coded_text(values: Any, dtype: Any = "U") -> CodedText:
    """The distinct texts of a column, and what is missing; as objects where one may be much longer than others."""
    found = coded(values)
    present = np.array([not is_nothing(value) for value in found.values], dtype=bool)
    text = [str(value) if there else "" for value, there in zip(found.values, present, strict=True)]
    return CodedText(np.array(text, dtype), present, found.codes)


def tells_rows_apart(texts: Any) -> bool:
    """Whether texts are names or numbers of rows: more than half of 20 or more differ, and tell nothing about others.

    Examples
    --------
    >>> tells_rows_apart([f"row {k}" for k in range(20)]), tells_rows_apart(["red", "green"] * 10)
    (True, False)
    """
    return len(texts) >= _SEVERAL and 2 * len(coded(texts).values) > len(texts)
