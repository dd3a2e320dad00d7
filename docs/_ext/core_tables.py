"""Results of ``python -m benchmarks.cores`` on several machines, side by side, as reStructuredText."""

from typing import Any, NamedTuple

__all__ = ["core_tables"]


class Layout(NamedTuple):
    title: str
    keys: dict[str, str]  # columns that say what was measured, and their headings
    values: dict[str, tuple[str, str]]  # columns for each machine: headings and formats


LAYOUTS = {
    "asset": Layout(
        "ASSETClassifier: fits",
        {"problem": "", "threads": "threads"},
        {"seconds": ("s", ".2f"), "speedup": ("times", ".1f"), "error": ("error %", ".2f")},
    ),
    "bsgd": Layout(
        "BSGDClassifier: fits, one pass",
        {"problem": "", "threads": "threads"},
        {"seconds": ("s", ".2f"), "speedup": ("times", ".1f"), "limit_ratio": ("x limit", ".2f")},
    ),
    "predict": Layout(
        "Predictions for 100 000 rows",
        {"problem": "", "threads": "threads"},
        {"seconds": ("s", ".3f"), "speedup": ("times", ".1f"), "limit": ("kernel values alone, s", ".3f")},
    ),
    "cold": Layout(
        "First fits of new processes, seconds",
        {"problem": ""},
        {
            "cold_fit": ("fit, nothing on disk", ".1f"),
            "warm_fit": ("fit, machine code on disk", ".2f"),
            "warm_process": ("start to first prediction", ".2f"),
        },
    ),
    "peers": Layout(
        "Beside others",
        {"problem": "", "model": "", "rows": "rows", "cores": "cores"},
        {"seconds": ("s", ".2f"), "error": ("error %", ".2f")},
    ),
}


def core_tables(machines: list[dict[str, Any]]) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Title, headings and rows of a table for each part that was measured on some machine."""
    parts = [part for part in LAYOUTS if any(results["parts"].get(part) for results in machines)]
    return [_table(LAYOUTS[part], part, machines) for part in parts]


def _table(layout, part, machines):
    measured = [{_key(layout, row): row for row in results["parts"].get(part, [])} for results in machines]
    keys = list(dict.fromkeys(key for rows in measured for key in rows))
    problems = list(dict.fromkeys(problem for problem, *_ in keys))
    keys.sort(key=lambda key: problems.index(key[0]))  # what one machine alone has stays beside what all have
    names = [f"{results['machine']['processor']}, {results['machine']['cores']} cores" for results in machines]
    headings = (f"{name}: {heading}" for name in names for heading, _ in layout.values.values())
    rows = [(*key, *_cells(layout, [rows.get(key, {}) for rows in measured])) for key in keys]
    return layout.title, (*layout.keys.values(), *headings), rows


def _key(layout, row):
    """What was measured; the peers on one core or on all, however many those are."""
    cores = "one" if row.get("threads") == 1 else "all"
    return tuple(str({**row, "cores": cores}[name]) for name in layout.keys)


def _cells(layout, rows):
    columns = layout.values.items()
    return ("" if row.get(name) is None else format(row[name], form) for row in rows for name, (_, form) in columns)
