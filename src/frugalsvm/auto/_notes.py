"""What a report says: what became of columns, which have no effect, why a machine was taken, and how sure that is."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from frugalsvm.auto._last_fit import LastFit
from frugalsvm.auto.tables import Layout
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.pipelines.coded import coded
from frugalsvm.pipelines.frames import as_number, values_of
from frugalsvm.pipelines.rows import is_pair
from frugalsvm.selection.judging import better_by
from frugalsvm.selection.rounds import Entry, best_of
from frugalsvm.selection.search import LARGER, NO_TIME_FOR_LOW_RANK, Found
from frugalsvm.selection.task import Task
from frugalsvm.streams.dates import DateColumn
from frugalsvm.streams.dialect import looks_numeric

_LISTED = 10  # names in a sentence
_LOOKED_AT = 1000  # rows that tell how a column is written: texts that are all different may be millions
_MANY = 0.5  # share of numbers among distinct values, from which a column of text was perhaps meant to have numbers


def left_out(X: Any, silent: Sequence[str], words: Sequence[str]) -> str | None:
    """Which columns are not learned from at all, and which of those read by their words are perhaps numbers."""
    if not words:
        return None
    sentences = []
    if silent:
        what = "with another text in almost every row, and words that tell nothing"
        sentences.append(f"Left out, {what}: {_listed(silent)}.")
    examples = {name: odd for name, values in _columns_of(X, words) if (odd := _odd_number(values))}
    if examples:
        shown = ", ".join(f"{name} ({value!r})" for name, value in list(examples.items())[:_LISTED])
        sentences.append(f"Some look like numbers that are written in another way: {shown}. Convert these to numbers.")
    return " ".join(sentences) or None


def _odd_number(values: Any) -> str | None:
    """The first value of a column of text where most look like numbers."""
    some = values[:_LOOKED_AT]
    numeric = [value for value in some if isinstance(value, str) and looks_numeric(value)]
    return numeric[0] if len(numeric) > _MANY * len(some) else None


def notes_on(X: Any, layout: Layout | None, pipeline: StreamPipeline) -> list[str]:
    """Sentences about the columns of ``X``, for which a pipeline was prepared."""
    notes = [*([] if layout is None else _date_notes(layout)), *_text_notes(X, layout, pipeline)]
    same, gaps = _constant_numbers(layout, pipeline)
    same += _constant_text(pipeline)
    if same:
        notes.append(f"Without effect, with the same value in all rows: {_listed(same)}.")
    if gaps:
        notes.append(f"Only whether a value is missing counts, as all others are the same: {_listed(gaps)}.")
    return notes


def _date_notes(layout: Layout) -> Iterator[str]:
    for name, kind in layout.dates:
        date: Any = DateColumn.of_kind(kind)
        yield f"{'Clock times' if date.is_clock else 'Dates'} in {name} became {date.words}."


def _text_notes(X: Any, layout: Layout | None, pipeline: StreamPipeline) -> Iterator[str]:
    encoder = pipeline.encoder_
    means = {} if encoder is None else dict(zip(encoder.names_, encoder.means_, strict=True))
    telling = [name for name, table in means.items() if table.any()]
    silent = [name for name, table in means.items() if table.size and not table.any()]
    if telling:
        yield f"Text of many values became means of the target, for each row those of other rows: {_listed(telling)}."
    if silent:
        yield f"Without effect, as means of the target by their many values tell nothing about it: {_listed(silent)}."
    words = [] if encoder is None else [n for n in encoder.names_ if n in encoder.words and n not in encoder.silent_]
    if words:
        yield f"Text that is different in almost every row is read by its most frequent words: {_listed(words)}."
    mixed = [name for name, values in _texts(X, layout) if name not in words and _is_mixed(values)]
    if mixed:
        yield (
            f"Taken as text, with numbers among other values: {_listed(mixed)}. To learn numbers, leave the other "
            "values empty."
        )


def _texts(X: Any, layout: Layout | None) -> Iterator[tuple[str, Any]]:
    """Columns of text by name."""
    if layout is not None or is_pair(X):
        yield from _columns_of(X, X[1] if layout is None else layout.text)


def _columns_of(X: Any, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Columns of text by name, without those of a frame that somebody has declared to be categories."""
    if is_pair(X):
        yield from ((name, X[1][name]) for name in names)
        return
    labels = {str(label): label for label in X.columns}  # which need not be text in pandas
    for name in names:
        column = X[labels[name]]
        if str(column.dtype) != "category":
            yield name, values_of(column)


