"""How time, memory and errors of `LocalSVC` grow with the number of rows.

    python -m benchmarks.cells_growth --rows 100000 1000000 10000000 --jobs 16

Rows have 20 columns, of which three matter; the boundary is sharp, and some labels are wrong. Each number of rows has a
process of its own. Memory is the peak while it fits, less what the process had before there were rows, in multiples of
the rows: those that are passed count, and those that the model keeps. The error is that of labels without noise.
"""

import argparse
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.printing import table
from frugalsvm import LocalSVC
from frugalsvm._memory import peak_megabytes

N_COLUMNS, NOISE, N_TEST, _BLOCK = 20, 0.05, 20_000, 2**16


def rows_of(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (float32) and labels without noise, made in blocks: there is never more than is returned."""
    X, y = np.empty((n_rows, N_COLUMNS), np.float32), np.empty(n_rows, np.int8)
    rng = np.random.default_rng(seed)
    for start in range(0, n_rows, _BLOCK):
        block = X[start : start + _BLOCK]
        block[:] = rng.standard_normal(block.shape, np.float32)
        y[start : start + _BLOCK] = np.sin(3 * block[:, 0]) + block[:, 1] * block[:, 2] > 0
        block[:, 3:] *= 0.1
    return X, y


def with_noise(y: np.ndarray, seed: int) -> np.ndarray:
    wrong = np.random.default_rng(seed).random(len(y), np.float32) < NOISE
    return np.where(wrong, 1 - y, y)


def measured(n_rows: int, settings: dict[str, Any]) -> dict[str, float]:
    """Fit so many rows in this process."""
    X, y = rows_of(3 * settings["cell_size"], 1)
    LocalSVC(**settings).fit(X, y).predict(X)  # compiles
    before = peak_megabytes()
    X, y = rows_of(n_rows, 0)
    y = with_noise(y, 2)
    start = time.perf_counter()
    model = LocalSVC(**settings).fit(X, y)
    seconds, peak = time.perf_counter() - start, peak_megabytes()
    X_test, y_test = rows_of(N_TEST, 3)
    error = float(np.mean(model.predict(X_test) != y_test))
    return {
        "rows": n_rows, "seconds": seconds, "microseconds a row": 1e6 * seconds / n_rows,
        "memory in multiples of the rows": (peak - before) * 2**20 / X.nbytes, "cells": model.n_cells_,
        "error %": 100 * error, "leave-one-out error %": 100 * model.loo_error_,
    }  # fmt: skip


def in_process(n_rows: int, settings: dict[str, Any]) -> dict[str, float]:
    """The same in a process of its own, so that peaks of memory are those of one fit."""
    command = [sys.executable, "-m", "benchmarks.cells_growth", "--alone", json.dumps([n_rows, settings])]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(result.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=int, default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--cell-size", type=int, default=2048)
    parser.add_argument("--choose", action="store_true", help="choose gamma and C; otherwise they are given")
    parser.add_argument("--no-copy", action="store_true", help="have the model keep rows where they are")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(measured(*json.loads(options.alone))))
        return
    settings: dict[str, Any] = {"cell_size": options.cell_size, "n_jobs": options.jobs, "random_state": 0}
    settings["copy_X"] = not options.no_copy
    if not options.choose:
        settings |= {"C": 1.0, "gamma": 0.3, "calibrate": None}
    found = [in_process(n_rows, settings) for n_rows in options.rows]
    shown = table(f"LocalSVC({settings}), labels of {NOISE:.0%} wrong", *found[0])
    for each in found:
        shown.add_row(*(f"{value:,}" if isinstance(value, int) else f"{value:,.3g}" for value in each.values()))
    Console(width=140).print(shown)


if __name__ == "__main__":
    main()
