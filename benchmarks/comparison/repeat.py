"""Two runs of the same cells: how far their errors are apart, beside what another split changes."""

import numpy as np
from rich.console import Console

from benchmarks.comparison.results import Results
from benchmarks.comparison.sheets import label_of, values_of
from benchmarks.comparison.statistics import relative_difference
from benchmarks.printing import table

__all__ = ["agreement", "show_agreement"]


def agreement(first, second, effort="default"):
    """For each peer: cells that both have, those with the same error, the mean and the largest relative difference.

    The last number is the mean relative difference between two splits of a table, in the first run: what chance is.
    """
    values, others = values_of(first, "error", effort), values_of(second, "error", effort)
    found = {}
    for (name, peer), splits in values.items():
        for split, value in splits.items():
            if split in others.get((name, peer), {}):
                found.setdefault(peer, []).append((value, others[name, peer][split]))
    return {peer: (*_apart(np.array(pairs)), _between_splits(values, peer)) for peer, pairs in found.items()}


def _apart(pairs):
    apart = np.abs(relative_difference(pairs[:, 0], pairs[:, 1]))
    return len(apart), int((apart == 0).sum()), float(apart.mean()), float(apart.max())


def _between_splits(values, peer):
    """None where no table has two splits."""
    rows = [np.array(list(splits.values())) for (_, other), splits in values.items() if other == peer]
    apart = [np.abs(relative_difference(row[1:], row[:-1])).mean() for row in rows if len(row) > 1]
    return float(np.mean(apart)) if apart else None


def show_agreement(options):
    first, second = (Results(path).cells for path in options.files)
    shown = table("Errors of two runs", "data", "cells", "equal", "mean difference", "largest", "between splits")
    for peer, (n, same, mean, largest, chance) in agreement(first, second, options.effort).items():
        numbers = (f"{100 * each:.2f} %" if each is not None else "" for each in (mean, largest, chance))
        shown.add_row(label_of(peer), str(n), str(same), *numbers)
    Console(width=120).print(shown)
