"""What the figures of curves share: results by name, panels side by side, means over repetitions."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from experiments.results import Outcome
from frugalsvm.plots import TraceDisplay

__all__ = ["by_names", "draw_panels", "draw_traces", "runs_of"]

_NOTHING = np.array([np.nan]), np.array([np.nan])  # a curve without a point


def by_names(outcome: Outcome, *names: str) -> dict[tuple, list[dict[str, Any]]]:
    """Results that are there, a list for each combination of what the tasks stand for, in the order of the tasks."""
    found: dict[tuple, list[dict[str, Any]]] = {}
    for task, result in outcome:
        if result is not None:
            found.setdefault(tuple(task.names.get(name) for name in names), []).append(result)
    return found


def runs_of(results: list[dict[str, Any]], curve: str, x: str, y: str, scale: float = 1.0):
    """Means of x and a row of y for each run, of curves that were noted at the same places.

    Runs of other lengths than the first one (data sets of other sizes) are left out.
    """
    runs = [result[curve] for result in results if len(result[curve]) == len(results[0][curve])]
    across = np.mean([[point[x] for point in run] for run in runs], axis=0)
    return across, scale * np.array([[point[y] for point in run] for run in runs])


def draw_panels(figure, titles: list[str], draw: Callable[[Any, str], bool], columns: int = 3) -> None:
    """A panel for each title; ``draw(ax, title)`` says whether there was anything to draw."""
    rows = -(-len(titles) // columns)
    axes = np.ravel(figure.subplots(rows, min(columns, len(titles)), squeeze=False))
    legend = None
    for ax, title in zip(axes, titles, strict=False):
        ax.set_title(title, fontsize="medium")
        if draw(ax, title):
            handles, labels = ax.get_legend_handles_labels()
            if legend is None or len(labels) > len(legend[1]):
                legend = handles, labels
        else:
            ax.text(0.5, 0.5, "not run yet", ha="center", va="center", transform=ax.transAxes)
            ax.set_axis_off()
    for ax in axes[len(titles) :]:
        ax.set_axis_off()
    if legend is not None and len(titles) > 1:
        figure.legend(*legend, loc="outside lower center", ncols=len(legend[1]), frameon=False)


def draw_traces(
    ax, curves: Mapping[str, tuple], label: str, names: Iterable[str] = (), *, legend: bool = True, **scales: str
) -> bool:
    """Curves of x and runs of y by name, as means and bands; whether there were any.

    Looks go by place: ``names`` are the curves of all panels, so that each has the same look where another is missing.
    """
    if not curves:
        return False
    curves = {name: curves.get(name, _NOTHING) for name in dict.fromkeys([*names, *curves])}
    x = {name: curve[0] for name, curve in curves.items()}
    y = {name: curve[1] for name, curve in curves.items()}
    TraceDisplay(x, y, trace=label).plot(ax, legend=legend, **scales)
    return True
