"""``python -m benchmarks.kernels``: nanoseconds for a kernel value of each kernel, against the machine's limit.

Rows meet 1024 landmarks, on one thread, as in low-rank machines; the limit is that of ``benchmarks/limit.py``.
"""

import argparse
import sys

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks.limit import best_of, nanoseconds_per_value
from frugalsvm.core.kernels import KERNELS
from frugalsvm.lowrank.nystroem import bare_nystroem, kernel_rows

FEATURES = (8, 22, 54, 123, 784)
N_ROWS, N_LANDMARKS = 4096, 1024


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__)
    parser.add_argument("kernels", nargs="*", default=list(KERNELS), help=f"any of: {', '.join(KERNELS)}")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 140)
    shown = Table("kernel", *(f"{d} features" for d in FEATURES), title="ns for a kernel value (times the limit)")
    with threadpool_limits(1):
        for name in options.kernels:
            shown.add_row(name, *(_cell(name, n_features) for n_features in FEATURES))
    console.print(shown)


def _cell(name, n_features):
    kernel = _kernel(name, n_features)
    X = np.random.default_rng(0).normal(size=(N_ROWS, n_features)).astype(np.float32)
    landmarks = bare_nystroem(kernel, X[:N_LANDMARKS])
    out = np.empty((N_ROWS, N_LANDMARKS), np.float32)
    ours = best_of(lambda: kernel_rows(landmarks, X, out)) / out.size * 1e9
    return f"{ours:.2f} ({ours / nanoseconds_per_value(kernel, X, landmarks.landmarks):.2f})"


def _kernel(name, n_features):
    """With values that are neither all zero nor all one."""
    parameters = {"gamma": 1.0 / n_features, "coef0": 1.0, "degree": 3}
    part = KERNELS[name]
    return part(**{field: parameters[field] for field in part._fields})


if __name__ == "__main__":
    main()
