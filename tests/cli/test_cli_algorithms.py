"""`frugalsvm algorithms`: which to take for what, with figures that were measured."""

import csv
import json
from pathlib import Path

from typer.testing import CliRunner

from frugalsvm.cli.app import app
from frugalsvm.cli.catalogue import ALGORITHMS
from frugalsvm.cli.words.measured import CASES, MEASURED

DOCUMENTED = Path(__file__).resolve().parents[2] / "docs" / "measured" / "algorithms.csv"


def shown(*flags):
    result = CliRunner().invoke(app, ["algorithms", *flags])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_people_are_told_what_to_take_and_what_it_costs():
    page = shown()
    for name in ALGORITHMS:
        assert f"\n  {name} " in page
    for words in ("Which to take", "frugalsvm train table.csv", "10,000 rows, 22 features", "Measured on one core"):
        assert words in page
    assert " s, " in page
    assert " µs" in page


def test_scripts_get_all_of_it():
    told = {row["algorithm"]: row for row in json.loads(shown("--json"))}
    assert list(told) == list(ALGORITHMS)
    for name, row in told.items():
        assert row["for"]
        assert row["rows"]
        assert [each["seconds"] for each in row["measured"]] == [
            each.seconds for each in MEASURED.get(name, {}).values()
        ]
        assert {each["rows"] for each in row["measured"]} <= {case.rows for case in CASES.values()}


def test_figures_are_those_of_the_documentation():
    names = {(case.rows, case.features): name for name, case in CASES.items()}
    with DOCUMENTED.open() as file:
        found: dict = {}
        for row in csv.DictReader(file):
            case = names[int(row["rows"]), int(row["features"])]
            found.setdefault(row["algorithm"], {})[case] = tuple(
                float(row[name]) for name in ("seconds", "accuracy", "bytes", "microseconds")
            )
    assert found == {name: {case: tuple(each) for case, each in cases.items()} for name, cases in MEASURED.items()}
