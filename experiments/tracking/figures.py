"""Figures 2 to 6, and what the text says of them as tables of our numbers."""

from functools import partial

import numpy as np

from experiments.panels import by_names, draw_panels, draw_traces, runs_of
from experiments.results import Cell, Figure, Outcome, Table

__all__ = ["show_algorithms", "show_costs", "show_errors", "show_selections", "show_slope"]

ERRORS = (2.0, 1.5, 1.2, 1.0, 0.9)  # percent, at which the costs of the curves are compared
WORDS = {"random": "random", "margin": "selected", "batch": "batch"}
COLOURS = {10: "#D55E00", 100: "#0072B2"}
DASHES = {"random": "--", "margin": "-", "batch": ":"}
GAP = "Gap / (C t)"
TICKS = (0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10)  # percent


def show_algorithms(outcome: Outcome) -> list[Table | Figure]:
    """Fig. 2: the gap on the course of a pass, a panel for each K."""
    done = by_names(outcome, "steps", "algorithm")
    all_steps = sorted({task.names["steps"] for task, _ in outcome})

    def draw(ax, title):
        curves = {}
        for (steps, algorithm), results in done.items():
            if f"K = {steps}" == title:
                curves[f"Algorithm {algorithm}"] = runs_of(results, "trace", "n", "gap")
        return draw_traces(ax, curves, GAP, rows, legend=False)

    rows = [f"Algorithm {number}" for number in (1, 2)]
    titles = [f"K = {steps}" for steps in all_steps]
    note = (
        "The gap keeps its level over the whole pass; it is lower, and steadier, with more steps and with Algorithm 2."
    )
    figure = Figure("Fig. 2: normalised duality gap on Adult", partial(_panels, titles, draw), (11.0, 3.8), note)
    cells = {}
    for (steps, algorithm), results in done.items():
        cells[f"Algorithm {algorithm}", f"K = {steps}"] = _cell([result["mean_gap"] for result in results])
    text = "The paper: Algorithm 2 with K = 10 does nearly as well as Algorithm 1 with K = 20."
    return [figure, Table("Fig. 2: mean of the normalised gap", rows, titles, cells, "", 4, text)]


def show_selections(outcome: Outcome) -> list[Figure]:
    """Fig. 3: the gap with examples in random order and selected."""

    def draw(ax, title):
        curves = {}
        for (selection,), results in by_names(outcome, "selection").items():
            curves[WORDS[selection]] = runs_of(results, "trace", "n", "gap")
        return draw_traces(ax, curves, GAP)

    steps = sorted({task.names["steps"] for task, _ in outcome})
    title = f"Algorithm 1, K = {', '.join(map(str, steps))}"
    note = "With selected examples the gap falls regularly: the most informative ones come first."
    return [Figure("Fig. 3: gap for two ways of selection, Adult", partial(_panels, [title], draw), (6.5, 4.0), note)]


def show_slope(outcome: Outcome) -> list[Table | Figure]:
    """Fig. 4: K against the mean gap, with a line through the logarithms."""
    done = {steps: results for (steps,), results in by_names(outcome, "steps").items()}
    means = {steps: float(np.mean([result["mean_gap"] for result in done[steps]])) for steps in sorted(done)}
    slope, level = _fitted(means)

    def draw(figure):
        ax = figure.subplots()
        ax.plot(list(means.values()), list(means), "o", color="#0072B2", label="mean over the pass")
        if slope is not None:
            gaps = np.geomspace(min(means.values()), max(means.values()), 50)
            ax.plot(gaps, np.exp(level) * gaps**slope, "--", color="#D55E00", label=f"slope {slope:.2f}")
            ax.set(xscale="log", yscale="log")
            ax.legend(frameon=False)
        ax.set(xlabel="Mean normalised gap", ylabel="K")
        ax.grid(alpha=0.3, linewidth=0.6, which="both")

    note = "The paper reads off its fit that K grows like 1 / gap, a slope of -1, where its theorem grants 1 / gap^2."
    cells = {("mean gap", f"K = {steps}"): _cell([r["mean_gap"] for r in done[steps]]) for steps in means}
    table = Table("Fig. 4: mean normalised gap", ["mean gap"], [f"K = {steps}" for steps in means], cells, "", 4)
    return [Figure("Fig. 4: K against the mean normalised gap, Algorithm 1, Adult", draw, (6.0, 4.0), note), table]


