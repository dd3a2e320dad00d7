"""Named curves and their spread: what the displays of lines share."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalsvm.exceptions import ParameterError
from frugalsvm.plots._style import line_styles
from frugalsvm.plots.recording import History

__all__ = [
    "check_window",
    "checked_curves",
    "choose",
    "draw_curves",
    "draw_drifts",
    "found_drifts",
    "histories_of",
    "in_windows",
    "joined_runs",
    "percent",
    "runs_with",
]

Arrays = dict[str, NDArray]


def checked_curves(xs: Mapping[str, ArrayLike], ys: Mapping[str, ArrayLike], x_name: str, y_name: str):
    """Both as float arrays by name; ``ys`` may have a row for each of several runs."""
    if not isinstance(xs, Mapping) or not isinstance(ys, Mapping):
        raise TypeError(f"{x_name} and {y_name} must be dicts of arrays by the name of their curve.")
    if list(xs) != list(ys):
        raise ValueError(f"{x_name} is for {list(xs)}, but {y_name} is for {list(ys)}: they must have the same names.")
    if not xs:
        raise ValueError("There is no curve to draw.")
    checked_x: Arrays = {}
    checked_y: Arrays = {}
    for name in xs:
        x, y = np.asarray(xs[name], np.float64), np.asarray(ys[name], np.float64)
        if x.ndim != 1 or y.ndim not in (1, 2) or y.shape[-1] != len(x):
            raise ValueError(
                f"{name!r} has {x_name} of shape {x.shape} and {y_name} of shape {y.shape}: a number for each point is "
                "needed, or a row of them for each run."
            )
        checked_x[name], checked_y[name] = x, y
    return checked_x, checked_y


def histories_of(history: History | Sequence[History]) -> list[History]:
    """The histories of one or of several runs."""
    runs = [history] if isinstance(history, Mapping) else list(history)
    if not runs or not all(isinstance(run, Mapping) and run for run in runs):
        raise ValueError("history must be what record_stream returns, or a list of that for several runs.")
    if any(list(run) != list(runs[0]) for run in runs):
        raise ValueError("The runs do not have the same estimators.")
    return runs


def runs_with(runs: Sequence[History], note: str) -> list[dict]:
    """The runs, with the estimators that have a note in all of them; an empty list if there are none."""
    names = [name for name in runs[0] if all(note in run[name] for run in runs)]
    return [{name: run[name] for name in names} for run in runs] if names else []


def joined_runs(runs: Sequence[History], name: str, values: Sequence[NDArray]) -> NDArray:
    """The values of an estimator, a row per run if there are several."""
    examples = [np.asarray(run[name]["examples"]) for run in runs]
    if any(not np.array_equal(one, examples[0]) for one in examples):
        raise ValueError(f"The runs of {name!r} were noted after different numbers of examples: use the same batches.")
    return values[0] if len(values) == 1 else np.stack(values)


def choose(option: str, value: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise ParameterError(option, value, f"one of {', '.join(map(repr, choices))}")
    return value


def percent(value: float, largest: float = 0.0) -> str:
    """A share in percent, in few letters."""
    return f"{100 * value:.4g}%"


def draw_curves(
    ax: Any, xs: Arrays, ys: Arrays, *, labels: Mapping[str, str] | None = None, bounds=(-np.inf, np.inf), **kwargs: Any
) -> tuple[list[Any], list[Any]]:
    """Draw lines, with bands of one standard deviation where there are several runs; returns both kinds of artists."""
    lines, bands = [], []
    for index, (name, x) in enumerate(xs.items()):
        runs = np.atleast_2d(ys[name])
        known = np.isfinite(runs).all(axis=0)
        x, runs = x[known], runs[:, known]
        style = {**line_styles(index, len(x)), "label": (labels or {}).get(name, name), **kwargs}
        middle = runs.mean(axis=0)
        (line,) = ax.plot(x, middle, **style)
        lines.append(line)
        if len(runs) > 1:
            spread = runs.std(axis=0, ddof=1)
            low, high = np.clip(middle - spread, *bounds), np.clip(middle + spread, *bounds)
            bands.append(ax.fill_between(x, low, high, color=line.get_color(), alpha=0.2, linewidth=0))
    return lines, bands


def check_window(window: Any) -> None:
    """Refuse what is no number of examples, nor None."""
    if window is not None and (not isinstance(window, int | np.integer) or window < 1):
        raise ParameterError("window", window, "a number of examples of at least 1, or None")


def in_windows(n_tested: ArrayLike, n_hits: ArrayLike, window: int | None) -> NDArray:
    """The share of hits in the latest examples after each batch, or in all of them; nan where none was tested."""
    tested, hits = (np.concatenate([[0], np.cumsum(each)]) for each in (n_tested, n_hits))
    ends = np.arange(1, len(tested))
    # The first batch of the window: the earliest that is wholly inside, or the last one if that is larger than it.
    starts = np.zeros_like(ends)
    if window is not None:
        starts = np.minimum(np.searchsorted(tested, tested[ends] - window), ends - 1)
    number = tested[ends] - tested[starts]
    return np.where(number > 0, (hits[ends] - hits[starts]) / np.maximum(number, 1), np.nan)


def found_drifts(runs: Sequence[History]) -> NDArray:
    """After which examples a model has found a drift, in any of the runs."""
    found = [
        np.asarray(notes["examples"])[np.diff(notes["n_drifts"], prepend=0) > 0]
        for run in runs
        for notes in run.values()
        if "n_drifts" in notes
    ]
    return np.unique(np.concatenate(found)) if found else np.empty(0)


def draw_drifts(ax: Any, drifts: NDArray) -> list[Any]:
    """A vertical line for each drift; returns the artists."""
    style = {"color": "0.4", "linewidth": 1.0, "linestyle": "--", "zorder": 1}
    return [ax.axvline(row, label="Drift" if number == 0 else None, **style) for number, row in enumerate(drifts)]
