"""What the first fit and prediction in a new process cost beyond those of a warm one, and what had to be compiled.

    python -m benchmarks.first_fit [--quick] [--check] [ESTIMATOR ...]

Each case is a new process with an empty cache on disk, so that only machine code of the wheel is there: install a
platform wheel first, and run this outside of the repository's ``src``. Seconds are of the processor, so that a busy
machine does not count. Imports and commands come last. With ``--check`` they do not, and the exit code is 1 if anything
had to be compiled.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

N_ROWS = 500
DTYPES, N_FEATURES, N_CLASSES = ("float64", "float32"), (10, 30), (2, 3)

FIT = """
import json, sys, time, warnings
from importlib import import_module

warnings.simplefilter("ignore")  # models of so few rows are poor
import numpy as np
import frugalsvm
from frugalsvm.compiling.events import compile_notice
from frugalsvm.compiling.code_cache import code_in_wheel
from frugalsvm.core.dense_scores import score_some

name, dtype, n_features, n_classes, n_rows = json.loads(sys.argv[1])
estimator = getattr(frugalsvm, name)
rng = np.random.default_rng(0)
X = rng.normal(size=(n_rows, n_features)).astype(dtype)
y = X[:, 0] + 0.5 * X[:, 1] ** 2
if n_classes:
    y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))

def seconds():
    start = time.process_time()
    estimator().fit(X, y).predict(X)
    return time.process_time() - start

first, warm = seconds(), seconds()
wheel = code_in_wheel(score_some)
print(json.dumps([first, warm, compile_notice.n_compiled, wheel.n_loaded, wheel.level]))
"""
IMPORTS = {
    "import sklearn.svm": "import sklearn.svm",
    "import one estimator": "from frugalsvm import BSGDClassifier",
    "import all of them": "from frugalsvm import {}",
    "frugalsvm --help": "import sys; sys.argv = ['frugalsvm', '--help']; from frugalsvm.cli import main; main()",
    "frugalsvm train, 500 rows": "import sys; sys.argv = ['frugalsvm', 'train', sys.argv[1]]\n"
    "from frugalsvm.cli import main; main()",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_fit", description=__doc__.partition("\n")[0])
    parser.add_argument("estimators", nargs="*", help="names of classes (default: all)")
    parser.add_argument("--quick", action="store_true", help="one kind of rows: float64, 10 features, 2 classes")
    parser.add_argument("--check", action="store_true", help="exit with code 1 if anything had to be compiled")
    options = parser.parse_args()
    console, table = (
        Console(width=120),
        Table(title="CPU seconds of the first fit and prediction", title_justify="left"),
    )
    for column in ("estimator", "rows", "first", "warm", "first - warm", "compiled", "from the wheel"):
        table.add_column(column, justify="left" if column in ("estimator", "rows") else "right")
    n_compiled, level = 0, None
    for name, *kind in _cases(options.estimators or _all_estimators(), options.quick):
        first, warm, compiled, loaded, level = _fit(name, kind)
        n_compiled += compiled
        figures = (f"{first:.2f}", f"{warm:.2f}", f"{first - warm:.2f}", str(compiled), str(loaded))
        table.add_row(name, "{}, {} features, {} classes".format(*kind), *figures)
    console.print(table)
    console.print(f"Machine code of the wheel: for {level}." if level else "There is no machine code in a wheel.")
    if not (options.estimators or options.check):
        for what, seconds in _other_starts().items():
            console.print(f"{what:<28}{seconds:.2f} CPU s")
    sys.exit(1 if options.check and (n_compiled or level is None) else 0)


def _all_estimators() -> list[str]:
    from frugalsvm._homes import AUTOMATIC, ESTIMATORS

    return [*ESTIMATORS, *AUTOMATIC]


def _cases(names: list[str], quick: bool) -> Iterator[tuple]:
    kinds = [("float64", 10, 2)] if quick else list(itertools.product(DTYPES, N_FEATURES, N_CLASSES))
    for name in names:
        has_numbers = name.endswith(("Regressor", "SVR", "OneClassSVM"))
        yield from dict.fromkeys((name, *kind[:2], 0 if has_numbers else kind[2]) for kind in kinds)


def _fit(name: str, kind: Any) -> list:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder, "FRUGALSVM_QUIET": "1"}
        command = [sys.executable, "-c", FIT, json.dumps([name, *kind, N_ROWS])]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def _other_starts() -> dict[str, float]:
    """CPU seconds of processes that import something, or of commands."""
    import resource

    def children() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "small.csv"
        _write_table(file)
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        for what, code in IMPORTS.items():
            code = code.format(", ".join(_all_estimators()))
            before = children()
            subprocess.run([sys.executable, "-c", code, file], env=environment, cwd=folder, capture_output=True)
            found[what] = children() - before
    return found


def _write_table(file: Path) -> None:
    import numpy as np

    X = np.random.default_rng(0).normal(size=(N_ROWS, 8))
    labels = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.3, "a", "b")
    lines = [",".join([*(f"{value:.5g}" for value in row), label]) for row, label in zip(X, labels, strict=True)]
    file.write_text("\n".join([",".join([*(f"x{i}" for i in range(8)), "label"]), *lines, ""]))


if __name__ == "__main__":
    main()
