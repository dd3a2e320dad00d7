"""Tables, against boosted trees and other kernel machines: ``python -m benchmarks.tables [--only NAME ...]``.

AutoSVC and AutoSVR, learned and plain metrics of ASSET, HistGradientBoosting, tuned SVC and SVR, and, where they are
installed (``pip install '.[tables]'``), LightGBM and xRFM. All have the same training and test rows: the split of the
source with five seeds of the method or, where there is none, five random splits (80 % for training). Trees, AutoSVC and
AutoSVR have columns as they are. Other kernel methods have them with a robust center and spread, clipped
(``StreamingScaler``); pixels and indicators, which have one unit, stay in proportion. Errors are in percent; of
regression, the root mean squared error of the standardized target.

Equal effort: every method is tuned on the same training rows, at most ``--tuning-rows`` of them, of which 15 % judge
what was learned from the others. Each has ``--candidates`` settings, its default and random ones, as long as they begin
within ``--tuning-seconds``; a path of C counts as many as it has values. The best is then fitted to all training rows.
Where the split is that of the source, settings are chosen once, with the first seed. What a fit does with rows of its
own belongs to it: early stopping of trees, the metric, C on a path, the round of xRFM, and all that AutoSVC and AutoSVR
choose, which are not tuned any further. "tuning s" is the time to choose, "fit s" that of the last fit, with the
scaling. SVC and SVR have at most 20 000 rows and 300 000 steps; their candidates are fitted side by side.

Results go to ``output/tables.json``; those that are measured later are added, so that a long measurement can be made in
pieces. Test rows are for the last look: whatever you change, choose it on training rows.
"""

import argparse
import datetime
import gc
import json
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.__main__ import machine
from benchmarks.printing import table
from benchmarks.tables_data import TABLES, prepared, split_of
from benchmarks.tables_methods import METHODS, Task, missing_package
from benchmarks.tables_summary import key_of, summary
from benchmarks.tables_tuning import FAILURES, Effort, error_of, tuned, warm_up
from frugalsvm._threads import thread_count

__all__ = ["save"]

HEADINGS = ("data", "method", "device", "seeds", "error", "spread", "fit s", "tuning s", "candidates", "rows", "true %")


def main():
    options = _options()
    console = Console(width=160)
    methods = [METHODS[name] for name in options.methods]
    for method in filter(missing_package, methods):
        console.print(f"{method.label}: not measured, because {missing_package(method)} is not installed")
    for problem in options.only:
        seeds = range(options.first_seed, options.first_seed + options.seeds)
        splits = {seed: split_of(problem, seed, noise=options.noise, rows=options.rows) for seed in seeds}
        for method in methods:
            try:
                for row in [] if missing_package(method) else measured(problem, splits, method, options):
                    save(options.json, row)
                    console.print(_as_line(row))
            except FAILURES as failure:
                console.print(f"{problem}, {method.label}: failed, {type(failure).__name__}: {failure}", markup=False)
            release_memory(options.device)
    console.print(_table_of(summary(json.loads(options.json.read_text())["rows"])))
    console.print(f"Results are in {options.json}")


def _options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES), help="tables (default: all)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="methods (default: all)")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds of a method, or of splits")
    parser.add_argument("--first-seed", type=int, default=0, help="to measure seeds in pieces")
    parser.add_argument("--noise", type=int, default=0, help="columns of noise after those of the table")
    parser.add_argument("--n-components", type=int, default=4096, help="landmarks of ASSET")
    parser.add_argument("--device", default="cpu", help='of ASSET and xRFM, such as "cuda"')
    parser.add_argument("--candidates", type=int, default=18, help="settings that each method tries")
    parser.add_argument("--tuning-rows", type=int, default=10_000, help="rows on which settings are chosen")
    parser.add_argument("--tuning-seconds", type=float, default=60, help="no setting is begun after so many seconds")
    parser.add_argument("--rows", type=int, help="training rows, and test rows, at most: to try things out")
    parser.add_argument("--json", type=Path, default=Path("output/tables.json"), help="where results go")
    return parser.parse_args()


