"""Leave-one-out scores after a change: only those of rows in cells that were solved again are others."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from frugalsvm.cells.changes.mending import Mended, Staged


class Some(NamedTuple):
    """Some rows: those whose scores are others after a change, or that come or go with it."""

    scores: np.ndarray  # (n, n_outputs)
    kept: np.ndarray  # targets, as the model keeps them


class LeftOut(NamedTuple):
    """Leave-one-out scores after a change, in units of the machines."""

    scores: np.ndarray  # (n, n_outputs) in the order of ids
    ids: np.ndarray  # (n,) ascending
    n_before: int  # rows before the change
    before: Some
    after: Some


def left_out_after(
    staged: Staged,
    kept: np.ndarray,
    known: tuple[np.ndarray, np.ndarray],
    trees: Sequence[Mended],
    targets_of: Callable[[np.ndarray], np.ndarray],
) -> LeftOut:
    """Leave-one-out scores of the rows that are left.

    Parameters
    ----------
    staged : Staged
    kept : ndarray of shape (n_staged,) or (n_staged, n_outputs)
        Targets, as the model keeps them.
    known : tuple of ndarrays
        Ids of the rows before the change, ascending, and their scores (n, n_outputs). The ids are overwritten.
    trees : sequence of Mended
    targets_of : callable
        Targets (n_outputs, n), in units of the machines, of what is kept.
    """
    ids, old_scores = known
    n_before, gone_ranks = len(ids), np.searchsorted(ids, staged.ids[staged.gone])
    gone = Some(old_scores[gone_ranks], kept[staged.gone])
    ids, scores = _without(ids, gone_ranks), np.delete(old_scores, gone_ranks, axis=0)
    solved = np.unique(np.concatenate([each.solved for each in trees]))
    stayed = np.setdiff1d(solved, staged.new, assume_unique=True)
    ranks = np.searchsorted(ids, staged.ids[stayed])
    before = scores[ranks]
    if len(staged.new):
        new = staged.new[np.argsort(staged.ids[staged.new], kind="stable")]
        where = np.searchsorted(ids, staged.ids[new])
        ids = np.insert(ids, where, staged.ids[new])
        # Several trees: what they change is added to it.
        scores = np.insert(scores, where, targets_of(kept[new]).T, axis=0)
        ranks = np.searchsorted(ids, staged.ids[solved])
    after = scores[ranks]
    for each in trees:
        own = np.searchsorted(solved, each.solved)
        if len(trees) == 1:
            after[own] = targets_of(kept[each.solved]).T - each.errors.T
        else:
            after[own] += (each.before - each.errors).T / len(trees)
    scores[ranks] = after
    before = Some(np.concatenate([before, gone.scores]), np.concatenate([kept[stayed], gone.kept]))
    return LeftOut(scores, ids, n_before, before, Some(after, kept[solved]))


def _without(ids: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """The ids that are left without those at some places; they are moved within the array."""
    if len(ranks) > 1:
        return np.delete(ids, ranks)
    for rank in ranks.tolist():
        ids[rank:-1] = ids[rank + 1 :]
        ids[-1] = 0
    return ids[: len(ids) - len(ranks)]
