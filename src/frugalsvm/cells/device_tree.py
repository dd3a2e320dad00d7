"""Balanced trees on a device: those of `tree.py`, with the same random numbers, level by level in whole arrays.

Projections are rounded differently here, so that rows that are all but on a cut may be on its other side.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.namespace import is_torch
from frugalsvm.cells.batches import padded_places
from frugalsvm.cells.tree import SAMPLE_ROWS, Level, Tree, grown_tree, joined_levels, new_level
from frugalsvm.compiling.threads import ONE_THREAD, Threads

_BLOCK_NUMBERS = 2**27  # that are gathered at a time


class _Side(NamedTuple):
    """Where the members of each node are cut, by their projections in order."""

    below: np.ndarray  # largest projection on the left
    above: np.ndarray  # smallest on the right
    middles: np.ndarray  # where the right side begins


def grown_on_device(
    arrays: Any, rows: Any, cell_size: int, rng: np.random.Generator, threads: Threads = ONE_THREAD
) -> Tree:
    """What `tree.grown_tree` makes of the same rows and random numbers, up to rounding; of rows on the host, itself."""
    if arrays.is_torch and not is_torch(rows):
        return grown_tree(rows, cell_size, rng, threads)
    n_rows = rows.shape[0]
    members = arrays.xp.arange(n_rows, device=arrays.device)
    dtype = np.float32 if rows.itemsize == 4 else np.float64
    levels: list[Level] = []
    ends = np.array([[0, n_rows]])
    with arrays.products():
        while len(ends := ends[ends[:, 1] - ends[:, 0] > cell_size]):
            level = new_level(ends, cell_size, rows.shape[1], dtype, rng)
            _draw(arrays, level, rows, members)
            _cut(arrays, level, rows, members)
            levels.append(level)
            ends = level.ends_below()
    return joined_levels(levels, arrays.host(members), rows.shape[1], dtype)


def _draw(arrays, level: Level, rows, members) -> None:
    """Directions ``S'(S r)`` of all nodes, normalized; zero where S has one row only."""
    sizes = level.stops - level.starts
    steps = -(-sizes // SAMPLE_ROWS)
    counts = -(-sizes // steps)
    most = int(counts.max())
    n_together = max(1, _BLOCK_NUMBERS // (most * rows.shape[1]))
    for first in range(0, len(sizes), n_together):
        part = slice(first, first + n_together)
        number, is_there = padded_places(arrays, 0 * counts[part], counts[part], most)
        places = arrays.asarray(level.starts[part])[:, None] + number * arrays.asarray(steps[part])[:, None]
        normals = arrays.asarray(level.normals[part])[:, :, None]
        sample = rows[members[places]]
        level.directions[part] = arrays.host(_directions(arrays, sample, is_there, normals))


def _directions(arrays, sample, is_there, normals):
    xp, inside = arrays.xp, arrays.double(is_there)
    factors = arrays.double((sample @ normals)[:, :, 0])
    means = xp.sum(factors * inside, axis=1) / xp.sum(inside, axis=1)
    largest = xp.max(xp.abs(factors * inside), axis=1)
    factors = (factors - means[:, None]) * inside
    # Only the direction counts; in units of the rows, squares could overflow.
    factors = arrays.cast(factors / xp.where(largest > 0, largest, xp.ones_like(largest))[:, None], sample.dtype)
    found = (factors[:, None, :] @ sample)[:, 0]
    lengths = xp.linalg.vector_norm(arrays.double(found), axis=1)[:, None]
    return arrays.cast(found / xp.where(lengths > 0, lengths, xp.ones_like(lengths)), sample.dtype)


def _cut(arrays, level: Level, rows, members) -> None:
    """Divide the members of all nodes, those on the left first."""
    xp = arrays.xp
    nodes, places = _members_of_nodes(arrays, level)
    projections = _projections(arrays, rows, members[places], arrays.asarray(level.directions), nodes)
    side = _sides(arrays, level, nodes, projections)
    alone = np.flatnonzero(side.middles == level.starts)
    if len(alone):
        ends = np.cumsum(level.stops - level.starts)
        for node in alone:
            own = slice(ends[node] - (level.stops[node] - level.starts[node]), ends[node])
            projections[own] = _widest(arrays, level, node, rows[members[places[own]]])
        side = _sides(arrays, level, nodes, projections)
    level.middles[:] = side.middles
    is_cut = side.middles > level.starts
    level.cuts[:] = np.where(is_cut, _between(side.below, side.above), -np.inf)
    is_right = projections >= arrays.asarray(level.cuts)[nodes]
    # Both sides in the order that they had
    order = xp.argsort(2 * nodes + arrays.cast(is_right, nodes.dtype), stable=True)
    members[places] = members[places[order]]


def _members_of_nodes(arrays, level: Level):
    """The node and the place of every member, node after node."""
    xp, sizes = arrays.xp, level.stops - level.starts
    ends = np.cumsum(sizes)
    steps = xp.arange(int(ends[-1]), device=arrays.device)
    nodes = xp.searchsorted(arrays.asarray(ends), steps, side="right")
    return nodes, steps + arrays.asarray(level.starts - (ends - sizes))[nodes]


def _projections(arrays, rows, index, directions, nodes):
    """Each row on the direction of its node, in float32."""
    out = arrays.empty((index.shape[0],))
    n_together = max(1, _BLOCK_NUMBERS // rows.shape[1])
    for start in range(0, index.shape[0], n_together):
        part = slice(start, start + n_together)
        out[part] = arrays.single(arrays.xp.sum(rows[index[part]] * directions[nodes[part]], axis=1))
    return out


def _sides(arrays, level: Level, nodes, projections) -> _Side:
    """The cut between two projections of each node that is nearest to the wanted rank; none if all are equal."""
    xp = arrays.xp
    order = xp.argsort(projections, stable=True)
    order = order[xp.argsort(nodes[order], stable=True)]
    values, own = projections[order], nodes[order]
    is_new = xp.concat((arrays.ones((1,), "bool"), (values[1:] != values[:-1]) | (own[1:] != own[:-1])))
    runs = xp.cumulative_sum(arrays.cast(is_new, nodes.dtype))  # numbers of equal values, from 1
    begins = xp.concat((xp.nonzero(is_new)[0], arrays.asarray(np.array([len(values)]))))
    sizes = level.stops - level.starts
    firsts = np.cumsum(sizes) - sizes
    ends = firsts + sizes
    run = runs[arrays.asarray(firsts + level.ranks)]
    begin, end = arrays.host(begins[run - 1]), arrays.host(begins[run])
    n_below, n_equal = begin - firsts, end - begin
    takes_left = (end == ends) | ((n_below > 0) & (level.ranks - n_below <= n_below + n_equal - level.ranks))
    middles = np.where(takes_left, begin, end)
    below, above = (arrays.host(values[arrays.asarray(each)]) for each in (middles - 1, np.minimum(middles, ends - 1)))
    return _Side(below, above, level.starts + middles - firsts)


def _between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Numbers above the one and not above the other."""
    middle = low + np.float32(0.5) * (high - low)
    return np.where(middle > low, middle, high)


def _widest(arrays, level: Level, node: int, rows):
    """The feature with the widest range in the place of a direction that all rows are equal on."""
    rows = arrays.single(rows)
    widths = arrays.double(arrays.xp.max(rows, axis=0)) - arrays.double(arrays.xp.min(rows, axis=0))
    best = int(arrays.xp.argmax(widths))
    level.directions[node] = 0.0
    level.directions[node, best] = 1.0
    return rows[:, best]


def cells_of_rows(arrays: Any, tree: Tree, rows: Any) -> Any:
    """The cell that each row falls into."""
    xp = arrays.xp
    nodes = arrays.zeros((rows.shape[0],), "int64")
    if not len(tree.cuts):
        return nodes
    directions, cuts, children = (arrays.asarray(each) for each in (tree.directions, tree.cuts, tree.children))
    index = xp.arange(rows.shape[0], device=arrays.device)
    while index.shape[0]:
        at = nodes[index]
        is_right = _projections(arrays, rows, index, directions, at) >= cuts[at]
        nodes[index] = xp.where(is_right, children[at, 1], children[at, 0])
        index = index[nodes[index] >= 0]
    return ~nodes
