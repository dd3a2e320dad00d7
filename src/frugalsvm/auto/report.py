"""What was tried, what won, by how much and how sure: as a dict, of which text and HTML are made.

Candidates are plain rows that model files can hold; they can also be had in the form of scikit-learn's searches.
Sentences say what became of columns, which have no effect, why a machine was taken, and how sure that is.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from html import escape
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
from frugalsvm.words import listed, percent

ROUNDS = [
    "kernels and widths, on a sample",
    "the best of these, in cells",
    "in cells with a learned metric",
    "with the metric and without it",
    "what larger cells gain",
    "a low-rank machine of all rows",
]  # from the first on
_SHOWN = 5  # of each round
SCALED, SYMMETRIC, IN_PROPORTION = "scaled", "symmetric", "in proportion"  # views
_VIEW_NAMES = {
    SCALED: "scaled columns",
    SYMMETRIC: "columns made symmetric",
    IN_PROPORTION: "columns as they are",
}
_PARAMETERS = ("kernel", "gamma", "C", "rows", "n_components")
_OF_CANDIDATES = (*_PARAMETERS, "score", "scores", "seconds")
FIELDS = (*_PARAMETERS, "heat", "n_rows", "seconds", "key", "scores", "score")


def row_of(entry: Entry) -> dict[str, Any]:
    """A row of results; accuracies, as well as R^2 of standardized targets, are 1 minus mean losses."""
    candidate, round_ = entry.candidate, entry.round
    return {
        "kernel": candidate.kernel,
        "gamma": float(candidate.gamma),
        "C": float(entry.C),
        "rows": candidate.view,
        "n_components": int(entry.n_components or round_.n_rows_of_cell),
        "heat": int(round_.number),
        "n_rows": round_.n_rows,
        "seconds": float(entry.seconds),
        "key": float(entry.rank_key),
        "scores": [1.0 - float(error) for error in entry.judgment.fold_errors()],
        "score": 1.0 - float(entry.judgment.error),
    }


def cv_results(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """scikit-learn's form, with the round as ``iter`` and its rows as ``n_resources``, as in its halving searches."""
    n_splits = max(len(row["scores"]) for row in rows)
    splits = np.full((n_splits, len(rows)), np.nan)
    for k, row in enumerate(rows):
        splits[: len(row["scores"]), k] = row["scores"]
    order = sorted(range(len(rows)), key=lambda k: (-rows[k]["heat"], rows[k]["key"]))
    ranks = np.empty(len(rows), np.int32)
    ranks[order] = np.arange(1, len(rows) + 1)
    seconds = np.array([row["seconds"] / max(len(row["scores"]), 1) for row in rows])
    return {
        "iter": np.array([row["heat"] for row in rows]),
        "n_resources": np.array([row["n_rows"] for row in rows]),
        "mean_fit_time": seconds,
        "std_fit_time": np.zeros_like(seconds),
        "mean_score_time": np.zeros_like(seconds),
        "std_score_time": np.zeros_like(seconds),
        **{f"param_{name}": np.ma.MaskedArray([row[name] for row in rows]) for name in _PARAMETERS},
        "params": [{name: row[name] for name in _PARAMETERS} for row in rows],
        **{f"split{k}_test_score": splits[k] for k in range(n_splits)},
        "mean_test_score": np.array([row["score"] for row in rows]),
        "std_test_score": np.nanstd(splits, axis=0),
        "rank_test_score": ranks,
    }


class Report(str):
    """Text, which notebooks show as a table."""

    html: str

    def _repr_html_(self) -> str:
        return self.html


