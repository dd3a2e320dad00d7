"""Results of ``python -m benchmarks.tables`` as reStructuredText, and a picture of error against time."""

import io
from typing import Any

from benchmarks.tables_summary import summary

__all__ = ["comparisons", "error_against_seconds", "methods_of", "result_tables"]

Means = list[dict[str, Any]]
Sheet = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
OURS = "AutoSVC, AutoSVR"
TREES = ("HistGradientBoosting, tuned", "LightGBM, tuned")
RIVALS = {
    "the better of tuned HistGradientBoosting and LightGBM": TREES,
    "the better of both trees without tuning": ("HistGradientBoosting", "LightGBM"),
    "xRFM, tuned or not": ("xRFM, tuned", "xRFM"),
    "liquidSVM": ("liquidSVM",),
    "tuned SVC and SVR": ("SVC, SVR, tuned",),
}


def _means_of(results: list[dict[str, Any]]) -> Means:
    rows = [row for each in results for row in each["rows"]]
    return summary([row for row in rows if row["judged_on"] == "test"])


def methods_of(results: dict[str, Any]) -> str:
    return "; ".join(dict.fromkeys(_method(row) for row in results["rows"]))


def result_tables(results: list[dict[str, Any]]) -> list[Sheet]:
    """Title, headings and rows of tables: errors, probabilities, seconds, bytes."""
    means = _means_of(results)
    classes = [row for row in means if not row["is_regression"]]
    regression = [row for row in means if row["is_regression"]]
    known = [row for row in means if row["error"] is not None]
    sheets = [
        _sheet("Classification: percent of test rows that are wrong", classes, _errors),
        _sheet("Regression: RMSE of the standardized target", regression, _errors),
        _sheet("Area under the ROC curve, two classes", _with(known, "auc"), _shown("auc", ".4f")),
        _sheet("Log loss of probabilities", _with(known, "log_loss"), _shown("log_loss", ".4f")),
        _sheet("Seconds of choosing and fitting, by the clock", known, _shown("seconds", ".1f")),
        _sheet("CPU seconds of the same", _with(known, "cpu_seconds"), _shown("cpu_seconds", ".1f")),
        _sheet("Seconds to predict all test rows", known, _shown("predict_seconds", ".2f")),
        _sheet("Megabytes of the model", _with(known, "bytes"), _shown("bytes", ".1f", 2**-20)),
        _sheet("Peak memory while it fits, in multiples of the rows", _with(known, "peak_bytes"), _memory),
    ]
    return [sheet for sheet in sheets if sheet[2]]


def _with(means, name):
    return [row for row in means if row.get(name) is not None]


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
    """The least is bold; what has none says why."""
    texts = {_method(row): row["missing"] if row["error"] is None else _error(row) for row in means}
    known = [row for row in means if row["error"] is not None]
    if not known:
        return texts
    best = min(known, key=lambda row: row["error"])
    return {**texts, _method(best): f"**{_error(best)}**"}


def _error(row):
    digits = 3 if row["is_regression"] else 2
    spread = "" if row["spread"] is None else f" ± {row['spread']:.{digits}f}"
    return f"{row['error']:.{digits}f}{spread}"


def _shown(name, form, factor=1.0):
    return lambda means: {_method(row): format(factor * row[name], form) for row in means}


def _memory(means):
    return {_method(row): f"{row['peak_bytes'] / row['row_bytes']:.1f}" for row in means}


# --- who is ahead -----------------------------------------------------------------------------------------------------


def comparisons(results: list[dict[str, Any]]) -> list[str]:
    """A line for each place of ours and each rival: on how many tables it has fewer errors, and where it is behind."""
    means = [row for row in _means_of(results) if row["error"] is not None]
    lines = []
    for device in dict.fromkeys(row["device"] for row in means if row["method"] == OURS):
        where = "the cores" if device == "cpu" else "the GPU"
        for words, methods in RIVALS.items():
            for is_regression in (False, True):
                part = [row for row in means if row["is_regression"] == is_regression]
                lines += _compared(
                    part, device, methods, f"{OURS.split(', ')[is_regression]} on {where} against {words}"
                )
    return lines


def _compared(means, device, methods, words) -> list[str]:
    ours = {row["problem"]: row for row in means if row["method"] == OURS and row["device"] == device}
    rivals: dict[str, float] = {}
    for row in means:
        if row["method"] in methods:
            rivals[row["problem"]] = min(row["error"], rivals.get(row["problem"], row["error"]))
    both = [problem for problem in ours if problem in rivals]
    behind = [problem for problem in both if ours[problem]["error"] > rivals[problem]]
    level = [problem for problem in both if ours[problem]["error"] == rivals[problem]]
    if not both:
        return []
    line = f"- {words}: fewer errors on {len(both) - len(behind) - len(level)} of {len(both)} tables"
    line += f", as many on {', '.join(level)}" if level else ""
    lost = (f"{each} ({_pair(ours[each], rivals[each])})" for each in behind)
    return [line + (f"; more on {', '.join(lost)}." if behind else ".")]


def _pair(row, rival):
    digits = 3 if row["is_regression"] else 2
    return f"{row['error']:.{digits}f} against {rival:.{digits}f}"


# --- a picture --------------------------------------------------------------------------------------------------------


def error_against_seconds(results: list[dict[str, Any]]) -> str:
    """An SVG: a point for each method on each table, its error over the least error there, against seconds."""
    from matplotlib.figure import Figure

    from frugalsvm.plots._style import MARKERS, PALETTE

    points = _points([row for row in _means_of(results) if row["error"] is not None])
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
        seconds.append(row["seconds"])
        ratios.append(row["error"] / best[row["problem"]] if best[row["problem"]] else 1.0)
    return points
