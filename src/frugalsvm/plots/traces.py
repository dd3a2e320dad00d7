"""What models say of their own quality while they learn: duality gap, gradient error, objective."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from frugalsvm.plots._curves import StreamCurvesDisplay, checked_curves, choose, draw_curves, found_drifts, histories_of
from frugalsvm.plots.recording import CERTIFICATES, History

AXES = {"examples": "Examples learned", "seconds": "Seconds of learning"}


class TraceDisplay(StreamCurvesDisplay):
    """A trace, such as the duality gap, against examples or seconds; its axis is logarithmic.

    Parameters
    ----------
    x : dict of array-like of shape (n_points,)
        Numbers of examples, or seconds, by the name of the curve.
    values : dict of array-like of shape (n_points,) or (n_runs, n_points)
        The traces. Several runs are drawn as their mean and a band of one standard deviation.
    against : {"examples", "seconds"}, default="examples"
        What ``x`` is.
    trace : str, default="value"
        What the values are: the label of their axis.
    drifts : array-like of int, default=()
        Numbers of examples at which the stream has changed, or a drift was found: each is marked by a vertical line.

    Attributes
    ----------
    x, values, against, trace, drifts
        As above, with arrays.
    lines_, bands_, marks_ : list of artists
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Notes
    -----
    A logarithmic axis cannot show zero and below: such values leave a gap in the line. A dual objective, which may
    be of any sign, is drawn with ``plot(yscale="linear")``.

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.datasets import stream
    >>> from frugalsvm.plots import TraceDisplay
    >>> models = {f"{budget} vectors": BSGDClassifier(budget=budget, gamma=5.0) for budget in (10, 30)}
    >>> batches = stream("checkerboard", 6000, chunk_size=1000, random_state=0)
    >>> display = TraceDisplay.from_stream(models, batches)
    >>> display.trace, display.values["10 vectors"].shape
    ('gradient error', (6,))
    """

    def __init__(
        self,
        x: Mapping[str, ArrayLike],
        values: Mapping[str, ArrayLike],
        *,
        against: str = "examples",
        trace: str = "value",
        drifts: ArrayLike = (),
    ):
        self.drifts = np.asarray(drifts)
        self.against, self.trace = choose("against", against, tuple(AXES)), trace
        self.x, self.values = checked_curves(x, values, "x", "values")
        self._axes = AXES[against], trace[:1].upper() + trace[1:]

    @classmethod
    def _recording(cls, trace=None, against="examples", **options):
        choose("against", against, tuple(AXES))
        return {"certificates": CERTIFICATES if trace is None else (trace,), "rehearse": against == "seconds"}

    @classmethod
    def from_history(
        cls,
        history: History | Sequence[History],
        *,
        trace: str | None = None,
        against: str = "examples",
        drifts: ArrayLike | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> "TraceDisplay":
        """From what `record_stream` returned, or from a list of that: several runs, drawn as mean and band.

        Parameters
        ----------
        history : dict or list of dict
        trace : str, default=None
            The attribute, for example ``"member_gap_"``, ``"gradient_error_"`` or any other that is a number; None is
            the first that all models have of those that `record_stream` notes. Traces are also what it notes of sizes:
            ``"n_terms"``, ``"model_bytes"``, and the ``"median_age"`` of the support vectors.
        against : {"examples", "seconds"}, default="examples"
            Seconds of several runs are their mean.
        drifts : array-like of int, default=None
            Numbers of examples to be marked; None is where models in a `DriftWatch` found a drift.
        ax : matplotlib Axes, default=None
        **kwargs
            For `plot`.

        Returns
        -------
        TraceDisplay
        """
        choose("against", against, tuple(AXES))
        runs = histories_of(history)
        trace = _common_trace(runs) if trace is None else trace
        for run in runs:
            for name, notes in run.items():
                if trace not in notes:
                    there = [key for key in CERTIFICATES if key in notes]
                    raise ValueError(f"{name!r} has no {trace!r}; it has {there or 'none of the known traces'}.")
        x, values = {}, {}
        for name in runs[0]:
            rows = [np.asarray(run[name][trace], np.float64) for run in runs]
            if len({len(row) for row in rows}) > 1:
                raise ValueError(f"The runs of {name!r} have different numbers of batches.")
            x[name] = np.mean([run[name][against] for run in runs], axis=0)
            values[name] = rows[0] if len(rows) == 1 else np.stack(rows)
        if drifts is None:
            drifts = found_drifts(runs) if against == "examples" else ()
        shown = trace.strip("_").replace("_", " ")
        return cls(x, values, against=against, trace=shown, drifts=drifts).plot(ax, **kwargs)

    _scales = ("linear", "log")

    def _draw(self, yscale, **kwargs):
        drawn, bounds = self.values, (-np.inf, np.inf)
        if yscale == "log":
            drawn = {name: np.where(runs > 0, runs, np.nan) for name, runs in self.values.items()}
            positive = np.concatenate([runs[np.isfinite(runs)] for runs in drawn.values()])
            if positive.size == 0:
                raise ValueError(f"No {self.trace} is above zero: draw it with plot(yscale='linear').")
            bounds = (positive.min() / 2, np.inf)
        return draw_curves(self.ax_, self.x, drawn, bounds=bounds, **kwargs)


def _common_trace(runs):
    """The first trace that all models have."""
    for trace in CERTIFICATES:
        if all(trace in notes for run in runs for notes in run.values()):
            return trace
    each = {name: [trace for trace in CERTIFICATES if trace in notes] for name, notes in runs[0].items()}
    raise ValueError(f"There is no trace that all models have; they have {each}. Draw those that differ separately.")
