"""What `frugalsvm evaluate` tells people: a page that stays readable with many classes, and a picture."""

import csv
import math
from pathlib import Path
from typing import Any

from frugalsvm.cli.words.page import Page
from frugalsvm.metrics.confusion import worst_first
from frugalsvm.words import percent

__all__ = ["draw_confusion", "print_evaluation", "write_curve"]

_MATRIX_CLASSES = 8  # whose confusion matrix is still read at a glance
_LISTED_CLASSES = 40
_WORST_CLASSES = 20  # that are shown where there are more
_WORST_CONFUSIONS = 8
_NUMBERS_IN_PICTURES = 15  # classes
_SHOWN_WINDOWS = 20
_MEANINGS = {
    "g_means": ("g-means", "geometric mean of the recalls of the classes"),
    "auc": ("AUC", "how often a row of the last class has the higher score"),
    "precision_recall_breakeven": ("break-even", "precision where it equals recall"),
    "log_loss": ("log loss", "of the probabilities; 0 is best"),
    "brier": ("Brier score", "mean squared error of the probabilities; 0 is best"),
    "calibration_error": ("calibration", "mean difference between probabilities and how often they are right"),
}


def print_evaluation(results: dict[str, Any], curve: list[dict[str, Any]], title: str) -> None:
    """Print how good predictions are, for people."""
    page = Page()
    page.heading(title)
    n_rows = results["examples"]
    facts = next((facts for key, facts in _OTHER_FACTS.items() if key in results), None)
    if facts is not None:
        page.facts(facts(results))
        _curve(page, curve)
        return
    right = f"{round(results['accuracy'] * n_rows):,} of {n_rows:,} rows are right"
    more = [(name, f"{results[key]:<7.4f}   {meaning}") for key, (name, meaning) in _MEANINGS.items() if key in results]
    page.facts([("accuracy", f"{percent(results['accuracy'])}   {right}"), *more])
    _classes(page, results["per_class"])
    _confusions(page, results)
    _curve(page, curve)


def _errors(results: dict[str, Any]) -> list[tuple[str, str]]:
    r2 = "-" if results["r2"] is None else f"{results['r2']:.4f}"
    return [
        ("rows", f"{results['examples']:,}"),
        ("root mean square error", f"{results['rmse']:.4g}   always saying the mean: {results['label_std']:.4g}"),
        ("mean absolute error", f"{results['mae']:.4g}"),
        ("largest error", f"{results['largest_error']:.4g}"),
        ("R^2", f"{r2}   share of the variance that is explained"),
    ]


def _quantiles(results: dict[str, Any]) -> list[tuple[str, str]]:
    facts = [("rows", f"{results['examples']:,}"), ("pinball loss", f"{results['pinball']:.4g}   in the mean")]
    for each in results["quantiles"]:
        words = f"{percent(each['below'])} of the labels are below, pinball loss {each['pinball']:.4g}"
        facts.append((f"quantile {each['quantile']:g}", words))
    if "coverage" in results:
        known = [each["quantile"] for each in results["quantiles"]]
        words = f"{percent(results['coverage'])} of the labels are between {min(known):g} and {max(known):g}"
        facts.append(("coverage", f"{words}, of {percent(max(known) - min(known))} wanted"))
    return facts


def _alarms(results: dict[str, Any]) -> list[tuple[str, str]]:
    rows = f"{results['examples']:,}   {results['anomalies']:,} of them unusual (label {results['anomaly']})"
    facts = [("rows", rows), ("alarms", f"{percent(results['alarms'])} of all rows")]
    if "false_alarms" in results:
        facts.append(("false alarms", f"{percent(results['false_alarms'])} of the usual rows"))
    if "found" in results:
        facts.append(("found", f"{percent(results['found'])} of the unusual rows"))
    if "auc" in results:
        facts.append(("AUC", f"{results['auc']:.4f}   how often an unusual row has the lower score"))
    return facts


