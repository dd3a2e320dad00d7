"""Shapley values of expansions in product kernels, exact by quadrature.

A kernel that is a product over features, ``K(x, v) = prod_l k_l`` with ``k_l = exp(-gamma term(x_l, v_l))``, has an
expansion whose value for a set S of features is a sum of products too: those of S have the factors ``k_l`` of the row,
all others ``b_l``, which are 1 (they are left out) or those of a background row. Since
``integral of t^s (1 - t)^(d-1-s) over [0, 1] = s! (d-1-s)! / d!``, the Shapley value of feature j is::

    phi_j = sum_i a_i (k_ij - b_ij) integral_0^1 prod_{l != j} ((1 - t) b_il + t k_il) dt

For each node t, products of all factors but one come from those before it and those after it: no division, no
logarithm. Every factor is in (0, 1], so nothing overflows, and a product that underflows is nothing beside the others.
The number of nodes follows from the gaps between k and b (`frugalsvm.core.quadrature`).

A *player* is a feature, or several that come and go together: its factor is the product of theirs. Four players are a
*group*, whose product is a polynomial of degree four in t. At a node there is one value for each group. With that of
all other groups it adds to four moments, ``integral of t^q prod_{others} dt``: the integral for a player is the sum
of these, weighted with the coefficients of the product of the other three. That halves the work for a node.

A player whose features are the same in a row and a background row has no share, and its factor is a constant: such
players are left out of the integrals. Of columns of categories, most are.

Loops run over a tile of vectors, side by side in memory, and take two nodes at a time.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.compiling.functions import entry, generic, inlined, larger, separate, smaller
from frugalsvm.core.fastmath import LOG2E, below_one, exp2_nonpositive, maximum
from frugalsvm.core.kernels import RBF, Chi2, Laplacian
from frugalsvm.core.quadrature import Rules

_TINY = float(np.finfo(np.float64).tiny)
_BLOCK_VALUES = 2**15  # of some rows and a tile, which share what is computed for a background row

TILE = 16  # vectors
GROUP = 4  # players
# What is kept for a group, numbers for each vector of the tile. Addresses are unsigned and a constant apart, or the
# compiler would not know that loops may be vectorized.
_1, _2, _3, _4 = (np.uint64(TILE * place) for place in range(1, 5))
_MOMENT, _TERM = np.uint64(0), np.uint64(4 * TILE)  # four moments, and five coefficients of the polynomial
_BEFORE, _NEXT_BEFORE, _VALUE, _NEXT_VALUE = (np.uint64(TILE * place) for place in range(9, 13))  # at two nodes
_RECORD = np.uint64(13 * TILE)
_NONE, _ONE = np.uint64(0), np.uint64(1)


class Game(NamedTuple):
    """Vectors in tiles, features in the order of their players."""

    tiles: np.ndarray  # (n_tiles, n_features, TILE)
    coefficients: np.ndarray  # (n_outputs, n_tiles * TILE), zero beyond the last vector
    first: np.ndarray  # (n_players + 1,) where the features of each player begin


class Room(NamedTuple):
    """Where a thread works. Some players have shares; their factors come one after another, in whole groups."""

    exponents: np.ndarray  # (n_rows, n_players * TILE) log2(k)
    factors: np.ndarray  # (n_rows, n_players * TILE) k
    gaps: np.ndarray  # (n_rows, n_players * TILE) 1 - k, exact however small it is
    inverses: np.ndarray  # (n_rows, n_players * TILE) 1 / k
    other_exponents: np.ndarray  # (n_players * TILE,) and the same for a background row
    other_factors: np.ndarray
    other_gaps: np.ndarray
    other_inverses: np.ndarray
    shares: np.ndarray  # (n_rows, n_players * TILE) what the values are the weighted sums of
    runs: np.ndarray  # (n_players, 2) from where on to where players have shares
    starts: np.ndarray  # (n_groups * GROUP * TILE,) b, of those that have
    steps: np.ndarray  # the same size: k - b, and in the end this times the integral
    relative: np.ndarray  # the same size: the relative gaps between k and b
    sums: np.ndarray  # (TILE,) of these gaps
    common: np.ndarray  # (TILE,) product of the factors of players that have no share
    records: np.ndarray  # one for each group, and another one


def new_game(vectors, coefficients, first) -> Game:
    """A game for vectors (n, n_features), whose features are in the order of their players."""
    n_tiles = -(-len(vectors) // TILE)
    filled = np.minimum(np.arange(n_tiles * TILE), len(vectors) - 1)  # the last vector again, without a coefficient
    tiles = np.ascontiguousarray(vectors[filled].reshape(n_tiles, TILE, -1).transpose(0, 2, 1), np.float64)
    weights = np.zeros((len(coefficients), n_tiles * TILE))
    weights[:, : len(vectors)] = coefficients
    return Game(tiles, weights, np.asarray(first, np.int64))


def new_room(n_players: int, n_rows: int, n_background: int) -> Room:
    """Room to explain up to a number of rows."""
    n_groups, size = -(-n_players // GROUP), n_players * TILE
    together = max(1, min(16, n_rows, _BLOCK_VALUES // max(1, size))) if n_background else 1
    steps, relative = np.zeros((2, n_groups * GROUP * TILE))
    return Room(
        *np.zeros((4, together, size)),
        *np.zeros((4, size)),
        np.zeros((together, size)),
        np.array([[0, n_players]]).repeat(n_players, axis=0),  # where features are left out, all have shares
        np.ones(n_groups * GROUP * TILE),  # and factors start from 1
        steps,
        relative,
        np.zeros(TILE),
        np.ones(TILE),
        np.zeros((n_groups + 1) * int(_RECORD)),
    )


@generic
def term(kernel, a, b):
    """What a feature adds to the exponent ``-gamma sum_l term(x_l, v_l)`` of a product kernel."""


@term.implement(RBF)
def _square(kernel, a, b):
    return (a - b) * (a - b)


@term.implement(Laplacian)
def _distance(kernel, a, b):
    return abs(a - b)


@term.implement(Chi2)
def _share_of_sum(kernel, a, b):
    return (a - b) * (a - b) / larger(a + b, _TINY)


@entry
def add_shapley_values(kernel, rows, background, rules: Rules, game: Game, room: Room, out):
    """Add the values of rows (n, n_features) to ``out`` (n, n_outputs, n_players).

    With background rows they are means over these; without, features are left out. The room must be new.
    """
    # Widths are read, not written: loops of a constant length are unrolled, and then not vectorized.
    n_rows, together, width = len(rows), len(room.shares), room.sums.size
    for tile in range(len(game.tiles)):
        for start in range(0, n_rows, together):
            count = min(together, n_rows - start)
            for i in range(count):
                _set_zero(room.shares[i])
            if len(background) == 0:
                _compare(kernel, rows[start], game.tiles[tile], game.first, room.exponents[0])
                _set_gaps(room.exponents[0], room.gaps[0])
                _leave_out(room)
                _add_shares(rules, room, 0, 1, out.shape[2])
            else:
                _replace_all(kernel, rows, start, count, background, rules, game, tile, room)
            for i in range(count):
                _add_weighted(game.coefficients, tile, width, room.shares[i], max(1, len(background)), out[start + i])


@separate
def _replace_all(kernel, rows, start, count, background, rules, game, tile, room):
    """The shares of some rows and a tile, summed over all background rows."""
    for i in range(count):
        exponents, factors, gaps, inverses = room.exponents[i], room.factors[i], room.gaps[i], room.inverses[i]
        _set_facts(kernel, rows[start + i], game.tiles[tile], game.first, exponents, factors, gaps, inverses)
    for j in range(len(background)):
        exponents, factors, gaps, inverses = (
            room.other_exponents,
            room.other_factors,
            room.other_gaps,
            room.other_inverses,
        )
        _set_facts(kernel, background[j], game.tiles[tile], game.first, exponents, factors, gaps, inverses)
        for i in range(count):
            n_runs, n_players = _choose_players(rows[start + i], background[j], game.first, room.runs)
            if n_players > 0:
                _replace(room, i, n_runs, n_players)
                _set_common(room, i, n_runs, n_players)
                _add_shares(rules, room, i, n_runs, n_players)


@inlined
def _set_zero(values):
    for c in range(values.size):
        values[c] = 0.0


@separate
def _compare(kernel, row, vectors, first, exponents):
    """Exponents of the factors of all players between a row and the vectors of a tile."""
    factor = -kernel.gamma * LOG2E
    for p in range(first.size - 1):
        own, value, column = exponents[p * TILE :], row[first[p]], vectors[first[p]]
        for c in range(column.size):
            own[c] = factor * term(kernel, value, column[c])
        for f in range(first[p] + 1, first[p + 1]):
            value, column = row[f], vectors[f]
            for c in range(column.size):
                own[c] += factor * term(kernel, value, column[c])


@inlined
def _set_gaps(exponents, gaps):
    for c in range(gaps.size):
        gaps[c] = below_one(exponents[c])


@separate
def _set_facts(kernel, row, vectors, first, exponents, factors, gaps, inverses):
    """What there is to know of a row and a tile."""
    _compare(kernel, row, vectors, first, exponents)
    _set_gaps(exponents, gaps)
    for c in range(exponents.size):
        factors[c] = exp2_nonpositive(exponents[c])
    for c in range(exponents.size):
        inverses[c] = 1.0 / factors[c]


@separate
def _choose_players(row, other, first, runs):
    """Runs of players whose features differ between two rows; returns how many runs and players these are."""
    n_runs = n_players = 0
    before = False
    for p in range(first.size - 1):
        differs = False
        for f in range(first[p], first[p + 1]):
            differs = differs or row[f] != other[f]
        if differs:
            if not before:
                runs[n_runs, 0] = p
                n_runs += 1
            runs[n_runs - 1, 1] = p + 1
            n_players += 1
        before = differs
    return n_runs, n_players


@separate
def _leave_out(room):
    """Factors from 1 to k, of features that are left out, and their gaps."""
    gaps, steps, relative = room.gaps[0], room.steps, room.relative
    for c in range(gaps.size):
        steps[c] = -gaps[c]
    for c in range(gaps.size):
        relative[c] = gaps[c]


@separate
def _replace(room, i, n_runs, n_players):
    """Factors from b to k, of features that are those of a background row, and their relative gaps."""
    done = 0
    for r in range(n_runs):
        first, last = room.runs[r, 0] * TILE, room.runs[r, 1] * TILE
        _set_steps(room, i, first, last, done)
        done += last - first
    # The rest of the last group are players whose factor is always 1.
    for c in range(n_players * TILE, -(-n_players // GROUP) * GROUP * TILE):
        room.starts[c], room.steps[c], room.relative[c] = 1.0, 0.0, 0.0


@separate
def _set_steps(room, i, first, last, done):
    """The same for a run of players, all numbers of which are adjacent."""
    k, gaps, inverses = room.factors[i, first:last], room.gaps[i, first:last], room.inverses[i, first:last]
    b, other_gaps, other_inverses = (
        room.other_factors[first:],
        room.other_gaps[first:],
        room.other_inverses[first:],
    )
    starts, steps, relative = room.starts[done:], room.steps[done:], room.relative[done:]
    for c in range(k.size):
        # Two factors near 1 are subtracted by their gaps, and two near 0 as they are: no digits are lost.
        by_gaps, as_they_are = other_gaps[c] - gaps[c], k[c] - b[c]
        steps[c] = by_gaps if gaps[c] + other_gaps[c] < 1.0 else as_they_are
    for c in range(k.size):
        relative[c] = abs(k[c] - b[c]) * smaller(inverses[c], other_inverses[c])
    for c in range(k.size):
        starts[c] = b[c]


@separate
def _set_common(room, i, n_runs, n_players):
    """The product of the factors of all players that have no share."""
    exponents, common, width = room.exponents[i], room.common, room.common.size
    _set_zero(common)
    if n_players * TILE < exponents.size:
        end = 0
        for r in range(n_runs + 1):
            begin, after = (room.runs[r, 0], room.runs[r, 1]) if r < n_runs else (exponents.size // TILE, 0)
            for p in range(end, begin):
                own = exponents[p * TILE :]
                for c in range(width):
                    common[c] += own[c]
            end = after
    for c in range(width):
        common[c] = exp2_nonpositive(common[c])


@inlined
def _rule_for(rules, room, n_players):
    """The first rule that is exact enough for all vectors of a tile, or exact for that number of players."""
    sums, relative, width = room.sums, room.relative, np.uint64(room.sums.size)
    _set_zero(sums)
    for n in range(0, n_players, GROUP):
        own = relative[n * TILE :]
        for c in range(width):
            sums[c] += (own[c] + own[_1 + c]) + (own[_2 + c] + own[_3 + c])
    most, rule = maximum(sums, sums.size), 0
    while most > rules.limits[rule] and rule < rules.limits.size - 1:
        if 2 * (rules.first[rule + 1] - rules.first[rule]) >= n_players:
            break
        rule += 1
    return rule


@separate
def _add_shares(rules, room, i, n_runs, n_players):
    """Add ``(k - b)`` times the integrals to the shares of some players and all vectors of a tile."""
    records, common, width = room.records, room.common, np.uint64(room.sums.size)
    n_groups = np.uint64(-(-n_players // GROUP))
    rule = _rule_for(rules, room, n_players)
    _multiply_out(room.starts, room.steps, records, n_groups, width)
    for m in range(rules.first[rule], rules.first[rule + 1], 2):
        _multiply_before(records, n_groups, width, rules.nodes[m], rules.nodes[m + 1])
        end = n_groups * _RECORD
        for c in range(width):
            records[end + _BEFORE + c] = rules.weights[m] * common[c]
            records[end + _NEXT_BEFORE + c] = rules.weights[m + 1] * common[c]
        _integrate(records, n_groups, width, rules.nodes[m], rules.nodes[m + 1])
    _weigh_moments(room.starts, room.steps, records, n_groups, width)
    done = 0
    for r in range(n_runs):
        own, shares = room.shares[i, room.runs[r, 0] * TILE : room.runs[r, 1] * TILE], room.steps[done:]
        for c in range(own.size):
            own[c] += shares[c]
        done += own.size


@separate
def _multiply_out(starts, steps, records, n_groups, width):
    """The coefficients of the products of all groups, and moments of zero."""
    at, place = _NONE, _NONE
    for _ in range(n_groups):
        for c in range(width):
            a, b, p, q = starts[place + c], steps[place + c], starts[place + _1 + c], steps[place + _1 + c]
            x0, x1, x2 = a * p, a * q + b * p, b * q
            a, b, p, q = starts[place + _2 + c], steps[place + _2 + c], starts[place + _3 + c], steps[place + _3 + c]
            y0, y1, y2 = a * p, a * q + b * p, b * q
            records[at + _TERM + c] = x0 * y0
            records[at + _TERM + _1 + c] = x0 * y1 + x1 * y0
            records[at + _TERM + _2 + c] = x0 * y2 + x1 * y1 + x2 * y0
            records[at + _TERM + _3 + c] = x1 * y2 + x2 * y1
            records[at + _TERM + _4 + c] = x2 * y2
            records[at + _MOMENT + c] = 0.0
            records[at + _MOMENT + _1 + c] = 0.0
            records[at + _MOMENT + _2 + c] = 0.0
            records[at + _MOMENT + _3 + c] = 0.0
        at += _RECORD
        place += _4


@separate
def _multiply_before(records, n_groups, width, s, t):
    """The products of all factors of each group, and of those before it, at the nodes s and t."""
    at = _NONE
    for c in range(width):
        records[_BEFORE + c] = records[_NEXT_BEFORE + c] = 1.0
    for _ in range(n_groups):
        for c in range(width):
            c0, c1, c2 = records[at + _TERM + c], records[at + _TERM + _1 + c], records[at + _TERM + _2 + c]
            c3, c4 = records[at + _TERM + _3 + c], records[at + _TERM + _4 + c]
            by_s = c0 + s * (c1 + s * (c2 + s * (c3 + s * c4)))
            by_t = c0 + t * (c1 + t * (c2 + t * (c3 + t * c4)))
            records[at + _VALUE + c] = by_s
            records[at + _NEXT_VALUE + c] = by_t
            records[at + _RECORD + _BEFORE + c] = records[at + _BEFORE + c] * by_s
            records[at + _RECORD + _NEXT_BEFORE + c] = records[at + _NEXT_BEFORE + c] * by_t
        at += _RECORD


@separate
def _integrate(records, n_groups, width, s, t):
    """Add what both nodes add to the moments, from the last group to the first.

    The products of all factors after a group, times the weight of the node, take the place of those before the next
    one.
    """
    s2, t2 = s * s, t * t
    s3, t3 = s * s2, t * t2
    at = (n_groups - _ONE) * _RECORD
    for _ in range(n_groups):
        for c in range(width):
            after_s, after_t = records[at + _RECORD + _BEFORE + c], records[at + _RECORD + _NEXT_BEFORE + c]
            others_s, others_t = records[at + _BEFORE + c] * after_s, records[at + _NEXT_BEFORE + c] * after_t
            records[at + _MOMENT + c] += others_s + others_t
            records[at + _MOMENT + _1 + c] += s * others_s + t * others_t
            records[at + _MOMENT + _2 + c] += s2 * others_s + t2 * others_t
            records[at + _MOMENT + _3 + c] += s3 * others_s + t3 * others_t
            records[at + _BEFORE + c] = after_s * records[at + _VALUE + c]
            records[at + _NEXT_BEFORE + c] = after_t * records[at + _NEXT_VALUE + c]
        at -= _RECORD


@separate
def _weigh_moments(starts, steps, records, n_groups, width):
    """Put ``(k - b)`` times the integrals of all players in the place of their steps."""
    at, place = _NONE, _NONE
    for _ in range(n_groups):
        for c in range(width):
            m0, m1 = records[at + _MOMENT + c], records[at + _MOMENT + _1 + c]
            m2, m3 = records[at + _MOMENT + _2 + c], records[at + _MOMENT + _3 + c]
            a, b, p, q = starts[place + c], steps[place + c], starts[place + _1 + c], steps[place + _1 + c]
            e, f, g, h = starts[place + _2 + c], steps[place + _2 + c], starts[place + _3 + c], steps[place + _3 + c]
            # Of the first two players, with the product of the other two; and the other way round
            y0, y1, y2 = e * g, e * h + f * g, f * h
            u, v = y0 * m0 + y1 * m1 + y2 * m2, y0 * m1 + y1 * m2 + y2 * m3
            x0, x1, x2 = a * p, a * q + b * p, b * q
            w, z = x0 * m0 + x1 * m1 + x2 * m2, x0 * m1 + x1 * m2 + x2 * m3
            steps[place + c] = b * (p * u + q * v)
            steps[place + _1 + c] = q * (a * u + b * v)
            steps[place + _2 + c] = f * (g * w + h * z)
            steps[place + _3 + c] = h * (e * w + f * z)
        at += _RECORD
        place += _4


@separate
def _add_weighted(coefficients, tile, width, shares, n_background, out):
    """Add the shares, weighted with the coefficients of a tile, to the values of a row."""
    factor = 1.0 / n_background
    for o in range(out.shape[0]):
        weights = coefficients[o, tile * TILE :]
        for p in range(out.shape[1]):
            own, total = shares[p * TILE :], 0.0
            for c in range(width):
                total += weights[c] * own[c]
            out[o, p] += factor * total
