"""``python -m benchmarks.pipe [--rows N]``: an endless stream through a pipe.

Peak memory early and late, and what reading costs when it overlaps with training: the same batches are learned from
memory ("training alone"), from a pipe that is read on a second thread, and from a pipe that is not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from itertools import chain, repeat
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import dump_svmlight_file

from frugalsvm import BSGDClassifier
from frugalsvm.compiling.memory import peak_megabytes
from frugalsvm.datasets import load
from frugalsvm.streams import open_stream, prefetched

BATCH_ROWS = 10_000
MODES = ("memory", "prefetched", "plain")


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipe", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows through the pipe (default: two millions)")
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--format", choices=("libsvm", "csv"), default="libsvm")
    parser.add_argument("--modes", nargs="*", choices=MODES, default=MODES)
    parser.add_argument("--child", choices=MODES, help=argparse.SUPPRESS)
    parser.add_argument("--blocks", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--block", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(learned(options)))
        return
    table = Table("batches from", "wall s", "CPU s", "x training alone", "peak MB at 5 %", "peak MB at the end")
    with tempfile.TemporaryDirectory() as folder:
        block = Path(folder, "block." + options.format)
        n_blocks = -(-options.rows // write_block(block, options.format))
        alone = None
        for mode in options.modes:
            result = in_a_process_of_its_own(mode, block, n_blocks, options)
            alone = alone or result["wall"]
            table.add_row(
                mode,
                f"{result['wall']:.1f}",
                f"{result['cpu']:.1f}",
                f"{result['wall'] / alone:.3f}",
                f"{result['early']:.1f}",
                f"{result['late']:.1f}",
            )
    Console().print(table)


def write_block(path, format):
    """The rows of a9a, as text."""
    X, y = load("a9a")[:2]
    if format == "libsvm":
        dump_svmlight_file(X, y, str(path), zero_based=False)
    else:
        rows = X.toarray() if hasattr(X, "toarray") else X
        np.savetxt(path, np.column_stack([rows, y]), fmt="%g", delimiter=",")
    return len(y)


def in_a_process_of_its_own(mode, block, n_blocks, options):
    """What a child measures that gets the block again and again on its standard input."""
    flags = ["--blocks", n_blocks, "--budget", options.budget, "--format", options.format]
    command = [sys.executable, "-m", "benchmarks.pipe", "--child", mode, "--block", block, *flags]
    with subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        if mode != "memory":
            text = block.read_bytes()
            for _ in range(n_blocks):
                child.stdin.write(text)
        return json.loads(child.communicate()[0])


def learned(options):
    """Wall and CPU seconds, and peak memory, of one pass."""
    model = BSGDClassifier(budget=options.budget, gamma=0.1, alpha=1e-5, random_state=0)
    reading = {"format": options.format, "batch_rows": BATCH_ROWS}
    stored = list(open_stream(options.block, **reading))
    model.partial_fit(stored[0].X[:200], stored[0].y[:200], classes=[-1, 1])  # compiles
    if options.child == "memory":
        batches = chain.from_iterable(repeat(stored, options.blocks))
    else:
        stream = open_stream(sys.stdin.buffer, **reading, n_features=stored[0].X.shape[1])
        batches = prefetched(stream) if options.child == "prefetched" else stream
    before = os.times()
    n_batches = options.blocks * len(stored)
    start = perf_counter()
    for number, batch in enumerate(batches, 1):
        model.partial_fit(batch.X, batch.y)
        if number == -(-n_batches // 20):
            early = peak_megabytes()
    after = os.times()
    cpu = after.user + after.system - before.user - before.system
    return {"wall": perf_counter() - start, "cpu": cpu, "early": early, "late": peak_megabytes()}


if __name__ == "__main__":
    main()
