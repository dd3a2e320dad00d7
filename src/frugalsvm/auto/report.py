"""What was tried, what won, by how much and how sure: as a dict, of which text and HTML are made.

Candidates are plain rows that model files can hold; they can also be had in the form of scikit-learn's searches.
"""

import re
from html import escape
from typing import Any

import numpy as np

from frugalsvm.selection.rounds import Entry
from frugalsvm.selection.search import LOW_RANK
from frugalsvm.words import percent

__all__ = [
    "FIELDS",
    "IN_PROPORTION",
    "ROUNDS",
    "SCALED",
    "SYMMETRIC",
    "Report",
    "as_dict",
    "as_html",
    "as_text",
    "candidate_words",
    "choice_sentences",
    "cv_results",
    "machine_words",
    "row_of",
    "score_words",
    "tried_rows",
    "view_words",
]

ROUNDS = [
    "kernels and widths, on a sample",
    "the best of these, in cells",
    "in cells with a learned metric",
    "with the metric and without it",
    "what larger cells gain",
    "a low-rank machine of all rows",
]  # from the first on
_SHOWN = 5  # of each round
_KERNELS_SHOWN = 8
_KERNEL_NAMES = {"rbf": "Gaussian (rbf)", "laplacian": "Laplacian", "matern12": "Matern 1/2", "matern32": "Matern 3/2"}
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
        lines += ["  " + "  ".join(each) for each in _aligned(table)]
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


def _aligned(table):
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in table]


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


# --- for people who know no names of parameters ----------------------------------------------------------------------


def score_words(score: float, classifies: bool) -> str:
    """An accuracy, or R^2."""
    return percent(score) if classifies else f"{score:.4f}"


def view_words(name: str) -> str:
    """How a model sees its rows."""
    return _VIEW_NAMES.get(name, re.sub(r"^learned metric \(\w+\)", "a learned metric", name))


def choice_sentences(model: Any, y: np.ndarray, *, classifies: bool) -> list[str]:
    """What was chosen, how good it is, and what the report says besides."""
    best = model.best_params_
    chosen = (
        f"Chosen: the {_KERNEL_NAMES.get(best['kernel'], best['kernel'])} kernel on {view_words(best['rows'])}, gamma "
        f"{best['gamma']:.3g}, C {best['C']:.3g}; {machine_words(model.model_, len(y))}."
    )
    return [chosen, _quality(model.best_score_, y, classifies), *model.report(output_dict=True)["notes"]]


def _quality(score: float, y: np.ndarray, classifies: bool) -> str:
    """How good predictions are on rows left out, beside always predicting the same."""
    if classifies:
        values, counts = np.unique(y, return_counts=True)
        most = counts.argmax()
        return (
            f"It is right for {percent(score)} of rows left out; always saying {values[most].item()!r} would be right "
            f"for {percent(float(counts[most] / len(y)))}."
        )
    spread = float(np.std(y))
    error = spread * float(np.sqrt(max(1.0 - score, 0.0)))
    return (
        f"On rows left out it is wrong by {error:.4g} (root mean square; R^2 {score:.4f}); always saying the mean "
        f"would be wrong by {spread:.4g}."
    )


def tried_rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The kernels that were tried, in one view of rows or another: each where it came farthest, best first.

    Low-rank machines, which are compared with those in cells, are listed apart from them.
    """
    found: dict[tuple[str, str, bool], list[tuple[dict, dict]]] = {}
    for each in reversed(report["rounds"]):
        for row in each["candidates"]:
            found.setdefault((row["kernel"], row["rows"], each["round"] == LOW_RANK), []).append((each, row))
    rows = []
    for (kernel, view, is_low_rank), members in list(found.items())[:_KERNELS_SHOWN]:
        best_round, best = members[0]
        rows.append(
            {
                "round": str(best_round["round"]),
                "kernel": _KERNEL_NAMES.get(kernel, kernel) + (", low rank" if is_low_rank else ""),
                "rows seen as": view_words(view),
                report["score"]: score_words(best["score"], report["score"] == "accuracy"),
                "of rows": f"{best_round['n_rows']:,}",
                "candidates": str(len(members)),
                "seconds": f"{sum(row['seconds'] for _, row in members):.1f}",
            }
        )
    return rows
