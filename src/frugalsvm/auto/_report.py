"""What was tried, what won, by how much and how sure: as text, and as HTML."""

from html import escape
from typing import Any

__all__ = ["Report", "as_html", "as_text"]

_ROUNDS = {
    1: "kernels and widths, on a sample",
    2: "the best of these, in cells",
    3: "in cells with a learned metric",
    4: "with the metric and without it",
    5: "what larger cells gain",
    6: "a low-rank machine of all rows",
}
_SHOWN = 5  # of each round


class Report(str):
    """Text, which notebooks show as a table."""

    html: str

    def _repr_html_(self) -> str:
        return self.html


def as_text(summary: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """For people."""
    lines = [*_sentences(summary), ""]
    for title, table in _tables(summary, rows):
        lines.append(title)
        lines += ["  " + "  ".join(each) for each in _aligned(table)]
        lines.append("")
    return "\n".join(lines).rstrip()


def as_html(summary: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """The same for notebooks."""
    parts = ["<div class='frugalsvm-report'>", *(f"<p>{escape(each)}</p>" for each in _sentences(summary))]
    for title, table in _tables(summary, rows):
        head, *body = table
        parts.append(f"<details open><summary>{escape(title)}</summary><table><thead><tr>")
        parts += [f"<th>{escape(each)}</th>" for each in head]
        parts.append("</tr></thead><tbody>")
        for line in body:
            parts.append("<tr>" + "".join(f"<td>{escape(each)}</td>" for each in line) + "</tr>")
        parts.append("</tbody></table></details>")
    return "".join([*parts, "</div>"])


def _sentences(summary) -> list[str]:
    return [summary["title"], *summary["notes"]]


def _tables(summary, rows):
    for heat in sorted({row["heat"] for row in rows}):
        own = sorted((row for row in rows if row["heat"] == heat), key=lambda row: row["key"])
        first = own[0]
        title = (
            f"Round {heat}, {_ROUNDS[heat]}: {first['n_rows']} rows, "
            f"{len(own)} candidates, {sum(row['seconds'] for row in own):.1f} s"
        )
        yield title, [("rows", "kernel", "gamma", "C", summary["score"]), *map(_line, own[:_SHOWN])]


def _line(row):
    return row["rows"], row["kernel"], f"{row['gamma']:.3g}", f"{row['C']:.3g}", f"{row['score']:.4f}"


def _aligned(table):
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in table]
