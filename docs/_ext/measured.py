"""Directives that turn measured numbers, JSON files of the benchmarks, into tables.

``.. benchmark-tables:: measured/benchmarks.json`` shows all cases; ``.. measured-with:: FILE`` is a
sentence on when, on what kind of machine and with which versions a file was measured.
``.. core-tables:: FILE FILE`` shows results of ``benchmarks.cores`` on several machines side by side; files that are
not there are left out.
"""

import json
from pathlib import Path
from typing import Any

from core_tables import core_tables
from docutils import nodes
from docutils.statemachine import StringList
from list_tables import list_table
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HEADINGS = ("", "rows", "train s", "examples/s", "x limit", "accuracy %", "vectors", "predictions/s")
MODULES = {"sklearn": "scikit-learn", "numpy": "NumPy", "numba": "Numba", "lightgbm": "LightGBM", "xrfm": "xRFM"}


def benchmark_text(results: dict[str, Any]) -> list[str]:
    """Lines of reStructuredText with a table for each case, and those of start-up and memory."""
    lines = []
    for case in results["cases"]:
        lines += list_table(case["title"], HEADINGS, [case_row(row) for row in case["rows"]])
    startup = {name: f"{seconds:.2f}" for name, seconds in results["startup"].items()}
    memory = {f"{int(rows):,} examples": f"{megabytes:.0f}" for rows, megabytes in results["memory"].items()}
    lines += list_table("Start-up of a new process, seconds", tuple(startup), [tuple(startup.values())])
    return lines + list_table(
        "Peak memory of a process that learns a stream, MB", tuple(memory), [tuple(memory.values())]
    )


def case_row(row: dict[str, Any]) -> tuple[str, ...]:
    limit = row.get("limit_ratio")
    return (
        row["model"],
        f"{row['rows']:,}",
        f"{row['seconds']:.3g}",
        f"{row['rows'] / row['seconds']:,.0f}",
        "" if limit is None else f"{limit:.2f}",
        f"{100 * row['accuracy']:.2f}",
        f"{row['n_support']:,}" if row.get("n_support") else "",
        f"{row['predict_rows'] / row['predict_seconds']:,.0f}",
    )


def origin_text(results: dict[str, Any]) -> list[str]:
    note = results.get("note")  # what a reader must know about these numbers, such as that they are of several runs
    return [*machine_text(results), *(["", ".. note::", "", f"   {note.replace('`', '``')}"] if note else [])]


def machine_text(results: dict[str, Any]) -> list[str]:
    machine = dict(results["machine"])
    kind, python, cores = machine.pop("processor"), machine.pop("python"), machine.pop("cores", None)
    threads = "one thread" if cores is None else f"{cores} cores"
    versions = ", ".join(f"{MODULES.get(name, name)} {version}" for name, version in machine.items())
    return [f"Measured on {results['date']}: {kind}, {threads}, Python {python}, {versions}."]


class FromJson(SphinxDirective):
    """Base of directives whose argument is a JSON file, relative to the folder of the documentation."""

    required_arguments = 1

    @staticmethod
    def text_of(results: dict[str, Any]) -> list[str]:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        path = Path(self.env.srcdir) / self.arguments[0]
        if not path.exists():
            raise self.error(f"There are no measured numbers in {self.arguments[0]}: run the benchmark that writes it.")
        self.env.note_dependency(str(path))
        place = nodes.container()
        self.state.nested_parse(StringList(self.text_of(json.loads(path.read_text())), str(path)), 0, place)
        return place.children


class BenchmarkTables(FromJson):
    text_of = staticmethod(benchmark_text)


class MeasuredWith(FromJson):
    text_of = staticmethod(origin_text)


class FromFiles(SphinxDirective):
    """Base of directives whose arguments are JSON files, relative to the folder of the documentation."""

    required_arguments, optional_arguments = 1, 9

    def results(self) -> list[dict[str, Any]]:
        """What is in those files that are there."""
        paths = [Path(self.env.srcdir) / argument for argument in self.arguments]
        for path in paths:
            self.env.note_dependency(str(path))
        return [json.loads(path.read_text()) for path in paths if path.exists()]

    def parsed(self, lines: list[str]) -> list[nodes.Node]:
        place = nodes.container()
        self.state.nested_parse(StringList(lines or ["Not measured yet."], self.arguments[0]), 0, place)
        return place.children


class CoreTables(FromFiles):
    """Tables with columns for each machine."""

    def run(self) -> list[nodes.Node]:
        return self.parsed([line for table in core_tables(self.results()) for line in list_table(*table)])


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("benchmark-tables", BenchmarkTables)
    app.add_directive("core-tables", CoreTables)
    app.add_directive("measured-with", MeasuredWith)
    return {"parallel_read_safe": True}
