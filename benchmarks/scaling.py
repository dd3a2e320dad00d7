"""How the cost of an update grows with the budget: ``python -m benchmarks.scaling [NAME ...]``.

Every strategy learns the same rows with budgets of 50 to 1600, with the model full from the start of the measurement.
The cost of an update is the time beyond that of ``stop``, which only scores, over the number of updates; space is
what the policy keeps beside the support vectors. The exponents are slopes of least-squares lines in the logarithms.
"""

import argparse
import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks.cases import Case, split_of
from frugalsvm import BPAClassifier, BudgetedPerceptron
from frugalsvm.budgeted.strategies import STRATEGIES, VARIANTS

BUDGETS = (50, 100, 200, 400, 800, 1600)
MOST_UPDATES = 300  # for those that take milliseconds
ROWS = 20_000
TABLE_1 = {
    "stop": ("1", "B"),
    "random": ("B", "B"),
    "forgetron": ("B", "B"),
    "budget": ("B", "B"),
    "tighter": ("B^2", "B"),
    "tightest": ("B^2", "B"),
    "projectron": ("B^2", "B^2"),
    "projectron++": ("B^2", "B^2"),
    "silk": ("B", "B"),
    "BPA simple": ("B", "B"),
    "BPA nn": ("B", "B"),
    "BPA projecting": ("B^2", "B^2"),
}


def new_model(name, budget, gamma):
    if name.startswith("BPA "):
        return BPAClassifier(name[4:], budget, C=0.1, gamma=gamma)
    return BudgetedPerceptron(name, budget, margin=1, gamma=gamma, random_state=0)


def bytes_of(part):
    """Bytes of all arrays in nested tuples."""
    if isinstance(part, np.ndarray):
        return part.nbytes
    return sum(map(bytes_of, part)) if isinstance(part, tuple) else 0


def filled(name, budget, case, split):
    """A full model, and the rows that come after those that filled it."""
    model = new_model(name, budget, case.gamma)
    start = 0
    while len(model.support_vectors_) < budget if start else True:
        model.partial_fit(split.X_train[start : start + budget], split.y_train[start : start + budget], classes=[-1, 1])
        start += budget
    return model, start


def measured(name, budget, case, split, scoring):
    """Microseconds of an update beyond scoring, bytes kept by the policy, and seconds of scoring a row."""
    model, start = filled(name, budget, case, split)
    n_rows = ROWS if TABLE_1[name][0] != "B^2" else MOST_UPDATES
    X, y = split.X_train[start : start + n_rows], split.y_train[start : start + n_rows]
    before = model.n_updates_
    began = time.perf_counter()
    model.partial_fit(X, y)
    seconds = time.perf_counter() - began
    extra = seconds - scoring * len(X)
    return 1e6 * extra / max(model.n_updates_ - before, 1), bytes_of(model._machines[0].parts.policy), seconds / len(X)


def exponent(values):
    return np.polyfit(np.log(BUDGETS), np.log(np.maximum(values, 1e-3)), 1)[0]


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.splitlines()[0])
    names = [name for name in TABLE_1 if name != "stop"]  # that is what the others are compared with
    parser.add_argument("names", nargs="*", default=names, help=f"any of: {', '.join(names)}")
    options = parser.parse_args()
    assert set(TABLE_1) == {*STRATEGIES, *(f"BPA {variant}" for variant in VARIANTS)}
    case = Case("ijcnn1", "ijcnn1", "standard", 500, 0.182, 1e-4)
    split = split_of(case)
    table = Table(title="Microseconds of an update beyond scoring (ijcnn1, 22 features)", title_justify="left")
    for heading in ("", *(f"B={budget}" for budget in BUDGETS), "exponent", "Table 1", "space: exponent", "Table 1"):
        table.add_column(heading, justify="right" if heading else "left")
    with threadpool_limits(1):
        scoring = {budget: measured("stop", budget, case, split, 0.0)[2] for budget in BUDGETS}
        scoring = {budget: measured("stop", budget, case, split, 0.0)[2] for budget in BUDGETS}  # compiled now
        for name in options.names:
            measured(name, BUDGETS[0], case, split, scoring[BUDGETS[0]])
            results = [measured(name, budget, case, split, scoring[budget])[:2] for budget in BUDGETS]
            micros, space = np.array(results).T
            slopes = f"{exponent(micros):.2f}", f"{exponent(space):.2f}" if space.min() > 100 else "0"
            time_, memory = TABLE_1[name]
            table.add_row(name, *(f"{m:.2f}" for m in micros), slopes[0], f"O({time_})", slopes[1], f"O({memory})")
    Console(width=None if sys.stdout.isatty() else 150).print(table)


if __name__ == "__main__":
    main()
