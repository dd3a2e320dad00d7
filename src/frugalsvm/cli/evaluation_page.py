"""What `frugalsvm evaluate` tells people: a page that stays readable with many classes, and a picture."""

from pathlib import Path
from typing import Any

from frugalsvm.cli.class_report import worst_first
from frugalsvm.cli.page import Page, percent

__all__ = ["draw_confusion", "print_evaluation"]

_MATRIX_CLASSES = 8  # whose confusion matrix is still read at a glance
_LISTED_CLASSES = 40
_WORST_CLASSES = 20  # that are shown where there are more
_WORST_CONFUSIONS = 8
_NUMBERS_IN_PICTURES = 15  # classes
_MEANINGS = {
    "g_means": ("g-means", "geometric mean of the recalls of the classes"),
    "auc": ("AUC", "how often a row of the last class has the higher score"),
    "precision_recall_breakeven": ("break-even", "precision where it equals recall"),
}


def print_evaluation(results: dict[str, Any], curve: list[dict[str, Any]], title: str) -> None:
    """Print how good predictions are, for people."""
    page = Page()
    page.heading(title)
    n_rows = results["examples"]
    right = round(results["accuracy"] * n_rows)
    page.facts(
        [
            ("accuracy", f"{percent(results['accuracy'])}   {right:,} of {n_rows:,} rows are right"),
            *(
                (name, f"{results[key]:<7.4f}   {meaning}")
                for key, (name, meaning) in _MEANINGS.items()
                if key in results
            ),
        ]
    )
    _classes(page, results["per_class"])
    _confusions(page, results)
    if curve:
        page.heading("Test, then train")
        page.table([{"examples": f"{row['examples']:,}", "accuracy": percent(row["accuracy"])} for row in curve])


def _classes(page: Page, rows: list[dict[str, Any]]) -> None:
    n_classes = len(rows)
    page.heading("Classes")
    if n_classes > _LISTED_CLASSES:
        rows = worst_first(rows)[:_WORST_CLASSES]
        page.sentence(f"The {len(rows)} of {n_classes:,} classes with the lowest recall; --json has all.")
    page.table(
        [
            {
                "class": str(row["class"]),
                "precision": percent(row["precision"]),
                "recall": percent(row["recall"]),
                "rows": f"{row['rows']:,}",
            }
            for row in rows
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
