"""``python -m benchmarks.crash [--rows N] [--kills K] [--algorithms ...]``: runs that are killed lose nothing.

``frugalsvm train`` runs once without trouble. Then it is killed (SIGKILL) at random moments and resumed, again and
again, until it has been killed so many times and has come to its end. Both model files must be the same, byte for byte.

Moments are drawn evenly over the whole of the run. Half of the kills wait from there for the next checkpoint and fall
while it is written, which random moments would hardly ever hit; some fall while the process starts. Where a run
comes to its end before it could be killed, its file is compared, and the remaining kills are for a run from the start.
"""

import argparse
import hashlib
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.printing import table
from frugalsvm.datasets import make_checkerboard
from frugalsvm.persist import describe

CELLS, GAP = 4, 0.1  # of the board; how much of a cell is left empty on each side
POLL_SECONDS = 0.0002
SHARE_BETWEEN = 1 / 20  # of the rows, between checkpoints

# Noisy labels for the learners with a budget. Members of LASVM are as many as errors: labels without noise, with gaps.
NOISY, CLEAN = "noisy", "clean"
CASES = {
    "bsgd": (NOISY, ["--gamma", "40", "--alpha", "1e-5", "--budget", "60"]),
    "lasvm": (CLEAN, ["--gamma", "40", "--C", "10"]),
    "tvm": (NOISY, ["--gamma", "40", "--C", "10", "--budget", "40"]),
    "asset": (NOISY, ["--gamma", "40", "--alpha", "1e-5", "--budget", "60"]),
}


class Kill(NamedTuple):
    """Where a kill fell."""

    writing: bool  # a checkpoint was half written
    before_first: bool  # there was no checkpoint yet
    share: float  # of the rows that the last checkpoint has learned


