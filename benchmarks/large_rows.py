"""How time, memory and errors of `AutoSVC` and `LocalSVC` grow with the number of rows, up to ten million and more.

    python -m benchmarks.large_rows --rows 1e5 1e6 1e7 --jobs 16
    python -m benchmarks.large_rows --rows 1e7 --device cuda --learner LocalSVC

Rows have 20 columns, of which four matter. Their boundary is sharp, of waves or of boxes as a tree has them, and one
label of twenty is wrong: no model has fewer errors than these 5 %. `AutoSVC` has to find out all of it; `LocalSVC` is
told the metric, and gamma and C unless ``--choose`` is given.

Each number of rows has a process of its own, in which machine code is there before. "stages" are seconds within `fit`.
Memory is the peak while it fits, less what the process had before there were rows, in multiples of the rows: those that
are passed count, and those that the model keeps. "error %" is that of labels with noise, "above best" what is beyond
the noise.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.printing import table
from frugalsvm import AutoSVC, LocalSVC
from frugalsvm.compiling.memory import peak_megabytes
from frugalsvm.pipelines import StreamPipeline

N_COLUMNS, NOISE, N_TEST, WARM_ROWS, _BLOCK = 20, 0.05, 200_000, 30_000, 2**16
METRIC = [1.0] * 4 + [0.1] * (N_COLUMNS - 4)
STAGES = ((StreamPipeline, "survey"), (StreamPipeline, "prepared_rows"), (LocalSVC, "fit"))
BOUNDARIES = {
    "waves": lambda X: np.sin(2 * X[:, 0] + np.abs(X[:, 1])) + X[:, 2] * np.cos(X[:, 3]) > 0,
    "boxes": lambda X: (X[:, 0] > 0) ^ ((X[:, 1] > 0.5) & (X[:, 2] < 0.3)) ^ ((X[:, 3] > 1) & (X[:, 0] < 0.5)),
}


def rows_of(n_rows: int, seed: int, boundary: str = "waves", dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels without noise, made in blocks: there is never more than is returned."""
    X, y = np.empty((n_rows, N_COLUMNS), dtype), np.empty(n_rows, np.int8)
    rng = np.random.default_rng(seed)
    for start in range(0, n_rows, _BLOCK):
        block = X[start : start + _BLOCK]
        block[:] = rng.standard_normal(block.shape, np.float32)
        y[start : start + _BLOCK] = BOUNDARIES[boundary](block)
    return X, y


def with_noise(y: np.ndarray, seed: int) -> np.ndarray:
    """Labels of which a share is wrong; in place."""
    y ^= np.random.default_rng(seed).random(len(y), np.float32) < NOISE
    return y


@contextmanager
def timed(seconds: dict[str, float]) -> Iterator[None]:
    """Context in which calls of some methods are timed."""
    kept = [(cls, name, getattr(cls, name)) for cls, name in STAGES]
    for cls, name, method in kept:
        setattr(cls, name, _timed(method, f"{cls.__name__}.{name}", seconds))
    try:
        yield
    finally:
        for cls, name, method in kept:
            setattr(cls, name, method)


def _timed(method, name: str, seconds: dict[str, float]):
    @wraps(method)
    def call(*args, **kwargs):
        start = time.perf_counter()
        try:
            return method(*args, **kwargs)
        finally:
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start

    return call


def new_model(options: argparse.Namespace) -> Any:
    """The learner of a run."""
    shared = {"n_jobs": options.jobs, "device": options.device, "random_state": 0}
    if options.learner == "AutoSVC":
        return AutoSVC(**shared)
    chosen: dict[str, Any] = {} if options.choose else {"C": 10.0, "gamma": 0.3}
    return LocalSVC(metric=METRIC, cell_size=options.cell_size, copy_X=not options.no_copy, **shared, **chosen)


def measured(n_rows: int, options: argparse.Namespace) -> dict[str, Any]:
    """Fit so many rows in this process."""
    warnings.simplefilter("ignore")
    make = {"boundary": options.boundary, "dtype": options.dtype}
    X, y = rows_of(WARM_ROWS, 1, **make)
    new_model(options).fit(X, y).predict(X)  # compiles
    before = _resident_megabytes()  # not the peak: the fit to few rows needs work arrays, too
    X, y = rows_of(n_rows, 0, **make)
    y = with_noise(y, 2)
    stages: dict[str, float] = {}
    cpu, start = time.process_time(), time.perf_counter()
    with timed(stages):
        model = new_model(options).fit(X, y)
    seconds, cpu, peak = time.perf_counter() - start, time.process_time() - cpu, peak_megabytes()
    n_bytes = X.nbytes
    X, y = rows_of(N_TEST, 3, **make)
    start = time.perf_counter()
    wrong = float(np.mean(model.predict(X) != y))
    return {
        "rows": n_rows, "seconds": seconds, "CPU seconds": cpu,
        "stages": {name: round(value, 2) for name, value in stages.items()},
        "memory, of the rows": (peak - before) * 2**20 / n_bytes,
        "predict, us a row": 1e6 * (time.perf_counter() - start) / N_TEST,
        "error %": 100 * (NOISE + (1 - 2 * NOISE) * wrong), "above best": 100 * (1 - 2 * NOISE) * wrong,
        **_gpu_memory(options, n_bytes),
    }  # fmt: skip


def _resident_megabytes() -> float:
    """What this process has now."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 2**10


def _gpu_memory(options: argparse.Namespace, n_bytes: int) -> dict[str, float]:
    if options.device == "cpu":
        return {}
    import torch

    return {"GPU memory, of the rows": torch.cuda.max_memory_allocated() / n_bytes}


def in_process(n_rows: int) -> dict[str, Any]:
    """The same in a process of its own, so that peaks of memory are those of one fit."""
    command = [sys.executable, "-m", "benchmarks.large_rows", *sys.argv[1:], "--alone", str(n_rows)]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(result.splitlines()[-1])


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=float, default=[1e5, 1e6, 1e7])
    parser.add_argument("--learner", choices=("AutoSVC", "LocalSVC"), default="AutoSVC")
    parser.add_argument("--boundary", choices=BOUNDARIES, default="waves")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--cell-size", type=int, default=2048, help="of LocalSVC")
    parser.add_argument("--choose", action="store_true", help="have LocalSVC choose gamma and C")
    parser.add_argument("--no-copy", action="store_true", help="have LocalSVC keep rows where they are")
    parser.add_argument("--alone", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = parsed()
    if options.alone:
        print(json.dumps(measured(options.alone, options)))
        return
    console, shown = Console(width=160), None
    for n_rows in map(int, options.rows):
        found = in_process(n_rows)
        print(json.dumps(found), flush=True)
        shown = shown or table(f"{new_model(options)}, {options.boundary}, {NOISE:.0%} of labels wrong", *found)
        shown.add_row(*(_words(value) for value in found.values()))
    console.print(shown)


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{name} {seconds:.1f}" for name, seconds in value.items())
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3g}"


if __name__ == "__main__":
    main()
