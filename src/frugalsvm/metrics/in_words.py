"""How good predictions are, in words: facts and tables that stay readable with many classes."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from frugalsvm.metrics.confusion import worst_first
from frugalsvm.words import facts_lines, percent, table_lines

_MATRIX_CLASSES = 8  # whose confusion matrix is still read at a glance
_LISTED_CLASSES = 40
_WORST_CLASSES = 20  # that are shown where there are more
_WORST_CONFUSIONS = 8
_SHOWN_WINDOWS = 20
_MEANINGS = {
    "g_means": ("g-means", "geometric mean of the recalls of the classes"),
    "auc": ("AUC", "how often a row of the last class has the higher score"),
    "precision_recall_breakeven": ("break-even", "precision where it equals recall"),
    "log_loss": ("log loss", "of the probabilities; 0 is best"),
    "brier": ("Brier score", "mean squared error of the probabilities; 0 is best"),
    "calibration_error": ("calibration", "mean difference between probabilities and how often they are right"),
}


def evaluation_sections(
    results: dict[str, Any], curve: Sequence[dict[str, Any]] = (), *, all_classes: str = "", all_windows: str = ""
) -> Iterator[tuple[str, list[str]]]:
    """Headings, the first of them empty, and the lines below: how good predictions are.

    Parameters
    ----------
    results : dict
        What `results` of a collector of `scores_for` returns.
    curve : sequence of dict
        What `rows` of a `Curve` returns.
    all_classes, all_windows : str
        Said where only some are listed: where all of them are.
    """
    facts = next((facts for key, facts in _OTHER_FACTS.items() if key in results), _accuracy)
    yield "", facts_lines(facts(results))
    if facts is _accuracy:
        yield "Classes", _classes(results["per_class"], all_classes)
        yield from _confusions(results)
    if curve:
        yield "Test, then train", _curve(list(curve), all_windows)


def evaluation_text(results: dict[str, Any], curve: Sequence[dict[str, Any]] = ()) -> str:
    """The same as one text.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm.metrics.collected import ErrorScores
    >>> scores = ErrorScores()
    >>> scores.add(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.5, 3.0]))
    >>> print(evaluation_text(scores.results()))
      rows                    3
      root mean square error  0.2887   always saying the mean: 0.8165
      mean absolute error     0.1667
      largest error           0.5
      R^2                     0.8750   share of the variance that is explained
    """
    sections = evaluation_sections(results, curve)
    return "\n\n".join("\n".join(([heading] if heading else []) + lines) for heading, lines in sections)


def _accuracy(results: dict[str, Any]) -> list[tuple[str, str]]:
    n_rows = results["examples"]
    right = f"{round(results['accuracy'] * n_rows):,} of {n_rows:,} rows are right"
    more = [(name, f"{results[key]:<7.4f}   {meaning}") for key, (name, meaning) in _MEANINGS.items() if key in results]
    return [("accuracy", f"{percent(results['accuracy'])}   {right}"), *more]


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


def _curve(curve: list[dict[str, Any]], all_windows: str) -> list[str]:
    lines = []
    if len(curve) > _SHOWN_WINDOWS:
        step = math.ceil(len(curve) / _SHOWN_WINDOWS)
        shown = curve[::-step][::-1]  # the last one among them
        lines.append(f"{len(shown)} of {len(curve):,} windows of rows{all_windows}.")
        curve = shown
    rows = [
        {_NAMES.get(name, name): show(row[name]) for name, show in _FIGURES.items() if name in row} for row in curve
    ]
    table = [{"examples": f"{row['examples']:,}", **shown} for row, shown in zip(curve, rows, strict=True)]
    return lines + table_lines(table)


def _classes(rows: list[dict[str, Any]], all_classes: str) -> list[str]:
    n_classes, lines = len(rows), []
    if n_classes > _LISTED_CLASSES:
        rows = worst_first(rows)[:_WORST_CLASSES]
        lines.append(f"The {len(rows)} of {n_classes:,} classes with the lowest recall{all_classes}.")
    shares = [{name: percent(row[name]) for name in ("precision", "recall")} for row in rows]
    cells = zip(rows, shares, strict=True)
    return lines + table_lines(
        [{"class": str(row["class"]), **each, "rows": f"{row['rows']:,}"} for row, each in cells]
    )


def _confusions(results: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The worst pairs, and the matrix where it is small."""
    classes, worst = results["classes"], results["worst_confusions"][:_WORST_CONFUSIONS]
    if worst and len(classes) > 2:
        words = [
            f"  {pair['class']} taken for {pair['taken for']}: {pair['rows']:,} of {pair['of']:,}" for pair in worst
        ]
        yield "Worst confusions", words
    if 1 < len(classes) <= _MATRIX_CLASSES:
        corner = "true \\ predicted"
        rows = [
            {corner: str(name), **{f"{c}": f"{n:,}" for c, n in zip(classes, row, strict=True)}}
            for name, row in zip(classes, results["confusion"], strict=True)
        ]
        yield "Confusion matrix", table_lines(rows)
