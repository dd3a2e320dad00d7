"""Time against the number of examples, and the power of it that the time grows with."""

import time
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from frugalsvm.plots._curves import StreamCurvesDisplay, checked_curves, curves_of, draw_curves, histories_of
from frugalsvm.plots.recording import History, named


class TimeCurveDisplay(StreamCurvesDisplay):
    """Seconds of learning against examples, both logarithmic, with the exponents of fitted powers.

    Parameters
    ----------
    examples : dict of array-like of shape (n_points,)
        Numbers of examples, by the name of the curve.
    seconds : dict of array-like of shape (n_points,) or (n_runs, n_points)
        Several runs are drawn as their mean and a band of one standard deviation.
    fit_from : int, default=None
        Points of fewer examples do not count for the exponents: what is done once, such as compiling, hides the growth
        in small samples. None is all points.

    Attributes
    ----------
    examples, seconds, fit_from
        As above, with arrays.
    exponents : dict of float
        ``b`` in the least-squares fit of ``log(seconds) = a + b log(examples)``; nan with fewer than two points.
    lines_, bands_ : list of artists
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from frugalsvm.plots import TimeCurveDisplay
    >>> sizes = [1000, 2000, 4000]
    >>> display = TimeCurveDisplay({"linear": sizes, "square": sizes}, {"linear": [1, 2, 4], "square": [1, 4, 16]})
    >>> {name: round(exponent, 2) for name, exponent in display.exponents.items()}
    {'linear': 1.0, 'square': 2.0}
    """

    def __init__(
        self, examples: Mapping[str, ArrayLike], seconds: Mapping[str, ArrayLike], *, fit_from: int | None = None
    ):
        self.examples, self.seconds = checked_curves(examples, seconds, "examples", "seconds")
        self.fit_from = fit_from
        self.exponents = {name: _exponent(x, self.seconds[name], fit_from or 0) for name, x in self.examples.items()}

    @classmethod
    def from_estimators(
        cls,
        estimators: Any,
        X: Any,
        y: ArrayLike,
        *,
        sizes: Sequence[int] | None = None,
        n_runs: int = 1,
        fit_from: int | None = None,
        random_state: int | None = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> "TimeCurveDisplay":
        """Time `fit` on random samples of growing size, always with fresh copies.

        Parameters
        ----------
        estimators : dict, list or estimator
            By name. They stay as they are; each is fitted to the smallest sample once before, so that compiling does
            not count.
        X, y : array-like
            The examples that the samples are drawn from.
        sizes : sequence of int, default=None
            Sizes of the samples; None is up to seven, each twice the one before, the last being all examples.
        n_runs : int, default=1
            How often each is timed, on other samples.
        fit_from : int, default=None
            See the class.
        random_state : int, default=0
            Seed of the samples.
        ax : matplotlib Axes, default=None
        **kwargs
            For `plot`.

        Returns
        -------
        TimeCurveDisplay
        """
        chosen, labels = named(estimators), np.asarray(y)
        points = _sizes(len(labels), sizes)
        rng = np.random.default_rng(random_state)
        samples = [[rng.permutation(len(labels))[:size] for size in points] for _ in range(n_runs)]
        seconds = {name: np.empty((n_runs, len(points))) for name in chosen}
        for name, estimator in chosen.items():
            _seconds_of_fit(estimator, X, labels, samples[0][0])
            for run, row in enumerate(samples):
                seconds[name][run] = [_seconds_of_fit(estimator, X, labels, rows) for rows in row]
        if n_runs == 1:
            seconds = {name: runs[0] for name, runs in seconds.items()}
        return cls(dict.fromkeys(chosen, points), seconds, fit_from=fit_from).plot(ax, **kwargs)

    @classmethod
    def _recording(cls, **options):
        return {"rehearse": True}

    @classmethod
    def from_history(
        cls, history: History | Sequence[History], *, fit_from: int | None = None, ax: Any = None, **kwargs: Any
    ) -> "TimeCurveDisplay":
        """From what `record_stream` returned, or from a list of that: several runs, drawn as mean and band.

        Parameters
        ----------
        history : dict or list of dict
        fit_from, ax, **kwargs
            As in `from_estimators`.

        Returns
        -------
        TimeCurveDisplay
        """
        return cls(*curves_of(histories_of(history), itemgetter("seconds")), fit_from=fit_from).plot(ax, **kwargs)

    _axes, _scales = ("Examples $n$", "Seconds"), ("log", "log")

    def _draw(self, yscale, **kwargs):
        labels = {
            name: name if np.isnan(power) else f"{name} ($n^{{{power:.2f}}}$)" for name, power in self.exponents.items()
        }
        smallest = min(float(np.nanmin(runs[runs > 0], initial=np.inf)) for runs in self.seconds.values())
        lowest = smallest / 2 if np.isfinite(smallest) else 1e-9
        bounds = (lowest, np.inf)  # a band below zero has no place on a logarithmic axis
        return draw_curves(self.ax_, self.examples, self.seconds, labels=labels, bounds=bounds, **kwargs)


def _exponent(examples, seconds, fit_from):
    mean = np.atleast_2d(seconds).mean(axis=0)
    counts = (examples >= fit_from) & (examples > 0) & (mean > 0)
    if len(np.unique(examples[counts])) < 2:
        return float("nan")
    return float(np.polyfit(np.log(examples[counts]), np.log(mean[counts]), 1)[0])


def _sizes(n_rows, sizes):
    if sizes is None:
        halves = [n_rows >> k for k in range(7)]
        return np.array([size for size in reversed(halves) if size >= min(100, n_rows)])
    points = np.unique(np.asarray(sizes, dtype=int))
    if points.size == 0 or points[0] < 1 or points[-1] > n_rows:
        raise ValueError(f"sizes must be numbers of examples from 1 to {n_rows}, not {list(sizes)}.")
    return points


def _seconds_of_fit(estimator, X, y, rows):
    from sklearn.base import clone

    fresh = clone(estimator)
    part, labels = (X.iloc[rows] if hasattr(X, "iloc") else X[rows]), y[rows]
    start = time.perf_counter()
    fresh.fit(part, labels)
    return time.perf_counter() - start
