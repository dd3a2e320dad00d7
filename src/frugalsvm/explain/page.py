"""Explanations as HTML: one file, with bars made of its own boxes, that loads nothing from elsewhere."""

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalsvm.explain.text import largest_lines, number_text, row_title

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; } h3 { font-size: 1rem; margin-bottom: .3rem; }
table { border-collapse: collapse; } td, th { padding: .1rem .6rem; text-align: left; vertical-align: middle; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; } td.number { min-width: 6rem; }
td.name { width: 16rem; overflow-wrap: anywhere; } td.bars { width: 22rem; }
.bar { height: .8rem; display: block; border-radius: 2px; }
.half { display: inline-block; width: 50%; vertical-align: middle; } .half.left .bar { margin-left: auto; }
.plus { background: #0072B2; } .minus { background: #D55E00; }
.size { background: #0072B2; } .rest { background: #b8b8b8; }
.quiet { color: #666; } dt { float: left; clear: left; width: 12rem; color: #666; }
dd { margin-left: 12.5rem; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  table.bars { width: 100%; } td.name { width: 46%; } td.bars { width: 34%; }
  td, th { padding: .1rem .3rem; } td.number { min-width: 0; }
  dt { float: none; width: auto; margin-top: .4rem; } dd { margin-left: 0; }
}
img, svg { max-width: 100%; }
"""


def page(title: str, parts: list[str]) -> str:
    """A whole page."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head>\n<body><h1>{escape(title)}</h1>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def explanation_page(found: Any, title: str, n_rows: int, n_features: int) -> str:
    """The page of an `Explanation`."""
    moved = "the score" if found.values.ndim == 2 else "the scores of all outputs, added up"
    parts = [
        f"<h2>What matters</h2><p>How far each column moves {moved}, up or down, on average over "
        f"{len(found):,} rows (mean absolute Shapley values).</p>",
        bars_table(found.total_importances, found.feature_names, n_features),
        "<h2>Rows</h2><p>The score of a row is a base value and the shares of all columns. Blue columns raise it, "
        f"orange ones lower it; bars of all rows have one scale. {escape(found.origin)}</p>",
    ]
    shown = [found.of_output(found.leading_output(row)) for row in range(min(n_rows, len(found)))]
    longest = max((longest_bar(chosen.values[row], n_features) for row, chosen in enumerate(shown)), default=1.0)
    for row, chosen in enumerate(shown):
        errors = None if chosen.standard_errors is None else chosen.standard_errors[row]
        heading = row_title(row, chosen.output_names[0], chosen.predictions[row])
        base = number_text(chosen.base_values[0])
        parts.append(
            f"<h3>{escape(heading)}</h3>"
            f'<p class="quiet">From the base value {base}:</p>'
            + shares_table(chosen.values[row], found.labels(row), n_features, longest, errors)
        )
    if len(found) > n_rows:
        parts.append(f'<p class="quiet">{len(found) - n_rows:,} more rows are not shown.</p>')
    return page(title, parts)


def bars_table(sizes: NDArray, names: list[str], most: int, text: Any = number_text) -> str:
    """A bar for each name, the largest first."""
    order, lines = largest_lines(np.asarray(sizes), names, most)
    longest = max(value for _, value in lines) or 1.0
    rows = (
        f'<tr><td class="name">{escape(name)}</td><td class="number">{text(value)}</td><td class="bars">'
        f'<span class="bar {"size" if k < len(order) else "rest"}" style="width:{_percent(value, longest)}"></span>'
        "</td></tr>"
        for k, (name, value) in enumerate(lines)
    )
    return f'<table class="bars">{"".join(rows)}</table>'


def longest_bar(values: NDArray, most: int) -> float:
    """The largest size among the lines of `shares_table`."""
    return max(abs(value) for _, value in largest_lines(values, [""] * len(values), most)[1]) or 1.0


def shares_table(
    values: NDArray, labels: list[str], most: int, longest: float | None = None, errors: NDArray | None = None
) -> str:
    """A bar to the right for each share above zero, and to the left for each below; ``longest`` is a whole bar."""
    order, lines = largest_lines(values, labels, most)
    longest = longest or longest_bar(values, most)
    spread = [""] * len(lines) if errors is None else [f" &plusmn; {errors[p]:.2g}" for p in order] + [""]
    rows = []
    for (label, value), error in zip(lines, spread, strict=False):
        kind = "plus" if value > 0 else "minus"
        bar = f'<span class="bar {kind}" style="width:{_percent(abs(value), longest)}"></span>'
        halves = ("", bar) if value > 0 else (bar, "")
        rows.append(
            f'<tr><td class="name">{escape(label)}</td><td class="number">{value:+.4g}{error}</td><td class="bars">'
            f'<span class="half left">{halves[0]}</span><span class="half">{halves[1]}</span></td></tr>'
        )
    return f'<table class="bars">{"".join(rows)}</table>'


def _percent(value: float, longest: float) -> str:
    return f"{100 * max(value, 0.0) / longest:.1f}%"
