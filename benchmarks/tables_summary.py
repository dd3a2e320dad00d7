"""Results of the benchmark of tables: rows for each seed, and their means."""

import statistics

__all__ = ["KEYS", "key_of", "summary"]

KEYS = ("problem", "method", "device", "seed")  # what tells rows apart
MEANS = ("error", "seconds", "tuning_seconds", "candidates")


def key_of(row):
    return tuple(row[name] for name in KEYS)


def summary(rows):
    """Means over seeds, in the order in which tables and methods were first measured."""
    groups = {}
    for row in rows:
        groups.setdefault(key_of(row)[:-1], []).append(row)
    return [_mean(group) for group in groups.values()]


def _mean(rows):
    shares = [row["on_true_columns"] for row in rows if row["on_true_columns"] is not None]
    return {
        **{name: rows[0][name] for name in (*KEYS[:-1], "rows", "is_regression")},
        **{name: statistics.fmean(row[name] for row in rows) for name in MEANS},
        "seeds": len(rows),
        "spread": statistics.stdev(row["error"] for row in rows) if len(rows) > 1 else None,
        "on_true_columns": statistics.fmean(shares) if shares else None,
    }
