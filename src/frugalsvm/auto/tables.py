"""What users pass: arrays, sparse matrices, or data frames with numbers, dates, clock times, categories and text.

From these to rows, in one way or another (`Way`).
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frugalsvm._stored import stored
from frugalsvm.estimators.copies import weights_of_copies
from frugalsvm.estimators.labels import is_nothing
from frugalsvm.pipelines.coded import coded, tells_rows_apart
from frugalsvm.pipelines.encoder import ColumnEncoder
from frugalsvm.pipelines.frames import (
    FrameColumns,
    as_numbers,
    check_names,
    dates_in,
    days_in_column,
    is_frame,
    kinds_of,
    split_frame,
    values_of,
)
from frugalsvm.pipelines.pipeline import StreamPipeline
from frugalsvm.pipelines.rows import LabeledRows, is_pair
from frugalsvm.streams.dates import DateColumn, date_column, days_of

_TYPICAL_ROWS, _TYPICAL_BYTES = 100, 2**18  # that are kept for explanations
_ALIKE, _UNLIKE = 1.2, 100.0  # largest ratio of scales that scaling does not change; that may be left as it is
_MOST = (0.1, 0.9)  # quantiles of scales that count for it
_FAR = 1e15  # from 1, as scales of rows that are left as they are

# Categories up to which each has a feature. Means tell as much of what a category adds, and less of what it changes:
# the AUC of LocalSVC was lower by .01 where it changed the effect of a number. But features take time for each row.
_FEW_ROWS, _ONE_HOT_OF_FEW_ROWS, _ONE_HOT = 10_000, 128, 30


def _without_kinds(fields: dict[str, Any]) -> dict[str, Any]:
    """Layouts of older files: which columns are numbers, and which dates, is as the types of a frame say."""
    return {"numbers": None, "dates": (), **fields}


@stored("table-layout", checked_within=("names", "text", "ignored", "numbers", "dates"), earlier=_without_kinds)
class Layout(NamedTuple):
    """What the columns of a data frame are; None for arrays and for frames of numbers."""

    names: tuple[str, ...]  # of all columns
    text: tuple[str, ...]  # those that are encoded
    ignored: tuple[str, ...]  # text that is different in almost every row, and has no words that tell something
    numbers: tuple[str, ...] | None  # those that are numbers, in the order of the matrix; None: by their types
    dates: tuple[tuple[str, str], ...]  # names and kinds of those whose features come after the numbers

    def is_sound(self, sizes) -> bool:
        """Whether columns are of one kind each, and there."""
        lists = (self.names, self.text, self.ignored, *(() if self.numbers is None else (self.numbers,)))
        right = all(type(each) is tuple and all(type(name) is str for name in each) for each in lists)
        right = right and type(self.dates) is tuple and all(map(_is_date, self.dates))
        kinds = [*self.text, *self.ignored, *(self.numbers or ()), *(name for name, _ in self.dates)] if right else []
        return right and set(kinds) <= set(self.names) and (self.numbers is None or sorted(kinds) == sorted(self.names))

    def without(self, names: Collection[str]) -> "Layout":
        """The same, with some columns of text ignored."""
        return self._replace(text=tuple(name for name in self.text if name not in names), ignored=tuple(names))

    @property
    def n_numbers(self) -> int | None:
        """Number of columns of the matrix; None where types of a frame decide."""
        return None if self.numbers is None else len(self.number_names)

    @property
    def number_names(self) -> list[str]:
        """Names of the columns of the matrix."""
        dates = zip(self.dates, self._date_columns, strict=True)
        return [*(self.numbers or ()), *(each for (name, _), date in dates for each in date.names(name))]

    @property
    def places(self) -> list[list[int]]:
        """For each column of numbers, and then each of dates, the columns of the matrix that are made of it."""
        widths = [1] * len(self.numbers or ()) + [1 + len(date.parts) for date in self._date_columns]
        ends = np.cumsum(widths).tolist()
        return [list(range(end - width, end)) for end, width in zip(ends, widths, strict=True)]

    def date_features(self, index: int, days: np.ndarray) -> np.ndarray:
        """What becomes of days of one of the dates."""
        return self._date_columns[index].features(days)

    @property
    def _date_columns(self) -> list[DateColumn]:
        return [DateColumn.of_kind(kind) for _, kind in self.dates]  # type: ignore[misc]

    def shown_as(self) -> dict[str, str]:
        """For columns of dates, what explanations show: a day, or a clock time."""
        names = (name for name, _ in self.dates)
        return {name: date.shown_as for name, date in zip(names, self._date_columns, strict=True)}


def _is_date(value: Any) -> bool:
    try:
        return type(value) is tuple and len(value) == 2 and DateColumn.of_kind(value[1]) is not None
    except (ValueError, AttributeError, TypeError):
        return False


def encoder_for(X: Any, words: Collection[str] = ()) -> ColumnEncoder | None:
    """How the text of rows is encoded that a pipeline is to take, some by its words; None where there is none."""
    if not is_pair(X) or not X[1]:
        return None
    n_rows = len(next(iter(X[1].values())))
    most = _ONE_HOT_OF_FEW_ROWS if n_rows <= _FEW_ROWS else _ONE_HOT
    return ColumnEncoder("target", cardinality_threshold=most, words=tuple(name for name in X[1] if name in words))


def without_text(X: Any, names: Sequence[str]) -> Any:
    """Rows without some columns of text; numbers alone if no other text is left."""
    numbers, text = X
    left = {name: values for name, values in text.items() if name not in names}
    if not left and (numbers is None or numbers.shape[1] == 0):
        raise ValueError(
            f"Every column has a different text in almost every row, such as {names[0]!r}, and their words tell "
            "nothing: there are no features to learn from."
        )
    return (numbers, left) if left else numbers


def layout_of(X: Any) -> tuple[Layout | None, tuple[str, ...]]:
    """The layout of a frame that has more than numbers, and which text is different in almost every row."""
    if not is_frame(X):
        return None, ()
    if 0 in X.shape:
        raise ValueError(f"X has {X.shape[0]} rows and {X.shape[1]} columns: there is nothing to learn from.")
    numbers, others, _ = kinds_of(X)
    if not others:
        return None, ()
    check_names(map(str, X.columns), map(str, X.columns))
    found: dict[str, list] = {"numbers": list(numbers), "dates": [], "text": [], "words": []}
    columns = {str(name): X[name] for name in X.columns}
    for name in others or ():
        values, is_category = values_of(columns[name]), str(columns[name].dtype) == "category"
        kind, what = ("text", name) if is_category else _kind_of(name, values)
        found[kind].append(what)
    text = (*found["text"], *found["words"])
    return Layout(tuple(columns), text, (), tuple(found["numbers"]), tuple(found["dates"])), tuple(found["words"])


def _kind_of(name: str, values: np.ndarray) -> tuple[str, Any]:
    """What a column is that has no numbers by its type: those of text may be numbers, or dates."""
    if values.dtype.kind == "m":
        return _kind_of_durations(name, days_of(values))
    if values.dtype.kind == "M":
        return "dates", (name, date_column(days_of(values)).kind)
    found = coded(values)
    made = as_numbers(found)
    if made is not None and not np.isnan(made).all():
        return "numbers", name
    dates = dates_in(found) if made is None else None
    if dates is not None:
        order, days = dates
        return "dates", (name, date_column(days, order).kind)
    there = np.array([not is_nothing(value) for value in found.values])
    return ("words" if tells_rows_apart(values[there[found.codes]]) else "text"), name


def _kind_of_durations(name: str, days: np.ndarray) -> tuple[str, Any]:
    """Clock times, as databases have them, if all are of one day and go through more than half of it."""
    clock = date_column(days, "clock")
    known = days[~np.isnan(days)]
    is_clock = clock.parts and known.min() >= 0.0 and known.max() < 1.0
    return ("dates", (name, clock.kind)) if is_clock else ("numbers", name)


def as_input(X: Any, layout: Layout | None) -> Any:
    """Rows as a `StreamPipeline` takes them: as they are, numbers alone, or a pair of numbers and columns of text."""
    if layout is None:
        return X
    if not is_frame(X):
        expected = ", ".join(layout.names[:5]) + (", ..." if len(layout.names) > 5 else "")
        raise ValueError(f"X must be a data frame with the columns of `fit`: {expected}")
    used = [name for name in layout.names if name not in layout.ignored]
    check_names((name for name in map(str, X.columns) if name not in layout.ignored), used)
    layout = _with_kinds(layout, X)
    numbers, text = split_frame(X, FrameColumns(layout.numbers or (), layout.text))
    columns, made = {str(name): X[name] for name in X.columns}, []
    for (name, _), date in zip(layout.dates, layout._date_columns, strict=True):
        made.append(date.features(days_in_column(name, values_of(columns[name]), date.order)))
    if made:
        numbers = np.column_stack([np.asarray(numbers, np.float64), *made])
    return (numbers, text) if layout.text else numbers


def _with_kinds(layout: Layout, X: Any) -> Layout:
    """The layout itself; one of an older file with numbers first, and then dates, of which the days are known."""
    if layout.numbers is not None:
        return layout
    numbers, others, _ = kinds_of(X)
    made = [name for name in others or () if name not in layout.text and name not in layout.ignored]
    columns = {str(name): X[name] for name in X.columns}
    dates = [name for name in made if values_of(columns[name]).dtype.kind == "M"]
    if dates and dates != made[len(made) - len(dates) :]:
        raise ValueError("This model was saved by an older version: put columns of dates after all others.")
    numbers = (*(name for name in numbers if name not in layout.text), *made[: len(made) - len(dates)])
    return layout._replace(numbers=numbers, dates=tuple((name, DateColumn("ymd", ()).kind) for name in dates))


def number_names(X: Any, layout: Layout) -> list[str]:
    """Names of the columns that `as_input` makes numbers of, in their order: dates come last."""
    layout = _with_kinds(layout, X)
    return [*(layout.numbers or ()), *(name for name, _ in layout.dates)]


def weights_without_copies(rows: LabeledRows, text: dict[str, Any]) -> np.ndarray | None:
    """Weights in which copies of rows have none; None where few are. ``text`` are columns that are not encoded yet."""
    if issparse(rows.X):
        return None
    columns = [*rows.X.T, *(coded(values).codes for values in text.values())]
    targets = rows.y.T if rows.y.ndim == 2 else [np.unique(rows.y, return_inverse=True)[1]]
    return weights_of_copies(columns, targets, rows.weights)


class Way(NamedTuple):
    """A way to prepare rows."""

    pipeline: StreamPipeline
    given: LabeledRows  # rows before they are prepared
    has_copies: bool = False  # whether many are copies of others, which have no weight of their own

    def unscaled(self) -> "Way":
        """The same rows, as they are."""
        return self._replace(pipeline=self.pipeline.unscaled())

    def made_symmetric(self) -> "Way":
        """The same rows, with long tails drawn in."""
        return self._replace(pipeline=self.pipeline.made_symmetric(self.given))

    def rows_at(self, index: Any) -> Any:
        """Some rows, prepared."""
        return self.pipeline.prepared_rows(self.given, index, dtype=np.float32).X

    def all_rows(self) -> LabeledRows:
        """All of them; what a machine may overwrite, rows in float32, is shared with nothing else.

        Others are not rounded here: far from zero, that is for the machine, which first subtracts its origin.
        """
        rows = self.pipeline.prepared_rows(self.given, dtype=np.float32)
        if issparse(rows.X) or rows.X.dtype != np.float32 or not np.may_share_memory(rows.X, self.given.X):
            return rows
        return rows._replace(X=rows.X.copy(order="C"))

    def rows_of(self, numbers: np.ndarray | None) -> Callable[[Any], Any]:
        """How to take those of the rows that have some numbers; None is all."""
        return self.rows_at if numbers is None else lambda index: self.rows_at(numbers[index])

    def typical_rows(self, rng: np.random.Generator) -> Any:
        """Some rows, drawn at random by their weights, in float32."""
        rows = self.given
        n_rows, width = rows.X.shape
        bytes_each = 4 * width if not issparse(rows.X) else 8 * rows.X.nnz / n_rows
        shares = None if rows.weights is None else rows.weights / rows.weights.sum()
        n_known = n_rows if shares is None else int(np.count_nonzero(shares))
        n_kept = min(_TYPICAL_ROWS, n_known, max(1, int(_TYPICAL_BYTES / max(bytes_each, 1))))
        chosen = rng.choice(n_rows, n_kept, replace=False, p=shares)
        return self.rows_at(np.sort(chosen)).astype(np.float32)


def may_stay_unscaled(pipeline: StreamPipeline) -> bool:
    """Whether columns may have one unit, such as pixels or counts: they are also tried as they are."""
    scaler = pipeline.scaler_
    if scaler is None:
        return False
    scales = scaler.scale_[~scaler.constant_]
    if not len(scales):
        return False
    if not 1.0 / _FAR < scales.min() <= scales.max() < _FAR:  # float32 has no room for their squares
        return False
    low, high = np.quantile(scales, _MOST)  # a few columns that hardly vary would have no effect as they are
    return not scaler.centres_ or bool(_ALIKE < high / low < _UNLIKE)
