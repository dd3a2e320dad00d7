"""Trees that are made without rows: random cuts of a box that is known beforehand.

Every part of the box has its own random numbers, from a seed and its place. A part is cut along a feature that is drawn
with a probability that grows with the width of the part, at a random point of its middle. A cut is made where a part
has more rows than a cell may have, and rows on both sides. So the tree depends only on the rows that are there now: it
is the same, bit for bit, whatever rows were added and forgotten before.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.cells.changes.structure import Parents, cells_below
from frugalsvm.cells.tree import Tree

_LEAST, _MOST = 0.3, 0.7  # of the width of a part, where it may be cut
_LOOK_AFTER = 64  # cuts with all rows on one side: maybe all are the same


class Box(NamedTuple):
    """Where rows can be, as the kernel sees them."""

    low: np.ndarray  # (n_features,) float64
    high: np.ndarray


class _Part(NamedTuple):
    members: np.ndarray
    box: Box
    way: int  # 1 for the whole box, then twice the one above, and one more on the right
    above: int
    side: int


def public_tree(rows: np.ndarray, members: np.ndarray, box: Box, size: int, seed: int) -> Tree:
    """The tree of some rows, in cells of at most ``size`` rows, but for rows that are all the same.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    members : ndarray of shape (n,)
        Those that are there. Members of a cell stay in this order.
    box : Box
    size : int
    seed : int

    Returns
    -------
    Tree
    """
    features, cuts, children, cells = [], [], [], []
    waiting = [_Part(members, box, 1, -1, 0)]
    for part in waiting:  # grows while it is gone through: level by level
        found = _cut(rows, part, box, size, seed)
        if found is None:
            number = ~len(cells)
            cells.append(part.members)
        else:
            feature, cut, sides = found
            number = len(cuts)
            features.append(feature)
            cuts.append(cut)
            children.append([0, 0])
            waiting += [each._replace(above=number) for each in sides]
        if part.above >= 0:
            children[part.above][part.side] = number
    directions = np.zeros((len(cuts), rows.shape[1]), rows.dtype)
    directions[np.arange(len(cuts)), features] = 1.0
    starts = np.concatenate([[0], np.cumsum([len(each) for each in cells])])
    below = np.array(children, np.int64).reshape(-1, 2)
    return Tree(directions, np.array(cuts, np.float32), below, starts, np.concatenate(cells))


def _cut(rows: np.ndarray, part: _Part, whole: Box, size: int, seed: int) -> tuple[int, np.float32, list[_Part]] | None:
    """The first cut of a part with rows on both sides, and these sides; None if it is a cell."""
    n_cuts = 0
    while len(part.members) > size:
        drawn = _drawn(part, whole, seed)
        n_cuts += 1
        if drawn is None or (n_cuts % _LOOK_AFTER == 0 and _are_same(rows[part.members])):
            return None
        feature, cut = drawn
        is_left = rows[part.members, feature].astype(np.float32) < cut
        sides = [
            _Part(part.members[is_left], _below(part.box, feature, cut), 2 * part.way, -1, 0),
            _Part(part.members[~is_left], _above(part.box, feature, cut), 2 * part.way + 1, -1, 1),
        ]
        if len(sides[0].members) and len(sides[1].members):
            return feature, cut, sides
        part = sides[0] if len(sides[0].members) else sides[1]
    return None


def _drawn(part: _Part, whole: Box, seed: int) -> tuple[int, np.float32] | None:
    """A feature and where it is cut; None if the part is a point."""
    widths = part.box.high - part.box.low
    shares = widths / np.where(whole.high > whole.low, whole.high - whole.low, 1.0)
    rng = np.random.default_rng([seed, part.way])
    chosen, where = rng.random(2)
    total = shares.cumsum()
    feature = int(np.searchsorted(total, chosen * total[-1], side="right"))
    if total[-1] <= 0.0 or feature == len(total):
        return None
    return feature, np.float32(part.box.low[feature] + (_LEAST + (_MOST - _LEAST) * where) * widths[feature])


def _below(box: Box, feature: int, cut: np.float32) -> Box:
    high = box.high.copy()
    high[feature] = max(float(cut), box.low[feature])
    return box._replace(high=high)


def _above(box: Box, feature: int, cut: np.float32) -> Box:
    low = box.low.copy()
    low[feature] = min(float(cut), box.high[feature])
    return box._replace(low=low)


def _are_same(rows: np.ndarray) -> bool:
    return bool((rows.astype(np.float32) == rows[0].astype(np.float32)).all())


def stays_public(tree: Tree, sizes: np.ndarray, cells: np.ndarray, size: int) -> bool:
    """Whether the tree is the same after rows have left some cells, which have these sizes now."""
    parents = Parents(tree)
    for cell in cells.tolist():
        above = parents.above(~cell)
        if sizes[cell] == 0 or (above >= 0 and sizes[cells_below(tree, above)].sum() <= size):
            return False
    return True
