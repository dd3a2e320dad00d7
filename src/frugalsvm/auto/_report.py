"""What was tried, what won, by how much and how sure: as a dict, of which text and HTML are made."""

from html import escape
from typing import Any

__all__ = ["ROUNDS", "Report", "as_dict", "as_html", "as_text"]

ROUNDS = [
    "kernels and widths, on a sample",
    "the best of these, in cells",
    "in cells with a learned metric",
    "with the metric and without it",
    "what larger cells gain",
    "a low-rank machine of all rows",
]  # from the first on
_SHOWN = 5  # of each round
_OF_CANDIDATES = ("kernel", "gamma", "C", "rows", "n_components", "score", "scores", "seconds")


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
