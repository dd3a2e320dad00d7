"""Results of ``python -m benchmarks.tables`` as reStructuredText, and a picture of error against time."""

import io
from typing import Any

from benchmarks.tables_summary import summary

__all__ = ["error_against_seconds", "result_tables"]

Means = list[dict[str, Any]]
Sheet = tuple[str, tuple[str, ...], list[tuple[str, ...]]]


def result_tables(results: list[dict[str, Any]]) -> list[Sheet]:
    """Title, headings and rows of tables of errors, of seconds, and of what noise columns do."""
    means = summary([row for each in results for row in each["rows"]])
    plain = [row for row in means if "noise" not in row["problem"]]
    noisy = [row for row in means if "noise" in row["problem"]]
    classes = [row for row in plain if not row["is_regression"]]
    regression = [row for row in plain if row["is_regression"]]
    sheets = [
        _sheet("Test error of classification, percent (mean and spread over seeds)", classes, _errors),
        _sheet("Test error of regression, RMSE of the standardized target", regression, _errors),
        _sheet("With columns of noise: test error, and percent of the importance on true columns", noisy, _shares),
        _sheet("Seconds to choose settings (candidates tried in that time) + seconds of the last fit", plain, _seconds),
    ]
    return [sheet for sheet in sheets if sheet[2]]


def _sheet(title, means, cells_of) -> Sheet:
    """Tables downwards, methods across."""
    methods = list(dict.fromkeys(_method(row) for row in means))
    problems = dict.fromkeys(row["problem"] for row in means)
    lines = []
    for problem in problems:
        cells = cells_of([row for row in means if row["problem"] == problem])
        lines.append((problem, *(cells.get(method, "") for method in methods)))
    return title, ("", *methods), lines


def _method(row):
    return row["method"] if row["device"] == "cpu" else f"{row['method']}, {row['device']}"


def _errors(means):
    """The least is bold."""
    texts = {_method(row): _error(row) for row in means}
    best = min(means, key=lambda row: row["error"])
    return {**texts, _method(best): f"**{_error(best)}**"}


def _error(row):
    digits = 3 if row["is_regression"] else 2
    spread = "" if row["spread"] is None else f" ± {row['spread']:.{digits}f}"
    return f"{row['error']:.{digits}f}{spread}"


def _shares(means):
    shares = {_method(row): row["on_true_columns"] for row in means}
    return {
        method: text if shares[method] is None else f"{text} ({shares[method]:.1f} %)"
        for method, text in ((_method(row), _error(row)) for row in means)
    }


def _seconds(means):
    return {
        _method(row): f"{row['tuning_seconds']:.1f} ({row['candidates']:.0f}) + {row['seconds']:.1f}" for row in means
    }


def error_against_seconds(results: list[dict[str, Any]]) -> str:
    """An SVG: a point for each method on each table, its error over the least error there, against seconds."""
    from matplotlib.figure import Figure

    from frugalsvm.plots._style import MARKERS, PALETTE

    means = [row for row in summary([row for each in results for row in each["rows"]]) if "noise" not in row["problem"]]
    points = _points(means)
    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.add_subplot(xscale="log", yscale="log")
    for place, (method, (seconds, ratios)) in enumerate(points.items()):
        style = {"color": PALETTE[place % len(PALETTE)], "marker": MARKERS[place % len(MARKERS)]}
        axes.plot(seconds, ratios, linestyle="", alpha=0.8, label=method, **style)
    axes.axhline(1.0, color="gray", linewidth=0.8)
    axes.set_xlabel("seconds to choose settings and to fit")
    axes.set_ylabel("test error / least error on the same table")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()[drawn.getvalue().index("<svg") :]


def _points(means: Means) -> dict[str, tuple[list[float], list[float]]]:
    """Seconds and ratios of errors of each method."""
    best = {row["problem"]: row["error"] for row in sorted(means, key=lambda row: -row["error"])}
    points: dict[str, tuple[list[float], list[float]]] = {}
    for row in means:
        seconds, ratios = points.setdefault(_method(row), ([], []))
        seconds.append(row["tuning_seconds"] + row["seconds"])
        ratios.append(row["error"] / best[row["problem"]] if best[row["problem"]] else 1.0)
    return points