_OTHER_FACTS = {"rmse": _errors, "pinball": _quantiles, "alarms": _alarms}  # by a figure that tells what was predicted
_NAMES = {"rmse": "error", "pinball": "pinball loss"}
_FIGURES = {"accuracy": percent, "alarms": percent, "rmse": "{:.4g}".format, "pinball": "{:.4g}".format}


def _curve(page: Page, curve: list[dict[str, Any]]) -> None:
    if not curve:
        return
    page.heading("Test, then train")
    if len(curve) > _SHOWN_WINDOWS:
        step = math.ceil(len(curve) / _SHOWN_WINDOWS)
        shown = curve[::-step][::-1]  # the last one among them
        page.sentence(f"{len(shown)} of {len(curve):,} windows of rows; --curve and --json have all.")
        curve = shown
    rows = [
        {_NAMES.get(name, name): show(row[name]) for name, show in _FIGURES.items() if name in row} for row in curve
    ]
    page.table([{"examples": f"{row['examples']:,}", **shown} for row, shown in zip(curve, rows, strict=True)])


def _classes(page: Page, rows: list[dict[str, Any]]) -> None:
    n_classes = len(rows)
    page.heading("Classes")
    if n_classes > _LISTED_CLASSES:
        rows = worst_first(rows)[:_WORST_CLASSES]
        page.sentence(f"The {len(rows)} of {n_classes:,} classes with the lowest recall; --json has all.")
    shares = [{name: percent(row[name]) for name in ("precision", "recall")} for row in rows]
    page.table(
        [
            {"class": str(row["class"]), **each, "rows": f"{row['rows']:,}"}
            for row, each in zip(rows, shares, strict=True)
        ]
    )


def _confusions(page: Page, results: dict[str, Any]) -> None:
    """The worst pairs, and the matrix where it is small."""
    classes, worst = results["classes"], results["worst_confusions"]
    if worst and len(classes) > 2:
        page.heading("Worst confusions")
        for pair in worst[:_WORST_CONFUSIONS]:
            page.sentence(f"  {pair['class']} taken for {pair['taken for']}: {pair['rows']:,} of {pair['of']:,}")
    if 1 < len(classes) <= _MATRIX_CLASSES:
        page.heading("Confusion matrix")
        corner = "true \\ predicted"
        page.table(
            [
                {corner: str(name), **{f"{c}": f"{n:,}" for c, n in zip(classes, row, strict=True)}}
                for name, row in zip(classes, results["confusion"], strict=True)
            ]
        )


def write_curve(rows: list[dict[str, float]], path: Path) -> None:
    """Write windows as CSV."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def draw_confusion(results: dict[str, Any], path: Path) -> None:
    """Write the confusion matrix as a picture: shares of each true class, with numbers where there is room."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ImportError("Pictures need matplotlib: pip install 'frugalsvm[plots]'") from error
    import numpy as np

    counts, classes = np.array(results["confusion"]), results["classes"]
    size = min(max(4.0, 0.35 * len(classes) + 2.0), 16.0)
    figure = Figure(figsize=(size, size), layout="constrained")
    axes = figure.subplots()
    axes.imshow(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), cmap="Blues", vmin=0.0, vmax=1.0)
    axes.set(xlabel="predicted", ylabel="true", title=f"accuracy {percent(results['accuracy'])}")
    axes.set_xticks(range(len(classes)), map(str, classes), rotation=90 if len(classes) > _MATRIX_CLASSES else 0)
    axes.set_yticks(range(len(classes)), map(str, classes))
    if len(classes) <= _NUMBERS_IN_PICTURES:
        for (i, j), n in np.ndenumerate(counts):
            dark = 2 * n > counts[i].sum()
            axes.text(j, i, f"{n}", ha="center", va="center", color="white" if dark else "black")
    try:
        figure.savefig(path)
    except ValueError as error:  # a name that ends as no format of pictures does
        raise ValueError(f"{path} cannot be drawn: {error}") from error
