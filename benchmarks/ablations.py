"""What our deviations from the papers are worth: ``python -m benchmarks.ablations [--rows 8000] [--seeds 3]``.

Each is switched on and off on five data sets, all else equal: test accuracy, the mean over orders of the rows, and CPU
seconds of `fit`, the least over them. Widths and penalties are those that `experiments.bsgd` chose for LIBSVM, or for
merging with the same budget.
"""

import argparse
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks.printing import table
from experiments.data import scaled, split
from experiments.protocol import choices_of
from experiments.work import new_estimator

DATA = ("banana", "satimage", "pendigits", "a9a", "ijcnn1")


class Deviation(NamedTuple):
    """Something that we do otherwise; parameters that switch it on and off."""

    name: str
    estimator: str
    fixed: dict[str, Any]
    ours: dict[str, Any]
    papers: dict[str, Any]
    chosen: str = "LIBSVM {data}"  # whose scaling, gamma and penalty


DEVIATIONS = [
    Deviation("LASVM-G: steps on pairs", "LASVMClassifier", {"variant": "g"}, {}, {"step_type": "single"}),
    Deviation(
        "LASVM-G, C = 100: steps on pairs",
        "LASVMClassifier",
        {"variant": "g"},
        {"C": 100.0},
        {"C": 100.0, "step_type": "single"},
    ),
    Deviation("LASVM-NC: steps on pairs", "LASVMClassifier", {"variant": "nc"}, {}, {"step_type": "single"}),
    Deviation("LASVM-NC: 1,000 idle members stay", "LASVMClassifier", {"variant": "nc"}, {}, {"max_idle": 0}),
    Deviation("LASVM-I: a start without the ramp", "LASVMClassifier", {"variant": "i"}, {}, {"warm_up": 0}),
    Deviation(
        "ASSET: mean of the last half of the steps",
        "ASSETClassifier",
        {"solver": "asset", "max_iter": 5},
        {},
        {"average": 100},
    ),
    Deviation(
        "ASSET: Newton instead of subgradient steps",
        "ASSETClassifier",
        {},
        {"solver": "newton"},
        {"solver": "asset", "max_iter": 5},
    ),
    Deviation(
        "BSGD, 100 vectors: averaging in a post-pass",
        "BSGDClassifier",
        {"budget": 100},
        {"average": "post"},
        {},
        "BPegasos+merge {data} 100",
    ),
]


def measured(deviation: Deviation, on: bool, data: str, rows: int, n_seeds: int) -> tuple[list[float], float]:
    """Accuracies in percent, and the least CPU seconds, with the deviation or without."""
    chosen = choices_of("bsgd").recorded[deviation.chosen.format(data=data)]
    parameters = {**deviation.fixed, **chosen["tuned"], **(deviation.ours if on else deviation.papers)}
    accuracies, seconds = [], []
    for seed in range(n_seeds):
        X, y, X_test, y_test = split(data, seed, rows)
        X, X_test = scaled(chosen["scaling"], X, X_test)
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
        if not seed:
            new_estimator(deviation.estimator, parameters, seed).fit(X[:300], y[:300])  # compiles
        model = new_estimator(deviation.estimator, parameters, seed)
        start = time.process_time()
        model.fit(X, y)
        seconds.append(time.process_time() - start)
        accuracies.append(100 * model.score(X_test, y_test))
    return accuracies, min(seconds)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablations", description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000, help="training rows at most (default: 8000)")
    parser.add_argument("--seeds", type=int, default=3, help="orders of the rows (default: 3)")
    parser.add_argument("--only", default="", metavar="WORD", help="only deviations with this in their names")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 140)
    with threadpool_limits(1):
        for deviation in (one for one in DEVIATIONS if options.only in one.name):
            out = table(deviation.name, "data", "with %", "without %", "gain", "with s", "without s")
            for data in DATA:
                (ours, fast), (theirs, slow) = (
                    measured(deviation, on, data, options.rows, options.seeds) for on in (True, False)
                )
                gain = np.mean(ours) - np.mean(theirs)
                texts = [f"{np.mean(values):.2f} ± {np.std(values):.2f}" for values in (ours, theirs)]
                out.add_row(data, *texts, f"{gain:+.2f}", f"{fast:.2f}", f"{slow:.2f}")
            console.print(out)


if __name__ == "__main__":
    main()
