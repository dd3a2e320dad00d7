"""The online dual SVMs beside the LASVM-NC paper and SVC: ``python -m benchmarks.dual [--peers] [--seeds N] [DATA
...]``.

One pass, a 512 MB cache, one thread, CPU seconds; parameters of Table 2 of the paper, printed values of its Table 3.
``--peers`` also trains `sklearn.svm.SVC` with the same cache, once for each data set, and says how many times faster
ours are.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from frugalsvm import LASVMClassifier
from frugalsvm.datasets import DatasetUnavailableError, load
from frugalsvm.metrics import geometric_mean_score, precision_recall_breakeven

VARIANTS = ("full", "g", "nc", "i", "lasvm")
CACHE_MB = 512


class Problem(NamedTuple):
    C: float
    gamma: float
    # FULL, G, NC, I, LASVM, LIBSVM in Table 3 of the paper
    accuracies: tuple
    support: tuple


PROBLEMS = {
    "a9a": Problem(100, 0.005, (84.87, 84.81, 85.01, 84.82, 84.76, 84.91), (11831, 11266, 4609, 5776, 11296, 11420)),
    "mnist-8": Problem(100, 0.001, (99.25, 99.27, 99.15, 99.18, 99.07, 99.36), (3412, 3157, 2653, 2722, 2889, 3146)),
    "banana": Problem(10, 1.0, (90.03, 89.81, 89.97, 89.84, 89.80, 90.07), (947, 941, 551, 669, 880, 915)),
    "reuters": Problem(1, 0.5, (97.19, 97.19, 97.16, 97.16, 97.13, 97.19), (1122, 1120, 1086, 1093, 1140, 1090)),
    "usps-0": Problem(1, 2.0, (99.54, 99.54, 99.52, 99.57, 99.52, 99.54), (242, 200, 194, 192, 201, 237)),
    "usps-0-noisy": Problem(1, 2.0, (98.43, 99.42, 99.51, 99.49, 99.56, 99.44), (2455, 2288, 752, 937, 2134, 2307)),
}


def split_of(name, seed):
    """Training and test rows in float32, and labels -1 and +1."""
    if name == "banana":
        X, X_test, y, y_test = train_test_split(*load("banana"), train_size=4000, test_size=1300, random_state=seed)
    elif name == "reuters":
        (X, y), (X_test, y_test) = load("reuters_money_fx", "train"), load("reuters_money_fx", "test")
    elif name == "mnist-8":
        (X, y), (X_test, y_test) = load("mnist", "train"), load("mnist", "test")
        X, X_test, y, y_test = X / np.float32(255), X_test / np.float32(255), y == 8, y_test == 8
    elif name.startswith("usps-0"):
        (X, y), (X_test, y_test) = load("usps", "train"), load("usps", "test")
        # With pixels in [-1, 1] the paper's width would make all digits strangers; divided by 16 it gives its accuracy.
        X, X_test = X / np.float32(16), X_test / np.float32(16)
        y, y_test = y == 0, y_test == 0
        if name == "usps-0-noisy":
            y = y ^ (np.random.default_rng(seed).random(len(y)) < 0.1)
    else:
        (X, y), (X_test, y_test) = load(name, "train"), load(name, "test")
    y, y_test = (np.where(np.asarray(labels) > 0, 1, -1) for labels in (y, y_test))
    return X.astype(np.float32), y, X_test.astype(np.float32), y_test


def cpu_seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def measured(name, variant, seed):
    X, y, X_test, y_test = split_of(name, seed)
    problem = PROBLEMS[name]
    parameters = {"C": problem.C, "gamma": problem.gamma, "cache_size": CACHE_MB, "random_state": seed}
    LASVMClassifier(variant, **parameters).fit(X[:1500], y[:1500])  # compiled now, also for rows taken as sparse ones
    model = LASVMClassifier(variant, **parameters)
    seconds = cpu_seconds(lambda: model.fit(X, y))
    scores = model.decision_function(X_test)
    predicted = np.where(scores >= 0, 1, -1)
    return {
        "seconds": seconds,
        "support": int(model.n_support_[0]),
        "accuracy": 100 * float(np.mean(predicted == y_test)),
        "prbep": 100 * precision_recall_breakeven(y_test, scores),
        "auc": roc_auc_score(y_test, scores),
        "gmeans": geometric_mean_score(y_test, predicted),
        "evals": model.n_kernel_evals_ / 1e6,
        "reprocess": model.n_reprocess_[0] / model.t_,
        "gap": model.duality_gap_,
        "ramp": [
            int(count[0])
            for count in (model.admitted_left_, model.admitted_right_, model.cleaned_left_, model.cleaned_right_)
        ],
    }


def peer(name):
    X, y, X_test, y_test = split_of(name, 0)
    model = SVC(C=PROBLEMS[name].C, gamma=PROBLEMS[name].gamma, cache_size=CACHE_MB)
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
    problem = PROBLEMS[name]
    table = Table(title=f"{name}: C = {problem.C:g}, gamma = {problem.gamma:g}", title_justify="left")
    for heading in (
        "",
        "CPU s",
        "x SVC",
        "SVs",
        "paper",
        "accuracy %",
        "paper",
        "PRBEP",
        "AUC",
        "g-means",
        "M kernel",
        "steps",
    ):
        table.add_column(heading, justify="right" if heading else "left")
    if reference is not None:
        numbers = f"{reference['seconds']:.1f}", "1", f"{reference['support']:,}", f"{problem.support[-1]:,}"
        table.add_row("SVC", *numbers, f"{reference['accuracy']:.2f}", f"{problem.accuracies[-1]:.2f}")
    for place, variant in enumerate(VARIANTS):
        if variant not in rows:
            continue
        mean = {key: np.mean([row[key] for row in rows[variant]], axis=0) for key in rows[variant][0]}
        spread = np.std([row["accuracy"] for row in rows[variant]])
        table.add_row(
            variant,
            f"{mean['seconds']:.2f}",
            f"{reference['seconds'] / mean['seconds']:.1f}" if reference else "",
            f"{mean['support']:,.0f}",
            f"{problem.support[place]:,}",
            f"{mean['accuracy']:.2f} ± {spread:.2f}",
            f"{problem.accuracies[place]:.2f}",
            f"{mean['prbep']:.2f}",
            f"{mean['auc']:.3f}",
            f"{mean['gmeans']:.3f}",
            f"{mean['evals']:.0f}",
            f"{mean['reprocess']:.2f}",
        )
    return table


if __name__ == "__main__":
    main()
