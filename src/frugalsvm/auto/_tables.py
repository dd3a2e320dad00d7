"""What users pass: arrays, sparse matrices, or data frames with numbers, dates, categories and text."""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm._stored import stored
from frugalsvm.pipelines.encoder import ColumnEncoder
from frugalsvm.pipelines.frames import is_frame, split_frame

__all__ = ["Layout", "as_input", "layout_of", "number_names"]

_MOST_CATEGORIES = 2048  # one-hot features of all columns together; beyond, categories are hashed
_HASHED = 512  # features
_MOST_DISTINCT, _FEW = 0.5, 20  # share of distinct texts in a column, beyond which it tells rows apart and nothing else


@stored("table-layout", checked_within=("names", "text", "ignored"))
class Layout(NamedTuple):
    """What the columns of a data frame are; None for arrays and for frames of numbers."""

    names: tuple[str, ...]  # of all columns
    text: tuple[str, ...]  # those that are encoded
    ignored: tuple[str, ...]  # text that is different in almost every row

    def is_sound(self, sizes) -> bool:
        """Whether columns that are encoded or ignored are there."""
        right = all(type(each) is tuple and all(type(name) is str for name in each) for each in self)
        return right and set(self.text) | set(self.ignored) <= set(self.names)

    def encoder(self, X: Any) -> ColumnEncoder | None:
        """How text is encoded."""
        if not self.text:
            return None
        n_categories = sum(len(set(map(str, X[1][name]))) for name in self.text)
        return ColumnEncoder() if n_categories <= _MOST_CATEGORIES else ColumnEncoder("hash", n_features=_HASHED)


def layout_of(X: Any) -> Layout | None:
    """The layout of a frame that has more than numbers."""
    if not is_frame(X):
        return None
    numbers, others = _split(X)
    if not others and numbers.shape[1] == len(X.columns) and not _has_dates(X):
        return None
    names = tuple(map(str, X.columns))
    ignored = tuple(name for name, values in others.items() if _tells_nothing(values))
    text = tuple(name for name in others if name not in ignored)
    if not text and not numbers.shape[1]:
        raise ValueError(
            f"Every column has a different text in almost every row, such as {ignored[0]!r}: there are no features to "
            "learn from."
        )
    return Layout(names, text, ignored)


def as_input(X: Any, layout: Layout | None) -> Any:
    """Rows as a `StreamPipeline` takes them: as they are, numbers alone, or a pair of numbers and columns of text."""
    if layout is None:
        return X
    if not is_frame(X) or tuple(map(str, X.columns)) != layout.names:
        expected = ", ".join(layout.names[:5]) + (", ..." if len(layout.names) > 5 else "")
        raise ValueError(f"X must be a data frame with the columns of `fit`, in the same order: {expected}")
    numbers, others = _split(X, layout.text)
    return (numbers, {name: others[name] for name in layout.text}) if layout.text else numbers


def number_names(X: Any, layout: Layout) -> list[str]:
    """Names of the columns that `as_input` makes numbers of, in their order: dates come last."""
    others = split_frame(X)[1]
    made = [name for name in others if name not in layout.text and name not in layout.ignored]
    return [name for name in layout.names if name not in others] + made


def _split(frame, text=()):
    """A matrix of numbers, dates in days among them, and the columns of text; those in ``text`` are text anyway."""
    numbers, others = split_frame(frame)
    found = {name: None if name in text else _as_numbers(values) for name, values in others.items()}
    made = [values for values in found.values() if values is not None]
    if made:
        numbers = np.column_stack([np.asarray(numbers, np.float64), *made])
    return numbers, {name: values for name, values in others.items() if found[name] is None}


def _as_numbers(values):
    """Dates and durations in days, and objects that are all numbers, as numbers; None for text."""
    values = np.asarray(values)
    if values.dtype.kind in "Mm":
        days = values.astype(f"{values.dtype.kind}8[ns]").astype(np.int64) / 86_400e9
        return np.where(np.isnat(values), np.nan, days)
    if values.dtype.kind != "O":
        return None
    is_missing = np.array([value is None or value != value for value in values], bool)
    if is_missing.all() or not all(isinstance(value, int | float | np.number) for value in values[~is_missing]):
        return None
    return np.array([np.nan if missing else float(value) for value, missing in zip(values, is_missing, strict=True)])


def _has_dates(frame):
    return any(np.asarray(values).dtype.kind in "MmO" for values in split_frame(frame)[1].values())


def _tells_nothing(values):
    return len(values) >= _FEW and len(set(map(str, values))) > _MOST_DISTINCT * len(values)
