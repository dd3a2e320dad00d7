"""``python -m benchmarks [--quick] [--json FILE] [CASE ...]``"""

import argparse
import datetime
import json
import platform
import sys
from pathlib import Path

import numba
import numpy as np
import sklearn
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import frugalsvm
from benchmarks.memory import measure_memory
from benchmarks.speed import CASES, measure, measure_startup
from frugalsvm.datasets import DatasetUnavailableError


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"any of: {', '.join(CASES)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="leave out the peers")
    parser.add_argument("--json", type=Path, default=Path("output/benchmarks.json"), help="where results go")
    options = parser.parse_args()
    unknown = set(options.cases) - set(CASES)
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    console = Console(width=None if sys.stdout.isatty() else 140)
    results = []
    with threadpool_limits(1):
        for name in options.cases or CASES:
            with console.status(f"{name} ..."):
                try:
                    results.append(measure(CASES[name], peers=not options.quick))
                except DatasetUnavailableError as error:
                    console.print(f"[yellow]{name}: skipped: {error}")
                    continue
            console.print(case_table(results[-1]))
    startup, memory = measure_startup(), measure_memory()
    console.print(one_row_table("Start-up of a new process, seconds", startup, "{:.2f}"))
    labels = {f"{int(n):,} examples": value for n, value in memory.items()}
    console.print(one_row_table("Peak memory of a stream, MB", labels, "{:.1f}"))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    today = datetime.date.today().isoformat()
    everything = {"date": today, "machine": machine(), "cases": results, "startup": startup, "memory": memory}
    options.json.write_text(json.dumps(everything, indent=2))
    console.print(f"Results are in {options.json}")


def machine():
    versions = {module.__name__: module.__version__ for module in (frugalsvm, numba, np, sklearn)}
    return {"processor": platform.machine(), "python": platform.python_version(), **versions}


def case_table(result):
    table = Table(title=result["title"], title_justify="left", title_style="bold")
    for heading in ("", "rows", "train s", "examples/s", "x limit", "accuracy %", "SVs", "predict rows/s", "x limit"):
        table.add_column(heading, justify="left" if not heading else "right")
    for row in result["rows"]:
        table.add_row(
            row["model"],
            f"{row['rows']:,}",
            f"{row['seconds']:.3g}",
            f"{row['rows'] / row['seconds']:,.0f}",
            _ratio(row.get("limit_ratio")),
            f"{100 * row['accuracy']:.2f}",
            f"{row['n_support']:,}" if row.get("n_support") else "",
            f"{row['predict_rows'] / row['predict_seconds']:,.0f}",
            _ratio(row.get("predict_limit_ratio")),
        )
    return table


def _ratio(value):
    return "" if value is None else f"{value:.2f}"


def one_row_table(title, values, form):
    table = Table(title=title, title_justify="left", title_style="bold")
    for heading in values:
        table.add_column(heading, justify="right")
    table.add_row(*(form.format(value) for value in values.values()))
    return table


if __name__ == "__main__":
    main()
