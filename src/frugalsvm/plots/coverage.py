"""The share of sets and intervals that have the truth, while a stream is learned."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from frugalsvm.plots._curves import (
    CurvesDisplay,
    check_window,
    checked_curves,
    curves_of,
    draw_curves,
    found_drifts,
    histories_of,
    in_windows,
    percent,
    runs_with,
)
from frugalsvm.plots.recording import History, covered


class CoverageDisplay(CurvesDisplay):
    """Coverage in windows of a stream, beside what was promised.

    Parameters
    ----------
    examples : dict of array-like of shape (n_points,)
        Numbers of examples, by the name of the curve.
    coverage : dict of array-like of shape (n_points,) or (n_runs, n_points)
        Shares of examples between 0 and 1. Several runs are drawn as their mean and a band of one standard deviation.
    promised : float, default=None
        The promised share. None draws no line for it.
    drifts : array-like of int, default=()
        Numbers of examples at which the stream has changed, or a drift was found: each is marked by a vertical line.

    Attributes
    ----------
    examples, coverage, promised, drifts
        As above, with arrays.
    lines_, bands_, marks_ : list of artists
        One line per curve, one band per curve with several runs, and the marks of drifts.
    promise_ : artist or None
        The line of the promised share.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from frugalsvm.plots import CoverageDisplay
    >>> display = CoverageDisplay({"model": [100, 200]}, {"model": [0.88, 0.91]}, promised=0.9).plot()
    >>> display.ax_.get_ylabel()
    'Coverage'
    """

    def __init__(
        self,
        examples: Mapping[str, ArrayLike],
        coverage: Mapping[str, ArrayLike],
        *,
        promised: float | None = None,
        drifts: ArrayLike = (),
    ):
        self.drifts = np.asarray(drifts)
        self.examples, self.coverage = checked_curves(examples, coverage, "examples", "coverage")
        self.promised = promised

    @classmethod
    def from_stream(
        cls,
        estimators: Any,
        batches: Iterable[Any],
        *,
        window: int | None = 1000,
        drifts: ArrayLike = (),
        ax: Any = None,
        **kwargs: Any,
    ) -> "CoverageDisplay":
        """Test, then train: the set or interval of every row is made before the row is learned.

        Parameters
        ----------
        estimators : conformal estimator, or dict of them by name
            `ConformalClassifier` or `ConformalRegressor`. They are trained on the stream.
        batches : iterable of pairs (X, y)
        window : int, default=1000
            Number of latest examples that are averaged over (whole batches, one at least); None is all so far.
        drifts : array-like of int, default=()
            Numbers of examples to be marked, such as those at which the stream changes.
        ax : matplotlib Axes, default=None
        **kwargs
            For `plot`.

        Returns
        -------
        CoverageDisplay

        Examples
        --------
        >>> from sklearn.linear_model import SGDRegressor
        >>> from frugalsvm.conformal import ConformalRegressor
        >>> from frugalsvm.datasets import DriftStream
        >>> from frugalsvm.plots import CoverageDisplay
        >>> batches = DriftStream("friedman", changes=5_000, random_state=0).chunks(10_000, 50)
        >>> display = CoverageDisplay.from_stream(ConformalRegressor(SGDRegressor(random_state=0)), batches)
        >>> bool(abs(display.coverage["ConformalRegressor"][-1] - 0.9) < 0.03)
        True
        """
        check_window(window)
        named = estimators if isinstance(estimators, Mapping) else {type(estimators).__name__: estimators}
        for name, estimator in named.items():
            if not hasattr(estimator, "test_then_train") or not hasattr(estimator, "coverage"):
                raise TypeError(f"{name!r} promises no coverage: wrap it in ConformalClassifier or ConformalRegressor.")
        n_rows: list[int] = []
        n_covered: dict[str, list[int]] = {name: [] for name in named}
        for X, y in batches:
            n_rows.append(len(y))
            for name, estimator in named.items():
                n_covered[name].append(int(covered(estimator, X, y).sum()))
        examples = np.cumsum(n_rows)
        shares = {name: in_windows(n_rows, each, window) for name, each in n_covered.items()}
        promised = _only({estimator.coverage for estimator in named.values()})
        return cls(dict.fromkeys(named, examples), shares, promised=promised, drifts=drifts).plot(ax, **kwargs)

    @classmethod
    def from_history(
        cls,
        history: History | Sequence[History],
        *,
        window: int | None = 1000,
        drifts: ArrayLike | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> "CoverageDisplay":
        """From what `record_stream` returned, or from a list of that: several runs, drawn as mean and band.

        Parameters
        ----------
        history : dict or list of dict
            Estimators that promise nothing are left out.
        window, ax, **kwargs
            As in `from_stream`.
        drifts : array-like of int, default=None
            Numbers of examples to be marked; None is where models in a `DriftWatch` found a drift.

        Returns
        -------
        CoverageDisplay
        """
        check_window(window)
        every = histories_of(history)
        runs = runs_with(every, "n_covered")
        if not runs:
            raise ValueError("No estimator promises a coverage: wrap it in ConformalClassifier.")
        examples, shares = curves_of(runs, lambda notes: in_windows(notes["n_tested"], notes["n_covered"], window))
        promised = _only({float(value) for run in runs for notes in run.values() for value in notes["promised"]})
        drifts = found_drifts(every) if drifts is None else drifts
        return cls(examples, shares, promised=promised, drifts=drifts).plot(ax, **kwargs)

    _axes, _text = ("Examples learned", "Coverage"), percent

    def _draw(self, yscale, **kwargs):
        artists = draw_curves(self.ax_, self.examples, self.coverage, bounds=(0.0, 1.0), **kwargs)
        self.promise_ = None
        if self.promised is not None:
            style = {"color": "0.4", "linewidth": 1.0, "linestyle": ":", "zorder": 1}
            self.promise_ = self.ax_.axhline(self.promised, label="Promised", **style)
        return artists


def _only(promised: set) -> float | None:
    """What all have promised; None where they differ."""
    return promised.pop() if len(promised) == 1 else None
