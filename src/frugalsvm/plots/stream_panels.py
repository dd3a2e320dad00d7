"""All that is known about models on a stream that changes, in panels above each other."""

from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from frugalsvm.plots._curves import check_window, found_drifts, histories_of, runs_with
from frugalsvm.plots.accuracy import AccuracyCurveDisplay
from frugalsvm.plots.coverage import CoverageDisplay
from frugalsvm.plots.recording import History, record_stream
from frugalsvm.plots.traces import TraceDisplay


class StreamDisplay:
    """Accuracy in windows, the age of the support vectors, and coverage, along one stream and above each other.

    Panels of what no model has are left out; drifts are marked in all of them.

    Parameters
    ----------
    history : dict or list of dict
        What `record_stream` returned; several runs are drawn as their mean and a band of one standard deviation.
    window : int, default=1000
        Number of latest examples that accuracy and coverage are averaged over; None is all so far.
    drifts : array-like of int, default=None
        Numbers of examples to be marked, such as those at which the stream changes; None is where models in a
        `DriftWatch` found a drift.

    Attributes
    ----------
    history, window, drifts
        As above; the history as a list of runs.
    displays_ : list
        An `AccuracyCurveDisplay`, and a `TraceDisplay` and a `CoverageDisplay` if there is something for them.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.conformal import ConformalClassifier
    >>> from frugalsvm.datasets import DriftStream
    >>> from frugalsvm.plots import StreamDisplay
    >>> model = ConformalClassifier(BSGDClassifier(budget=60, gamma=5.0, half_life=700))
    >>> batches = DriftStream("checkerboard", changes=[2_000], random_state=0).chunks(4_000, 100)
    >>> display = StreamDisplay.from_stream({"half-life 700": model}, batches, window=500, drifts=[2_000])
    >>> [type(each).__name__ for each in display.displays_]
    ['AccuracyCurveDisplay', 'TraceDisplay', 'CoverageDisplay']
    """

    def __init__(
        self, history: History | Sequence[History], *, window: int | None = 1000, drifts: ArrayLike | None = None
    ):
        check_window(window)
        self.history, self.window = histories_of(history), window
        self.drifts = found_drifts(self.history) if drifts is None else drifts

    @classmethod
    def from_stream(
        cls,
        estimators: Any,
        batches: Iterable[Any],
        *,
        classes: ArrayLike | None = None,
        window: int | None = 1000,
        drifts: ArrayLike | None = None,
        figure: Any = None,
    ) -> "StreamDisplay":
        """Test, then train: every batch is predicted before it is learned.

        Parameters
        ----------
        estimators, batches, classes
            As in `record_stream`. The estimators learn.
        window, drifts
            As above.
        figure : matplotlib Figure, default=None

        Returns
        -------
        StreamDisplay
        """
        check_window(window)
        history = record_stream(estimators, batches, classes=classes, certificates=(), rehearse=False)
        return cls(history, window=window, drifts=drifts).plot(figure)

    def plot(self, figure: Any = None) -> "StreamDisplay":
        """Draw the panels.

        Parameters
        ----------
        figure : matplotlib Figure, default=None
            An empty one to draw into; None is a new one.

        Returns
        -------
        self
        """
        aged, promised = (runs_with(self.history, note) for note in ("median_age", "n_covered"))
        n_panels = 1 + bool(aged) + bool(promised)
        if figure is None:
            import matplotlib.pyplot as plt

            figure = plt.figure(figsize=(6.4, 2.4 * n_panels), layout="constrained")
        axes = iter(figure.subplots(n_panels, 1, sharex=True, squeeze=False)[:, 0])
        self.displays_: list[Any] = [
            AccuracyCurveDisplay.from_history(self.history, window=self.window, ax=next(axes), drifts=self.drifts)
        ]
        below: dict[str, Any] = {"drifts": self.drifts, "legend": False}  # that of the first panel is for all
        if aged:
            display = TraceDisplay.from_history(aged, trace="median_age", ax=next(axes), yscale="linear", **below)
            display.ax_.set_ylabel("Median age of vectors")
            self.displays_.append(display)
        if promised:
            self.displays_.append(CoverageDisplay.from_history(promised, window=self.window, ax=next(axes), **below))
        for display in self.displays_[:-1]:
            display.ax_.set_xlabel("")
        self.figure_ = figure
        return self
