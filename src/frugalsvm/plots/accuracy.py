"""Accuracy or error while a stream is learned."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from frugalsvm.plots._curves import (
    StreamCurvesDisplay,
    check_window,
    checked_curves,
    choose,
    curves_of,
    draw_curves,
    found_drifts,
    histories_of,
    in_windows,
    percent,
)
from frugalsvm.plots.recording import History

METRICS = ("accuracy", "error")


class AccuracyCurveDisplay(StreamCurvesDisplay):
    """Accuracy, or error, against the number of examples learned.

    Parameters
    ----------
    examples : dict of array-like of shape (n_points,)
        Numbers of examples, by the name of the curve.
    values : dict of array-like of shape (n_points,) or (n_runs, n_points)
        Shares of examples between 0 and 1. Several runs are drawn as their mean and a band of one standard deviation.
    metric : {"accuracy", "error"}, default="accuracy"
        What the values are.
    drifts : array-like of int, default=()
        Numbers of examples at which the stream has changed, or a drift was found: each is marked by a vertical line.

    Attributes
    ----------
    examples, values, metric, drifts
        As above, with arrays.
    lines_, bands_, marks_ : list of artists
        One line per curve, one band per curve with several runs, and the marks of drifts.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    See Also
    --------
    record_stream : Follow estimators through a stream once, for several pictures.

    Examples
    --------
    >>> from frugalsvm.plots import AccuracyCurveDisplay
    >>> values = {"small": [[0.70, 0.75], [0.72, 0.79]], "large": [0.8, 0.9]}
    >>> display = AccuracyCurveDisplay({"small": [100, 200], "large": [100, 200]}, values).plot()
    >>> display.ax_.get_ylabel(), len(display.bands_)
    ('Accuracy', 1)

    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.datasets import stream
    >>> models = {f"{budget} vectors": BSGDClassifier(budget=budget, gamma=5.0) for budget in (10, 100)}
    >>> batches = stream("checkerboard", 20_000, chunk_size=1000, random_state=0)
    >>> display = AccuracyCurveDisplay.from_stream(models, batches, window=5000)
    >>> bool(display.values["100 vectors"][-1] > display.values["10 vectors"][-1])
    True
    """

    def __init__(
        self,
        examples: Mapping[str, ArrayLike],
        values: Mapping[str, ArrayLike],
        *,
        metric: str = "accuracy",
        drifts: ArrayLike = (),
    ):
        self.drifts = np.asarray(drifts)
        self.metric = choose("metric", metric, METRICS)
        self.examples, self.values = checked_curves(examples, values, "examples", "values")
        self._axes = "Examples learned", self.metric.capitalize()

    @classmethod
    def _recording(cls, metric="accuracy", window=None, **options):
        choose("metric", metric, METRICS)
        check_window(window)
        return {}

    @classmethod
    def from_history(
        cls,
        history: History | Sequence[History],
        *,
        metric: str = "accuracy",
        window: int | None = None,
        drifts: ArrayLike | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> "AccuracyCurveDisplay":
        """From what `record_stream` returned, or from a list of that: several runs, drawn as mean and band.

        Parameters
        ----------
        history : dict or list of dict
        metric : {"accuracy", "error"}, default="accuracy"
            With test examples, it is measured on these, and there is no window.
        window : int, default=None
            Number of latest examples that are averaged over (whole batches, one at least); None is all so far.
        drifts : array-like of int, default=None
            Numbers of examples to be marked, such as those at which the stream changes; None is where models in a
            `DriftWatch` found a drift.
        ax : matplotlib Axes, default=None
        **kwargs
            For `plot`.

        Returns
        -------
        AccuracyCurveDisplay
        """
        runs = histories_of(history)
        cls._recording(metric, window)
        examples, values = curves_of(runs, lambda notes: _accuracies(notes, window))
        for name, shares in values.items():
            known = np.isfinite(np.atleast_2d(shares)).all(axis=0)
            if not known.any():
                raise ValueError(
                    f"{name!r} was never tested: a stream must have at least two batches, because the first is learned "
                    "untested. Use smaller batches."
                )
            examples[name] = examples[name][known]
            values[name] = shares[..., known] if metric == "accuracy" else 1 - shares[..., known]
        drifts = found_drifts(runs) if drifts is None else drifts
        return cls(examples, values, metric=metric, drifts=drifts).plot(ax, **kwargs)

    _text = percent

    def _draw(self, yscale, **kwargs):
        return draw_curves(self.ax_, self.examples, self.values, bounds=(0.0, 1.0), **kwargs)


def _accuracies(notes, window):
    """Accuracy after each batch; nan where nothing was tested."""
    if "test_accuracy" in notes:
        return np.asarray(notes["test_accuracy"])
    return in_windows(notes["n_tested"], notes["n_right"], window)