def as_dict(summary: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Everything that there is to tell, from what a model keeps: a summary, and a row of each candidate."""
    words = dict(enumerate(summary.get("rounds", []), 1))  # files of old versions have none: their rounds were others
    rounds = []
    for number in sorted({row["heat"] for row in rows}):
        own = sorted((row for row in rows if row["heat"] == number), key=lambda row: row["key"])
        candidates = [{name: row[name] for name in _OF_CANDIDATES} for row in own]
        seconds = sum(row["seconds"] for row in own)
        rounds.append(
            {
                "round": number,
                "words": words.get(number, ""),
                "n_rows": own[0]["n_rows"],
                "seconds": seconds,
                "candidates": candidates,
            }
        )
    return {"title": summary["title"], "notes": list(summary["notes"]), "score": summary["score"], "rounds": rounds}


def as_text(report: dict[str, Any]) -> str:
    """For people."""
    lines = [report["title"], *report["notes"], ""]
    for title, table in _tables(report):
        lines.append(title)
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines += ["  " + "  ".join(map(str.ljust, line, widths)) for line in table]
        lines.append("")
    return "\n".join(lines).rstrip()


def as_html(report: dict[str, Any]) -> str:
    """The same for notebooks."""
    sentences = [report["title"], *report["notes"]]
    parts = ["<div class='frugalsvm-report'>", *(f"<p>{escape(each)}</p>" for each in sentences)]
    for title, table in _tables(report):
        head, *body = table
        parts.append(f"<details open><summary>{escape(title)}</summary><table><thead><tr>")
        parts += [f"<th>{escape(each)}</th>" for each in head]
        parts.append("</tr></thead><tbody>")
        for line in body:
            parts.append("<tr>" + "".join(f"<td>{escape(each)}</td>" for each in line) + "</tr>")
        parts.append("</tbody></table></details>")
    return "".join([*parts, "</div>"])


def _tables(report):
    for each in report["rounds"]:
        name = f"Round {each['round']}" + (f", {each['words']}" if each["words"] else "")
        own = each["candidates"]
        title = f"{name}: {each['n_rows']} rows, {len(own)} candidates, {each['seconds']:.1f} s"
        yield title, [("rows", "kernel", "gamma", "C", "size", report["score"]), *map(_line, own[:_SHOWN])]


def _line(row):
    """What a candidate was, and how it did; its size is the rows of its cells, or its landmarks."""
    size = f"{row['n_components']:g}"
    return row["rows"], row["kernel"], f"{row['gamma']:.3g}", f"{row['C']:.3g}", size, f"{row['score']:.4f}"


def candidate_words(candidate: dict[str, Any]) -> str:
    """Which candidate of a search something is about."""
    return "{rows}, {kernel}, gamma={gamma:.3g}, C={C:.3g}".format(**candidate)


def machine_words(model: Any, n_rows: int) -> str:
    """Which machine a fitted estimator is: one in cells, or a low-rank machine."""
    if not hasattr(model, "n_cells_"):
        landmarks = "all rows as" if model.n_components >= n_rows else f"{model.n_components:,} of {n_rows:,} rows as"
        return f"a low-rank machine with {landmarks} landmarks"
    if model.n_cells_ == 1:
        return f"all {n_rows:,} rows in one cell"
    n_trees = model.n_trees
    trees = "" if n_trees == 1 else f" in {n_trees} trees"
    return f"{model.n_cells_:,} cells of up to {model.cell_size_:,} rows{trees}"


def view_words(name: str) -> str:
    """How a model sees its rows."""
    return _VIEW_NAMES.get(name, re.sub(r"^learned metric \(\w+\)", "a learned metric", name))


def score_words(score: float, classifies: bool) -> str:
    """An accuracy, or R^2."""
    return percent(score) if classifies else f"{score:.4f}"


# --- sentences about columns -----------------------------------------------------------------------------------------

_LISTED = 10  # names in a sentence
_listed = partial(listed, most=_LISTED)
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
    """The first value that only looks like a number, of a column of text where most do."""
    some = values[:_LOOKED_AT]
    numeric = [value for value in some if isinstance(value, str) and looks_numeric(value)]
    odd = next((value for value in numeric if as_number(value) is None), None)
    return odd if len(numeric) > _MANY * len(some) else None


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
