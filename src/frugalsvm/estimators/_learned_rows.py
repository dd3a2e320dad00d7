"""What `LocalSVC` and `LocalSVR` keep of the rows they have learned, beside the rows: ids, targets and weights.

A row has the number among the rows of `fit` as its id; rows that are added have the numbers after that. In the arrays
here, rows are in the order in which the model stores them. Where rows have gone, the last ones take their places
(`frugalsvm.cells.changes.mending.closed`).
"""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from frugalsvm.persist.values import IS_BOOL, array, integer, list_of, of_type, or_none

_FEW = 4  # ids that are looked for one by one
_SPARE = 8  # of the rows: that there is room for when rows are added
# Memory of models: zeros after their rows. It is not an attribute, which files and copies would have.
_ROOMS: WeakKeyDictionary[Any, np.ndarray] = WeakKeyDictionary()
# Ids of models in ascending order, beside the array of ids that they are of. To sort a million of them for each change
# takes longer than to solve a cell.
_SORTED_IDS: WeakKeyDictionary[Any, tuple[np.ndarray, np.ndarray]] = WeakKeyDictionary()

LEARNED_ROWS = {
    "_row_ids": array("i", 1), "_row_targets": lambda value: array("iu", 1)(value) or array("f", 2)(value),
    "_row_weights": or_none(array("f", 1)), "_row_levels": array("i", 2), "_n_ids": integer(1),
    "_is_of_sample": IS_BOOL, "_tree_seeds": array("i", 1), "forgotten_": list_of(of_type(dict)),
}  # fmt: skip


def keep_learned(model: Any, numbers: np.ndarray | None, targets: np.ndarray, weights: np.ndarray | None) -> None:
    """Keep ids, targets and weights of the rows that were learned, those with some numbers; None is all, in order."""
    if not len(model._rows):  # in a budget, it keeps codes of a few rows
        return
    n_rows = targets.shape[1]
    if numbers is None:
        numbers = np.arange(n_rows) if weights is None else np.flatnonzero(weights)
    model._row_ids, model._n_ids = np.ascontiguousarray(numbers, np.int64), n_rows
    model._row_targets = model._kept_targets(targets)[model._row_ids]
    model._row_weights = None if weights is None else np.ascontiguousarray(weights[numbers], np.float64)
    model.forgotten_ = []


def forget_rows_learned(model: Any) -> None:
    """Be ready to keep others."""
    _ROOMS.pop(model, None)
    _SORTED_IDS.pop(model, None)
    for name in LEARNED_ROWS:
        vars(model).pop(name, None)


def learned_rows_are_sound(model: Any, n_trees: int) -> bool:
    """Whether what is kept fits the rows of a model from a file."""
    if not hasattr(model, "_row_ids"):
        return not any(hasattr(model, name) for name in ("_row_targets", "_row_levels"))
    n_rows, ids = len(model._rows), model._row_ids
    if (
        not all(hasattr(model, name) for name in ("_row_targets", "_row_weights", "_n_ids"))
        or len(ids) != n_rows
        or len(model._row_targets) != n_rows
    ):
        return False
    weights, levels = getattr(model, "_row_weights", None), getattr(model, "_row_levels", None)
    if weights is not None and (len(weights) != n_rows or not (weights > 0).all()):
        return False
    if levels is not None and (levels.shape != (n_trees, n_rows) or levels.min(initial=0) < 0):
        return False
    if getattr(model, "tree", "rows") == "public" and len(getattr(model, "_tree_seeds", ())) != n_trees:
        return False
    return len(np.unique(ids)) == n_rows and bool((ids >= 0).all()) and bool((ids < model._n_ids).all())


def ids_of(ids: Any) -> np.ndarray:
    """Ids that users pass, each once."""
    ids = np.atleast_1d(np.asarray(ids))
    if ids.ndim != 1 or (ids.dtype.kind not in "iu" and ids.size > 0):
        raise ValueError("Ids of rows must be integers; rows must be a matrix with a row for each example.")
    values, counts = np.unique(ids, return_counts=True)
    if np.any(counts > 1):
        raise ValueError(f"Row {values[counts > 1][0]} is given twice; nothing was changed.")
    return ids.astype(np.int64)


