"""Colors, numbers on axes and figures, the same in all displays."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The palette of Okabe and Ito (2008), distinguishable in every kind of color vision; yellow is too pale for lines.
BLUE, VERMILLION = "#0072B2", "#D55E00"
PALETTE = (BLUE, VERMILLION, "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
DASHES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (3, 1)), (0, (1, 1)))


def matplotlib_part(name: str) -> Any:
    """A module of matplotlib, such as ``pyplot``."""
    from importlib import import_module

    try:
        return import_module(f"matplotlib.{name}")
    except ImportError as error:
        raise ImportError("frugalsvm.plots needs matplotlib: pip install 'frugalsvm[plots]'.") from error


def axes_for(ax: Any, size: tuple[float, float] = (5.2, 3.8)) -> Any:
    """The axes that are given, or those of a new figure that leaves room for all labels."""
    pyplot = matplotlib_part("pyplot")
    return pyplot.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def class_colors(n_classes: int) -> list[Any]:
    """A color for each class; of two, the second is the positive one and blue."""
    if n_classes == 2:
        return [VERMILLION, BLUE]
    if n_classes < len(PALETTE):
        return list(PALETTE[:n_classes])
    named = matplotlib_part("colors").TABLEAU_COLORS
    many = list(named.values())
    if n_classes <= len(many):
        return many
    return [matplotlib_part("cm").turbo(share) for share in np.linspace(0.02, 0.98, n_classes)]


def tinted(color: Any, strength: float) -> tuple[float, ...]:
    """A color mixed with white: opaque, because transparent areas leave seams in printed files."""
    rgb = np.array(matplotlib_part("colors").to_rgb(color))
    return tuple(1 - strength * (1 - rgb))


def line_styles(index: int, n_points: int) -> dict[str, Any]:
    """How the curve of an index in a plot is drawn: distinguishable in gray print, too."""
    marker = MARKERS[index % len(MARKERS)] if n_points <= 25 else None
    color, dashes = PALETTE[index % len(PALETTE)], DASHES[index % len(DASHES)]
    return {"color": color, "linestyle": dashes, "marker": marker, "markersize": 4.5, "linewidth": 1.6}


def compact(value: float, largest: float = 0.0) -> str:
    """A number in few letters, in the manner of the largest one beside it.

    Examples
    --------
    >>> [compact(value) for value in (0.5, 5, 2000, 25_000, 1_500_000)]
    ['0.5', '5', '2,000', '25k', '1.5M']
    >>> compact(2000, largest=25_000)
    '2k'
    """
    if max(abs(value), abs(largest)) < 10_000:
        return f"{value:,.10g}"
    return _in_units(value, ("", "k", "M", "G", "T"), 1000.0)


def bytes_text(value: float, largest: float = 0.0) -> str:
    """A number of bytes in few letters."""
    return _in_units(value, (" B", " KB", " MB", " GB", " TB"), 1024.0)


def _in_units(value, units, step):
    index = 0
    while abs(value) >= step and index < len(units) - 1:
        value, index = value / step, index + 1
    return f"{value:.4g}{units[index]}"


def label_axis(axis: Any, *, log: bool = False, text: Any = compact) -> None:
    """Compact numbers on an axis; on a logarithmic one that is short also between the powers of ten."""
    ticker = matplotlib_part("ticker")

    def written(value, _):
        return text(value, max(axis.get_view_interval()))

    axis.set_major_formatter(ticker.FuncFormatter(written))
    if not log:
        return
    low, high = axis.get_view_interval()
    decades = np.log10(high / low) if 0 < low < high else 1.0
    axis.set_minor_formatter(ticker.NullFormatter())
    if text is bytes_text:
        base = 2.0 if decades < 1.5 else 4.0 if decades < 3 else 16.0
        axis.set_major_locator(ticker.LogLocator(base))
        axis.set_minor_locator(ticker.NullLocator())
        return
    subs = (1.0,) if decades > 2.5 else (1.0, 2.0, 5.0) if decades > 0.7 else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    axis.set_major_locator(ticker.LogLocator(subs=subs, numticks=8))


def wrapped(name: Any, width: int = 28) -> str:
    """A name in lines that leave room beside them; those of pictures are whole."""
    return "\n".join(textwrap.wrap(str(name), width)) or str(name)


def height_of(names: Sequence[str], line: float) -> float:
    """Inches for a line of a picture for each name, where some may have several lines."""
    return line * len(names) * (1.0 + 0.6 * max((name.count("\n") for name in names), default=0))


def diverging(low: Any, middle: tuple[float, float, float], high: Any) -> Any:
    """A map of colors from one over another to a third."""
    return matplotlib_part("colors").LinearSegmentedColormap.from_list("diverging", [low, middle, high])


def as_rows(ax: Any, places: Sequence[int] | NDArray, names: Sequence[str]) -> None:
    """Axes with a row for each name, the first on top."""
    ax.set_yticks(places, names)
    ax.set(ylim=(len(names) - 0.4, -0.6))
    ax.tick_params(axis="y", length=0)
    ax.set_axisbelow(True)
    ax.grid(axis="x", alpha=0.3, linewidth=0.6)


def draw_bars(
    ax: Any, lines: Sequence[tuple[str, float]], n_named: int, size: tuple[float, float], text: Any, **options: Any
) -> tuple[Any, Any]:
    """A bar for each name and size; those after the first ``n_named``, which are for all others, are gray.

    ``size`` is the width of a new figure and the height of a row of it. Returns the axes and the bars.
    """
    names, sizes = [wrapped(name) for name, _ in lines], [max(0.0, each) for _, each in lines]
    ax = axes_for(ax, (size[0], height_of(names, size[1]) + 0.8))
    colors = [BLUE] * n_named + ["0.72"] * (len(lines) - n_named)
    bars = ax.barh(np.arange(len(names)), sizes, **{"color": colors, "height": 0.72, **options})
    ax.bar_label(bars, [text(each) for each in sizes], padding=3, fontsize="small", color="0.3")
    as_rows(ax, np.arange(len(names)), names)
    ax.set(xlim=(0, 1.14 * (max(sizes) or 1.0)))
    return ax, bars


def legend_columns(labels: Sequence[str], width: float) -> int:
    """Columns of a legend that is at most ``width`` inches wide: four at most, in rows about as long as each other."""
    longest = max((len(line) for label in labels for line in label.split("\n")), default=1)
    most = max(1, min(4, int(width / (0.085 * longest + 0.4))))
    return -(-len(labels) // -(-len(labels) // most))


def legend_below(ax: Any, **options: Any) -> Any:
    """A legend under the axes and their label, where it hides nothing; the distance is in points, whatever the size."""
    below = matplotlib_part("transforms").ScaledTranslation(0, -34 / 72, ax.figure.dpi_scale_trans)
    chosen = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "frameon": False, **options}
    return ax.legend(bbox_transform=ax.transAxes + below, **chosen)
