"""A balanced tree that divides rows into cells of nearly equal size.

At every node, a direction ``u = S'(S r)`` is drawn: S are some of the node's rows, centered, and r is Gaussian, so that
main directions are likely. The rows are cut where both sides get their share of the cells that there must be. Rows with
equal projections stay on one side. Where all are equal, the feature with the widest range is cut, which tells all rows
apart that are not the same: a node whose rows are the same is a cell, however large.

The tree grows level by level. Within a level, threads take nodes (directions, cuts) and blocks of rows (projections),
and no result depends on which thread took what.
"""

from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import MANY, stored, within
from frugalsvm.compiling.functions import add_to, compiled, entry, larger, read_only, smaller
from frugalsvm.compiling.threads import ONE_THREAD, Threads
from frugalsvm.core.fastmath import nth_smallest, rows_dot

SAMPLE_ROWS = 500  # of a node, for its direction
_PIVOTS, _MARGIN = 2048, 80  # values of a sample, and how far from a rank in it the same rank of all may be
_LARGEST = np.float32(3e38)
_BLOCK_ROWS = 8192  # that a thread takes at a time


@stored("cell-tree")
class Tree(NamedTuple):
    """Nodes in the order of levels; the first one is the root. Without nodes, all rows are in one cell."""

    directions: Annotated[np.ndarray, "x hf"]  # (n_nodes, n_features) what rows are projected on
    cuts: Annotated[np.ndarray, "e h"]  # (n_nodes,) float32; projections below it are on the left
    children: Annotated[np.ndarray, "i h2"]  # (n_nodes, 2) left and right: another node, or ~cell
    starts: Annotated[np.ndarray, "i t"]  # (n_cells + 1,) where the members of each cell begin
    members: Annotated[np.ndarray, "i n"]  # rows, cell after cell; (0,) where it does not matter which they are

    @property
    def n_cells(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows in each cell."""
        return np.diff(self.starts)

    def members_of(self, cell: int) -> np.ndarray:
        """The rows of a cell."""
        return self.members[self.starts[cell] : self.starts[cell + 1]]

    def is_sound(self, sizes) -> bool:
        """Whether every path ends in a cell, every cell has one path, and every row one cell."""
        n_nodes, n_cells, n_rows = len(self.cuts), self.n_cells, len(self.members)
        if n_cells != n_nodes + 1 or self.starts[0] != 0:
            return False
        if n_rows and (self.starts[-1] != n_rows or not _are_all(self.members, 0, n_rows)):
            return False
        if not within(self.starts, n_rows + 1 if n_rows else MANY) or not within(self.sizes, least=1 if n_rows else 0):
            return False
        if n_nodes == 0:
            return True
        inner, cells = self.children[self.children >= 0], ~self.children[self.children < 0]
        parents = np.repeat(np.arange(n_nodes), 2)[self.children.ravel() >= 0]
        is_below = bool((parents < inner).all())
        # Every node but the root, and every cell, is the child of one node: no path is longer than there are nodes.
        return is_below and _are_all(inner, 1, n_nodes) and _are_all(cells, 0, n_cells)


def _are_all(numbers: np.ndarray, start: int, stop: int) -> bool:
    """Whether every number from ``start`` to before ``stop`` is there once, and no other."""
    if len(numbers) != stop - start or not within(numbers, stop, start):
        return False
    is_there = np.zeros(stop - start, bool)
    is_there[numbers - start] = True
    return bool(is_there.all())


class Level(NamedTuple):
    """The nodes of a level that are to be cut."""

    starts: np.ndarray  # (n,) where their members begin
    stops: np.ndarray
    ranks: np.ndarray  # (n,) how many members should go left
    normals: np.ndarray  # (n, n_features) Gaussian
    directions: np.ndarray  # (n, n_features)
    cuts: np.ndarray  # (n,) float32
    middles: np.ndarray  # (n,) where the members of the right side begin; the start of a node that cannot be cut
    blocks: np.ndarray  # (n_blocks, 2) node, and where a block of its members begins

    def ends_below(self) -> np.ndarray:
        """Where members of the two sides of nodes that were cut begin and end, (n, 2)."""
        ends = np.column_stack([self.starts, self.middles, self.middles, self.stops]).reshape(-1, 2)
        return ends[np.repeat(self.middles > self.starts, 2)]


def grown_tree(rows: np.ndarray, cell_size: int, rng: np.random.Generator, threads: Threads = ONE_THREAD) -> Tree:
    """A tree whose cells have at most ``cell_size`` rows, but for cells of rows that are all the same.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features), C-contiguous
    cell_size : int
    rng : Generator
    threads : Threads, default=ONE_THREAD
        The tree does not depend on them.

    Returns
    -------
    Tree
    """
    n_rows = len(rows)
    members = np.arange(n_rows, dtype=np.int32 if n_rows < 2**31 else np.int64)  # there may be little memory left
    projections, scratch, moved = np.empty(n_rows, np.float32), np.empty(n_rows, np.float32), np.empty_like(members)
    levels: list[Level] = []
    ends = np.array([[0, n_rows]])
    while len(ends := ends[ends[:, 1] - ends[:, 0] > cell_size]):
        level = new_level(ends, cell_size, rows.shape[1], rows.dtype, rng)
        _side_by_side(partial(_draw, level, rows, members), len(ends), threads)
        _side_by_side(partial(_project, level, rows, members, projections), len(level.blocks), threads)
        _side_by_side(partial(_cut, level, rows, members, projections, scratch, moved), len(ends), threads)
        levels.append(level)
        ends = level.ends_below()
    del projections, scratch, moved
    return joined_levels(levels, members.astype(np.int64), rows.shape[1], rows.dtype)


def new_level(ends: np.ndarray, cell_size: int, n_features: int, dtype, rng: np.random.Generator) -> Level:
    """Nodes whose members are between ends, (n, 2), and that are to be cut."""
    starts, stops = np.ascontiguousarray(ends.T)
    sizes = stops - starts
    n_cells = -(-sizes // cell_size)
    normals = rng.normal(size=(len(ends), n_features)).astype(dtype)
    counts = -(-sizes // _BLOCK_ROWS)
    nodes = np.repeat(np.arange(len(ends)), counts)
    firsts = _BLOCK_ROWS * (np.arange(len(nodes)) - np.repeat(np.cumsum(counts) - counts, counts))
    blocks = np.column_stack([nodes, starts[nodes] + firsts])
    ranks, cuts = sizes * (n_cells // 2) // n_cells, np.empty(len(ends), np.float32)
    return Level(starts, stops, ranks, normals, np.empty_like(normals), cuts, starts.copy(), blocks)


def _side_by_side(work, n_items: int, threads: Threads) -> None:
    """Have threads take items by a counter, in compiled code."""
    next_item = np.zeros(1, np.int64)
    n_threads = min(threads.count, n_items)
    threads.run(lambda _: work(next_item), range(n_threads))


def joined_levels(levels: list[Level], members: np.ndarray, n_features: int, dtype) -> Tree:
    """The tree of all nodes that were cut: cells are what is between cuts."""
    cut = [level.middles > level.starts for level in levels]
    starts, middles, stops = (
        np.concatenate([getattr(level, name)[is_cut] for level, is_cut in zip(levels, cut, strict=True)] or [[]])
        for name in ("starts", "middles", "stops")
    )
    bounds = np.unique(np.concatenate([[0], middles, [len(members)]])).astype(np.int64)
    number = {(int(start), int(stop)): node for node, (start, stop) in enumerate(zip(starts, stops, strict=True))}
    cell = {int(start): number for number, start in enumerate(bounds[:-1])}

    def child(start, stop):
        return number.get((int(start), int(stop)), ~cell[int(start)])

    children = [
        (child(start, middle), child(middle, stop)) for start, middle, stop in zip(starts, middles, stops, strict=True)
    ]
    directions = [level.directions[is_cut] for level, is_cut in zip(levels, cut, strict=True)]
    cuts = [level.cuts[is_cut] for level, is_cut in zip(levels, cut, strict=True)]
    return Tree(
        np.concatenate(directions or [np.empty((0, n_features), dtype)]),
        np.concatenate(cuts or [np.empty(0, np.float32)]),
        np.array(children, np.int64).reshape(-1, 2),
        bounds,
        members,
    )


@entry
def _draw(level, rows, members, next_item):
    """Directions ``S'(S r)``: the sum of all ``(p_i - mean) x_i``, where ``p_i = <x_i, r>``, over some members."""
    node = add_to(next_item, 1)
    while node < level.starts.size:
        start, stop = level.starts[node], level.stops[node]
        step = (stop - start + SAMPLE_ROWS - 1) // SAMPLE_ROWS
        mean, largest = 0.0, 0.0
        for i in range(start, stop, step):
            product = np.float64(rows_dot(level.normals, node, rows, members[i]))
            mean += product
            largest = max(largest, abs(product))
        mean /= (stop - start + step - 1) // step
        for f in range(rows.shape[1]):
            level.directions[node, f] = 0.0
        for i in range(start, stop, step):
            row = members[i]
            product = np.float64(rows_dot(level.normals, node, rows, row))
            # Only the direction counts; in units of the rows, squares could overflow.
            factor = rows.dtype.type((product - mean) / largest if largest > 0.0 else 0.0)
            for f in range(rows.shape[1]):
                level.directions[node, f] += factor * rows[row, f]
        _normalize(level.directions, node)
        node = add_to(next_item, 1)