def _fitted(means):
    """Slope and level of log K over the log of the gap; None where there are not two points."""
    if len(means) < 2:
        return None, None
    slope, level = np.polyfit(np.log(list(means.values())), np.log(list(means)), 1)
    return float(slope), float(level)


def show_errors(outcome: Outcome) -> list[Table | Figure]:
    """Fig. 5: test error against examples."""
    draw = partial(_draw_errors, outcome, "n", "Examples learned", 1.0)
    note = "Algorithm 1; selected: the nearest to the boundary out of 50 unseen examples, each time."
    figure = Figure("Fig. 5: test error against examples, MNIST 8", draw, (7.0, 4.4), note)
    return [figure, _reached(outcome, "Fig. 5: examples until an error is reached", "n", 1.0, 0)]


def show_costs(outcome: Outcome) -> list[Table | Figure]:
    """Fig. 6: test error against kernel values."""
    draw = partial(_draw_errors, outcome, "kernel_values", "Kernel values, millions", 1e-6)
    note = (
        "Kernel values of pools are counted. Those of loading the rows of the batch counterpart are not, and it picks "
        "from a part of the rows, both to its advantage."
    )
    figure = Figure("Fig. 6: test error against kernel values, MNIST 8", draw, (7.0, 4.4), note)
    title = "Fig. 6: millions of kernel values until an error is reached"
    return [figure, _reached(outcome, title, "kernel_values", 1e-6, 1)]


def _draw_errors(outcome, key, label, scale, figure):
    ax = figure.subplots()
    for (selection, steps), (costs, errors) in _mean_curves(outcome, key, scale).items():
        style = {"linestyle": DASHES[selection], "color": "#000000" if selection == "batch" else COLOURS.get(steps)}
        ax.plot(costs, errors, marker="o", markersize=3, label=_curve_name(selection, steps), **style)
    ax.set(xscale="log", yscale="log", xlabel=label, ylabel="Test error, %")
    bounds = ax.get_ylim()
    ax.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    ax.set_ylim(*bounds)
    ax.minorticks_off()
    ax.grid(alpha=0.3, linewidth=0.6)
    if ax.lines:
        ax.legend(frameon=False)


def _mean_curves(outcome, key, scale):
    """Costs and errors of each curve, means over the repetitions."""
    curves = {}
    for names, results in by_names(outcome, "selection", "steps").items():
        costs, errors = runs_of(results, "curve", key, "error")
        curves[names] = scale * costs, errors.mean(axis=0)
    return curves


def _curve_name(selection, steps):
    return "batch" if selection == "batch" else f"{WORDS[selection]}, K = {steps}"


def _reached(outcome, title, key, scale, digits):
    curves = _mean_curves(outcome, key, scale)
    cells, names = {}, []
    for (selection, steps), (costs, errors) in curves.items():
        names.append(_curve_name(selection, steps))
        for error in ERRORS:
            cost = first_at(errors, costs, error)
            note = "" if cost is not None else "not reached before the end of the curve"
            cells[names[-1], f"{error:g} %"] = _cell([] if cost is None else [cost], note)
    return Table(title, names, [f"{error:g} %" for error in ERRORS], cells, "", digits)


def first_at(errors, costs, error: float) -> float | None:
    """The cost at which a curve first comes down to an error; None if it does not.

    Between two tests it falls along a line over the logarithm of the cost.
    """
    reached = np.flatnonzero(np.asarray(errors) <= error)
    if len(reached) == 0:
        return None
    k = reached[0]
    if k == 0:
        return float(costs[0])
    part = (errors[k - 1] - error) / (errors[k - 1] - errors[k])
    return float(costs[k - 1] * (costs[k] / costs[k - 1]) ** part)


def _cell(values, note=""):
    return Cell(values, note=note, lower_is_better=True, counted=False)


def _panels(titles, draw, figure):
    draw_panels(figure, titles, draw)
