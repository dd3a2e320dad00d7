"""The decision boundary of a classifier of two features, its margins and its support vectors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalsvm.exceptions import ParameterError
from frugalsvm.plots._grid import (
    checked_classes,
    checked_points,
    grid_around,
    names_of_features,
    response_on,
    vectors_or_note,
)
from frugalsvm.plots._style import (
    MARKERS,
    axes_for,
    class_colors,
    diverging,
    legend_below,
    legend_columns,
    matplotlib_part,
    tinted,
    wrapped,
)
from frugalsvm.plots._vectors import ModelVectors

N_SHADES = 20


class DecisionBoundaryDisplay:
    """Decision values of a classifier on a grid, with its vectors and with examples.

    With two classes the decision values are shaded, and lines mark the boundary (0) and the margins (-1 and 1). With
    several, every class has its region.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (n, m)
        The grid: first and second feature.
    response : ndarray of shape (n, m) or (n, m, n_classes)
        Decision values on the grid.
    classes : array-like of shape (n_classes,)
    vectors : ModelVectors or tuple, default=None
        Name, points, coefficients, indices of their classes in ``classes``, and whether these are classes of examples:
        landmarks, which have none, are drawn in gray.
    vectors_note : str, default=None
        Why there are no vectors; the legend says it.
    X, y : array-like, default=None
        Examples to be drawn and, if they are known, their labels.
    feature_names : sequence of two str, default=("Feature 1", "Feature 2")

    Attributes
    ----------
    xx0, xx1, response, classes, vectors, vectors_note, X, y, feature_names
        As above.
    surface_ : QuadContourSet, or list of them
        The shades; with several classes one for each region that there is.
    lines_ : list of QuadContourSet
        The boundaries.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> from frugalsvm.plots import DecisionBoundaryDisplay
    >>> X, y = make_checkerboard(5000, random_state=0)
    >>> model = BSGDClassifier(budget=60, gamma=5.0, random_state=0).fit(X, y)
    >>> display = DecisionBoundaryDisplay.from_estimator(model, X, y=y, grid_resolution=100)
    >>> display.response.shape, display.vectors.points.shape
    ((100, 100), (60, 2))
    """

    def __init__(
        self,
        *,
        xx0: NDArray,
        xx1: NDArray,
        response: NDArray,
        classes: ArrayLike,
        vectors: ModelVectors | tuple | None = None,
        vectors_note: str | None = None,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        feature_names: Sequence[str] = ("Feature 1", "Feature 2"),
    ):
        self.xx0, self.xx1, self.response = xx0, xx1, np.asarray(response)
        self.classes = np.asarray(classes)
        self.vectors = None if vectors is None else ModelVectors(*vectors)
        self.vectors_note = vectors_note
        self.X = None if X is None else np.asarray(X)
        self.y = None if y is None else np.asarray(y)
        self.feature_names = tuple(feature_names)
        if self.response.shape[:2] != np.shape(xx0) or np.shape(xx0) != np.shape(xx1):
            raise ValueError(
                f"xx0, xx1 and response must have the same grid, not {np.shape(xx0)}, {np.shape(xx1)} and "
                f"{self.response.shape}."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        y: ArrayLike | None = None,
        grid_resolution: int = 200,
        plot_points: int = 1000,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> "DecisionBoundaryDisplay":
        """Draw a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            Fitted to two features; a `StreamPipeline` or a scikit-learn pipeline, too.
        X : array-like of shape (n_samples, 2), default=None
            Examples, which decide the range that is drawn; None is the range of the support vectors.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        grid_resolution : int, default=200
            Number of points along each side.
        plot_points : int, default=1000
            How many of the examples are drawn at most; they are taken evenly from all. 0 is none.
        feature_names : sequence of two str, default=None
            None is the names that the estimator was fitted with, if any.
        ax : matplotlib Axes, default=None
        **kwargs
            For `plot`.

        Returns
        -------
        DecisionBoundaryDisplay
        """
        return computed_boundary(estimator, X, y, grid_resolution, plot_points, feature_names).plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        show_vectors: bool = True,
        show_margins: bool = True,
        colorbar: bool = True,
        legend: bool = True,
        vector_kw: dict[str, Any] | None = None,
        point_kw: dict[str, Any] | None = None,
        **kwargs: Any,
    ):
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None is a new figure.
        show_vectors : bool, default=True
        show_margins : bool, default=True
            Whether to draw lines at -1 and 1 with two classes: margins of a hinge loss, which squared errors do not
            have.
        colorbar : bool, default=True
            Whether to explain the shades of two classes.
        legend : bool, default=True
        vector_kw, point_kw : dict, default=None
            For the vectors and for the examples, as in `Axes.scatter`.
        **kwargs
            For the shades, as in `Axes.contourf`: ``levels`` and ``cmap``, for example.

        Returns
        -------
        self
        """
        self.ax_ = axes_for(ax, (5.6, 4.8))
        self.figure_ = self.ax_.figure
        colors = class_colors(len(self.classes))
        if self.response.ndim == 2:
            self._draw_shades(colors, show_margins, colorbar, kwargs)
        else:
            self._draw_regions(colors, kwargs)
        handles = self._draw_points(colors, point_kw or {})
        if show_vectors:
            handles += self._draw_vectors(colors, vector_kw or {})
        self.ax_.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1])
        self.ax_.set(xlim=(self.xx0.min(), self.xx0.max()), ylim=(self.xx1.min(), self.xx1.max()))
        if legend:
            draw_legend(self.ax_, handles)
        return self

    def _draw_shades(self, colors, show_margins, colorbar, options):
        shades = diverging(tinted(colors[0], 0.75), (1.0, 1.0, 1.0), tinted(colors[1], 0.75))
        limit = _shade_limit(self.response)
        chosen = {"levels": np.linspace(-limit, limit, N_SHADES + 1), "cmap": shades, "extend": "both", **options}
        self.surface_ = self.ax_.contourf(self.xx0, self.xx1, self.response, **chosen)
        styles = {-1.0: ("--", 0.9), 0.0: ("-", 1.7), 1.0: ("--", 0.9)}
        wanted = styles if show_margins else (0.0,)
        there = [level for level in wanted if self.response.min() < level < self.response.max()]
        self.lines_ = []
        if there:
            dashes, widths = zip(*(styles[level] for level in there), strict=True)
            self.lines_.append(
                self.ax_.contour(
                    self.xx0, self.xx1, self.response, levels=there, colors="k", linestyles=dashes, linewidths=widths
                )
            )
        if colorbar:
            low, high = self.surface_.levels[[0, -1]]
            ticks = matplotlib_part("ticker").MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(low, high)
            ticks = ticks[(ticks >= low) & (ticks <= high)]
            self.figure_.colorbar(self.surface_, ax=self.ax_, label="Decision value", ticks=ticks)

    def _draw_regions(self, colors, options):
        self.surface_, self.lines_ = [], []
        for index, color in enumerate(colors):
            others = np.delete(self.response, index, axis=2).max(axis=2)
            lead = self.response[..., index] - others  # its zeros are smoother than those of the predicted classes
            if lead.max() <= 0:
                continue
            levels = [0.0, max(2 * lead.max(), 1e-300)]
            chosen = {"levels": levels, "colors": [tinted(color, 0.35)], **options}
            self.surface_.append(self.ax_.contourf(self.xx0, self.xx1, lead, **chosen))
            if lead.min() < 0:
                self.lines_.append(self.ax_.contour(self.xx0, self.xx1, lead, levels=[0.0], colors="k", linewidths=1.2))

    def _draw_points(self, colors, options):
        """Examples; returns the entries of the classes in the legend."""
        if self.X is not None and self.y is not None:
            for index, (name, color) in enumerate(zip(self.classes.tolist(), colors, strict=True)):
                marker = MARKERS[index % len(MARKERS)]
                x0, x1 = self.X[self.y == name].T
                style = {"s": 9, "color": color, "marker": marker, "alpha": 0.55, "linewidths": 0, **options}
                self.ax_.scatter(x0, x1, **style)
        if self.X is not None and self.y is None:
            self.ax_.scatter(*self.X.T, **{"s": 7, "color": "0.25", "alpha": 0.5, "linewidths": 0, **options})
        return class_entries(self.classes)

    def _draw_vectors(self, colors, options):
        """Vectors; returns their entry in the legend."""
        line = matplotlib_part("lines").Line2D
        if self.vectors is None:
            return [line([], [], linestyle="", label=wrapped(self.vectors_note, 60))] if self.vectors_note else []
        label = f"{len(self.vectors.points):,} {self.vectors.name}"
        if not self.vectors.are_examples:
            self.ax_.scatter(*self.vectors.points.T, **{"s": 26, "c": "0.15", "marker": "x", "lw": 1.1, **options})
            return [line([], [], linestyle="", marker="x", color="0.15", label=label)]
        shrink = min(1.0, (150 / len(self.vectors.points)) ** 0.5)  # many vectors would hide each other
        for index, color in enumerate(colors):
            x0, x1 = self.vectors.points[self.vectors.places == index].T
            marker = MARKERS[index % len(MARKERS)]
            style = {"s": 28 * shrink, "color": color, "marker": marker, "edgecolors": "k", **options}
            self.ax_.scatter(x0, x1, zorder=3, **{"linewidths": 0.9 * shrink, **style})
        return [line([], [], linestyle="", marker="o", markerfacecolor="w", markeredgecolor="k", label=label)]


