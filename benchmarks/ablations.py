"""What our deviations from the papers are worth: ``python -m benchmarks.ablations [--rows 8000] [--seeds 3]``.

Each is switched on and off on five data sets, all else equal: test accuracy, the mean over orders of the rows, and CPU
seconds of `fit`, the least over them. Widths and penalties are those that `experiments.bsgd` chose for LIBSVM, or for
merging with the same budget. Where there is no switch, a few lines of a copy of the package are written as in the
paper, and another process learns with the copy.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks.printing import table
from experiments.data import scaled, split
from experiments.protocol import choices_of
from experiments.work import new_estimator
from frugalsvm import __file__ as init_file

DATA = ("banana", "satimage", "pendigits", "a9a", "ijcnn1")


class Rewriting(NamedTuple):
    """Lines of a file of the package, and what they are in the paper."""

    file: str
    ours: str
    papers: str


class Deviation(NamedTuple):
    """Something that we do otherwise; parameters that switch it on and off, or lines that are written otherwise."""

    name: str
    estimator: str
    fixed: dict[str, Any]
    ours: dict[str, Any]
    papers: dict[str, Any]
    chosen: str = "LIBSVM {data}"  # whose scaling, gamma and penalty
    rewriting: Rewriting | None = None


NEWCOMERS_LAST = Rewriting(
    "exact/twins.py",
    """
        if first < 0:
            for k in range(n):
                if not twins.tried_new[k]""",
    """
        if n > 0:
            for k in range(n):
                if not twins.tried_new[k]""",
)
# The paper searches the best point between two vectors by golden sections, here to the same 1e-6.
NEWTON = Rewriting(
    "core/merge.py",
    """
def _best_point_in_half(A, C, B, log_kappa):
""",
    """
def _best_point_in_half(A, C, B, log_kappa):
    low, high, share = 0.0, 0.5, 0.6180339887498949
    a, b = high - share * (high - low), low + share * (high - low)
    at_a, at_b = _kept(A, C, B, log_kappa, a), _kept(A, C, B, log_kappa, b)
    while high - low > 1e-6:
        if at_a > at_b:
            high, b, at_b = b, a, at_a
            a = high - share * (high - low)
            at_a = _kept(A, C, B, log_kappa, a)
        else:
            low, a, at_a = a, b, at_b
            b = low + share * (high - low)
            at_b = _kept(A, C, B, log_kappa, b)
    return 0.5 * (low + high)


@inlined
def _kept(A, C, B, log_kappa, h):
    u, v = np.exp((1.0 - h) * (1.0 - h) * log_kappa), np.exp(h * h * log_kappa)
    return A * u * u + 2.0 * C * u * v + B * v * v


@inlined
def _by_newton(A, C, B, log_kappa):
""",
)


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
    Deviation(
        "BSGD, 100 vectors: Newton, not golden sections, for the best merge",
        "BSGDClassifier",
        {"budget": 100},
        {},
        {},
        "BPegasos+merge {data} 100",
        NEWTON,
    ),
    Deviation(
        "TVM, 100 twins: new examples are merged last",
        "TVMClassifier",
        {"budget": 100},
        {},
        {},
        rewriting=NEWCOMERS_LAST,
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


def measured_in_a_copy(
    deviation: Deviation, rewriting: Rewriting, data: str, rows: int, n_seeds: int
) -> tuple[list[float], float]:
    """The same without the deviation, by another process with a copy of the package as in the paper."""
    with tempfile.TemporaryDirectory() as folder:
        package = copytree(Path(init_file).parent, Path(folder) / "frugalsvm", ignore=ignore_patterns("__pycache__"))
        file = package / rewriting.file
        text = file.read_text()
        if text.count(rewriting.ours) != 1:
            sys.exit(f"{rewriting.file} has changed: {deviation.name!r} does not know what to write otherwise.")
        file.write_text(text.replace(rewriting.ours, rewriting.papers))
        path = os.pathsep.join([folder, os.getcwd(), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(Path(folder) / "code")}
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.ablations", "--only", deviation.name]
        command += ["--rows", str(rows), "--seeds", str(n_seeds), "--data", data, "--json"]
        out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    accuracies, seconds = json.loads(out)
    return accuracies, seconds


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablations", description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000, help="training rows at most (default: 8000)")
    parser.add_argument("--seeds", type=int, default=3, help="orders of the rows (default: 3)")
    parser.add_argument("--only", default="", metavar="WORD", help="only deviations with this in their names")
    parser.add_argument("--data", nargs="+", default=DATA, help="data sets (default: all five)")
    parser.add_argument("--json", action="store_true", help="accuracies and seconds of one, as it is in this package")
    options = parser.parse_args()
    deviations = [one for one in DEVIATIONS if options.only in one.name]
    with threadpool_limits(1):
        if options.json:
            print(json.dumps(measured(deviations[0], True, options.data[0], options.rows, options.seeds)))
            return
        console = Console(width=None if sys.stdout.isatty() else 140)
        for deviation in deviations:
            console.print(compared(deviation, options))


def compared(deviation: Deviation, options):
    """A table of what a deviation gains on each data set, and of its time."""
    out = table(deviation.name, "data", "with %", "without %", "gain", "with s", "without s")
    for data in options.data:
        ours, fast = measured(deviation, True, data, options.rows, options.seeds)
        if deviation.rewriting is None:
            theirs, slow = measured(deviation, False, data, options.rows, options.seeds)
        else:
            theirs, slow = measured_in_a_copy(deviation, deviation.rewriting, data, options.rows, options.seeds)
        gain = np.mean(ours) - np.mean(theirs)
        texts = [f"{np.mean(values):.2f} ± {np.std(values):.2f}" for values in (ours, theirs)]
        out.add_row(data, *texts, f"{gain:+.2f}", f"{fast:.3f}", f"{slow:.3f}")
    return out


if __name__ == "__main__":
    main()
