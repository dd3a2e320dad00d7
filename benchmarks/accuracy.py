"""Accuracy after one pass, beside the paper's: ``python -m benchmarks.accuracy [--tune] [--long] [DATA ...]``.

``--tune`` chooses scaling, gamma and alpha again, on training rows only: a grid on three random splits of them, a
fifth held out, and then the eight best on twenty splits, because single runs of an online learner scatter.
``CHOSEN`` records what it chose. ``--long`` streams ten million checkerboard examples
through the three kinds of maintenance, as in Table 4 of the BSGD paper.
"""

import argparse
import itertools
import sys
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import ShuffleSplit

from benchmarks.cases import raw_split, scaled
from frugalsvm import BSGDClassifier
from frugalsvm.datasets import DatasetUnavailableError, make_checkerboard, stream

SEEDS = range(5)
BUDGET = 500


class Choice(NamedTuple):
    scaling: str
    gamma: float
    alpha: float
    paper: float  # BPegasos + merge, B = 500, Table 3 of the BSGD paper


CHOSEN = {
    "banana": Choice("standard", 16.0, 1e-2, 89.46),
    "a9a": Choice("range", 0.163, 1e-4, 83.93),
    "ijcnn1": Choice("standard", 0.182, 3.16e-5, 98.08),
    "usps": Choice("range", 0.106, 1e-4, 92.91),
    "letter": Choice("range", 6.7, 1e-4, 89.68),
    "satimage": Choice("standard", 0.444, 3.16e-4, 89.77),
    "pendigits": Choice("range", 4.19, 3.16e-4, 97.63),
    "shuttle": Choice("standard", 3.56, 1e-5, 99.89),
    "dna": Choice("standard", 0.0111, 3.16e-4, 92.42),
}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=list(CHOSEN), help="data sets (default: all)")
    parser.add_argument("--tune", action="store_true", help="choose the parameters again")
    parser.add_argument("--long", action="store_true", help="also the ten-million-example checkerboard")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 120)
    table = Table(title=f"One pass, budget {BUDGET}, mean and deviation of {len(SEEDS)} seeds", title_justify="left")
    for heading in ("data", "scaling", "gamma", "alpha", "merge", "merge + post-pass", "paper (merge)"):
        table.add_column(heading, justify="left" if heading in ("data", "scaling") else "right")
    for name in options.data:
        try:
            choice = tuned(name) if options.tune else CHOSEN[name]
            plain, post = accuracies_on_test_rows(name, choice, False), accuracies_on_test_rows(name, choice, "post")
        except DatasetUnavailableError as error:
            console.print(f"[yellow]{name}: skipped: {error}")
            continue
        numbers = f"{choice.gamma:.3g}", f"{choice.alpha:.2g}", _spread(plain), _spread(post), f"{choice.paper:.2f}"
        table.add_row(name, choice.scaling, *numbers)
        console.print(f"{name}: {_spread(plain)}")
    console.print(table)
    if options.long:
        console.print(long_checkerboard())


def _spread(accuracies):
    return f"{np.mean(accuracies):.2f} ± {np.std(accuracies):.2f}"


def accuracies_on_test_rows(name, choice, average):
    """Accuracy on the test rows, in percent, for each seed."""
    accuracies = []
    for seed in SEEDS:
        X, y, X_test, y_test = raw_split(name, seed=seed)
        X, X_test = scaled(choice.scaling, X, X_test)
        model = BSGDClassifier(
            budget=BUDGET, gamma=choice.gamma, alpha=choice.alpha, average=average, random_state=seed
        )
        accuracies.append(100 * model.fit(X, y).score(X_test, y_test))
    return accuracies


def tuned(name):
    """Scaling, gamma and alpha with the best mean accuracy on held-out training rows."""
    X, y, _, _ = raw_split(name)
    splits = list(ShuffleSplit(20, test_size=0.2, random_state=1).split(X))
    candidates = []
    for scaling in ("standard", "range"):
        unit = 1 / (X.shape[1] * scaled(scaling, X)[0].var())
        gammas, alphas = unit * 2.0 ** np.arange(-3, 7), 10.0 ** np.arange(-6, -1.4, 0.5)
        candidates += [Choice(scaling, g, a, CHOSEN[name].paper) for g, a in itertools.product(gammas, alphas)]
    for n_splits, n_kept in ((3, 8), (20, 1)):
        scores = held_out_accuracies(X, y, splits[:n_splits], candidates)
        candidates = [candidates[i] for i in np.argsort(-scores, kind="stable")[:n_kept]]
    return candidates[0]


def held_out_accuracies(X, y, splits, candidates):
    """Mean accuracy of each candidate over the splits; zero for those far behind after the first."""
    scores = np.zeros((len(splits), len(candidates)))
    for k, (train, held) in enumerate(splits):
        rows = {scaling: scaled(scaling, X[train], X[held]) for scaling in {c.scaling for c in candidates}}
        for i, choice in enumerate(candidates):
            if k == 0 or scores[0, i] > scores[0].max() - 0.03:
                known, unknown = rows[choice.scaling]
                model = BSGDClassifier(budget=BUDGET, gamma=choice.gamma, alpha=choice.alpha, random_state=k)
                scores[k, i] = model.fit(known, y[train]).score(unknown, y[held])
    return scores.mean(axis=0)


def long_checkerboard(n_examples=10_000_000):
    """Table 4 of the BSGD paper in the binary form: gradient errors are 1/sqrt(2) of the printed ones."""
    X_test, y_test = make_checkerboard(100_000, random_state=1)
    table = Table(title=f"Checkerboard, {n_examples:,} examples", title_justify="left")
    for heading in (
        "maintenance",
        "budget",
        "gamma",
        "accuracy",
        "gradient error",
        "paper: accuracy",
        "error / sqrt(2)",
    ):
        table.add_column(heading, justify="right")
    cases = [
        ("remove", 100, 8.0, 79.19, 1.402),
        ("project", 100, 8.0, 99.25, 0.052),
        ("merge", 100, 8.0, 99.55, 0.037),
        ("merge", 100, 3.0, None, None),
        ("merge", 500, 8.0, 99.74, 0.002),
    ]
    for maintenance, budget, gamma, paper_accuracy, paper_error in cases:
        model = BSGDClassifier(maintenance=maintenance, budget=budget, gamma=gamma, alpha=1e-4)
        for X, y in stream("checkerboard", n_examples, chunk_size=64_000, random_state=0):
            model.partial_fit(X, y)
        paper = ("", "") if paper_accuracy is None else (f"{paper_accuracy:.2f}", f"{paper_error / np.sqrt(2):.3f}")
        accuracy = f"{100 * model.score(X_test, y_test):.2f}"
        table.add_row(maintenance, str(budget), f"{gamma:g}", accuracy, f"{model.gradient_error_:.4f}", *paper)
    return table


if __name__ == "__main__":
    main()
