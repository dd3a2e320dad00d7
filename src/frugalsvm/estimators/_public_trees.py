"""Trees of `LocalSVC` and `LocalSVR` that are made without rows: of ranges that users give."""

from typing import Any

import numpy as np

from frugalsvm.cells.changes.mending import Staged
from frugalsvm.cells.changes.public import Box, public_tree, stays_public
from frugalsvm.cells.tree import Tree, cells_of
from frugalsvm.core.capabilities import offers
from frugalsvm.core.seen_rows import in_metric, origin_at
from frugalsvm.estimators.constraints import check_choice
from frugalsvm.estimators.seen_rows import first_origin, relative_rows
from frugalsvm.exceptions import ParameterError

TREES = ("rows", "public")
_OUTSIDE = 1e-5  # of the width of a range, by which rounding may move rows out of it


def check_tree(model: Any) -> None:
    """Refuse parameters that do not go together."""
    check_choice("tree", model.tree, TREES)
    if model.tree == "rows":
        return
    if isinstance(model.metric, str):
        raise ParameterError("metric", model.metric, problem="is learned from rows: with tree='public', pass an array")
    try:
        low, high = (np.asarray(each, np.float64) for each in model.ranges)
    except (TypeError, ValueError):
        raise ParameterError("ranges", model.ranges, "a pair (low, high) with tree='public'") from None
    if low.ndim > 1 or high.ndim > 1 or not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ParameterError("ranges", model.ranges, "a pair of finite numbers, or of one for each feature")
    if (np.broadcast_arrays(low, high)[0] > np.broadcast_arrays(low, high)[1]).any():
        raise ParameterError("ranges", model.ranges, "a pair (low, high) whose low ends are not above the high ones")


def _ends(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """The ranges of all features, as users know them."""
    n_features = model.n_features_in_
    for each in model.ranges:
        if np.ndim(each) == 1 and len(each) != n_features:
            raise ParameterError("ranges", model.ranges, problem=f"has {len(each)} values for {n_features} features")
    low, high = (np.broadcast_to(np.asarray(each, np.float64), n_features) for each in model.ranges)
    return low, high


def with_public_origin(model: Any, X: Any) -> Any:
    """Take the middle of the ranges for the origin; returns rows, which are in the metric, relative to it."""
    low, high = _ends(model)
    dtype = model._type_of(X)
    origin = first_origin(X, model._kernel, dtype, whole=True)  # warns of rows that the type is too coarse for
    middle = ((low + high) / 2)[None]
    if model._metric is not None:
        middle = in_metric(middle, model._metric, np.float64)
    is_relative = origin is not None and offers(model._kernel, "shift_invariant")
    model._origin = origin_at(middle[0].astype(dtype)) if is_relative else None
    return relative_rows(X, model._origin, dtype)


def _box(model: Any) -> Box:
    """The ranges as the kernel sees them."""
    low, high = _ends(model)
    middle, half = (low + high) / 2, (high - low) / 2
    seen = model._as_seen(np.vstack([middle, middle + np.diag(half)]), np.dtype(np.float64))
    reach = np.abs(seen[1:] - seen[0]).sum(axis=0)
    return Box(seen[0] - reach, seen[0] + reach)


def _check_inside(rows: np.ndarray, box: Box) -> None:
    margin = _OUTSIDE * (box.high - box.low) + _OUTSIDE * np.maximum(np.abs(box.low), np.abs(box.high))
    is_outside = (rows < box.low - margin) | (rows > box.high + margin)
    if is_outside.any():
        row, feature = np.argwhere(is_outside)[0].tolist()
        raise ValueError(
            f"Row {row} is outside of the ranges of tree='public', in column {feature} as the kernel sees it: clip "
            "rows to the ranges, or give wider ones, which must not be taken from the rows themselves."
        )


def grown_for(model: Any, place: Any, examples: Any, size: int, rng: np.random.Generator) -> list[Tree]:
    """The trees of a model that is being fitted."""
    if model.tree == "rows":
        return place.grown(examples, size, model.n_trees, rng)
    rows, box = place.rows_of(examples), _box(model)
    _check_inside(rows, box)
    model._tree_seeds = rng.integers(2**62, size=model.n_trees)
    return [public_tree(rows, np.arange(len(rows)), box, size, int(seed)) for seed in model._tree_seeds]


def public_trees_after(model: Any, staged: Staged) -> list[Tree | None]:
    """The trees after a change of rows; None for those that stay as they are."""
    box = _box(model)
    found: list[Tree | None] = []
    _check_inside(staged.rows[staged.new], box)
    left = np.setdiff1d(np.arange(len(staged.rows)), staged.gone)
    members = left[np.argsort(staged.ids[left], kind="stable")]
    for cells, seed in zip(model._cells, model._tree_seeds.tolist(), strict=True):
        tree = cells.tree
        sizes = tree.sizes
        fewer = np.bincount(cells_of(tree, staged.rows[staged.gone]), minlength=tree.n_cells)
        if not len(staged.new) and stays_public(tree, sizes - fewer, np.flatnonzero(fewer), cells.size):
            found.append(None)
        else:
            found.append(public_tree(staged.rows, members, box, cells.size, seed))
    return found
