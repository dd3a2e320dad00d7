"""Results as sheets: tables downwards, peers across."""

from typing import NamedTuple

import numpy as np

from benchmarks.comparison.peers import PEERS
from benchmarks.comparison.plan import DEFAULT
from benchmarks.comparison.splits import N_SPLITS
from benchmarks.comparison.statistics import is_clearly_behind
from benchmarks.comparison.tables import COMPARED, TABLES

__all__ = ["OURS", "Sheet", "behind", "failures", "label_of", "sheet_of", "values_of"]

OURS = "auto"

ENOUGH = 0.75  # of the tables: peers that were measured on fewer have no rank


class Sheet(NamedTuple):
    """Means over those splits that all ranked peers have; NaN where a peer failed on one of them."""

    tables: list
    peers: list
    means: np.ndarray
    splits: list  # of each table a matrix: splits downwards, peers across
    unranked: dict  # the other peers, and on how many tables they were measured
    incomplete: list  # tables that some ranked peer has not been measured on

    def column(self, peer):
        return self.means[:, self.peers.index(peer)]

    def part(self, keep):
        """Only tables for which a function says so."""
        places = [place for place, name in enumerate(self.tables) if keep(TABLES[name])]
        tables, splits = [self.tables[place] for place in places], [self.splits[place] for place in places]
        return self._replace(tables=tables, means=self.means[places], splits=splits)


OF_CLASSES, OF_NUMBERS = ("log_loss", "calibration", "auc"), ("mae", "pinball")


def values_of(cells, score, effort=DEFAULT, rows="test"):
    """By table and peer, what each split has; NaN for failures."""
    found = {}
    for row in cells.values():
        if row.get("effort", DEFAULT) == effort and row.get("rows", "test") == rows and _has(row["table"], score):
            value = np.nan if "failed" in row else row.get(score)
            if value is not None:
                found.setdefault((row["table"], row["peer"]), {})[row["split"]] = value
    return found


def _has(name, score):
    """Whether a score is one of a table's task."""
    others = OF_CLASSES if name in COMPARED and TABLES[name].is_regression else OF_NUMBERS
    return name in COMPARED and score not in others


def sheet_of(cells, score="error", effort=DEFAULT, rows="test", peers=None):
    """Of all tables that every ranked peer has been measured on."""
    values = values_of(cells, score, effort, rows)
    counts = {
        peer: sum(1 for _, other in values if other == peer) for peer in dict.fromkeys(peer for _, peer in values)
    }
    scored = {peer for (_, peer), splits in values.items() if not np.isnan(list(splits.values())).all()}
    most = max(counts.values(), default=0)
    known = [peer for peer in (*PEERS, *sorted(set(counts) - set(PEERS))) if peer in scored]
    ranked = [peer for peer in known if (peer in peers if peers else counts[peer] >= ENOUGH * most)]
    unranked = {peer: counts[peer] for peer in known if peer not in ranked}
    complete, matrices, incomplete = [], [], []
    for table in [name for name in COMPARED if any((name, peer) in values for peer in ranked)]:
        columns = [values.get((table, peer), {}) for peer in ranked]
        common = sorted(set.intersection(*map(set, columns)))
        if not common:
            incomplete.append(table)
            continue
        complete.append(table)
        matrices.append(np.array([[column[split] for column in columns] for split in common]))
    means = np.array([matrix.mean(axis=0) for matrix in matrices]).reshape(len(complete), len(ranked))
    return Sheet(complete, ranked, means, matrices, unranked, incomplete)


def failures(cells):
    """Reasons by table and peer."""
    return {
        (row["table"], row["peer"], row.get("effort", DEFAULT)): row["failed"]
        for row in cells.values()
        if "failed" in row
    }


def label_of(peer):
    return PEERS[peer].label if peer in PEERS else peer


def behind(cells, effort=DEFAULT):
    """Tables on which ours is clearly behind on all five splits together, and whom: ranked peers or not."""
    values, found = values_of(cells, "error", effort), {}
    for (name, peer), others in values.items():
        own = values.get((name, OURS), {})
        shared = sorted(own.keys() & others.keys())
        errors = np.array([[own[split], others[split]] for split in shared])
        if peer != OURS and len(shared) == N_SPLITS and not np.isnan(errors).any() and is_clearly_behind(*errors.T):
            found.setdefault(name, []).append(peer)
    return {name: found[name] for name in TABLES if name in found}
