"""Measure all cells that have no result yet, and add each to a file as it comes."""

import random

from rich.console import Console

from benchmarks.comparison.cells import Place
from benchmarks.comparison.lanes import Lanes
from benchmarks.comparison.peers import PEERS
from benchmarks.comparison.plan import left_over, planned
from benchmarks.comparison.results import Results, machine_here, today, written
from benchmarks.comparison.sources import MissingTable, rows_of
from benchmarks.comparison.tables import TABLES
from benchmarks.printing import table

__all__ = ["run", "show_tables"]


def run(options, end):
    console = Console(width=160)
    peers = [name for name in options.peers or PEERS if _is_here(PEERS[name], console)]
    rows = "validation" if options.validate else "test"
    cells = planned(options.tables, peers, options.splits, options.effort, rows, options.most_rows)
    known = Results(options.to) if options.again else Results.kept()
    known.read(options.to)
    cells = left_over(cells, known.cells, options.shard)
    if options.shuffle is not None:
        random.Random(options.shuffle).shuffle(cells)
    machine = machine_here(options.threads, options.lanes, options.note)
    if machine["machine"] not in Results(options.to).machines:
        written(options.to, machine)

    def keep(cell, row):
        device = {} if options.device == "cpu" or not PEERS[cell.peer].uses_device else {"device": options.device}
        written(options.to, {**cell._asdict(), **device, **row, "machine": machine["machine"], "date": today()})
        console.print(_as_line(cell, row), markup=False, highlight=False)

    lanes = Lanes(Place(options.threads, options.device), options.lanes, options.limit, keep, options.add)
    for row in known.cells.values():
        lanes.remember(row)
    if not lanes.run(cells, end):
        console.print("The time is over: the same command continues.")
    console.print(f"Results are in {options.to}")


def _is_here(peer, console):
    if reason := peer.missing():
        console.print(f"{peer.label}: not measured, because {reason}", markup=False)
    return reason is None


def _as_line(cell, row):
    start = f"{cell.table} {cell.peer} split {cell.split}"
    if "failed" in row:
        return f"{start}: {row['failed']}"
    return f"{start}: error {row['error']:.4g}, fit {row['fit_s']:.2f} s, {row['fit_cpu']:.2f} CPU s"


def show_tables():
    """All tables, with those that are not here and why, and all peers."""
    shown = table("Tables", "data", "rows", "columns", "task", "license", "source", "here")
    for each in TABLES.values():
        task = "numbers" if each.is_regression else "classes"
        size = f"{each.n_rows:,}", f"{each.n_columns:,}"
        shown.add_row(each.name, *size, task, each.license, each.source, _state_of(each))
    console = Console(width=200)
    console.print(shown)
    for peer in PEERS.values():
        console.print(f"{peer.label}: {peer.missing() or 'installed'}", markup=False)


def _state_of(each):
    if each.source.startswith("made"):
        return "made when it is needed"
    try:
        X, _ = rows_of(each.name)
    except (MissingTable, OSError) as error:
        return str(error)
    found = X.shape
    return "yes" if found == (each.n_rows, each.n_columns) else f"has {found[0]:,} rows and {found[1]} columns"