def computed_boundary(
    estimator: Any,
    X: Any,
    y: ArrayLike | None,
    grid_resolution: int,
    plot_points: int,
    feature_names: Sequence[str] | None,
) -> DecisionBoundaryDisplay:
    """A display that is not drawn yet, of a fitted classifier."""
    classes = checked_classes(estimator)
    if not isinstance(grid_resolution, int | np.integer) or grid_resolution < 2:
        raise ParameterError("grid_resolution", grid_resolution, "an integer of at least 2")
    names = names_of_features(estimator, X, feature_names)
    points, labels = checked_points(X, y)
    vectors, note = vectors_or_note(estimator)
    xx0, xx1 = grid_around(points, vectors, grid_resolution)
    response = response_on(estimator, np.column_stack([xx0.ravel(), xx1.ravel()]), classes)
    if points is not None:
        shown = np.unique(np.linspace(0, len(points) - 1, min(plot_points, len(points))).astype(int))
        points, labels = points[shown], None if labels is None else labels[shown]
    return DecisionBoundaryDisplay(
        xx0=xx0,
        xx1=xx1,
        response=response.reshape(*xx0.shape, *response.shape[1:]),
        classes=classes,
        vectors=vectors,
        vectors_note=note,
        X=points,
        y=labels,
        feature_names=names,
    )


def class_entries(classes: NDArray) -> list[Any]:
    """What a legend shows of classes."""
    line, colors = matplotlib_part("lines").Line2D, class_colors(len(classes))
    # Names of classes speak for themselves, numbers do not.
    labels = [wrapped(name) if isinstance(name, str) else f"class {name}" for name in classes.tolist()]
    return [
        line([], [], linestyle="", marker=MARKERS[index % len(MARKERS)], color=color, label=label)
        for index, (label, color) in enumerate(zip(labels, colors, strict=True))
    ]


def draw_legend(ax: Any, handles: list[Any]) -> None:
    """A legend below, in as many columns as there is room for."""
    n_columns = legend_columns([handle.get_label() for handle in handles], ax.figure.get_figwidth())
    legend_below(ax, handles=handles, ncols=n_columns, columnspacing=1.2, handletextpad=0.4)


def _shade_limit(response):
    """The decision value of the darkest shade, a round number.

    Most values decide, not the largest: one far corner would leave the rest white.
    """
    most = max(1.5, float(np.percentile(np.abs(response), 90)))
    step = 0.5 if most < 5 else 10 ** np.floor(np.log10(most)) / 2
    return step * np.ceil(most / step)
