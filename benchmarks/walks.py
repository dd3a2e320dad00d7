"""``python -m benchmarks.walks [fit] [train]``: which files of the library two first examples pass, and how often.

A file is passed when one of its functions is entered, in whichever thread; what runs while a module is imported does
not count. The examples are ``AutoSVC().fit(X, y)`` and ``frugalsvm train table.csv``, each in a process of its own that
finds its machine code on disk, as it does for users after their first run.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np

__all__ = ["WALKS", "passed"]

HOME = str(Path(str(find_spec("frugalsvm").origin)).parent) + os.sep
ROWS, FEATURES = 2000, 6
SHOWN = 4  # functions of a file


def table():
    """Rows of two classes for which a learned metric pays, so that nothing of the search is left out."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES))
    noise = 0.3 * rng.normal(size=ROWS)
    return X, (np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + noise > 0).astype(int)


def fit():
    """`AutoSVC`, in Python."""
    from frugalsvm import AutoSVC

    X, y = table()
    model = AutoSVC()
    return passed(lambda: model.fit(X, y))


def train():
    """The command line, on the same rows in a file with a header."""
    from frugalsvm.cli import main

    X, y = table()
    names = ",".join([*(f"x{k}" for k in range(FEATURES)), "label"])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        np.savetxt("table.csv", np.column_stack([X, y]), fmt="%.5g", delimiter=",", header=names, comments="")
        sys.argv = ["frugalsvm", "train", "table.csv", "-o", "model.frugal"]
        with open(os.devnull, "w") as nowhere:
            sys.stdout = sys.stderr = nowhere
            try:
                return passed(main)
            finally:
                sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
                os.chdir(HOME)


WALKS = {"fit": fit, "train": train}


def passed(action):
    """Calls of the functions of each file that ``action()`` enters: {file: Counter of functions}."""
    found, here, lock = {}, threading.local(), threading.Lock()

    def note(frame, event, _):
        code = frame.f_code
        if code.co_name == "<module>":
            here.n_imports = getattr(here, "n_imports", 0) + {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and code.co_filename.startswith(HOME) and not getattr(here, "n_imports", 0):
            with lock:
                found.setdefault(code.co_filename[len(HOME) :], Counter())[code.co_qualname] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        action()
    except SystemExit as end:  # of a command
        if end.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def lines_of(found):
    """A line for each file: its number of calls, and the functions with most of them."""
    for name, functions in sorted(found.items()):
        most = ", ".join(f"{function} {n:,}" for function, n in functions.most_common(SHOWN))
        yield f"{name:<36} {functions.total():>8,}  {most}"


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.walks", description=__doc__)
    parser.add_argument("walks", nargs="*", help=f"any of: {', '.join(WALKS)} (default: all)")
    parser.add_argument("--here", action="store_true", help="in this process, once")
    options = parser.parse_args()
    for name in options.walks or WALKS:
        if options.here:
            found = WALKS[name]()
            print(*lines_of(found), f"{name}: {len(found)} files", sep="\n")
            continue
        command = [sys.executable, "-m", "benchmarks.walks", "--here", name]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # machine code
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
