"""Named curves and their spread: what the displays of lines share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalsvm.exceptions import ParameterError
from frugalsvm.plots._style import axes_for, bytes_text, compact, label_axis, line_styles
from frugalsvm.plots.recording import History, record_stream

Arrays = dict[str, NDArray]
BYTES = "Model size"  # the axis of bytes


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


def curves_of(runs: Sequence[History], values: Callable[[Mapping[str, NDArray]], NDArray]) -> tuple[Arrays, Arrays]:
    """For each estimator its numbers of examples, and the values of its notes, a row per run if there are several."""
    found_x: Arrays = {}
    found_y: Arrays = {}
    for name in runs[0]:
        notes = [run[name] for run in runs]
        if any(not np.array_equal(each["examples"], notes[0]["examples"]) for each in notes):
            raise ValueError(
                f"The runs of {name!r} were noted after different numbers of examples: use the same batches."
            )
        found_x[name] = np.asarray(notes[0]["examples"])
        found_y[name] = values(notes[0]) if len(notes) == 1 else np.stack([values(each) for each in notes])
    return found_x, found_y


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


class CurvesDisplay:
    """Base of displays of curves: where they are drawn, axes, marks of drifts, legend.

    Subclasses define ``_draw`` (lines and bands) and ``_axes`` (the labels of both axes).
    """

    drifts: NDArray = np.empty(0)
    lines_: list[Any]
    bands_: list[Any]
    _draw: Any
    _axes: tuple[str, str]
    _scales = ("linear", "linear")
    _text: Any = compact  # of numbers on the vertical axis

    def plot(
        self,
        ax: Any = None,
        *,
        xscale: str | None = None,
        yscale: str | None = None,
        legend: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None is a new figure.
        xscale, yscale : {"linear", "log"}, default=None
            None is what these curves are usually drawn with.
        legend : bool, default=True
        **kwargs
            For every line, as in `Axes.plot`.

        Returns
        -------
        self
        """
        xscale, yscale = xscale or self._scales[0], yscale or self._scales[1]
        self.ax_ = axes_for(ax)
        self.figure_ = self.ax_.figure
        self.lines_, self.bands_ = self._draw(yscale, **kwargs)
        style = {"color": "0.4", "linewidth": 1.0, "linestyle": "--", "zorder": 1}
        self.marks_ = [
            self.ax_.axvline(row, label="Drift" if number == 0 else None, **style)
            for number, row in enumerate(self.drifts)
        ]
        xlabel, ylabel = self._axes
        self.ax_.set(xscale=xscale, yscale=yscale, xlabel=xlabel, ylabel=ylabel)
        label_axis(self.ax_.xaxis, log=xscale == "log", text=bytes_text if xlabel == BYTES else compact)
        label_axis(self.ax_.yaxis, log=yscale == "log", text=type(self)._text)
        self.ax_.grid(alpha=0.3, linewidth=0.6)
        if legend:
            self.ax_.legend(frameon=False)
        return self


class StreamCurvesDisplay(CurvesDisplay):
    """Base of displays of what `record_stream` notes.

    Subclasses define ``from_history``, and ``_recording``, the options for `record_stream`. It also refuses wrong
    options of ``from_history``, before anything learns.
    """

    _recording: Any

    @classmethod
    def from_stream(
        cls,
        estimators: Any,
        batches: Iterable[Any],
        *,
        classes: ArrayLike | None = None,
        test: tuple[Any, ArrayLike] | None = None,
        **options: Any,
    ) -> Any:
        """Test, then train: follow estimators through a stream, and draw what was noted after every batch.

        Parameters
        ----------
        estimators, batches, classes, test
            As in `record_stream`. The estimators learn.
        **options
            As in `from_history`.

        Returns
        -------
        display
        """
        noted = {"sizes": False, "certificates": (), "rehearse": False, **cls._recording(**options)}
        history = record_stream(estimators, batches, classes=classes, test=test, **noted)
        return cls.from_history(history, **options)  # type: ignore[attr-defined]
