"""Examples that are to be unlearned: which ones users mean, and what is left of them in memory: it is overwritten."""

from typing import NamedTuple

import numpy as np


class Freed(NamedTuple):
    """A slot that an example was in."""

    solver: int
    slot: int
    place: int  # of its kernel values in the cache, or -1


def erase(solvers, freed):
    """Overwrite rows, and kernel values with others, of slots that are free now."""
    for m, slot, place in freed:
        state, cache = solvers[m]
        if slot not in state.free_slots[: state.counts[0]["n_free"]]:
            continue
        state.points.rows[slot], state.points.norms[slot] = 0.0, 0.0
        cache.values[cache.slot >= 0, slot] = 0.0
        if 0 <= place < len(cache.slot) and cache.slot[place] < 0:
            cache.values[place] = 0.0
        cache.scratch[:] = 0.0


def indices_of_ids(examples, ids, n_learned):
    """Where the examples with such ids are; ``n_learned`` ids were given so far."""
    ids = np.atleast_1d(np.asarray(ids))
    if ids.dtype.kind not in "iu" and ids.size > 0:
        raise ValueError("Ids of examples must be integers; rows must be a matrix with a row for each example.")
    ids = ids.astype(np.int64)
    values, counts = np.unique(ids, return_counts=True)
    if np.any(counts > 1):
        raise ValueError(f"Example {values[counts > 1][0]} is given twice; nothing was unlearned.")
    unknown = values[~np.isin(values, examples.ids)]
    if len(unknown) > 0:
        was_there = 0 <= unknown[0] < n_learned
        why = "was unlearned before" if was_there else f"is unknown: {n_learned} examples were learned"
        raise ValueError(f"Example {unknown[0]} {why}; nothing was unlearned.")
    return np.searchsorted(examples.ids, ids)


def indices_of_rows(examples, solvers, X, labels):
    """Where the examples are that equal the rows of ``X``, with the same label unless ``labels`` is None.

    Of equal ones it is the last learned, and for a row that comes again the one before.
    """
    X = (X if isinstance(X, np.ndarray) else X.toarray()) + 0.0  # there is no -0.0 then
    known: dict[tuple, list[int]] = {}
    for m, indices, slots in examples.at_home():
        rows = solvers[m].state.points.rows
        may_be = np.isin(rows[slots, 0], X[:, 0])
        for index, slot in zip(indices[may_be].tolist(), slots[may_be], strict=True):
            label = None if labels is None else examples.labels[index]
            known.setdefault((label, (rows[slot] + 0.0).tobytes()), []).append(index)
    found = []
    for i, row in enumerate(X):
        candidates = known.get((None if labels is None else labels[i], row.tobytes()))
        if not candidates:
            label = "" if labels is None else " and its label"
            raise ValueError(f"There is no example (any more) with row {i}{label}; nothing was unlearned.")
        found.append(max(candidates))
        candidates.remove(found[-1])
    return np.array(found, np.int64)