def measured(problem, splits, method, options):
    """A row of results for each seed."""
    choice = None
    for seed, split in splits.items():
        task = Task(TABLES[problem].is_regression, split.X.shape[1], options.n_components, options.device)
        if choice is None or not split.is_canonical:
            warm_up(method, task, split)
            effort = Effort(options.candidates, options.tuning_rows, options.tuning_seconds)
            choice = tuned(method, task, split, effort, seed)
        title = f"{problem} + {options.noise} noise columns" if options.noise else problem
        origin = {"problem": title, "method": method.title(task), "device": method.device(task), "seed": seed}
        yield {**origin, **_result(method, task, split, choice, seed)}


def _result(method, task, split, choice, seed):
    n_rows = min(len(split.y), method.max_rows or len(split.y))
    start = time.perf_counter()
    X, X_test = prepared(method.columns, split.has_one_unit, split.X[:n_rows], split.X_test)
    model = method.new(task, choice.settings, seed).fit(X, split.y[:n_rows])
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    error = error_of(model, X_test, split.y_test, task.is_regression)
    return {
        "rows": n_rows,
        "error": error,
        "seconds": seconds,
        "predict_seconds": time.perf_counter() - start,
        "tuning_seconds": choice.seconds,
        "candidates": choice.n_tried * method.counts_for,
        "failed": choice.n_failed * method.counts_for,
        "settings": choice.settings,
        "is_regression": task.is_regression,
        "on_true_columns": _share(model, split),
    }


def _share(model, split):
    """Percent of the importance that is on the true columns, where there are others and the model knows."""
    importances = getattr(model, "feature_importances_", None)
    if split.n_true_columns == split.X.shape[1] or importances is None:
        return None
    return float(100 * np.sum(importances[: split.n_true_columns]) / np.sum(importances))


def release_memory(device):
    """What one method leaves on a GPU is not there for the next."""
    if device != "cpu":
        import torch

        gc.collect()
        torch.cuda.empty_cache()


def save(path, row):
    """Add a row to the results that are there, in the place of an earlier one of the same."""
    results = json.loads(path.read_text()) if path.exists() else {"rows": []}
    rows = {key_of(each): each for each in (*results["rows"], row)}
    results.update(date=datetime.date.today().isoformat(), rows=list(rows.values()))
    results["machine"] = {**results.get("machine", {}), **machine(), **_peers(row["device"])}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1))


def _peers(device):
    """Versions of other libraries, the cores, and the GPU if there is one."""
    packages = (method.package for method in METHODS.values() if method.package and not missing_package(method))
    found = {**{package: version(package) for package in packages}, "cores": thread_count(-1)}
    if device == "cpu":
        return found
    import torch

    return {**found, "torch": torch.__version__, "GPU": torch.cuda.get_device_name(device)}


def _table_of(means):
    made = table("error in percent; of regression, RMSE of the standardized target", *HEADINGS)
    for row in means:
        digits = 4 if row["is_regression"] else 2
        numbers = (_shown(row["error"], digits), _shown(row["spread"], digits), _shown(row["seconds"], 2))
        tuning = (_shown(row["tuning_seconds"], 2), _shown(row["candidates"], 0))
        rest = (*tuning, f"{row['rows']:,}", _shown(row["on_true_columns"], 1))
        made.add_row(row["problem"], row["method"], row["device"], str(row["seeds"]), *numbers, *rest)
    return made


def _shown(value, digits):
    return "" if value is None else f"{value:.{digits}f}"


def _as_line(row):
    digits = 4 if row["is_regression"] else 2
    share = "" if row["on_true_columns"] is None else f", {row['on_true_columns']:.1f} % on true columns"
    failed = f" ({row['failed']} failed)" if row["failed"] else ""
    times = (
        f"fit {row['seconds']:.2f} s, tuning {row['tuning_seconds']:.1f} s for {row['candidates']} candidates{failed}"
    )
    return f"{row['problem']}, {row['method']}, seed {row['seed']}: error {row['error']:.{digits}f}{share}, {times}"


if __name__ == "__main__":
    main()