@compiled
def _normalize(directions, node):
    squares = 0.0
    for f in range(directions.shape[1]):
        squares += np.float64(directions[node, f]) ** 2
    factor = directions.dtype.type(1.0 / np.sqrt(squares) if squares > 0.0 else 0.0)
    for f in range(directions.shape[1]):
        directions[node, f] *= factor


@entry
def _project(level, rows, members, projections, next_item):
    """Projections of the members of all nodes, block by block."""
    block = add_to(next_item, 1)
    while block < len(level.blocks):
        node, start = level.blocks[block]
        stop = min(start + _BLOCK_ROWS, level.stops[node])
        for i in range(start, stop):
            projections[i] = rows_dot(level.directions, node, rows, members[i])
        block = add_to(next_item, 1)


@entry
def _cut(level, rows, members, projections, scratch, moved, next_item):
    """Divide the members of all nodes, those on the left first."""
    node = add_to(next_item, 1)
    while node < level.starts.size:
        if not _find_cut(level, node, projections, scratch) and _take_widest(level, node, rows, members, projections):
            _find_cut(level, node, projections, scratch)
        if level.middles[node] > level.starts[node]:
            _divide(level, node, members, projections, moved)
        node = add_to(next_item, 1)


@compiled
def _find_cut(level, node, projections, scratch):
    """Cut between two projections, as near to the wanted rank as equal ones allow; False if all are equal."""
    start, stop, rank = level.starts[node], level.stops[node], level.ranks[node]
    middle = _ranked(projections[start:], scratch[start:], stop - start, rank)
    n_below, n_equal, below, above = 0, 0, -_LARGEST, _LARGEST
    for i in range(start, stop):  # without branches, so that it is vectorized
        value = projections[i]
        n_below += value < middle
        n_equal += value == middle
        below = larger(below, value if value < middle else -_LARGEST)
        above = smaller(above, value if value > middle else _LARGEST)
    if n_equal == stop - start:
        return False
    n_above = stop - start - n_below - n_equal
    if n_above == 0 or (n_below > 0 and rank - n_below <= n_below + n_equal - rank):
        level.cuts[node], level.middles[node] = _between(below, middle), start + n_below
    else:
        level.cuts[node], level.middles[node] = _between(middle, above), start + n_below + n_equal
    return True


