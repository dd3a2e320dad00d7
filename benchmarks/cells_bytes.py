"""Bytes against errors of machines in cells: ``python -m benchmarks.cells_bytes [--only NAME ...]``.

`LocalSVC` and `LocalSVR` with budgets from 0.1 MB on, and without one; gamma and C are chosen once for each table,
without a budget. Columns are standardized. Errors are in percent of test rows; of regression, the root mean squared
error of the standardized target. "kept" is the share of training rows that the model has. The results are stored for
the table in the documentation. Test rows are for the last look.
"""

import argparse
import csv
import time
from pathlib import Path

from rich.console import Console

from benchmarks.cells import standardized
from benchmarks.comparison.scores import error_of
from benchmarks.printing import table
from benchmarks.source_splits import TABLES, split_of
from frugalsvm import LocalSVC, LocalSVR
from frugalsvm.exceptions import ParameterError

__all__ = ["curve"]

NAMES = ("covtype", "letter", "protein")
BUDGETS = ("0.1MB", "0.25MB", "0.5MB", "1MB", "2MB", "5MB", "10MB")
HEADINGS = ("data", "budget", "bytes", "kept", "error", "left out", "fit s")


def main():
    options = _options()
    shown, results = table("Errors of machines in cells by their bytes", *HEADINGS), []
    for name in options.only:
        for result in curve(name, options):
            results.append(_shown(result))
            shown.add_row(*_shown(result))
    Console(width=120).print(shown)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("w", newline="") as lines:
        csv.writer(lines, lineterminator="\n").writerows([HEADINGS, *results])


def _options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="tables (default: all)")
    parser.add_argument("--budgets", nargs="+", default=BUDGETS, help="besides none")
    parser.add_argument("--rows", type=int, help="training rows, and test rows, at most: to try things out")
    parser.add_argument("--jobs", type=int, default=-1, help="threads (default: all cores)")
    parser.add_argument("--seed", type=int, default=0, help="of the split and of the models")
    parser.add_argument("--output", type=Path, default=Path("docs/measured/cells_bytes.csv"), help="where results go")
    return parser.parse_args()


def curve(name, options):
    """Results of a table, without a budget first; budgets that are too small, or have room for more, add nothing."""
    is_regression = TABLES[name].is_regression
    split = standardized(split_of(name, options.seed, rows=options.rows))
    settings = {"n_jobs": options.jobs, "random_state": options.seed}
    kind = LocalSVR if is_regression else LocalSVC
    settings |= {"intervals": None} if is_regression else {"calibrate": None}
    whole, result = _measured(kind(**settings), split, is_regression)
    yield {"data": name, "budget": None, **result}
    settings |= {"C": whole.C_, "gamma": whole.gamma_}
    before = 0
    for budget in options.budgets:
        try:
            model, result = _measured(kind(budget=budget, **settings), split, is_regression)
        except ParameterError:  # too small for so many cells
            continue
        if before < model.model_bytes_ < whole.model_bytes_:
            yield {"data": name, "budget": budget, **result}
        before = model.model_bytes_


def _measured(model, split, is_regression):
    start = time.perf_counter()
    model.fit(split.X, split.y)
    seconds = time.perf_counter() - start
    return model, {
        "bytes": int(model.model_bytes_),
        "kept": len(model.learned_rows()) / len(split.y),
        "error": error_of(model.predict(split.X_test), split.y_test, is_regression),
        "left_out": model.loo_error_ * (1 if is_regression else 100),
        "fit_seconds": seconds,
        "is_regression": is_regression,
    }


def _shown(result):
    digits = 4 if result["is_regression"] else 2
    errors = (f"{result[name]:.{digits}f}" for name in ("error", "left_out"))
    kept, seconds = f"{100 * result['kept']:.0f} %", f"{result['fit_seconds']:.1f}"
    return (result["data"], result["budget"] or "none", f"{result['bytes']:,}", kept, *errors, seconds)


if __name__ == "__main__":
    main()
