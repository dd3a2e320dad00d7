"""Figures 1, 2 and 4 to 8."""

from functools import partial

import numpy as np

from experiments.lasvm.data import TITLES
from experiments.lasvm.tables import METHODS
from experiments.panels import by_names, draw_panels, draw_traces, runs_of
from experiments.results import Figure, Outcome

__all__ = ["show_breakeven", "show_gap", "show_growth", "show_kernel_values", "show_ramps", "show_seconds", "show_two"]

WIDE, SINGLE, PAIR = (11.0, 6.4), (6.5, 4.0), (10.0, 4.0)
RAMP_MARKERS = {"nc": "o", "i": "s"}
COLOURS = {variant: f"C{place}" for place, variant in enumerate(METHODS)}  # the same where a method is missing


def show_gap(outcome: Outcome) -> list[Figure]:
    """Fig. 1: the duality gap of LASVM-G over the number of examples."""

    def draw(ax, title):
        curves = {}
        for (variant,), results in by_names(outcome, "variant").items():
            n, gaps = runs_of(results, "curve", "n", "gap")
            curves[METHODS[variant]] = n, gaps / n
        return draw_traces(ax, curves, "Duality gap / examples", legend=False)

    note = "The printed figure does not name its data. The gap is that of the members, as in (9)."
    return [Figure("Fig. 1: normalised duality gap (Adult)", partial(_panels, ["LASVM-G"], draw), SINGLE, note)]


def show_two(outcome: Outcome) -> list[Figure]:
    """Fig. 2: LASVM and LASVM-G on Adult."""

    def draw(ax, title):
        curves = {}
        for (variant,), results in by_names(outcome, "variant").items():
            if title == "Test error, %":
                n, accuracies = runs_of(results, "tests", "n", "accuracy")
                curves[METHODS[variant]] = n, 100 - accuracies
            else:
                curves[METHODS[variant]] = runs_of(results, "curve", "n", "n_support")
        return draw_traces(ax, curves, title, _methods_of(outcome), legend=False, yscale="linear")

    titles = ["Test error, %", "Support vectors"]
    note = "LASVM ends with its finishing phase, after the last point of the curves."
    return [Figure("Fig. 2: LASVM and LASVM-G on Adult", partial(_panels, titles, draw), PAIR, note)]


def show_breakeven(outcome: Outcome) -> list[Figure]:
    note = "The ramp ends at s = -1, as in the paper. LASVM is shown before its finishing phase."
    draw = partial(_curves, outcome, "tests", "prbep", "PRBEP, %")
    return [Figure("Fig. 4: break-even point against examples", partial(_panels, list(TITLES), draw), WIDE, note)]


def show_growth(outcome: Outcome) -> list[Figure]:
    draw = partial(_curves, outcome, "curve", "n_support", "Support vectors")
    note = "LASVM-NC stays below the others where labels are noisy: Adult, Banana and USPS-N."
    return [Figure("Fig. 6: support vectors against examples", partial(_panels, list(TITLES), draw), WIDE, note)]


def show_kernel_values(outcome: Outcome) -> list[Figure]:
    draw = partial(_curves, outcome, "curve", "kernel_values", "Kernel values, millions", scale=1e-6)
    title = "Fig. 7: kernel computations against examples"
    return [Figure(title, partial(_panels, list(TITLES), draw), WIDE)]


def _curves(outcome, curve, key, label, ax, data, scale=1.0):
    curves = {}
    for (name, variant), results in by_names(outcome, "data", "variant").items():
        if name == data:
            curves[METHODS[variant]] = runs_of(results, curve, "n", key, scale)
    return draw_traces(ax, curves, label, _methods_of(outcome), legend=False, yscale="linear")


def _methods_of(outcome: Outcome) -> list[str]:
    planned = {task.names["variant"] for task, _ in outcome}
    return [method for variant, method in METHODS.items() if variant in planned]


def show_ramps(outcome: Outcome) -> list[Figure]:
    """Fig. 5: error against support vectors; a point for each end of the ramp, or for each method without one."""

    def draw(ax, data):
        done = by_names(outcome, "data", "variant", "s")
        points = {key[1:]: _point(results) for key, results in done.items() if key[0] == data}
        for variant, marker in RAMP_MARKERS.items():
            ramp = sorted((s, point) for (name, s), point in points.items() if name == variant)
            if ramp:
                look = {"color": COLOURS[variant], "marker": marker, "label": METHODS[variant]}
                ax.plot(*zip(*(point for _, point in ramp), strict=True), **look)
            for s, point in ramp:
                ax.annotate(f"{s:g}", point, xytext=(3, 3), textcoords="offset points", fontsize="x-small")
        for variant in METHODS:
            found = [point for (name, _), point in points.items() if name == variant]
            if found and variant not in RAMP_MARKERS:
                look = {"color": COLOURS[variant], "marker": "*", "label": METHODS[variant]}
                ax.plot(*found[0], markersize=9, linestyle="none", **look)
        ax.set(xlabel="Support vectors", ylabel="Test error, %")
        ax.grid(alpha=0.3, linewidth=0.6)
        return bool(points)

    note = (
        "Numbers beside points are s, where the ramp ends; the paper names -1 only, which it finds best in most cases."
    )
    return [Figure("Fig. 5: error against support vectors", partial(_panels, list(TITLES), draw), WIDE, note)]


def _point(results):
    mean = {key: float(np.mean([result[key] for result in results])) for key in ("n_support", "accuracy")}
    return mean["n_support"], 100 - mean["accuracy"]


def show_seconds(outcome: Outcome) -> list[Figure]:
    """Fig. 8: CPU seconds of all methods, on a logarithmic axis."""

    def draw(figure):
        ax = figure.subplots()
        done = by_names(outcome, "data", "variant")
        width = 0.8 / len(METHODS)
        for place, (variant, method) in enumerate(METHODS.items()):
            found = [(k, done[data, variant]) for k, data in enumerate(TITLES) if (data, variant) in done]
            heights = [float(np.mean([result["seconds"] for result in results])) for _, results in found]
            ax.bar([k + (place - 2.5) * width for k, _ in found], heights, width, label=method)
        ax.set_xticks(range(len(TITLES)), list(TITLES.values()))
        ax.set(ylabel="CPU seconds")
        ax.grid(axis="y", alpha=0.3, linewidth=0.6)
        if done:
            ax.set_yscale("log")
            ax.legend(ncols=3, frameon=False)

    return [Figure("Fig. 8: training times", draw, (9.0, 4.2), "One thread, a cache of 512 MB, tests left out.")]


def _panels(titles, draw, figure):
    """Panels by the names of data sets, with the titles of the paper; or by other titles."""
    named = {TITLES.get(title, title): title for title in titles}
    draw_panels(figure, list(named), lambda ax, title: draw(ax, named[title]))
