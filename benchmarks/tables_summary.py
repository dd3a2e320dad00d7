"""Results of the benchmark of tables: rows for each seed in a JSON file, and their means."""

import datetime
import json
import statistics

__all__ = ["KEYS", "key_of", "load", "save", "summary"]

KEYS = ("problem", "method", "device", "judged_on", "seed")  # what tells rows apart
MEANS = (
    "error", "log_loss", "auc", "seconds", "cpu_seconds", "tuning_seconds", "predict_seconds", "candidates", "bytes",
    "row_bytes", "peak_bytes", "gpu_bytes",
)  # fmt: skip


def key_of(row):
    return tuple(row[name] for name in KEYS)


def load(path):
    return json.loads(path.read_text()) if path.exists() else {"machine": {}, "rows": []}


def save(path, row, machine):
    """Add a row to the results that are there, in the place of an earlier one of the same."""
    results = load(path)
    rows = {key_of(each): each for each in (*results["rows"], row)}
    results.update(date=datetime.date.today().isoformat(), machine={**results["machine"], **machine})
    results["rows"] = list(rows.values())
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(".part")  # whoever stops this now finds the last results whole
    half.write_text(json.dumps(results, indent=1))
    half.replace(path)


def summary(rows):
    """Means over seeds, in the order in which tables and methods were first measured.

    Where some seed has no error, the mean has none, but a reason in "missing".
    """
    groups = {}
    for row in rows:
        groups.setdefault(key_of(row)[:-1], []).append(row)
    return [_mean(group) for group in groups.values()]


def _mean(rows):
    first = {name: rows[0][name] for name in (*KEYS[:-1], "is_regression")}
    reasons = [row["missing"] for row in rows if "missing" in row]
    if reasons:
        return {**first, "error": None, "missing": reasons[0]}
    errors = [row["error"] for row in rows]
    return {
        **first,
        "rows": rows[0]["rows"],
        **{name: _mean_of(row.get(name) for row in rows) for name in MEANS},
        "seeds": len(rows),
        "spread": statistics.stdev(errors) if len(errors) > 1 else None,
    }


def _mean_of(values):
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
