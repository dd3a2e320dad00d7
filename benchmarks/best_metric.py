"""``python -m benchmarks.best_metric [--only NAME ...] [--threads 1 4 16] [--device cuda]``: what a metric takes.

Seconds by the clock of one choice on training rows, with kernels compiled before, its CPU seconds, and the error of
each kind of metric on the rows that judge them.
"""

import argparse
import time

import numpy as np

from benchmarks.comparison.columns import Columns
from benchmarks.source_splits import TABLES, split_of
from frugalsvm.arrays.namespace import arrays_on
from frugalsvm.core.kernels import KERNELS
from frugalsvm.metric_learning.machine import Rows, standardized
from frugalsvm.selection.best_metric import best_metric

KINDS = ("factors", "matrix")


def main():
    options = _options()
    for name in options.only:
        rows, classes = _rows(name, options.rows)
        for device, n_threads in [("cpu", count) for count in options.threads] + [(each, 1) for each in options.device]:
            arrays = arrays_on(device)
            there = Rows(*(arrays.asarray(each) for each in tuple(rows)))
            _timed(options.kernel, there[:2000], classes, n_threads)
            found, seconds, cpu_seconds = _timed(options.kernel, there, classes, n_threads)
            errors = ", ".join(f"{kind} {error:.4f}" for kind, error in found.errors.items())
            where = f"{n_threads} threads" if device == "cpu" else device
            print(f"{name} {rows.X.shape}, {where}: {seconds:.2f} s, {cpu_seconds:.2f} CPU s, {found.kind} of {errors}")


def _options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=TABLES, default=["letter", "elec2", "phoneme", "usps", "covtype"])
    parser.add_argument("--rows", type=int, default=30_000, help="training rows at most")
    parser.add_argument("--threads", nargs="*", type=int, default=[1])
    parser.add_argument("--device", nargs="*", default=[], help='besides, such as "cuda"')
    parser.add_argument("--kernel", choices=("rbf", "matern12"), default="rbf")
    return parser.parse_args()


def _rows(name, most):
    split = split_of(name, 0, rows=most)
    X = Columns("scaled", has_one_unit=split.has_one_unit).fit_transform(split.X, split.y)
    if TABLES[name].is_regression:
        return Rows(np.asarray(X, float), standardized(split.y[:, None]), np.ones(len(X))), False
    signs = np.where(split.y[:, None] == np.unique(split.y), 1.0, -1.0)
    return Rows(np.asarray(X, float), signs[:, 1:] if signs.shape[1] == 2 else signs, np.ones(len(X))), True


def _timed(kernel, rows, classes, n_threads):
    start, cpu_start = time.perf_counter(), time.process_time()
    part = KERNELS[kernel](gamma=1.0)
    found = best_metric(part, rows, np.random.default_rng(0), kinds=KINDS, classes=classes, n_threads=n_threads)
    return found, time.perf_counter() - start, time.process_time() - cpu_start


if __name__ == "__main__":
    main()
