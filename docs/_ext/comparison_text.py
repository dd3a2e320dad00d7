"""Results of the comparison as reStructuredText: functions from results and an effort of tuning to lines."""

from typing import Any

import numpy as np
from list_tables import list_table

from benchmarks.comparison.peers import PEERS
from benchmarks.comparison.plan import DEFAULT
from benchmarks.comparison.results import Results
from benchmarks.comparison.sheets import OURS, Sheet, behind, failures, label_of, sheet_of, values_of
from benchmarks.comparison.statistics import duel, friedman, mean_ranks
from benchmarks.comparison.tables import COMPARED, TABLES

__all__ = ["NONE", "TEXTS"]

SCORES = {
    "error": ("Error: percent of test rows that are wrong; of numbers, RMSE in standard deviations", 4),
    "log_loss": ("Log loss", 3),
    "calibration": ("Calibration error", 3),
    "fit_cpu": ("CPU seconds of a fit, with all choices at this effort", 3),
    "fit_s": ("Seconds of a fit by the clock", 3),
    "predict_cpu": ("CPU seconds to predict the test rows", 2),
    "bytes": ("Bytes of the pickled model", 3),
}
STREAM_COLUMNS = (("accuracy", ".2f"), ("row_us", ".1f"), ("bytes", ","))
NONE = "Not measured yet."


def facts(results: Results, effort: str) -> list[str]:
    """How much is measured, on what, and how sure the order is."""
    cells = [row for row in results.cells.values() if row.get("effort", DEFAULT) == effort]
    sheet = sheet_of(results.cells, effort=effort)
    if not len(sheet.tables):
        return [NONE]
    failed = sum("failed" in row for row in cells)
    lines = [
        f"{len(cells):,} cells are measured, of which {failed} failed: {len(sheet.tables)} of {len(COMPARED)} tables "
        f"with all of {len(sheet.peers)} peers. All ranks equal: p = {friedman(sheet.means):.1g}."
    ]
    if sheet.unranked:
        names = (f"{label_of(peer)} ({count})" for peer, count in sheet.unranked.items())
        lines += ["", f"Measured on fewer tables, and therefore without a rank: {', '.join(names)}."]
    used = {row["machine"] for row in cells}
    return [*lines, "", *(line for name in sorted(used) for line in _machine(results.machines.get(name, {})))]


def caption(results: Results, effort: str) -> list[str]:
    """What a rank diagram shows."""
    sheet = sheet_of(results.cells, effort=effort)
    return [
        f"Mean ranks of the error on {len(sheet.tables)} of {len(COMPARED)} tables; 1 is the best. Peers under one bar "
        "do not differ by the critical difference (Nemenyi, 5 %)."
    ]


def _machine(machine: dict[str, Any]) -> list[str]:
    known = {
        name: value for name, value in machine.items() if name not in ("machine", "processor", "cores", "lanes", "note")
    }
    versions = ", ".join(f"{name} {value}" for name, value in known.items())
    note = f" {machine['note']}." if "note" in machine else ""
    return [f"- {machine.get('processor', 'unknown')}, {machine.get('cores', '?')} threads a cell: {versions}.{note}"]


def tables(results: Results, effort: str) -> list[str]:
    """A table for each score, with all tables and peers."""
    lines = []
    for score, (title, digits) in SCORES.items():
        sheet = sheet_of(_believable(results, score), score, effort)
        if len(sheet.tables):
            headings = ("", "rows", *map(label_of, sheet.peers))
            rows = [_row(sheet, place, digits) for place in range(len(sheet.tables))]
            ranks = (f"{rank:.2f}" for rank in mean_ranks(sheet.means))
            lines += list_table(title, headings, [*rows, ("mean rank", "", *ranks)])
    return lines or [NONE]