def sorted_ids(model: Any) -> np.ndarray:
    """The ids of the rows of a model in ascending order: an array that stays as it is."""
    of, found = _SORTED_IDS.get(model, (None, None))
    if found is None or of is not model._row_ids:
        found = np.sort(model._row_ids)
        keep_sorted_ids(model, found)
    return found


def taken_sorted_ids(model: Any) -> np.ndarray:
    """The same for a caller that may change the array; the model has none until it gets one with `keep_sorted_ids`."""
    found = sorted_ids(model)
    del _SORTED_IDS[model]
    return found


def keep_sorted_ids(model: Any, ids: np.ndarray) -> None:
    """Keep the ids of the rows that a model has now, in ascending order."""
    _SORTED_IDS[model] = model._row_ids, ids


def places_of_ids(model: Any, ids: np.ndarray) -> np.ndarray:
    """Where the model stores the rows with some ids."""
    places = places_in(model._row_ids, ids)
    if (places < 0).any():
        unknown = int(ids[places < 0].min())
        if 0 <= unknown < model._n_ids:
            why = "was forgotten before, or had no weight"
        else:
            why = f"is unknown: {model._n_ids} rows were learned"
        raise ValueError(f"Row {unknown} {why}; nothing was changed.")
    return places


def places_in(row_ids: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Where some ids are among those of rows, as they are stored; -1 where they are not."""
    places = np.where((ids >= 0) & (ids < len(row_ids)), ids, 0)  # most rows are where they were at first
    places[row_ids[places] != ids] = -1
    others = np.flatnonzero(places < 0)
    if len(others) <= _FEW:
        for i in others.tolist():
            places[i] = np.append(np.flatnonzero(row_ids == ids[i]), -1)[0]
        return places
    order = np.argsort(row_ids, kind="stable")
    where = order[np.minimum(np.searchsorted(row_ids, ids[others], sorter=order), len(order) - 1)]
    places[others] = np.where(row_ids[where] == ids[others], where, -1)
    return places


def places_of_rows(model: Any, rows: np.ndarray, targets: np.ndarray | None, cells: np.ndarray) -> np.ndarray:
    """Where the model stores rows that equal some others, as the kernel sees them.

    Of equal rows, the one that was learned last is meant, and for a row that comes again the one before it. Targets are
    as they are kept, or None if they do not matter; ``cells`` are those of the first tree that the rows fall into.
    """
    tree = model._cells[0].tree
    found: list[int] = []
    for i, row in enumerate(rows):
        members = tree.members_of(cells[i])
        is_it = (model._rows[members] == row).all(axis=1)
        if targets is not None:
            kept = model._row_targets[members]
            is_it &= kept == targets[i] if kept.ndim == 1 else (kept == targets[i]).all(axis=1)
        candidates = np.setdiff1d(members[is_it], found)
        if not len(candidates):
            with_target = "" if targets is None else " and its target"
            raise ValueError(f"There is no row (any more) that equals row {i}{with_target}; nothing was changed.")
        found.append(int(candidates[np.argmax(model._row_ids[candidates])]))
    return np.array(found, np.int64)


def room_of(model: Any) -> np.ndarray | None:
    """Memory of a model that begins with its rows; None if there is none but the rows."""
    room = _ROOMS.get(model)
    return None if room is None or room.ctypes.data != model._rows.ctypes.data else room


def with_room(model: Any, n_new: int) -> np.ndarray:
    """The rows of a model with room for more after them: where they are, or in a larger array."""
    rows, room = model._rows, room_of(model)
    n_rows = len(rows)
    if room is None or len(room) < n_rows + n_new:
        room = np.zeros((n_rows + n_new + n_rows // _SPARE, rows.shape[1]), rows.dtype)
        room[:n_rows] = rows
        _ROOMS[model] = room
    return room[: n_rows + n_new]
