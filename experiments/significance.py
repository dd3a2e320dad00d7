"""A verdict with error bars: is the difference from a printed number more than chance, among all that are looked at?

Each cell gets a t-test in the manner of Welch. The standard error of the difference is made of

- our repetitions: their variance by their number;
- the paper's: its printed deviation in the same way. Where none is printed, or a zero, test rows are a sample: an
  accuracy of p percent on m of them has the variance p (100 - p) / m; and the runs behind the printed mean scatter
  like ours (``their_scatter=False`` leaves that out, as if the paper had been spared all luck with orders and splits);
- the same for ours where all repetitions agree or there is one only;
- the sampling of test rows on both sides where the paper has other test rows than we have;
- the rounding of the last printed digit.

Among hundreds of cells some differ by chance. Benjamini and Hochberg's procedure says "better" or "worse" so that at
most 5 % of these words are expected to be wrong; every other cell is "alike": not distinguishable.
"""

from collections.abc import Iterable, Sequence
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from scipy import stats

from experiments.printed import Printed
from experiments.results import Cell

__all__ = ["RATE", "Evidence", "discoveries", "evidence_of", "findings", "judge"]

RATE = 0.05  # expected part of wrong words among those that say better or worse


class Evidence(NamedTuple):
    """What speaks for a difference."""

    difference: float  # ours less the paper's
    error: float  # standard error of it
    freedom: float  # degrees of freedom of that

    @property
    def p_value(self) -> float:
        """How likely a difference of this size is if there is none, either way."""
        return float(2 * stats.t.sf(abs(self.difference) / self.error, self.freedom))


def evidence_of(values: Sequence[float], printed: Printed, their_scatter: bool = True) -> Evidence | None:
    """The difference from a printed percentage; None where nothing is known of how the paper tested."""
    trials = printed.trials
    if trials is None or not values:
        return None
    mean, n = float(np.mean(values)), len(values)
    parts: list[tuple[float, float]] = [(printed.rounding**2 / 3, inf)]  # variances, and their degrees of freedom
    variance = float(np.var(values, ddof=1)) if n > 1 else 0.0
    if variance > 0:
        # Without a printed deviation, the scatter of ours stands for that of their repetitions too.
        shares = 1 / n + (1 / trials.repetitions if their_scatter and not printed.spread else 0.0)
        parts.append((variance * shares, n - 1))
    if variance == 0 or not (trials.same or trials.redrawn):
        parts.append((_sampling(mean, trials.ours), inf))
    if printed.spread:
        parts.append((printed.spread**2 / trials.repetitions, trials.repetitions - 1 or inf))
    if not printed.spread or not trials.same:
        parts.append((_sampling(printed.mean, trials.theirs), inf))
    return Evidence(mean - printed.mean, sqrt(sum(part for part, _ in parts)), _freedom(parts))


def _sampling(percent: float, test_rows: int) -> float:
    """Variance of a percentage of test rows, which are a sample of all rows that could be."""
    return percent * (100 - percent) / test_rows


def _freedom(parts: list[tuple[float, float]]) -> float:
    """Welch and Satterthwaite: what a sum of estimated variances is worth."""
    uncertainty = sum(variance**2 / freedom for variance, freedom in parts)
    return sum(variance for variance, _ in parts) ** 2 / uncertainty if uncertainty > 0 else inf


def discoveries(p_values: Sequence[float], rate: float = RATE) -> list[bool]:
    """Benjamini and Hochberg (1995): the k smallest of n, for the largest k whose k-th is at most ``rate k / n``."""
    in_order = np.sort(np.asarray(p_values, dtype=float))
    ranks = np.arange(1, len(in_order) + 1)
    below = np.flatnonzero(in_order <= rate * ranks / max(len(in_order), 1))
    limit = in_order[below[-1]] if len(below) else -1.0
    return [bool(p <= limit) for p in p_values]


def judge(cells: Iterable[Cell], rate: float = RATE) -> None:
    """Put findings into those counted cells that can be compared; all of them together are what is looked at."""
    for cell, finding, p_value in findings(cells, rate):
        cell.finding, cell.p_value = finding, p_value


def findings(cells: Iterable[Cell], rate: float = RATE, their_scatter: bool = True) -> list[tuple[Cell, str, float]]:
    """Those cells that can be compared, each with ``better``, ``alike`` or ``worse`` and how likely chance is."""
    looked_at = []
    for cell in cells:
        compared = cell.verdict is not None and cell.counted
        found = evidence_of(cell.values, cell.printed, their_scatter) if compared else None
        if found is not None:
            looked_at.append((cell, found))
    differ = discoveries([found.p_value for _, found in looked_at], rate)
    return [
        (cell, _word(cell, found.difference) if differs else "alike", found.p_value)
        for (cell, found), differs in zip(looked_at, differ, strict=True)
    ]


def _word(cell: Cell, difference: float) -> str:
    return "better" if (difference < 0) == cell.lower_is_better else "worse"
