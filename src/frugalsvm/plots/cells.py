"""The cells of a plane: where the trees of a `LocalSVC` cut, and its decision boundary over them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalsvm.plots._style import matplotlib_part
from frugalsvm.plots.boundary import DecisionBoundaryDisplay, class_entries, computed_boundary, draw_legend

_COLORS = ("0.2", "#7B3294", "#00704A")  # of trees, in turn
_LEVELS = np.linspace(-1.8, 1.8, 37)  # the targets are -1 and 1: few values are beyond, and lines stay visible


class CellsDisplay:
    """The borders of cells of two features, and the decision values of the machines in them.

    Parameters
    ----------
    boundary : DecisionBoundaryDisplay
        Decision values on a grid.
    cells : ndarray of shape (n, m, n_trees)
        The cell of every point of the grid, in each tree.

    Attributes
    ----------
    boundary, cells
        As above.
    borders : list of ndarray of shape (n_borders, 2, 2)
        For each tree, the two ends of every line between two cells.
    lines_ : list of LineCollection
        The borders as they were drawn.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from frugalsvm import LocalSVC
    >>> from frugalsvm.datasets import make_checkerboard
    >>> from frugalsvm.plots import CellsDisplay
    >>> X, y = make_checkerboard(2000, random_state=0)
    >>> model = LocalSVC(cell_size=250, random_state=0).fit(X, y)
    >>> display = CellsDisplay.from_estimator(model, X, y=y, grid_resolution=100)
    >>> display.cells.shape, model.n_cells_
    ((100, 100, 1), 8)
    """

    def __init__(self, *, boundary: DecisionBoundaryDisplay, cells: NDArray):
        self.boundary, self.cells = boundary, np.asarray(cells)
        if self.cells.ndim != 3 or self.cells.shape[:2] != np.shape(boundary.xx0):
            raise ValueError(
                f"cells must have shape (n, m, n_trees) with the grid {np.shape(boundary.xx0)} of the boundary, not "
                f"{self.cells.shape}."
            )
        self.borders = [_borders(boundary.xx0, boundary.xx1, tree) for tree in np.moveaxis(self.cells, 2, 0)]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        y: ArrayLike | None = None,
        grid_resolution: int = 300,
        plot_points: int = 500,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> "CellsDisplay":
        """Draw a fitted `LocalSVC`.

        Parameters
        ----------
        estimator : LocalSVC
            Fitted to two features.
        X : array-like of shape (n_samples, 2)
            Examples, which decide the range that is drawn.
        y, grid_resolution, plot_points, feature_names
            As in `DecisionBoundaryDisplay.from_estimator`.
        ax : matplotlib Axes, default=None
        **kwargs
            For `plot`.

        Returns
        -------
        CellsDisplay
        """
        if not hasattr(estimator, "n_cells_") or not hasattr(estimator, "apply"):
            raise TypeError(f"{type(estimator).__name__} has no cells: give a fitted LocalSVC, without a pipeline.")
        boundary = computed_boundary(estimator, X, y, grid_resolution, plot_points, feature_names)
        cells = estimator.apply(np.column_stack([boundary.xx0.ravel(), boundary.xx1.ravel()]))
        return cls(boundary=boundary, cells=cells.reshape(*boundary.xx0.shape, -1)).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, legend: bool = True, line_kw: dict[str, Any] | None = None, **kwargs: Any):
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None is a new figure.
        legend : bool, default=True
        line_kw : dict, default=None
            For the borders of cells, as in `matplotlib.collections.LineCollection`.
        **kwargs
            For the decision values, as in `DecisionBoundaryDisplay.plot`: ``colorbar`` and ``point_kw``, for example.

        Returns
        -------
        self
        """
        shades = {"levels": _LEVELS} if self.boundary.response.ndim == 2 else {}
        options = {"show_vectors": False, "show_margins": False, "legend": False, **shades, **kwargs}
        self.boundary.plot(ax, **options)
        self.ax_, self.figure_ = self.boundary.ax_, self.boundary.figure_
        self.lines_ = [self._draw_borders(tree, line_kw or {}) for tree in range(len(self.borders))]
        if legend:
            draw_legend(self.ax_, [*class_entries(self.boundary.classes), self._border_entry()])
        return self

    def _draw_borders(self, tree, options):
        lines = matplotlib_part("collections").LineCollection
        width = 0.9 if len(self.borders) == 1 else 0.6  # many lines would hide the boundary
        style = {"colors": _COLORS[tree % len(_COLORS)], "linewidths": width, "capstyle": "round", **options}
        return self.ax_.add_collection(lines(self.borders[tree], **style), autolim=False)

    def _border_entry(self):
        """What the legend shows of borders: how many cells there are in the picture."""
        n_trees = len(self.lines_)
        n_cells = sum(len(np.unique(self.cells[..., tree])) for tree in range(n_trees))
        name = f"{n_cells} cell{'s' if n_cells > 1 else ''}" + (f" of {n_trees} trees" if n_trees > 1 else "")
        color, width = self.lines_[0].get_colors()[0], self.lines_[0].get_linewidths()[0]
        return matplotlib_part("lines").Line2D([], [], color=color, linewidth=width, label=name)


def _borders(xx0, xx1, cells):
    """Both ends of the lines between cells, (n_borders, 2, 2).

    Cells are convex, so that two of them have one straight line in common: the one through the middles of all steps of
    the grid from the one to the other.
    """
    middles, pairs = _steps_between(cells)
    order = np.argsort(pairs, kind="stable")
    parts = np.split(middles[order], np.flatnonzero(np.diff(pairs[order])) + 1) if len(pairs) else []
    ends = np.array([_ends_of(part) for part in parts]).reshape(-1, 2, 2)
    low = np.array([xx0[0, 0], xx1[0, 0]])
    step = np.array([xx0[0, 1], xx1[1, 0]]) - low
    return low + step * ends


def _steps_between(cells):
    """Steps along the grid from one cell to another: middles (n, 2), in steps, and a number for each pair of cells."""
    middles, pairs = [], []
    for axis in (0, 1):
        first, second = np.moveaxis(cells, axis, 0)[:-1], np.moveaxis(cells, axis, 0)[1:]
        along, across = np.nonzero(first != second)
        place = np.column_stack([across, along + 0.5] if axis == 0 else [along + 0.5, across])
        low, high = np.sort([first[along, across], second[along, across]], axis=0)
        middles.append(place)
        pairs.append(low * (cells.max() + 1) + high)
    return np.concatenate(middles), np.concatenate(pairs)


def _ends_of(points):
    """The ends of a line through points; half a step is added to meet other lines."""
    center = points.mean(axis=0)
    direction = np.linalg.svd(points - center, full_matrices=False)[2][0]
    along = (points - center) @ direction
    return center + np.outer([along.min() - 0.5, along.max() + 0.5], direction)
