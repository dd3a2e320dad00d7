"""The share of sets and intervals that have the truth, while a stream is learned."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalsvm.exceptions import ParameterError
from frugalsvm.plots._curves import checked_curves, draw_curves, percent
from frugalsvm.plots._style import axes_for, label_axis

__all__ = ["CoverageDisplay"]


class CoverageDisplay:
    """Coverage in windows of a stream, beside what was promised.

    Parameters
    ----------
    examples : dict of array-like of shape (n_points,)
        Numbers of examples, by the name of the curve.
    coverage : dict of array-like of shape (n_points,) or (n_runs, n_points)
        Shares of examples between 0 and 1. Several runs are drawn as their mean and a band of one standard deviation.
    promised : float, default=None
        The promised share. None draws no line for it.

    Attributes
    ----------
    examples, coverage, promised
        As above, with arrays.
    lines_, bands_ : list of artists
        One line per curve, and one band per curve with several runs.
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
        self, examples: Mapping[str, ArrayLike], coverage: Mapping[str, ArrayLike], *, promised: float | None = None
    ):
        self.examples, self.coverage = checked_curves(examples, coverage, "examples", "coverage")
        self.promised = promised

    @classmethod
    def from_stream(
        cls, estimators: Any, batches: Iterable[Any], *, window: int = 1000, ax: Any = None, **kwargs: Any
    ) -> "CoverageDisplay":
        """Test, then train: the set or interval of every row is made before the row is learned.

        Parameters
        ----------
        estimators : conformal estimator, or dict of them by name
            `ConformalClassifier` or `ConformalRegressor`. They learn.
        batches : iterable of pairs (X, y)
        window : int, default=1000
            Number of latest examples that are averaged over (whole batches, one at least).
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
        if not isinstance(window, int | np.integer) or window < 1:
            raise ParameterError("window", window, "a number of examples of at least 1")
        named = estimators if isinstance(estimators, Mapping) else {type(estimators).__name__: estimators}
        for name, estimator in named.items():
            if not hasattr(estimator, "test_then_train") or not hasattr(estimator, "coverage"):
                raise TypeError(f"{name!r} promises no coverage: wrap it in ConformalClassifier or ConformalRegressor.")
        n_rows: list[int] = []
        n_covered: dict[str, list[int]] = {name: [] for name in named}
        for X, y in batches:
            n_rows.append(len(y))
            for name, estimator in named.items():
                n_covered[name].append(int(_covered(estimator, X, y).sum()))
        examples = np.cumsum(n_rows)
        shares = {name: _in_windows(np.array(n_rows), np.array(each), window) for name, each in n_covered.items()}
        promised = {estimator.coverage for estimator in named.values()}
        display = cls(dict.fromkeys(named, examples), shares, promised=promised.pop() if len(promised) == 1 else None)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, legend: bool = True, **kwargs: Any):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None is a new figure.
        legend : bool, default=True
        **kwargs
            For every line, as in `Axes.plot`.

        Returns
        -------
        self
        """
        self.ax_ = axes_for(ax)
        self.figure_ = self.ax_.figure
        self.lines_, self.bands_ = draw_curves(self.ax_, self.examples, self.coverage, bounds=(0.0, 1.0), **kwargs)
        self.promise_ = None
        if self.promised is not None:
            style = {"color": "0.4", "linewidth": 1.0, "linestyle": "--", "zorder": 1}
            self.promise_ = self.ax_.axhline(self.promised, label="Promised", **style)
        self.ax_.set(xlabel="Examples learned", ylabel="Coverage")
        label_axis(self.ax_.xaxis)
        label_axis(self.ax_.yaxis, text=percent)
        self.ax_.grid(alpha=0.3, linewidth=0.6)
        if legend:
            self.ax_.legend(frameon=False)
        return self


def _covered(estimator: Any, X: Any, y: Any) -> NDArray[np.bool_]:
    """Whether the truth of each row was in its set or interval; the rows are learned."""
    answer, truth = estimator.test_then_train(X, y), np.asarray(y)
    if not hasattr(estimator, "predict_set"):
        return (answer[:, 0] <= truth) & (truth <= answer[:, 1])
    return answer[np.arange(len(truth)), np.searchsorted(estimator.classes_, truth)]


def _in_windows(n_rows: NDArray[np.int64], n_covered: NDArray[np.int64], window: int) -> NDArray[np.float64]:
    """The share in the latest rows after each batch."""
    rows, covered = (np.concatenate([[0], np.cumsum(each)]) for each in (n_rows, n_covered))
    ends = np.arange(1, len(rows))
    starts = np.minimum(np.searchsorted(rows, rows[ends] - window), ends - 1)
    return (covered[ends] - covered[starts]) / (rows[ends] - rows[starts])