def every(results: Results, effort: str) -> list[str]:
    """Errors of all peers on all tables, ranked or not: of the splits that those measured on a table share."""
    values = values_of(results.cells, "error", effort)
    peers = [peer for peer in PEERS if any(other == peer for _, other in values)]
    rows = []
    for name in COMPARED:
        measured = {peer: values[name, peer] for peer in peers if (name, peer) in values}
        shared = sorted(set.intersection(*map(set, measured.values()))) if measured else []
        if shared:
            means = {peer: np.mean([splits[split] for split in shared]) for peer, splits in measured.items()}
            errors = ("" if peer not in means else _error(means[peer]) for peer in peers)
            rows.append((name, str(len(shared)), *errors))
    return list_table(SCORES["error"][0], ("", "splits", *map(label_of, peers)), rows) if rows else [NONE]


def _error(mean: float) -> str:
    return "failed" if np.isnan(mean) else _number(mean, SCORES["error"][1])


def _believable(results: Results, score: str) -> dict[Any, Any]:
    """Cells; for seconds by the clock, those of machines without a note, such as that they were busy."""
    if score != "fit_s":
        return results.cells
    return {key: row for key, row in results.cells.items() if not results.was_busy(row)}


def _row(sheet: Sheet, place: int, digits: int) -> tuple[str, ...]:
    """The least is bold."""
    means, name = sheet.means[place], sheet.tables[place]
    best = np.nanmin(means) if not np.isnan(means).all() else np.nan
    texts = ("failed" if np.isnan(each) else _number(each, digits) for each in means)
    bold = (f"**{text}**" if each == best else text for text, each in zip(texts, means, strict=True))
    return name, f"{TABLES[name].n_rows:,}", *bold


def _number(value: float, digits: int) -> str:
    return f"{float(f'{value:.{digits}g}'):,.10g}"


def registry(results: Results, effort: str) -> list[str]:
    """What there is."""
    headings = ("", "rows", "columns", "predicted", "license", "source")
    rows = [
        (name, f"{table.n_rows:,}", str(table.n_columns), "numbers" if table.is_regression else "classes",
         table.license, f"``{table.source}``" + (f": {table.remark}" if table.remark else ""))
        for name, table in ((name, TABLES[name]) for name in COMPARED)
    ]  # fmt: skip
    return list_table("Tables", headings, rows)


def duels(results: Results, effort: str) -> list[str]:
    """Ours against each other one."""
    sheet = sheet_of(results.cells, effort=effort)
    if OURS not in sheet.peers or not len(sheet.tables):
        return [NONE]
    rows = []
    for peer in (each for each in sheet.peers if each != OURS):
        result = duel(sheet.column(OURS), sheet.column(peer))
        rows.append((label_of(peer), *map(str, result[:3]), *(f"{each:.2f}" for each in result[3:])))
    headings = ("", "fewer errors", "the same", "more", "P(fewer)", "P(the same)", "P(more)")
    return list_table("AutoSVC and AutoSVR against", headings, rows)


def failed(results: Results, effort: str) -> list[str]:
    """Each failure with its reason."""
    found = sorted(failures(results.cells).items())
    lines = [f"- {table}, {label_of(peer)}: {reason}" for (table, peer, each), reason in found if each == effort]
    return lines or ["There are none so far."]


def behind_lines(results: Results, effort: str) -> list[str]:
    """Where ours is clearly behind."""
    found = behind(results.cells, effort)
    return [f"- {name}: {', '.join(map(label_of, peers))}" for name, peers in found.items()] or ["On no table so far."]


def streams(results: Results, effort: str) -> list[str]:
    rows = list(results.streams.values())
    if not rows:
        return [NONE]
    headings = ("", "learner", "rows", "accuracy %", "CPU microseconds a row", "bytes")
    rows = sorted(rows, key=lambda row: (row["stream"], -row["accuracy"]))
    shown = [
        (row["stream"], row["label"], f"{row['rows']:,}", *(f"{row[name]:{form}}" for name, form in STREAM_COLUMNS))
        for row in rows
    ]
    return list_table("Each row is predicted, and then learned", headings, shown)


TEXTS = {
    "behind": behind_lines,
    "caption": caption,
    "duels": duels,
    "every": every,
    "facts": facts,
    "failures": failed,
    "registry": registry,
    "streams": streams,
    "tables": tables,
}
