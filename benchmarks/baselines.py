"""Accuracy of the baselines beside the papers': ``python -m benchmarks.baselines [--tune] [NAME ...]``.

Names are ``stop``, ``random``, ``projectron++``, ``bpa`` (Table 3 of the BSGD paper) and ``forgetron`` (Table 3 of
the TVM paper). ``--tune`` chooses scaling, gamma and the step again on training rows only, as the papers did by
cross-validation for each combination of data, algorithm and budget, and writes the choices to
``benchmarks/chosen_baselines.json``.
"""

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import ShuffleSplit, train_test_split

from benchmarks.cases import raw_split, scaled
from benchmarks.printed import BASELINES, FORGETRON
from frugalsvm import BPAClassifier, BudgetedPerceptron
from frugalsvm.datasets import DatasetUnavailableError, load, make_checkerboard, make_two_gaussians, make_waveform

SEEDS = range(5)
BUDGETS = (100, 500)
TUNING_ROWS = 20_000
QUICKER = ("projectron++",)  # a coarser grid and fewer splits where each run takes seconds
CHOSEN = Path(__file__).with_name("chosen_baselines.json")
ROUND_DIGITS = (3, 6, 8, 9, 0)


class Choice(NamedTuple):
    scaling: str
    gamma: float
    step: float  # eta0 of the margin perceptrons, C of BPA


def new_model(name, budget, choice, seed):
    if name == "bpa":
        return BPAClassifier(budget=budget, gamma=choice.gamma, C=choice.step, random_state=seed)
    margin = 0 if name == "forgetron" else 1
    return BudgetedPerceptron(name, budget, gamma=choice.gamma, margin=margin, eta0=choice.step, random_state=seed)


# --- data -------------------------------------------------------------------------------------------------


def split_for(name, data, seed):
    """Training and test rows; for the Forgetron the two-class problems of the TVM paper."""
    return two_class_split(data, seed) if name == "forgetron" else raw_split(data, seed=seed)


def two_class_split(data, seed):
    """Section 5.1 of the TVM paper."""
    if data in ("checkerboard", "noisy-checkerboard"):  # the test rows have no noise
        train = make_checkerboard(100_000, noise=0.15 if data == "noisy-checkerboard" else 0.0, random_state=seed)
        return *train, *make_checkerboard(5_000, random_state=1000 + seed)
    if data == "gauss":
        return *make_two_gaussians(100_000, random_state=seed), *make_two_gaussians(5_000, random_state=1000 + seed)
    if data == "waveform":
        (X, y), (X_test, y_test) = (
            make_waveform(100_000, random_state=seed),
            make_waveform(5_000, random_state=1000 + seed),
        )
        return X, y == 0, X_test, y_test == 0
    if data == "covtype":
        X, y = load(data)
        X, X_test, y, y_test = train_test_split(X, y == 2, train_size=100_000, test_size=10_000, random_state=seed)
        return X, y, X_test, y_test
    X, y, X_test, y_test = raw_split(data, seed=seed)
    if data in ("usps", "pendigits"):
        y, y_test = np.isin(y, ROUND_DIGITS), np.isin(y_test, ROUND_DIGITS)
    elif data == "letter":
        y, y_test = y > 13, y_test > 13
    elif data == "shuttle":
        y, y_test = y != 1, y_test != 1
    return X, y, X_test, y_test


# --- measuring and choosing -------------------------------------------------------------------------------


def accuracies(name, data, budget, choice):
    """Accuracy on the test rows, in percent, for each seed."""
    results = []
    for seed in SEEDS:
        X, y, X_test, y_test = split_for(name, data, seed)
        X, X_test = scaled(choice.scaling, X.astype(np.float32), X_test.astype(np.float32))
        results.append(100 * new_model(name, budget, choice, seed).fit(X, y).score(X_test, y_test))
    return results


