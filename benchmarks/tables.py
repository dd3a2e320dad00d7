"""Tables, against boosted trees and other kernel machines: ``python -m benchmarks.tables [--only NAME ...]``.

AutoSVC and AutoSVR, HistGradientBoosting, SVC and SVR, and, where they are installed, LightGBM and xRFM
(``pip install '.[tables]'``) and liquidSVM. All have the same training and test rows: the split of the source or, where
there is none, 80 % for training by a random split for each seed. "hard" rows are made: 20 columns, of which four
matter, with a sharp border and 5 % of the labels wrong, so that no error can be below 5 %. So are "flights": dates,
clock times, and columns of text with up to 4,000 values.

AutoSVC and AutoSVR have columns as they are. Trees have them as numbers and, of text, categories; other kernel methods
have numbers with a robust center and spread, clipped; pixels and indicators, which have one unit, stay in proportion.
Errors are in percent; of regression, the root mean squared error of the standardized target.

Tuned methods have equal effort: the same training rows, at most ``--tuning-rows`` of them, of which 15 % judge what was
learned from the others, and ``--candidates`` settings, the default and random ones, as many as begin within
``--tuning-seconds``. The best is then fitted to all training rows. Seconds, by the clock and of all cores, are those of
every choice and of the last fit, when machine code is there. Bytes are those of the pickled model.

Each method has a process of its own, and is stopped after ``--limit`` seconds. Each made table has one, too, so that
the peak of its memory is known. A run ends after ``--minutes``; with ``--resume``, the next one goes on. Results are
in ``output/tables.json``, where later ones are added.

``--quick`` measures AutoSVC and AutoSVR alone, and compares them with goals. Test rows are for the last look: whatever
you change, choose it with ``--validate``, which puts training rows in the place of test rows.
"""

import argparse
import os
import time
from pathlib import Path

from rich.console import Console

from benchmarks.printing import table
from benchmarks.tables_cases import Case, machine_here, measured, warm_up
from benchmarks.tables_data import MADE, TABLES
from benchmarks.tables_goals import goals_table
from benchmarks.tables_methods import METHODS, missing_package
from benchmarks.tables_summary import key_of, load, save, summary
from benchmarks.tables_tuning import Effort
from benchmarks.tables_worker import Failed, Stopped, Worker

__all__ = ["main"]

LARGEST = ("hard-1M", "hard-10M")
WARM_SECONDS = 400  # more than machine code ever took
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
HEADINGS = (
    "data", "method", "device", "seeds", "error", "spread", "log loss", "AUC", "s", "CPU s", "of which tuning",
    "predict s", "MB", "peak MB", "rows",
)  # fmt: skip


def main(arguments=None):
    options = _options(arguments)
    console = Console(width=180)
    _set_threads(options.jobs)
    cases = _cases(options, console)
    results = []
    with _Workers() as workers:
        for number, case in enumerate(cases):
            row = _result(case, workers, options, console)
            if row is None:
                console.print(f"The time is over, and {len(cases) - number} are left: --resume goes on with them.")
                break
            results.append(row)
    console.print(goals_table(results) if options.quick else _table_of(summary(load(options.json)["rows"])))
    console.print(f"Results are in {options.json}")


def _options(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*TABLES, *MADE]
    parser.add_argument("--only", nargs="+", choices=names, help="tables (default: all; --quick: not the largest)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="methods (default: all)")
    parser.add_argument("--quick", action="store_true", help="AutoSVC and AutoSVR alone, beside goals")
    parser.add_argument("--validate", action="store_true", help="judge by training rows; test rows are not looked at")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds")
    parser.add_argument("--first-seed", type=int, default=0, help="to measure seeds in pieces")
    parser.add_argument("--device", default="cpu", help='of AutoSVC, AutoSVR and xRFM, such as "cuda"')
    parser.add_argument("--jobs", type=int, help="threads (default: one for each core)")
    parser.add_argument("--candidates", type=int, default=18, help="settings that each method tries")
    parser.add_argument("--tuning-rows", type=int, default=10_000, help="rows on which settings are chosen")
    parser.add_argument("--tuning-seconds", type=float, default=60, help="no setting is begun after so many seconds")
    parser.add_argument("--limit", type=float, default=300, help="seconds after which a method is stopped")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="when to end, perhaps before all is done")
    parser.add_argument("--resume", action="store_true", help="leave out what there are results of")
    parser.add_argument("--report", action="store_true", help="print the reports of AutoSVC and AutoSVR")
    parser.add_argument("--rows", type=int, help="training rows, and test rows, at most: to try things out")
    parser.add_argument("--json", type=Path, default=Path("output/tables.json"), help="where results go")
    options = parser.parse_args(arguments)
    options.end = time.monotonic() + 60 * options.minutes
    if options.only is None:
        options.only = [name for name in names if not (options.quick and name in LARGEST)]
    if options.quick:
        options.methods = ["auto"]
    return options


