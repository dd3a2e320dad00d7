"""Pictures of the comparison as SVG. Ink takes the color of the text around it, so that they suit light and dark."""

import io
from typing import Any

import numpy as np

from benchmarks.comparison.sheets import OURS, Sheet, label_of, values_of
from benchmarks.comparison.statistics import critical_difference, duel, groups_of, mean_ranks

__all__ = ["error_against_seconds", "rank_diagram", "win_matrix"]

INK = "#010203"  # stands for the color of text
LINE, WIDTH = 0.24, 7.2  # inches


def _new(height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.add_subplot()


def _color(peers: list[str], peer: str) -> str:
    """Ours is vermillion; the others have the rest of the palette in turn."""
    from frugalsvm.plots._style import PALETTE, VERMILLION

    others = [color for color in PALETTE if color not in (VERMILLION, "#000000")]
    if peer == OURS:
        return VERMILLION
    place = [each for each in peers if each != OURS].index(peer)
    return others[place % len(others)]


def _svg(figure: Any, words: str) -> str:
    """The picture with a name for those who cannot see it; all that is black follows the theme."""
    import matplotlib as mpl

    drawn = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": words}):
        figure.savefig(drawn, format="svg", metadata={"Date": None}, transparent=True)
    text = drawn.getvalue()
    text = text[text.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{words}" ', 1)
    for ink in (INK, "#000000", "black"):
        text = text.replace(ink, "currentColor")
    return text.replace("<text ", '<text fill="currentColor" ').replace("<text>", '<text fill="currentColor">')


def _plain(axes: Any) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def rank_diagram(sheet: Sheet) -> str:
    """Mean ranks on a line; a bar joins those that do not differ by the critical difference."""
    ranks = mean_ranks(sheet.means)
    difference = critical_difference(*sheet.means.shape)
    groups, order = groups_of(ranks, difference), np.argsort(ranks)
    half = (len(order) + 1) // 2
    figure, axes = _new(LINE * (half + 3 + 0.5 * len(groups)))
    low, high = 1, len(order)
    axes.set(xlim=(low - 0.4 * high, high + 0.4 * high), ylim=(-half - 1.5 - 0.5 * len(groups), 1.6))
    axes.axis("off")
    axes.plot([low, high], [0, 0], color=INK, linewidth=1)
    for tick in range(low, high + 1):
        axes.plot([tick, tick], [0, 0.18], color=INK, linewidth=1)
        axes.text(tick, 0.3, tick, ha="center", va="bottom", fontsize=8, color=INK)
    axes.plot([low, low + difference], [1.15, 1.15], color=INK, linewidth=2)
    axes.text(low + difference + 0.1, 1.15, f"critical difference {difference:.2f}", va="center", fontsize=8, color=INK)
    deepest = 0.5 * len(groups)
    for place, peer in enumerate(order):
        left = place < half
        depth = -deepest - 0.9 - (place if left else len(order) - 1 - place)
        edge = low - 0.1 if left else high + 0.1
        color = _color(sheet.peers, sheet.peers[peer])
        axes.plot([ranks[peer], ranks[peer], edge], [0, depth, depth], color=color, linewidth=1.1)
        words = f"{label_of(sheet.peers[peer])}  {ranks[peer]:.2f}"
        weight = "bold" if sheet.peers[peer] == OURS else "normal"
        axes.text(
            edge - 0.08 if left else edge + 0.08, depth, words, ha="right" if left else "left", va="center",
            fontsize=9, fontweight=weight, color=INK,
        )  # fmt: skip
    for place, group in enumerate(groups):
        height = -0.3 - 0.5 * place
        ends = ranks[group[0]] - 0.06, ranks[group[-1]] + 0.06
        axes.plot(ends, [height, height], color=INK, linewidth=3, solid_capstyle="round")
    best = ", ".join(f"{label_of(sheet.peers[peer])} {ranks[peer]:.1f}" for peer in order)
    return _svg(figure, f"Mean ranks of the error on {len(sheet.tables)} tables: {best}")


def error_against_seconds(sheet: Sheet, cells: dict[Any, Any], effort: str) -> str:
    """A point for each peer: the median of its errors over the least on each table, and of its CPU seconds."""
    from frugalsvm.plots._style import MARKERS

    figure, axes = _new(3.6)
    seconds = values_of(cells, "fit_cpu", effort)
    places = {}
    for peer in sheet.peers:
        spent = [np.nanmean(list(seconds[name, peer].values())) for name in sheet.tables if (name, peer) in seconds]
        places[peer] = float(np.nanmedian(spent)), float(np.median(_over_the_best(sheet, peer)))
    for place, (peer, (x, y)) in enumerate(places.items()):
        axes.plot(x, y, marker=MARKERS[place % len(MARKERS)], markersize=8, color=_color(sheet.peers, peer))
        weight = "bold" if peer == OURS else "normal"
        axes.annotate(
            label_of(peer), (x, y), xytext=(7, 3), textcoords="offset points", fontsize=9, fontweight=weight, color=INK
        )
    axes.set_xscale("log")
    axes.margins(0.18, 0.12)
    axes.set_xlabel("CPU seconds of a fit, median over tables")
    axes.set_ylabel("error / least error on the table, median")
    _plain(axes)
    return _svg(figure, "Error against CPU seconds of a fit, for each peer")


def _over_the_best(sheet: Sheet, peer: str) -> np.ndarray:
    """Errors over the least on each table; 1 where both are zero, infinite where the peer failed."""
    errors = np.nan_to_num(sheet.column(peer), nan=np.inf)
    best = np.nanmin(sheet.means, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(errors == best, 1.0, errors / best)


def win_matrix(sheet: Sheet) -> str:
    """On how many tables the peer of a row errs less than that of a column, beyond the region of equivalence."""
    order = [sheet.peers[place] for place in np.argsort(mean_ranks(sheet.means))]
    figure, axes = _new(0.42 * len(order) + 1.4)
    for row, peer in enumerate(order):
        for column, other in enumerate(order):
            if peer == other:
                continue
            wins, _, losses, *_ = duel(sheet.column(peer), sheet.column(other))
            share = (wins - losses) / max(1, len(sheet.tables))
            color = "#0072B2" if share > 0 else "#D55E00"
            axes.add_patch(_square(column, row, color, 0.08 + 0.6 * abs(share)))
            axes.text(column, row, wins, ha="center", va="center", fontsize=9, color=INK)
    names = [label_of(peer) for peer in order]
    axes.set(xlim=(-0.5, len(order) - 0.5), ylim=(len(order) - 0.5, -0.5))
    axes.set_xticks(range(len(order)), names, rotation=40, ha="right", fontsize=8)
    axes.set_yticks(range(len(order)), names, fontsize=8)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    return _svg(figure, f"On how many of {len(sheet.tables)} tables each peer is ahead of each other one")


def _square(x: float, y: float, color: str, strength: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, facecolor=color, alpha=strength, linewidth=0)
