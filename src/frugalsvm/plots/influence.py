"""How much each learned row helps or harms: its influence on the error of given rows."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from frugalsvm.plots._style import matplotlib_part


class RowInfluenceDisplay:
    """Influences of all learned rows, from those that do the most harm to those that help most.

    Parameters
    ----------
    influence : array-like of shape (n_rows,)
        From `LocalSVC.row_influence`.
    row_ids : array-like of shape (n_rows,)
    n_marked : int, default=20
        The rows that do the most harm are marked, as rows to look at.

    Attributes
    ----------
    influence, row_ids
        As above, in increasing order of the influence.
    line_, marks_ : artists
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from frugalsvm import LocalSVC
    >>> from frugalsvm.datasets import make_checkerboard
    >>> from frugalsvm.plots import RowInfluenceDisplay
    >>> X, y = make_checkerboard(1200, random_state=0)
    >>> model = LocalSVC(C=10.0, gamma=8.0, cell_size=250, random_state=0).fit(X[:1000], y[:1000])
    >>> display = RowInfluenceDisplay.from_estimator(model, X[1000:], y[1000:])
    >>> len(display.row_ids)
    1000
    """

    def __init__(self, *, influence: ArrayLike, row_ids: ArrayLike, n_marked: int = 20):
        influence, row_ids = np.asarray(influence, float), np.asarray(row_ids)
        if influence.ndim != 1 or influence.shape != row_ids.shape:
            raise ValueError(
                f"influence and row_ids must have one value for each row, not shapes {influence.shape} and "
                f"{row_ids.shape}."
            )
        order = np.argsort(influence, kind="stable")
        self.influence, self.row_ids, self.n_marked = influence[order], row_ids[order], n_marked

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, n_marked: int = 20, ax: Any = None, **kwargs: Any
    ) -> "RowInfluenceDisplay":
        """Compute the influence of the learned rows on given ones, and draw it.

        Parameters
        ----------
        estimator : LocalSVC or LocalSVR
        X, y : array-like
            Rows that were not learned, as for `LocalSVC.row_influence`.
        n_marked : int, default=20
        ax : matplotlib Axes, default=None
        **kwargs
            For the line.

        Returns
        -------
        RowInfluenceDisplay
        """
        influence = estimator.row_influence(X, y)
        return cls(influence=influence, row_ids=estimator.row_ids_, n_marked=n_marked).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> "RowInfluenceDisplay":
        """Draw into axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        **kwargs
            For the line.

        Returns
        -------
        RowInfluenceDisplay
        """
        if ax is None:
            _, ax = matplotlib_part("pyplot").subplots()
        ranks, n_marked = np.arange(1, len(self.influence) + 1), min(self.n_marked, len(self.influence))
        (self.line_,) = ax.plot(ranks, self.influence, **{"color": "#0072B2", **kwargs})
        self.marks_ = ax.scatter(ranks[:n_marked], self.influence[:n_marked], s=12, color="#D55E00", label="Look at")
        ax.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
        ax.set_xlabel("Learned rows, from harm to help")
        ax.set_ylabel("Change of the error without the row")
        ax.legend(loc="lower right")
        self.ax_, self.figure_ = ax, ax.figure
        return self