@compiled
def _ranked(values, scratch, n, rank):
    """The value of a rank, from 0: found among those between two values of a sample, where it most likely is."""
    step = max(n // _PIVOTS, 1)
    count = (n + step - 1) // step
    for i in range(count):
        scratch[i] = values[i * step]
    low, high = max(rank // step - _MARGIN, 0), min(rank // step + _MARGIN, count - 1)
    least, largest = nth_smallest(scratch, count, low), nth_smallest(scratch, count, high)
    n_below, n_between = 0, 0
    for i in range(n):
        value = values[i]
        scratch[n_between] = value
        n_below += value < least
        n_between += (value >= least) & (value <= largest)
    if n_below <= rank < n_below + n_between:
        return nth_smallest(scratch, n_between, rank - n_below)
    for i in range(n):
        scratch[i] = values[i]
    return nth_smallest(scratch, n, rank)


@compiled
def _between(low, high):
    """A number above the one and not above the other."""
    middle = low + np.float32(0.5) * (high - low)
    return middle if middle > low else high


@compiled
def _take_widest(level, node, rows, members, projections):
    """Project members on the feature with the widest range; False if they are all the same."""
    start, stop = level.starts[node], level.stops[node]
    widest, best = np.float64(0.0), -1
    for f in range(rows.shape[1]):
        low = high = rows[members[start], f]
        for i in range(start, stop):
            low, high = smaller(low, rows[members[i], f]), larger(high, rows[members[i], f])
        # In float32, as projections are: rows that differ in less are the same to them.
        width = np.float64(np.float32(high)) - np.float64(np.float32(low))
        if width > widest:
            widest, best = width, f
    if best < 0:
        return False
    for f in range(rows.shape[1]):
        level.directions[node, f] = 1.0 if f == best else 0.0
    for i in range(start, stop):
        projections[i] = rows[members[i], best]
    return True


@compiled
def _divide(level, node, members, projections, moved):
    """Members with projections below the cut first, both sides in the order they had."""
    start, stop, cut = level.starts[node], level.stops[node], level.cuts[node]
    left, right = start, level.middles[node]
    for i in range(start, stop):
        is_left = projections[i] < cut
        moved[left if is_left else right] = members[i]
        left += is_left
        right += not is_left
    for i in range(start, stop):
        members[i] = moved[i]


def cells_of(tree: Tree, rows: np.ndarray, threads: Threads = ONE_THREAD) -> np.ndarray:
    """The cell that each row falls into."""
    cells = np.zeros(len(rows), np.int64)
    if len(tree.cuts):
        _side_by_side(partial(_descend, read_only(tree), read_only(rows), cells), -(-len(rows) // _BLOCK_ROWS), threads)
    return cells


@entry
def _descend(tree, rows, cells, next_item):
    start = add_to(next_item, 1) * _BLOCK_ROWS
    while start < cells.size:
        for i in range(start, min(start + _BLOCK_ROWS, cells.size)):
            node = 0
            while node >= 0:
                projection = np.float32(rows_dot(tree.directions, node, rows, i))
                node = tree.children[node, 0] if projection < tree.cuts[node] else tree.children[node, 1]
            cells[i] = ~node
        start = add_to(next_item, 1) * _BLOCK_ROWS
