"""Tables 1, 3 and 4 beside the printed ones, and the two orderings that the paper draws from them."""

import tomllib

import numpy as np

from experiments.lasvm.data import TITLES
from experiments.panels import by_names
from experiments.printed import Printed, read_printed
from experiments.protocol import folder_of
from experiments.results import Cell, Outcome, Table

__all__ = ["METHODS", "show_generalisation", "show_positions", "show_sizes"]

METHODS = {
    "full": "FULL SVM",
    "g": "LASVM-G",
    "nc": "LASVM-NC",
    "i": "LASVM-I",
    "lasvm": "LASVM",
    "libsvm": "LIBSVM",
}
POSITIONS = [
    "SVs",
    "non-SVs",
    "admitted",
    "admitted left",
    "admitted right",
    "cleaned",
    "cleaned left",
    "cleaned right",
]
COUNT_SPREAD = 0.1  # part of a printed count or time within which ours is about the same
AUC_SPREAD = 0.005


def show_positions(outcome: Outcome) -> list[Table]:
    """Table 1: members of the expansion, and where on the ramp they were when they came."""
    printed, notes = _printed(), _explanations("lasvm-table1")
    methods, shortened = [METHODS[variant] for variant in ("full", "g", "nc")], _shortened(outcome)
    cells = {}
    for variant, results in _by_method(outcome, "a9a").items():
        for place in POSITIONS:
            values = [_positions(result)[place] for result in results]
            number = None if shortened else _tolerant(printed.get(("lasvm-table1", METHODS[variant], place)))
            note = notes.get(f"{METHODS[variant]} / {place}", "")
            cells[METHODS[variant], place] = Cell(values, number, note, counted=False)
    note = "Left of the ramp: margin below s = -1; right of it: above 1, when the example came." + shortened
    return [Table("Table 1: members at the end of training on Adult", methods, POSITIONS, cells, "", 0, note)]


def _positions(result):
    n_left = result["n_admitted"] - result["n_members"]
    return {
        "SVs": result["n_support"],
        "non-SVs": result["n_members"] - result["n_support"],
        "admitted": result["n_admitted"],
        "cleaned": n_left,
        **result["ramp"],
    }


def show_sizes(outcome: Outcome) -> list[Table]:
    """Table 3: accuracy, support vectors and seconds."""
    return [
        _table(outcome, "lasvm-table3", "Accuracy", "accuracy", counted=True),
        _table(outcome, "lasvm-table3", "# SV", "n_support", unit="", digits=0, lower=True),
        _table(
            outcome,
            "lasvm-table3",
            "Train time",
            "seconds",
            unit="s",
            lower=True,
            note="CPU seconds of learning alone, ours and theirs on machines fifteen years apart.",
        ),
    ]


def show_generalisation(outcome: Outcome) -> list[Table]:
    """Table 4: scores that accuracy hides, and kernel values; then the orderings."""
    return [
        _table(outcome, "lasvm-table4", "PRBEP", "prbep"),
        _table(outcome, "lasvm-table4", "AUC", "auc", unit="", digits=3, spread=AUC_SPREAD),
        _table(outcome, "lasvm-table4", "Gmeans", "gmeans"),
        _table(outcome, "lasvm-table4", "# Kernel", "kernel_values", unit="millions", digits=1, scale=1e-6, lower=True),
        _orderings(outcome),
    ]


def _table(
    outcome, experiment, what, key, *, unit="%", digits=2, scale=1.0, lower=False, counted=False, spread=None, note=""
):
    """Methods by data sets; a spread of None is the usual one for percents, and a part of counts (``lower``)."""
    printed, notes = _printed(), _explanations(experiment)
    methods = [name for name in METHODS.values() if (experiment, f"{what}: {name}", "Adult") in printed]
    cells, shortened = {}, _shortened(outcome) if lower else ""
    for data, title in TITLES.items():
        results = _by_method(outcome, data)
        for variant, name in METHODS.items():
            if name not in methods:
                continue
            number = printed[experiment, f"{what}: {name}", title]
            if lower:
                number = None if shortened else _tolerant(number)
            else:
                number = number._replace(spread=spread)
            values = [scale * result[key] for result in results.get(variant, ())]
            note_of_cell = notes.get(f"{what}: {name} / {title}", "" if values else "not run yet")
            cells[name, title] = Cell(values, number, note_of_cell, lower, counted)
    number = experiment.removeprefix("lasvm-table")
    return Table(f"Table {number}: {what}", methods, list(TITLES.values()), cells, unit, digits, note + shortened)


def _orderings(outcome):
    """NC has the fewest support vectors, I needs the fewest kernel values: how much fewer than the next of the four."""
    printed = _printed()
    claims = {
        "SVs of NC / G": ("lasvm-table3", "# SV", "n_support", "nc", "g"),
        "SVs of NC / I": ("lasvm-table3", "# SV", "n_support", "nc", "i"),
        "kernel values of I / G": ("lasvm-table4", "# Kernel", "kernel_values", "i", "g"),
        "kernel values of I / NC": ("lasvm-table4", "# Kernel", "kernel_values", "i", "nc"),
    }
    cells, holds = {}, dict.fromkeys(claims, 0)
    n_seen = 0
    for data, title in TITLES.items():
        results = _by_method(outcome, data)
        n_seen += all(variant in results for variant in ("g", "nc", "i"))
        for claim, (experiment, what, key, less, more) in claims.items():
            ours = []
            if less in results and more in results:
                ours = [float(np.mean([r[key] for r in results[less]]) / np.mean([r[key] for r in results[more]]))]
                holds[claim] += ours[0] <= 1
            theirs = [printed[experiment, f"{what}: {METHODS[variant]}", title].mean for variant in (less, more)]
            number = Printed(theirs[0] / theirs[1], COUNT_SPREAD)
            cells[title, claim] = Cell(ours, number, "" if ours else "not run yet", True, counted=False)
    note = "Below 1 the ordering of the paper holds. It does for " + ", ".join(
        f"{claim} on {count} of {n_seen} data sets" for claim, count in holds.items()
    )
    title = "Orderings: NC is the sparsest, I needs the fewest kernel values"
    return Table(title, list(TITLES.values()), list(claims), cells, "", 2, note + ".")


def _by_method(outcome, data):
    done = by_names(outcome, "data", "variant")
    return {variant: done[data, variant] for variant in METHODS if (data, variant) in done}


def _shortened(outcome):
    """What to say of counts where only a part of the training rows was learned; nothing where all of them were."""
    if any("rows" in task.settings for task, _ in outcome):
        return " Only a part of the training rows was learned, so the printed counts and times are left out."
    return ""


def _tolerant(number):
    return None if number is None else number._replace(spread=COUNT_SPREAD * number.mean)


def _printed():
    return read_printed(folder_of("lasvm") / "printed.csv")


def _explanations(experiment):
    """Why cells are worse, by ``row / column``; of several experiments, by the name of one."""
    return tomllib.loads((folder_of("lasvm") / "explanations.toml").read_text()).get(experiment, {})
