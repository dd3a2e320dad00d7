"""Tables with named columns, of pandas, polars or anything that looks like them."""

from typing import Any

import numpy as np

__all__ = ["columns_of", "is_frame", "split_frame"]


def is_frame(X: Any) -> bool:
    """Whether something is a table with named columns."""
    return not isinstance(X, dict) and all(hasattr(X, name) for name in ("columns", "to_numpy", "__getitem__"))


def columns_of(columns: Any) -> dict[str, Any]:
    """Columns by name, of a table or a dict."""
    if is_frame(columns):
        return {str(name): columns[name].to_numpy() for name in columns.columns}
    return columns


def split_frame(frame: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """A matrix of the columns of numbers, and the other columns by name."""
    if hasattr(frame, "select_dtypes"):  # pandas
        numbers = frame.select_dtypes(include=["number", "bool"]).select_dtypes(exclude=["timedelta"])
        others = [name for name in frame.columns if name not in numbers.columns]
        return _matrix_of(numbers), {str(name): frame[name].to_numpy() for name in others}
    columns = columns_of(frame)
    names = [name for name in columns if _is_numeric(frame[name], columns[name])]
    matrix = np.empty((len(frame), len(names)), np.result_type(np.float32, *(_number_type(columns[n]) for n in names)))
    for index, name in enumerate(names):
        matrix[:, index] = columns[name]
    return matrix, {name: values for name, values in columns.items() if name not in names}


def _matrix_of(numbers: Any) -> np.ndarray:
    """Columns of numbers of pandas, some of which may have its own types, with its own missing values."""
    if all(isinstance(dtype, np.dtype) for dtype in numbers.dtypes):
        return numbers.to_numpy()
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan)


def _is_numeric(column: Any, values: np.ndarray) -> bool:
    """By the type of the column where it says so: decimals are objects in an array."""
    says = getattr(column.dtype, "is_numeric", None)
    return values.dtype.kind in "biuf" or (callable(says) and bool(says()))


def _number_type(values: np.ndarray) -> Any:
    return values.dtype if values.dtype.kind in "biuf" else np.float64
