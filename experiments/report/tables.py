"""Tables of results as texts in the places where the page shows them."""

from typing import Any

from experiments.report.counting import state_of
from experiments.results import Cell, Table

__all__ = ["FINDINGS", "WORDS", "laid_out"]

NOTHING, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
# Colour is never alone: each state has a sign and a word.
WORDS = {
    "better": ("✓", "better"),
    "within": ("≈", "within"),
    "worse": ("✗", "worse"),
    "part": ("◔", "on a part"),
    "alone": ("", "not printed"),
    "missing": ("…", "not computed"),
    "unavailable": ("∅", "no data"),
}

# Of the test with error bars.
FINDINGS = {"better": ("↑", "better"), "alike": ("=", "not distinguishable"), "worse": ("↓", "worse")}


def laid_out(table: Table, anchor: str) -> dict[str, Any]:
    """Rows of texts, with notes numbered in the order in which they appear; equal notes share a number."""
    notes: dict[str, int] = {}
    rows, worse = [], []
    for i, row in enumerate(table.rows, start=1):
        texts: list[dict[str, Any] | None] = []
        for j, column in enumerate(table.columns, start=1):
            cell = table.cells.get((row, column))
            if cell is None:
                texts.append(None)
                continue
            number = notes.setdefault(cell.note, len(notes) + 1) if cell.note else None
            text = {**_texts(cell, table.digits), "anchor": f"{anchor}-cell-{i}-{j}", "note": number}
            if cell.counted and "worse" in (text["state"], cell.finding):
                scatters = cell.is_within_own_spread
                worse.append({**text, "row": row, "column": column, "note": cell.note, "scatters": scatters})
            texts.append(text)
        rows.append({"name": row, "cells": texts})
    return {
        "kind": "table",
        "anchor": anchor,
        "title": table.title,
        "unit": table.unit,
        "note": table.note,
        "columns": table.columns,
        "rows": rows,
        "compared": any(cell.printed is not None for cell in table.cells.values()),
        "notes": list(notes),
        "worse": worse,
    }


def _texts(cell: Cell, digits: int) -> dict[str, Any]:
    state = state_of(cell)
    sign, word = WORDS[state]
    printed = cell.printed
    difference = "" if cell.verdict is None else _signed(cell.verdict.difference, digits)
    if state == "better" and float(difference.replace(MINUS, "-")) == 0.0:
        word = "equal"  # no less than what is printed, and not more by any digit that is shown
    return {
        "state": state,
        "sign": sign,
        "word": word,
        "ours": NOTHING if cell.mean is None else _number(cell.mean, cell.spread, digits),
        "paper": NOTHING if printed is None else _number(printed.mean, printed.spread, digits),
        "difference": difference,
        "finding": cell.finding,
        "p_value": "" if cell.p_value is None else f"{cell.p_value:.2g}",
    }


def _number(mean: float, spread: float | None, digits: int) -> str:
    return f"{mean:.{digits}f}" + ("" if spread is None else f" ± {spread:.{digits}f}")


def _signed(value: float, digits: int) -> str:
    # A difference that rounds to nothing has no sign.
    value = round(value, digits) + 0.0
    return f"{value:.{digits}f}" if value == 0 else f"{value:+.{digits}f}".replace("-", MINUS)
