"""Accuracy of the Forgetron beside the TVM paper's: ``python -m benchmarks.baselines [--tune] [--data NAME ...]``.

The other baselines are in the experiments: ``python -m experiments run bsgd-table3 --only MP+stop MP+random``.
``--tune`` chooses scaling and gamma again on training rows only and writes the choices to
``benchmarks/chosen_baselines.json``.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import ShuffleSplit

from experiments.data import scaled, split
from frugalsvm import BudgetedPerceptron
from frugalsvm.datasets import DatasetUnavailableError

SEEDS = range(5)
BUDGET = 100
ROWS = 100_000  # of generated data, and of Covertype
TUNING_ROWS = 20_000
CHOSEN = Path(__file__).with_name("chosen_baselines.json")

# TVM paper (2009), Table 3: the self-tuned Forgetron with a budget of 100.
FORGETRON = {
    "a9a": 80.7,
    "banana": 83.7,
    "checkerboard": 82.4,
    "noisy-checkerboard": 70.3,
    "covtype": 56.4,
    "gauss": 77.3,
    "ijcnn1": 88.1,
    "letter": 73.1,
    "pendigits": 96.6,
    "shuttle": 99.4,
    "usps": 83.9,
    "waveform": 82.5,
}
# The two-class problems of its section 5.1.
TWO_CLASSES = {
    "covtype": "covtype-2",
    "letter": "letter-half",
    "pendigits": "pendigits-round",
    "shuttle": "shuttle-1",
    "usps": "usps-round",
    "waveform": "waveform-1",
}


class Choice(NamedTuple):
    scaling: str
    gamma: float
    step: float = 1.0  # with updates on mistakes only it just scales the decision values


def new_model(choice, seed):
    return BudgetedPerceptron("forgetron", BUDGET, gamma=choice.gamma, random_state=seed)


def accuracies(data, choice):
    """Accuracy on the test rows, in percent, for each seed."""
    results = []
    for seed in SEEDS:
        X, y, X_test, y_test = split(TWO_CLASSES.get(data, data), seed, ROWS)
        X, X_test = scaled(choice.scaling, X, X_test)
        results.append(100 * new_model(choice, seed).fit(X, y).score(X_test, y_test))
    return results


def tuned(data):
    """The choice with the best mean accuracy on held-out training rows."""
    X, y, _, _ = split(TWO_CLASSES.get(data, data), 0, TUNING_ROWS)
    candidates = []
    for scaling in ("standard", "range"):
        unit = 1 / (X.shape[1] * scaled(scaling, X)[0].var())
        candidates += [Choice(scaling, float(f"{gamma:.3g}")) for gamma in unit * 2.0 ** np.arange(-3, 6, 0.5)]
    splits = list(ShuffleSplit(40, test_size=0.2, random_state=1).split(X))
    for n_splits, n_kept in ((4, 8), (40, 1)):
        scores = [held_out(choice, X, y, splits[:n_splits]) for choice in candidates]
        candidates = [candidates[i] for i in np.argsort(-np.array(scores), kind="stable")[:n_kept]]
    return candidates[0]


def held_out(choice, X, y, splits):
    scores = []
    for k, (train, held) in enumerate(splits):
        known, unknown = scaled(choice.scaling, X[train], X[held])
        scores.append(new_model(choice, k).fit(known, y[train]).score(unknown, y[held]))
    return np.mean(scores)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.baselines", description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=list(FORGETRON), help="these data sets only")
    parser.add_argument("--tune", action="store_true", help="choose the parameters again")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 120)
    chosen = json.loads(CHOSEN.read_text()) if CHOSEN.exists() else {}
    table = Table(title=f"Forgetron, one pass, {len(SEEDS)} seeds", title_justify="left")
    for heading in ("data", "scaling", "gamma", "ours", "paper"):
        table.add_column(heading, justify="left" if heading in ("data", "scaling") else "right")
    for data in options.data:
        key = f"forgetron {data} {BUDGET}"
        try:
            if options.tune or key not in chosen:
                chosen[key] = tuned(data)
                CHOSEN.write_text(json.dumps(chosen, indent=1) + "\n")
            choice = Choice(*chosen[key])
            ours = accuracies(data, choice)
        except DatasetUnavailableError as error:
            console.print(f"[yellow]{data}: skipped: {error}")
            continue
        numbers = f"{choice.gamma:.3g}", f"{np.mean(ours):.2f} ± {np.std(ours):.2f}", f"{FORGETRON[data]:.1f}"
        table.add_row(data, choice.scaling, *numbers)
    console.print(table)


if __name__ == "__main__":
    main()
