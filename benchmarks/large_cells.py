"""One large cell, or a few: ``python -m benchmarks.large_cells [--rows N ...] [--threads T ...] [--gpu]``.

Seconds of all that `LocalSVC` does in a cell (kernel matrix, inverse of its Cholesky factor, coefficients,
leave-one-out errors) and of scores of as many rows, beside what n^3 operations take at the speed of one float32 product
of matrices of the same size with as many threads ("times n^3"; the factor and its inverse are two thirds of that). On a
GPU, also beside ``torch.linalg.cholesky`` alone, with the largest memory in matrices of the cell.
"""

import argparse
import time

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks.printing import table
from frugalsvm.arrays.namespace import arrays_on
from frugalsvm.cells.places import OnDevice, OnThreads
from frugalsvm.cells.tree import grown_tree
from frugalsvm.compiling.threads import Threads, thread_count
from frugalsvm.core.kernels import KERNELS

RIDGE, LARGEST_PRODUCT = 0.1, 8192
HEADINGS = ("where", "cells", "rows", "features", "outputs", "solve s", "n^3 s", "times n^3", "scores s", "also")


def main():
    options = _options()
    shown = table("Large cells", *HEADINGS)
    for n_features in options.features:
        for n_rows in options.rows:
            for threads in [] if options.gpu else options.threads:
                shown.add_row(*_on_threads(1, n_rows, n_features, options, threads))
            if options.gpu:
                shown.add_row(*_on_gpu(n_rows, n_features, options))
        for n_cells, n_rows in [] if options.gpu else options.several:
            shown.add_row(*_on_threads(n_cells, n_rows, n_features, options, max(options.threads)))
    Console(width=150).print(shown)


def _options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=int, default=[2048, 4096, 8192, 16384], help="of a cell")
    parser.add_argument("--several", nargs="*", type=_pair, default=[(4, 4096), (16, 4096)], help="such as 4x4096")
    parser.add_argument("--features", nargs="+", type=int, default=[16])
    parser.add_argument("--outputs", type=int, default=10)
    parser.add_argument("--kernel", default="matern12")
    parser.add_argument("--threads", nargs="+", type=int, default=sorted({1, thread_count(-1)}))
    parser.add_argument("--gpu", action="store_true", help="on a GPU instead")
    parser.add_argument("--repeat", type=int, default=2, help="runs, of which the best counts")
    return parser.parse_args()


def _pair(text):
    return tuple(map(int, text.split("x")))


def _problem(n_rows, n_features, options):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    targets = np.sign(rng.normal(size=(options.outputs, n_rows))).astype(np.float32)
    return rows, targets, KERNELS[options.kernel](gamma=1.0 / n_features)


def _on_threads(n_cells, n_rows, n_features, options, count):
    rows, targets, kernel = _problem(n_cells * n_rows, n_features, options)
    place = OnThreads(Threads(count))
    examples = place.examples(rows, targets, np.empty(0))
    solve, scores = _seconds(place, kernel, examples, rows, n_rows, options)
    with threadpool_limits(count if n_cells == 1 else 1):
        product = _cubed(lambda a, b: a @ b, np.ones, n_rows) * (1 if n_cells == 1 else n_cells / min(n_cells, count))
    return _cells(f"{count} threads", n_cells, n_rows, n_features, options, solve, product, scores, "")


def _on_gpu(n_rows, n_features, options):
    import torch

    rows, targets, kernel = _problem(n_rows, n_features, options)
    arrays = arrays_on("cuda")
    place = OnDevice(arrays, arrays.free_bytes())
    examples = place.examples(arrays.asarray(rows), targets, np.empty(0))
    _seconds(place, kernel, examples, rows, n_rows, options)
    torch.cuda.reset_peak_memory_stats()
    solve, scores = _seconds(place, kernel, examples, examples.rows, n_rows, options)
    peak = torch.cuda.max_memory_allocated() / (4 * n_rows**2)
    torch.cuda.empty_cache()

    def multiply(a, b):
        product = a @ b
        torch.cuda.synchronize()
        return product

    product = _cubed(multiply, lambda shape, dtype: torch.ones(shape, device="cuda"), n_rows)
    also = f"cholesky {_cholesky_seconds(torch, n_rows):.2f} s, {peak:.2f} matrices"
    return _cells("GPU", 1, n_rows, n_features, options, solve, product, scores, also)


def _cholesky_seconds(torch, n_rows):
    matrix = torch.eye(n_rows, device="cuda")

    def factor():
        torch.linalg.cholesky(matrix)
        torch.cuda.synchronize()

    return min(_timed(factor) for _ in range(2))


def _seconds(place, kernel, examples, rows, n_rows, options):
    """Of solving all cells, and of the scores of their rows."""
    tree = grown_tree(np.asarray(place.rows_of(examples)), n_rows, np.random.default_rng(0))

    def solve():
        return place.trained(kernel, examples, [tree], n_rows, RIDGE, lambda n_cells: None)

    cells, left_out = solve()
    assert np.isfinite(left_out).all()
    works = (solve, lambda: place.scores(kernel, rows, cells, rows))
    return tuple(min(_timed(work) for _ in range(options.repeat)) for work in works)


def _cubed(multiply, ones, n_rows):
    """Seconds of n^3 operations, from a product of matrices of that size or, where it is large, a smaller one."""
    size = min(n_rows, LARGEST_PRODUCT)
    a, b = ones((size, size), dtype=np.float32), ones((size, size), dtype=np.float32)
    return min(_timed(lambda: multiply(a, b)) for _ in range(3)) / 2 * (n_rows / size) ** 3


def _timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _cells(where, n_cells, n_rows, n_features, options, solve, product, scores, also):
    numbers = (n_cells, n_rows, n_features, options.outputs)
    times = (f"{solve:.3f}", f"{product:.3f}", f"{solve / product:.2f}", f"{scores:.3f}")
    return (where, *map(str, numbers), *times, also)


if __name__ == "__main__":
    main()