def _set_threads(jobs):
    """Limits of other tools are not for this one: processes that are started from here take all cores, or ``jobs``."""
    for name in THREADS:
        os.environ.pop(name, None)
        if jobs is not None:
            os.environ[name] = str(jobs)


def _cases(options, console):
    """Method by method, those that are installed."""
    effort = Effort(options.candidates, options.tuning_rows, options.tuning_seconds)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    done = {key_of(row) for row in load(options.json)["rows"]} if options.resume else set()
    cases = []
    for name in options.methods:
        if package := missing_package(METHODS[name]):
            console.print(f"{METHODS[name].label}: not measured, because {package} is not installed")
            continue
        for problem in options.only:
            made = (Case(problem, name, seed, options.device, effort, options.rows, options.validate) for seed in seeds)
            cases += [case for case in made if key_of(case.identity()) not in done]
    return cases


class _Workers:
    """The process for a case: that of the last one, or a new one."""

    def __init__(self):
        self._worker, self._case, self._warm = None, None, set()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self._worker is not None:
            self._worker.close()

    def warm_worker(self, case, end):
        """One that has fitted something of this kind before, so that machine code and libraries are there."""
        last = self._case
        is_new = last is None or case.method != last.method or case.is_made or last.is_made
        if is_new or not self._worker.is_alive:
            self.__exit__()
            self._worker, self._warm = Worker(), set()
        self._case = case
        if case.is_regression not in self._warm:
            self._worker.call(warm_up, case, limit=min(WARM_SECONDS, _left(end)))
            self._warm.add(case.is_regression)
        return self._worker


def _left(end):
    return max(end - time.monotonic(), 0.0)


def _result(case, workers, options, console):
    """A row of results, which is saved; None when the time is over."""
    report, machine, limit = "", {}, options.limit
    try:
        worker = workers.warm_worker(case, options.end)
        limit = min(options.limit, _left(options.end))
        row, report = worker.call(measured, case, limit=limit)
        machine = worker.call(machine_here)
    except Stopped:
        if not _left(options.end):
            return None
        row = case.without_result(f"stopped after {options.limit:.0f} s")
    except Failed as failure:
        row = case.without_result(f"failed: {failure}")
    save(options.json, row, machine)
    console.print(_as_line(row), markup=False)
    if options.report and report:
        console.print(report, markup=False)
    return row


def _table_of(means):
    made = table("error in percent; of regression, RMSE of the standardized target", *HEADINGS)
    for row in means:
        name = (row["problem"], row["method"], row["device"])
        if row["error"] is None:
            made.add_row(*name, "", row["missing"])
            continue
        digits = 4 if row["is_regression"] else 2
        errors = (_shown(row["error"], digits), _shown(row["spread"], digits))
        judged = (_shown(row["log_loss"], 4), _shown(row["auc"], 4))
        seconds = (_shown(row[each], 2) for each in ("seconds", "cpu_seconds", "tuning_seconds", "predict_seconds"))
        megabytes = (_shown(row[each] and row[each] / 2**20, 1) for each in ("bytes", "peak_bytes"))
        made.add_row(*name, str(row["seeds"]), *errors, *judged, *seconds, *megabytes, f"{row['rows']:,}")
    return made


def _shown(value, digits):
    return "" if value is None else f"{value:.{digits}f}"


def _as_line(row):
    start = f"{row['problem']}, {row['method']}, {row['device']}, seed {row['seed']}"
    if row["error"] is None:
        return f"{start}: {row['missing']}"
    digits = 4 if row["is_regression"] else 2
    times = f"{row['seconds']:.2f} s, {row['cpu_seconds']:.1f} CPU s, of which tuning {row['tuning_seconds']:.1f} s"
    lines = [f"{start}: error {row['error']:.{digits}f}, {times}; {row['chosen']}"]
    return "\n".join([*lines, *(f"    warned: {each}" for each in row["warned"])])


if __name__ == "__main__":
    main()