def tuned(name, data, budget):
    """The choice with the best mean accuracy on held-out training rows."""
    X, y, _, _ = split_for(name, data, seed=0)
    if len(X) > TUNING_ROWS:
        keep = np.random.default_rng(0).permutation(len(X))[:TUNING_ROWS]
        X, y = X[keep], y[keep]
    X = X.astype(np.float32)
    steps = {"bpa": (0.01, 0.03, 0.1, 0.3, 1.0), "stop": (0.03, 0.1, 0.3, 1.0), "random": (0.03, 0.1, 0.3, 1.0)}.get(
        name, (1.0,)
    )
    candidates = []
    for scaling in ("standard", "range"):
        unit = 1 / (X.shape[1] * scaled(scaling, X)[0].var())
        gammas = unit * 2.0 ** np.arange(-3, 6, 1.0 if name in QUICKER else 0.5)
        candidates += [Choice(scaling, float(f"{g:.3g}"), s) for g, s in itertools.product(gammas, steps)]
    splits = list(ShuffleSplit(40, test_size=0.2, random_state=1).split(X))
    for n_splits, n_kept in ((2, 5), (10, 1)) if name in QUICKER else ((4, 8), (40, 1)):
        scores = [held_out(name, budget, choice, X, y, splits[:n_splits]) for choice in candidates]
        candidates = [candidates[i] for i in np.argsort(-np.array(scores), kind="stable")[:n_kept]]
    return candidates[0]


def held_out(name, budget, choice, X, y, splits):
    scores = []
    for k, (train, held) in enumerate(splits):
        known, unknown = scaled(choice.scaling, X[train], X[held])
        scores.append(new_model(name, budget, choice, k).fit(known, y[train]).score(unknown, y[held]))
    return np.mean(scores)


# --- the table --------------------------------------------------------------------------------------------


def cases(names):
    for name in names:
        if name == "forgetron":
            yield from ((name, data, 100, (printed, 2.0)) for data, printed in FORGETRON.items())
        else:
            for data, printed in BASELINES[name].items():
                yield from ((name, data, budget, p) for budget, p in zip(BUDGETS, printed, strict=True))


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.baselines", description=__doc__.splitlines()[0])
    known = [*BASELINES, "forgetron"]
    parser.add_argument("names", nargs="*", help=f"any of: {', '.join(known)} (default: all)")
    parser.add_argument("--data", nargs="*", help="these data sets only")
    parser.add_argument("--tune", action="store_true", help="choose the parameters again")
    options = parser.parse_args()
    if unknown := set(options.names) - set(known):
        parser.error(f"no such baseline: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    console = Console(width=None if sys.stdout.isatty() else 120)
    chosen = json.loads(CHOSEN.read_text()) if CHOSEN.exists() else {}
    table = Table(title=f"One pass, mean and deviation of {len(SEEDS)} seeds", title_justify="left")
    for heading in ("", "data", "B", "scaling", "gamma", "step", "ours", "paper", ""):
        table.add_column(heading, justify="left" if heading in ("", "data", "scaling") else "right")
    for name, data, budget, (mean, spread) in cases(options.names or known):
        if options.data and data not in options.data:
            continue
        key = f"{name} {data} {budget}"
        try:
            if options.tune or key not in chosen:
                chosen[key] = tuned(name, data, budget)
                CHOSEN.write_text(json.dumps(chosen, indent=1) + "\n")
            choice = Choice(*chosen[key])
            ours = accuracies(name, data, budget, choice)
        except DatasetUnavailableError as error:
            console.print(f"[yellow]{data}: skipped: {error}")
            continue
        verdict = "better" if np.mean(ours) >= mean else "within" if np.mean(ours) >= mean - spread else "below"
        ours_text = f"{np.mean(ours):.2f} ± {np.std(ours):.2f}"
        numbers = f"{choice.gamma:.3g}", f"{choice.step:g}", ours_text, f"{mean:.2f} ± {spread:.2f}"
        table.add_row(name, data, str(budget), choice.scaling, *numbers, verdict)
        console.print(f"{key}: {ours_text} ({mean:.2f}) {verdict}")
    console.print(table)


if __name__ == "__main__":
    main()