class Result(NamedTuple):
    """What came of all runs of an algorithm."""

    seconds: float  # without trouble
    kills: list[Kill]
    n_ends: int  # runs that were killed and came to their end
    identical: bool
    leftovers: int  # temporary files that were still there at the end


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crash", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="(default: a million)")
    parser.add_argument("--kills", type=int, default=20, help="for each algorithm (default: 20)")
    parser.add_argument("--algorithms", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--checkpoint-every", help="examples, or a time such as 2s (default: a twentieth of the rows)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    options = parser.parse_args()
    every = options.checkpoint_every or str(max(int(options.rows * SHARE_BETWEEN), 1))
    console = Console(width=None if sys.stdout.isatty() else 140)
    shown = table(
        f"Killed and resumed, checkpoints every {every}",
        "algorithm", "rows", "uninterrupted s", "kills", "while writing", "before the first", "ends", "identical",
    )  # fmt: skip
    all_identical = True
    with tempfile.TemporaryDirectory() as folder:
        for name in options.algorithms:
            with console.status(f"{name} ..."):
                result = measured(name, Path(folder), options.rows, options.kills, every, options.seed)
            all_identical &= result.identical and not result.leftovers
            shown.add_row(
                name,
                f"{options.rows:,}",
                f"{result.seconds:.1f}",
                str(len(result.kills)),
                str(sum(kill.writing for kill in result.kills)),
                str(sum(kill.before_first for kill in result.kills)),
                str(result.n_ends),
                "yes" if result.identical else "NO",
            )
            shares = " ".join(f"{100 * kill.share:.0f}{'w' * kill.writing}" for kill in result.kills)
            verdict = "identical" if result.identical else "DIFFERENT"
            console.print(f"{name}: {verdict}; killed at % of rows saved (w: while writing): {shares}", highlight=False)
            if result.leftovers:
                console.print(f"[red]{name}: {result.leftovers} temporary files were left behind")
    console.print(shown)
    sys.exit(0 if all_identical else 1)


def measured(name, folder, n_rows, n_kills, every, seed):
    """One run without trouble, and runs with so many kills."""
    kind, flags = CASES[name]
    data = folder / f"{kind}.csv"
    if not data.exists():
        write_rows(data, n_rows, kind)
    command = [sys.executable, "-m", "frugalsvm.cli", "train", str(data), "--label", "label", "--scale", "no", "-q"]
    command += ["--algorithm", name, *flags, "--checkpoint-every", every]
    whole = folder / f"{name}.whole.frugal"
    compile_once(command, data, folder)
    start = time.perf_counter()
    subprocess.run([*command, "-o", str(whole)], check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    startup = seconds_to_start()
    random, kills, ends = np.random.default_rng(seed), [], []
    while len(kills) < n_kills or not ends:
        output = folder / f"{name}.{len(ends)}.frugal"
        moments = np.sort(random.uniform(size=n_kills - len(kills)))
        kills += killed_again_and_again(command, output, n_rows, moments, (startup, seconds), random)
        ends.append(output)
    digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (whole, *ends)}
    return Result(seconds, kills, len(ends), len(digests) == 1, len(list(folder.glob(".*.tmp"))))


def compile_once(command, data, folder):
    """Learn the first rows, so that compiling is no part of what is measured."""
    first = folder / "first.csv"
    with data.open() as rows:
        first.write_text("".join(islice(rows, 10_000)))
    subprocess.run(
        [str(first) if part == str(data) else part for part in command] + ["-o", str(folder / "first.frugal")],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def write_rows(path, n_rows, kind):
    """Checkerboards as CSV; `CLEAN` ones have no points near the borders of the cells."""
    if kind == NOISY:
        X, y = make_checkerboard(n_rows, noise=0.1, cells=CELLS, standardize=False, random_state=0)
    else:
        drawn = int(n_rows / (1 - 2 * GAP) ** 2 * 1.1) + 1000
        X, y = make_checkerboard(drawn, cells=CELLS, standardize=False, random_state=0)
        inside = np.flatnonzero(np.abs(X * CELLS % 1 - 0.5).max(axis=1) < 0.5 - GAP)[:n_rows]
        X, y = X[inside], y[inside]
    rows = np.column_stack([X, y])
    np.savetxt(path, rows, ["%.6g", "%.6g", "%d"], delimiter=",", header="a,b,label", comments="")


def seconds_to_start():
    """How long it takes until a process begins to read."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import frugalsvm.cli.app, frugalsvm.cli.commands.train_stream"], check=True)
    return time.perf_counter() - start


def killed_again_and_again(command, output, n_rows, moments, expected, random):
    """Kill one run at all these moments, unless it ends before, and let it come to its end."""
    startup, seconds = expected
    resumed = [*command, "-o", str(output), "--resume"]
    kills = []
    for number, moment in enumerate(moments):
        # Machines are busy at times: what a run has saved tells better than a clock how far it is.
        saved_by_then = moment - SHARE_BETWEEN
        wait = SHARE_BETWEEN * (seconds - startup)
        if (share_saved(output, n_rows) or 0.0) >= saved_by_then:
            wait += startup  # the moment may be before the first row
        kill = killed_at(resumed, output, n_rows, saved_by_then, random.uniform(0.0, wait), aimed=number % 2 == 1)
        if kill is None:
            return kills
        kills.append(kill)
        if is_finished(output):  # killed between its last file and its last breath
            return kills
    subprocess.run(resumed, check=True, stdout=subprocess.DEVNULL)
    return kills


def killed_at(command, output, n_rows, saved_by_then, wait, *, aimed):
    """Kill a process so many seconds after it has saved a share of the rows; None if it ends before.

    If aimed, the kill falls while the next checkpoint is written.
    """
    before = set(temporaries(output))
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and (share_saved(output, n_rows) or 0.0) < saved_by_then:
            time.sleep(0.01)
        start = time.perf_counter()
        while process.poll() is None:
            is_time = time.perf_counter() - start >= wait
            if is_time and (not aimed or set(temporaries(output)) - before):
                process.kill()
            time.sleep(POLL_SECONDS if aimed else 0.005)
    if process.returncode > 0:
        raise RuntimeError(f"{' '.join(command)} ended with exit code {process.returncode}.")
    if process.returncode == 0:
        return None
    is_writing = bool(set(temporaries(output)) - before)
    return Kill(is_writing, not output.exists(), share_saved(output, n_rows) or 0.0)


def temporaries(output):
    """Files that are being written, or that a killed process left behind."""
    return list(output.parent.glob(f".{output.name}.*.tmp"))


def share_saved(output, n_rows):
    """The share of rows that the last checkpoint has learned; None if there is none."""
    return training_of(output)["counts"]["rows"] / n_rows if output.exists() else None


def is_finished(output):
    return output.exists() and training_of(output)["finished"]


def training_of(output):
    """What a model file says about the run that wrote it."""
    return describe(output).metadata["training"]


if __name__ == "__main__":
    main()
