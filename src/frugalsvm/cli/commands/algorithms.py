"""``frugalsvm algorithms``: which algorithm to take for what, and what it costs."""

from typing import Any

from frugalsvm.cli.catalogue import AUTO, CATALOGUE
from frugalsvm.cli.flags import Json

_AUTO = {
    "algorithm": AUTO,
    "for": "any table: compares kernels, metrics and sizes",
    "rows": "up to a million, in memory",
    "cost per example": "landmarks",
    "memory": "all rows",
}
_WHICH = (
    ("a table in a file", "frugalsvm train table.csv", "takes auto"),
    ("a pipe, or more rows than memory holds", "... | frugalsvm train - -a bsgd", "a model of 500 vectors"),
    ("a small model, fast predictions", "frugalsvm train table.csv -a bsgd --budget 100", ""),
    ("an SVM of up to 100,000 rows, exact", "frugalsvm train table.csv -a lasvm", ""),
    ("the same with wrong labels in it", "frugalsvm train table.csv -a lasvm-nc", ""),
    ("millions of rows in memory, or a GPU", "frugalsvm train table.csv -a asset --device auto", ""),
    ("a large table, as accurate as can be", "frugalsvm train table.csv -a local", ""),
    (
        "numbers from a pipe, or intervals for them",
        "... | frugalsvm train - -a bsgd-regressor --quantile 0.05,0.95",
        "",
    ),
    ("unusual rows, without labels", "frugalsvm train table.csv -a one-class", ""),
    ("not sure", "frugalsvm tune table.csv", "compares them on your rows"),
)


def algorithms(as_json: Json = False) -> None:
    """Show which algorithm suits which task, and what each costs."""
    from frugalsvm.cli.console import print_json
    from frugalsvm.cli.words.measured import CASES, MEASURED

    rows = [_AUTO]
    rows += [
        {"algorithm": name, "for": a.purpose, "rows": a.rows, "cost per example": a.cost, "memory": a.memory}
        for name, a in CATALOGUE.items()
    ]
    if not as_json:
        _print(rows)
        return
    measured = {
        name: [{**CASES[case]._asdict(), **figures._asdict()} for case, figures in found.items()]
        for name, found in MEASURED.items()
    }
    print_json([{**row, "measured": measured.get(row["algorithm"], [])} for row in rows])


def _print(rows: list[dict[str, str]]) -> None:
    from frugalsvm.cli.console import Page
    from frugalsvm.cli.words.measured import CASES, MEASURED

    page = Page("Which to take")
    page.facts((what, command + (f"   {more}" if more else "")) for what, command, more in _WHICH)
    page.heading("What they are for")
    page.table([{name: row[name] for name in ("algorithm", "for", "rows")} for row in rows])
    page.heading("Time to train, and accuracy on other rows")
    page.table([_figures(name, found) for name, found in MEASURED.items()])
    page.sentence("")
    page.facts((name, case.words) for name, case in CASES.items())
    page.sentence(
        "  Measured on one core, with no other flag; - was not measured. `frugalsvm tune` measures your rows."
    )


def _figures(name: str, found: dict[str, Any]) -> dict[str, str]:
    """A line of the table of figures."""
    from frugalsvm.cli.words.measured import CASES
    from frugalsvm.words import percent, seconds_words, size_of

    line = {"algorithm": name}
    for case in CASES:
        each = found.get(case)
        line[case] = "-" if each is None else f"{seconds_words(each.seconds)}, {percent(each.accuracy)}"
    last = found.get("large", found["small"])
    return {**line, "model": size_of(last.bytes), "a prediction": f"{last.microseconds:.2g} µs"}
