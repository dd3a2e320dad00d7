"""Why a model says what it says: the shares of columns in one value, or in those of many rows."""

from typing import TYPE_CHECKING, Any

import numpy as np

from frugalsvm.exceptions import ParameterError
from frugalsvm.plots._curves import choose
from frugalsvm.plots._style import (
    BLUE,
    VERMILLION,
    as_rows,
    axes_for,
    diverging,
    draw_bars,
    height_of,
    label_axis,
    matplotlib_part,
    wrapped,
)

if TYPE_CHECKING:
    from frugalsvm.explain import Explanation


KINDS = ("waterfall", "bars", "beeswarm")
LINE = 0.3  # inches of height for a column


class ExplanationDisplay:
    """The shares of columns in the values of a model.

    Parameters
    ----------
    explanation : Explanation
        What `shapley_values` returns.

    Attributes
    ----------
    explanation : Explanation
    artist_ : BarContainer or list of PathCollection
        The bars, or the points of each column.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm import ASSETClassifier
    >>> from frugalsvm.plots import ExplanationDisplay
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> model = ASSETClassifier(n_components=32, random_state=0).fit(X, X[:, 1] > 0)
    >>> display = ExplanationDisplay.from_estimator(model, X[:50], X[50:100], kind="bars")
    >>> display.ax_.get_yticklabels()[0].get_text()
    'Feature 2'
    """

    def __init__(self, explanation: "Explanation"):
        from frugalsvm.explain import Explanation  # here: it imports compiled code

        if not isinstance(explanation, Explanation):
            raise TypeError(f"explanation must be what shapley_values returns, not a {type(explanation).__name__}.")
        self.explanation = explanation

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        background: Any = "auto",
        *,
        kind: str | None = None,
        row: int = 0,
        output: str | int | None = None,
        n_features: int = 12,
        ax: Any = None,
        n_jobs: int | None = None,
        **kwargs: Any,
    ) -> "ExplanationDisplay":
        """Explain rows and draw the result.

        Parameters
        ----------
        estimator, X, background, n_jobs
            For `shapley_values`.
        kind, row, output, n_features, ax, **kwargs
            For `plot`.

        Returns
        -------
        ExplanationDisplay
        """
        from frugalsvm.explain import shapley_values

        made = cls(shapley_values(estimator, X, background, n_jobs=n_jobs))
        return made.plot(ax, kind=kind, row=row, output=output, n_features=n_features, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str | None = None,
        row: int = 0,
        output: str | int | None = None,
        n_features: int = 12,
        **kwargs: Any,
    ):
        """Draw the shares of one row, or of all.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None is a new figure.
        kind : {"waterfall", "bars", "beeswarm"}, default=None
            "waterfall" leads from the base value to that of one row, a bar for each column; "bars" are
            mean absolute shares over rows; "beeswarm" has a point for each row and column, whose color tells whether
            the value in the column is a high one. None is "waterfall" for one row, and "beeswarm" for several.
        row : int, default=0
            The row of a waterfall.
        output : str or int, default=None
            One of several outputs, by name or index. None is the one with the largest value of the row, and for "bars"
            the sum over all.
        n_features : int, default=12
            How many columns are shown at most; a last line is for all others.
        **kwargs
            For the bars, as in `Axes.barh`, or for the points, as in `Axes.scatter`.

        Returns
        -------
        self
        """
        kind = ("waterfall" if len(self.explanation) == 1 else "beeswarm") if kind is None else kind
        choose("kind", kind, KINDS)
        if not isinstance(n_features, int | np.integer) or n_features < 1:
            raise ParameterError("n_features", n_features, "an integer of at least 1")
        if not 0 <= row < len(self.explanation):
            raise ParameterError("row", row, f"the index of a row, below {len(self.explanation)}")
        if kind == "bars":
            self._draw_bars(ax, output, n_features, kwargs)
        else:
            leading = self.explanation.leading_output(row) if output is None else output
            chosen = self.explanation.of_output(leading)
            draw = self._draw_waterfall if kind == "waterfall" else self._draw_beeswarm
            draw(ax, chosen, row, n_features, kwargs)
        self.ax_.spines[["top", "right", "left"]].set_visible(False)
        label_axis(self.ax_.xaxis)
        self.figure_ = self.ax_.figure
        return self

    def _draw_waterfall(self, ax, chosen, row, n_features, options):
        from frugalsvm.explain.text import largest_lines, number_text

        base = float(chosen.base_values[0])
        _, lines = largest_lines(chosen.values[row], chosen.labels(row), n_features)
        labels, sizes = [wrapped(label) for label, _ in lines], [size for _, size in lines]
        # The largest share is on top, next to the value of the row; the base value is at the bottom.
        ends = base + np.cumsum(sizes[::-1])
        starts = np.concatenate([[base], ends[:-1]])
        self.ax_ = axes_for(ax, (6.4, height_of(labels, LINE) + 1.1))
        places = np.arange(len(sizes))[::-1]
        colors = [BLUE if size > 0 else VERMILLION for size in sizes[::-1]]
        chosen_style = {"color": colors, "height": 0.68, **options}
        self.artist_ = self.ax_.barh(places, sizes[::-1], left=starts, **chosen_style)
        for place, end in zip(places[:-1], ends[:-1], strict=True):
            self.ax_.plot([end, end], [place + 0.34, place - 1.34], color="0.6", linewidth=0.8)
        # On the right of all bars: on the left they would run into the names of the columns.
        for place, size, right in zip(places, sizes[::-1], np.maximum(starts, ends), strict=True):
            label = {"textcoords": "offset points", "va": "center", "fontsize": "small", "color": "0.3"}
            self.ax_.annotate(f"{size:+.3g}", (right, place), (3, 0), **label)
        self.ax_.use_sticky_edges = False  # or labels beside bars would have no room
        self.ax_.margins(x=0.2)
        self.ax_.axvline(base, color="0.6", linestyle=":", linewidth=1.0)
        as_rows(self.ax_, places, labels[::-1])
        self.ax_.set(xlabel=f"Value for {chosen.output_names[0]}")
        value = number_text(chosen.predictions[row])
        self.ax_.set_title(f"From the base value {number_text(base)} to {value}", fontsize="medium")

    def _draw_bars(self, ax, output, n_features, options):
        from frugalsvm.explain.text import largest_lines, number_text

        found = self.explanation if output is None else self.explanation.of_output(output)
        largest, lines = largest_lines(found.total_importances, found.feature_names, n_features)
        self.ax_, self.artist_ = draw_bars(ax, lines, len(largest), (5.4, LINE), number_text, **options)
        self.ax_.set(xlabel=f"Mean absolute share, {len(found):,} rows")

    def _draw_beeswarm(self, ax, chosen, row, n_features, options):
        from frugalsvm.explain.text import largest_first

        order, _ = largest_first(chosen.importances, n_features)
        names = [wrapped(chosen.feature_names[p]) for p in order]
        self.ax_ = axes_for(ax, (6.4, height_of(names, 1.25 * LINE) + 1.1))
        shades = diverging(VERMILLION, (0.85, 0.85, 0.85), BLUE)
        style = {"s": 9, "linewidths": 0, "cmap": shades, "vmin": 0.0, "vmax": 1.0, **options}
        self.artist_ = []
        for place, p in enumerate(order):
            shares = chosen.values[:, p]
            heights = place + _spread(shares)
            ranks = _ranks(chosen.data[:, p])
            colored = {"color": "0.5"} if ranks is None else {"c": ranks}
            kept = style if ranks is not None else {k: v for k, v in style.items() if k not in ("cmap", "vmin", "vmax")}
            self.artist_.append(self.ax_.scatter(shares, heights, **colored, **kept))
        self.ax_.axvline(0.0, color="0.6", linewidth=0.8)
        as_rows(self.ax_, np.arange(len(order)), names)
        self.ax_.set(xlabel=f"Share in the value for {chosen.output_names[0]}")
        mappable = matplotlib_part("cm").ScalarMappable(cmap=shades)
        bar = self.ax_.figure.colorbar(mappable, ax=self.ax_, ticks=(0, 1), aspect=30)
        bar.ax.set_yticklabels(["low", "high"])
        bar.set_label("Value in the column")
        bar.outline.set(color="0.8", linewidth=0.8)


def _spread(shares):
    """How far points are above or below their line: the denser they are, the farther."""
    counts, edges = np.histogram(shares, bins=60)
    bins = np.clip(np.searchsorted(edges, shares, side="right") - 1, 0, len(counts) - 1)
    out, most = np.zeros(len(shares)), max(1, counts.max())
    for index in np.flatnonzero(counts > 1):
        inside = np.flatnonzero(bins == index)
        out[inside] = np.linspace(-0.38, 0.38, len(inside)) * np.sqrt(len(inside) / most)
    return out


def _ranks(values):
    """Where the values of a column stand among each other, from 0 to 1; None for text."""
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        return None
    known = np.nan_to_num(numbers, nan=float(np.nanmedian(numbers)) if np.isfinite(numbers).any() else 0.0)
    distinct, places = np.unique(known, return_inverse=True)
    return places / max(1, len(distinct) - 1)
