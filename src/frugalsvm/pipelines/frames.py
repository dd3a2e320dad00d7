"""Tables with named columns, of pandas, polars or anything that looks like them."""

from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.estimators.labels import is_nothing
from frugalsvm.estimators.validation import refuse_not_finite
from frugalsvm.pipelines.coded import coded
from frugalsvm.streams.dates import days_in, days_of
from frugalsvm.streams.number_notation import is_missing, number_in

_SHOWN = 3  # names or values in a message


class FrameColumns(NamedTuple):
    """The columns of a table that a model has learned from, in its order."""

    numbers: tuple[str, ...]
    text: tuple[str, ...] | None  # None: all others
    dates: tuple[str, ...] = ()  # those of the numbers that are days, made of dates


def is_frame(X: Any) -> bool:
    """Whether something is a table with named columns."""
    return not isinstance(X, dict) and all(hasattr(X, name) for name in ("columns", "to_numpy", "__getitem__"))


def columns_of(columns: Any) -> dict[str, Any]:
    """Columns by name, of a table or a dict."""
    if is_frame(columns):
        return {str(name): columns[name].to_numpy() for name in columns.columns}
    return columns


def kinds_of(frame: Any) -> FrameColumns:
    """Which columns are numbers by their type, and which are others."""
    if hasattr(frame, "select_dtypes"):  # pandas
        numbers = frame.select_dtypes(include=["number", "bool"]).select_dtypes(exclude=["timedelta"])
        names = tuple(map(str, numbers.columns))
    else:
        columns = columns_of(frame)
        names = tuple(name for name, values in columns.items() if _is_numeric(frame[name], values))
    return FrameColumns(names, tuple(name for name in map(str, frame.columns) if name not in names))


def kinds_to_learn(frame: Any) -> FrameColumns:
    """Which columns a stream is learned from as numbers, dates and durations among them, and which as text."""
    found = kinds_of(frame)
    labels = {str(name): name for name in frame.columns}
    check_names(map(str, frame.columns), labels)
    kinds = {name: _kind_of(frame[labels[name]]) for name in found.text or ()}
    return FrameColumns(
        tuple(name for name in labels if name not in kinds or kinds[name] in "Mm"),
        tuple(name for name in kinds if kinds[name] not in "Mm"),
        tuple(name for name in kinds if kinds[name] == "M"),
    )


def split_frame(frame: Any, columns: FrameColumns | None = None) -> tuple[Any, dict[str, np.ndarray]]:
    """A matrix of the columns of numbers, and the columns of text by name: those that a model knows, or by type."""
    found = kinds_of(frame)
    numbers, text, dates = found if columns is None else columns
    labels = {str(name): name for name in frame.columns}
    if text is None:
        text = tuple(name for name in labels if name not in numbers)
    others = {name: frame[labels[name]].to_numpy() for name in text}
    matrix = _numbers_in(frame, found, numbers, dates, labels)
    refuse_not_finite(matrix, numbers)
    return matrix, others


def _numbers_in(frame, found, numbers, dates, labels):
    """Columns of numbers by their names, of which some may be dates."""
    if hasattr(frame, "select_dtypes") and not dates and set(numbers) <= set(found.numbers):
        return _matrix_of(frame[[labels[name] for name in numbers]])
    own = [(name, frame[labels[name]]) for name in numbers]
    values = [days_in_column(n, values_of(column)) if n in dates else _numbers_of(n, column) for n, column in own]
    types = [each.dtype if each.dtype.kind in "biuf" else np.float64 for each in values]
    matrix = np.empty((len(frame), len(numbers)), np.result_type(np.float32, *types))
    for index, column in enumerate(values):
        matrix[:, index] = column
    return matrix