def _is_mixed(values: Any) -> bool:
    found = [as_number(value) for value in coded(values).values]
    n_numbers = sum(number is not None and not np.isnan(number) for number in found)
    return n_numbers > _MANY * len(found)


def _constant_numbers(layout: Layout | None, pipeline: StreamPipeline) -> tuple[list[str], list[str]]:
    """Columns of one value, and those of them where some, or all, are missing."""
    scaler = pipeline.scaler_
    if scaler is None or scaler.constant_ is None:
        return [], []
    names = pipeline.names_of_numbers() if layout is None else layout.number_names
    missing = set(pipeline.filler_.indicated_.tolist()) if pipeline.indicates else set()
    found = np.flatnonzero(scaler.constant_).tolist()
    return [str(names[k]) for k in found if k not in missing], [str(names[k]) for k in found if k in missing]


def _constant_text(pipeline: StreamPipeline) -> list[str]:
    """Columns of one text, or of none."""
    encoder = pipeline.encoder_
    if encoder is None:
        return []
    pairs = zip(encoder.names_, encoder.categories_, strict=True)
    few = [name for name, known in pairs if len(known) + (name not in encoder.complete_) < 2]
    return [name for name in few if name not in encoder.words]


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")


# --- why a machine was taken ----------------------------------------------------------------------------------------


def reasons(score_name: str, task: Task, found: Found, last: LastFit, entries: list[Entry]) -> list[str]:
    """Why this kernel, and why this machine."""
    return [
        *_next_best(score_name, entries, last.entry),
        *_larger_cells(last, entries),
        *_machine(score_name, task, found, last),
    ]


def _next_best(score_name, entries, best):
    """By how much the best is better than the next kernel or view."""
    for number in sorted({entry.round.number for entry in entries}, reverse=True):
        same = [entry for entry in entries if entry.round.number == number]
        own = [entry for entry in same if entry.candidate[:2] == best.candidate[:2]]
        others = [entry for entry in same if entry.candidate[:2] != best.candidate[:2]]
        if own and others:
            return [_kernels_in_words(score_name, best_of(own), best_of(others))]
    return []


def _kernels_in_words(score_name, best, other):
    gain, error = better_by(best.judgment, other.judgment)
    return (
        f"Next best: {other.candidate.kernel} on {other.candidate.view}. In round {best.round.number}, the "
        f"{score_name} of the winner is {'larger' if gain >= 0 else 'smaller'} by {abs(gain):.4f} +- {error:.4f} "
        "(standard error)."
    )


def _larger_cells(last, entries):
    """What there is to say about the size of cells."""
    tried = sorted((e for e in entries if e.round.number == LARGER), key=lambda entry: entry.round.n_rows_of_cell)
    if last.is_low_rank or len(tried) < 2 or not tried[0].rank_key > 0:
        return []
    small, large = tried[0], tried[-1]
    saved = 1.0 - large.rank_key / small.rank_key
    return [
        f"Cells of {large.round.n_rows_of_cell} rows have squared errors {'smaller' if saved >= 0 else 'larger'} by "
        f"{abs(saved):.1%} than those of {small.round.n_rows_of_cell} rows."
    ]


def _machine(score_name, task, found, last):
    """Why cells, or why a low-rank machine."""
    if last.compared is None:
        return _only_machine(task, found, last)
    low_rank = f"a low-rank machine with {found.rival.n_components} landmarks"
    cells = f"machines in cells of {found.cell_size} rows"
    taken, other = (low_rank, cells) if last.is_low_rank else (cells, low_rank)
    gain, error = better_by(*last.compared)
    return [
        f"Taken: {taken}, rather than {other}. On {len(last.compared[0].losses)} rows left out, the {score_name} is "
        f"larger by {gain:.4f} +- {error:.4f} (standard error)."
    ]


def _only_machine(task, found, last):
    if last.is_low_rank:
        why = "rows are sparse" if task.views[last.entry.candidate.view].is_sparse else "n_components is a number"
        return [f"Taken without a comparison, since {why}: a low-rank machine."]
    if last.model.n_cells_ == 1 or NO_TIME_FOR_LOW_RANK in found.notes:
        return []
    return ["Low-rank machines were left out: one with few landmarks was clearly worse than cells of as many rows."]
