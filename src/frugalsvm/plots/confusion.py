"""A picture of which classes are taken for others."""

from pathlib import Path
from typing import Any

import numpy as np

from frugalsvm.words import percent

_NUMBERS = 15  # classes of which each number is written
_UPRIGHT = 8  # and those whose names are


def draw_confusion(results: dict[str, Any], path: Path) -> None:
    """Write the confusion matrix as a picture: shares of each true class, with numbers where there is room.

    ``results`` are those of `frugalsvm.metrics.collected.scores_for`, for a classifier.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ImportError("Pictures need matplotlib: pip install 'frugalsvm[plots]'") from error
    counts, classes = np.array(results["confusion"]), results["classes"]
    size = min(max(4.0, 0.35 * len(classes) + 2.0), 16.0)
    figure = Figure(figsize=(size, size), layout="constrained")
    axes = figure.subplots()
    axes.imshow(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), cmap="Blues", vmin=0.0, vmax=1.0)
    axes.set(xlabel="predicted", ylabel="true", title=f"accuracy {percent(results['accuracy'])}")
    axes.set_xticks(range(len(classes)), map(str, classes), rotation=90 if len(classes) > _UPRIGHT else 0)
    axes.set_yticks(range(len(classes)), map(str, classes))
    if len(classes) <= _NUMBERS:
        for (i, j), n in np.ndenumerate(counts):
            dark = 2 * n > counts[i].sum()
            axes.text(j, i, f"{n}", ha="center", va="center", color="white" if dark else "black")
    try:
        figure.savefig(path)
    except ValueError as error:  # a name that ends as no format of pictures does
        raise ValueError(f"{path} cannot be drawn: {error}") from error
