"""Who is ahead on many tables: ranks with critical differences, and a Bayesian test with a region of equivalence.

Errors are a matrix with a row for each table and a column for each peer; NaN is a peer that failed, which is last.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import chi2, rankdata, studentized_range

__all__ = [
    "EQUIVALENT",
    "Duel",
    "critical_difference",
    "duel",
    "friedman",
    "groups_of",
    "is_clearly_behind",
    "mean_ranks",
    "relative_difference",
]

EQUIVALENT = 0.02  # errors that differ by less than this share are as good as the same
N_DRAWS = 20_000


def ranks_of(errors):
    """Ranks on each table from 1, the least error; equal errors share their mean rank, and so do those that failed."""
    return rankdata(np.where(np.isnan(errors), np.inf, errors), axis=1)


def mean_ranks(errors):
    return ranks_of(errors).mean(axis=0)


def friedman(errors):
    """Probability of ranks that differ as much, or more, if all peers were equal (with the correction for ties)."""
    ranks = ranks_of(errors)
    n, k = ranks.shape
    spread = (ranks**2).sum() - n * k * (k + 1) ** 2 / 4
    if spread == 0:
        return 1.0
    statistic = (k - 1) * ((ranks.sum(axis=0) - n * (k + 1) / 2) ** 2).sum() / spread
    return float(chi2.sf(statistic, k - 1))


def critical_difference(n_tables, n_peers, level=0.05):
    """Nemenyi: mean ranks that are further apart than this differ."""
    return float(
        studentized_range.ppf(1 - level, n_peers, np.inf) / np.sqrt(2) * np.sqrt(n_peers * (n_peers + 1) / 6 / n_tables)
    )


def groups_of(ranks, difference):
    """Largest sets of peers (indices, best first) of which no two are further apart than the critical difference."""
    order = np.argsort(ranks)
    found = []
    for place, first in enumerate(order):
        group = [int(other) for other in order[place:] if ranks[other] - ranks[first] <= difference]
        if len(group) > 1 and not any(set(group) <= set(earlier) for earlier in found):
            found.append(group)
    return found


class Duel(NamedTuple):
    """Two peers on all tables, as the first one sees it; the probabilities are those of the next table."""

    wins: int
    ties: int
    losses: int
    p_better: float
    p_same: float
    p_worse: float


def duel(errors, others, seed=0):
    """Wins beyond the region of equivalence, and the Bayesian signed-rank test (Benavoli and others, 2017)."""
    differences = relative_difference(errors, others)
    wins, losses = int((differences < -EQUIVALENT).sum()), int((differences > EQUIVALENT).sum())
    shares = _signed_rank(differences, np.random.default_rng(seed))
    return Duel(wins, len(differences) - wins - losses, losses, *shares)


def relative_difference(errors, others):
    """From -1 to 1: how much larger errors are than others, as a share of the larger ones; a failure is the worst."""
    a, b = np.nan_to_num(errors, nan=np.inf), np.nan_to_num(others, nan=np.inf)
    larger = np.maximum(a, b)
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.where(np.isinf(larger), np.sign(np.isinf(a) * 1.0 - np.isinf(b)), (a - b) / larger)
    return np.where(a == b, 0.0, difference)


def _signed_rank(differences, rng):
    """Shares of draws in which most pairs of tables are on the one side, in the region, on the other side."""
    z = np.concatenate([[0.0], differences])  # the prior is one table without a difference
    sums = z[:, None] + z
    weights = rng.dirichlet(np.ones(len(z)), N_DRAWS)
    below, above = (
        ((weights @ side) * weights).sum(axis=1) for side in (sums < -2 * EQUIVALENT, sums > 2 * EQUIVALENT)
    )
    most = np.argmax([below, 1 - below - above, above], axis=0)
    return tuple(float((most == place).mean()) for place in range(3))


def is_clearly_behind(errors, others):
    """Whether errors of the splits of a table are larger by two standard errors (Nadeau and Bengio, 2003).

    Splits share training rows, so their differences vary less than those of new tables would.
    """
    differences = np.asarray(errors) - np.asarray(others)
    n = len(differences)
    if n < 2:
        return False
    error = np.sqrt(differences.var(ddof=1) * (1 / n + 1 / (n - 1)))  # the second part: test rows over training rows
    return bool(differences.mean() > 2 * error and differences.mean() > 0)
