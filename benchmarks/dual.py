"""The online dual SVMs beside SVC, in CPU seconds: ``python -m benchmarks.dual [--peers] [--seeds N] [DATA ...]``.

One pass, a 512 MB cache, one thread; data and parameters of the LASVM-NC paper. ``--peers`` also trains
`sklearn.svm.SVC` with the same cache, once for each data set, and says how many times faster ours are. Accuracies and
sizes beside the printed ones are in `experiments.lasvm`.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from experiments.lasvm.data import split_of
from experiments.protocol import protocol_of
from frugalsvm import LASVMClassifier
from frugalsvm.datasets import DatasetUnavailableError

VARIANTS = ("full", "g", "nc", "i", "lasvm")
CACHE_MB = 512


# C and gamma of Table 2 of the paper
PROBLEMS = {
    name: {"C": problem["C"], "gamma": problem["gamma"]} for name, problem in protocol_of("lasvm")["data"].items()
}


def cpu_seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def measured(name, variant, seed):
    X, y, X_test, y_test = split_of(name, seed)
    parameters = {**PROBLEMS[name], "cache_size": CACHE_MB, "random_state": seed}
    LASVMClassifier(variant, **parameters).fit(X[:1500], y[:1500])  # compiled now, also for rows taken as sparse ones
    model = LASVMClassifier(variant, **parameters)
    seconds = cpu_seconds(lambda: model.fit(X, y))
    return {
        "seconds": seconds,
        "support": int(model.n_support_[0]),
        "accuracy": 100 * model.score(X_test, y_test),
        "evals": model.n_kernel_evals_ / 1e6,
        "reprocess": model.n_reprocess_[0] / model.t_,
    }


def peer(name):
    X, y, X_test, y_test = split_of(name, 0)
    model = SVC(**PROBLEMS[name], cache_size=CACHE_MB)
    seconds = cpu_seconds(lambda: model.fit(X, y))
    return {"seconds": seconds, "support": int(model.n_support_.sum()), "accuracy": 100 * model.score(X_test, y_test)}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dual", description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=list(PROBLEMS), help=f"any of: {', '.join(PROBLEMS)}")
    parser.add_argument("--variants", nargs="*", default=VARIANTS, choices=VARIANTS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--peers", action="store_true", help="also SVC")
    parser.add_argument("--json", type=Path, default=Path("output/dual.json"), help="where results go")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 150)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    results = {}
    with threadpool_limits(1):
        for name in options.data:
            try:
                reference = peer(name) if options.peers else None
                rows = {v: [measured(name, v, seed) for seed in range(options.seeds)] for v in options.variants}
            except DatasetUnavailableError as error:
                console.print(f"[yellow]{name}: skipped: {error}")
                continue
            results[name] = {"svc": reference, **rows}
            options.json.write_text(json.dumps(results, indent=1))
            console.print(table_of(name, reference, rows))


def table_of(name, reference, rows):
    table = Table(title="{}: C = {C:g}, gamma = {gamma:g}".format(name, **PROBLEMS[name]), title_justify="left")
    for heading in ("", "CPU s", "x SVC", "SVs", "accuracy %", "M kernel", "steps"):
        table.add_column(heading, justify="right" if heading else "left")
    if reference is not None:
        table.add_row(
            "SVC", f"{reference['seconds']:.1f}", "1", f"{reference['support']:,}", f"{reference['accuracy']:.2f}"
        )
    for variant, runs in rows.items():
        mean = {key: np.mean([run[key] for run in runs]) for key in runs[0]}
        table.add_row(
            variant,
            f"{mean['seconds']:.2f}",
            f"{reference['seconds'] / mean['seconds']:.1f}" if reference else "",
            f"{mean['support']:,.0f}",
            f"{mean['accuracy']:.2f} ± {np.std([run['accuracy'] for run in runs]):.2f}",
            f"{mean['evals']:.0f}",
            f"{mean['reprocess']:.2f}",
        )
    return table


if __name__ == "__main__":
    main()