def check_names(names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a table that lacks columns of a model, or has others."""
    found, known = list(names), list(known)
    lacking, more = [name for name in known if name not in found], [name for name in found if name not in known]
    if odd := lacking or more:
        listed = ", ".join(map(repr, odd[:_SHOWN])) + (", ..." if len(odd) > _SHOWN else "")
        columns = f"the column{'' if len(odd) == 1 else 's'} {listed}, from which the model has"
        if lacking:
            raise ValueError(f"X lacks {columns} learned.")
        raise ValueError(f"X has {columns} not learned: leave out what the model does not know.")
    if len(set(found)) < len(found):
        repeated = next(name for name in found if found.count(name) > 1)
        raise ValueError(f"X has two columns called {repeated!r}.")


def as_numbers(values: Any) -> np.ndarray | None:
    """Objects and text that are numbers, where there is a value at all; None if one of them is none."""
    if getattr(values, "dtype", np.dtype(object)).kind in "Mm":
        return None
    found = coded(values)
    made = np.empty(len(found.values))
    for place, value in enumerate(found.values):
        number = as_number(value)
        if number is None:
            return None
        made[place] = number
    return made[found.codes]


def as_number(value: Any) -> float | None:
    """A number, NaN where a value is missing; None if it is neither."""
    if isinstance(value, str):
        number = number_in(value, np.float64)
        return number if isinstance(number, float) else np.nan if is_missing(value) else None
    if isinstance(value, Real | Decimal | np.bool_):
        return float(value)
    return np.nan if is_nothing(value) else None


def dates_in(values: Any, order: str | None = None) -> tuple[str, np.ndarray] | None:
    """In which order the dates of a column are written, and their days, as `days_in` has it; None if there are none."""
    found = coded(values)
    dates = days_in(["" if is_nothing(value) else str(value) for value in found.values], order)
    return None if dates is None else (dates[0], dates[1][found.codes])


def days_in_column(name: str, values: np.ndarray, order: str = "ymd") -> np.ndarray:
    """Days of a column in which a model has learned dates, which may be text now, written in an order."""
    if values.dtype.kind == ("m" if order == "clock" else "M"):
        return days_of(values)
    days = dates_in(values, order)[1]  # type: ignore[index]
    gaps = values[np.isnan(days)]
    odd = [str(value) for value in gaps if not is_nothing(value) and not is_missing(str(value))]
    if odd:
        raise _not(name, "clock times" if order == "clock" else "dates", odd)
    return days


def _numbers_of(name: str, column: Any) -> np.ndarray:
    """A column in which a model has learned numbers, whatever type it has now."""
    values = values_of(column)
    if _is_numeric(column, values):
        return values
    if values.dtype.kind == "m":
        return days_of(values)
    made = as_numbers(values) if values.dtype.kind in "OUT" else None
    if made is None:
        raise _not(name, "numbers", [value for value in values if as_number(value) is None])
    return made


def _not(name: str, what: str, odd: list[Any]) -> ValueError:
    """Values of a column that are not what a model has learned in it."""
    examples = ", ".join(repr(str(value)) for value in dict.fromkeys(odd[:_SHOWN]))
    return ValueError(
        f"Column {name!r} has {len(odd):,} values that are not {what}, such as {examples}, where the model has "
        f"learned {what}."
    )


def _kind_of(column: Any) -> str:
    """That of NumPy; categories of pandas are objects, whatever they are made of, and periods are dates."""
    return "M" if _has_periods(column) else getattr(column.dtype, "kind", None) or column.to_numpy().dtype.kind


def values_of(column: Any) -> np.ndarray:
    """A column as an array; dates with a time zone, which are objects there, as those of UTC; starts of periods."""
    if _has_periods(column):
        column = column.dt.to_timestamp()
    if isinstance(column.dtype, np.dtype) or getattr(column.dtype, "kind", None) != "M":
        return np.asarray(column.to_numpy())
    return column.to_numpy(dtype="datetime64[us]")


def _has_periods(column: Any) -> bool:
    """Whether values are months, quarters or the like: a type of pandas."""
    return hasattr(column.dtype, "freq")


def _matrix_of(numbers: Any) -> np.ndarray:
    """Columns of numbers of pandas, some of which may have its own types, with its own missing values."""
    types = list(numbers.dtypes)
    if all(isinstance(dtype, np.dtype) for dtype in types):
        return numbers.to_numpy(np.result_type(*types) if types else None)  # not objects where some are booleans
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan)


def _is_numeric(column: Any, values: np.ndarray) -> bool:
    """By the type of the column where it says so: decimals are objects in an array."""
    says = getattr(column.dtype, "is_numeric", None)
    return values.dtype.kind in "biuf" or (callable(says) and bool(says()))
