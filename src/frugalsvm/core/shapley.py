"""Shapley values of expansions in product kernels, exact by quadrature.

A kernel that is a product over features, ``K(x, v) = prod_l k_l`` with ``k_l = exp(-gamma term(x_l, v_l))``, has an
expansion whose value for a set S of features is a sum of products too: those of S have the factors ``k_l`` of the row,
all others ``b_l``, which are 1 (they are left out) or those of a background row. Since
``integral of t^s (1 - t)^(d-1-s) over [0, 1] = s! (d-1-s)! / d!``, the Shapley value of feature j is::

    phi_j = sum_i a_i (k_ij - b_ij) integral_0^1 prod_{l != j} ((1 - t) b_il + t k_il) dt

For each node t, products of all factors but one come from those before it and those after it: no division, no
logarithm. Every factor is in (0, 1], so nothing overflows, and a product that underflows is nothing beside the others.
The number of nodes follows from the gaps between k and b (`frugalsvm.core.quadrature`).

A *player* is a feature, or several that come and go together: its factor is the product of theirs.

Loops run over a tile of vectors, side by side in memory, and take two players and two nodes at a time: as many numbers
are loaded and stored as the processor can while it multiplies.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import entry, generic, inlined, larger, separate
from frugalsvm.core.fastmath import LOG2E, below_one, exp2_nonpositive
from frugalsvm.core.kernels import RBF, Chi2, Laplacian
from frugalsvm.core.quadrature import Rules

__all__ = ["Game", "Room", "add_shapley_values", "new_game", "new_room"]

_TINY = float(np.finfo(np.float64).tiny)
_BLOCK_VALUES = 2**15  # of some rows and a tile, which share what is computed for a background row

TILE = 16  # vectors
PAIR = 2 * TILE  # numbers of two players
# What is kept for two players, a number for each vector of the tile. Addresses are unsigned and a constant apart, or
# the compiler would not know that loops may be vectorized.
_START, _NEXT_START, _STEP, _NEXT_STEP, _INTEGRAL, _NEXT_INTEGRAL, _BEFORE, _NEXT_BEFORE = (
    np.uint64(TILE * place) for place in range(8)
)
_RECORD = np.uint64(8 * TILE)
_NONE, _ONE = np.uint64(0), np.uint64(1)


class Game(NamedTuple):
    """Vectors in tiles, features in the order of their players."""

    tiles: np.ndarray  # (n_tiles, n_features, TILE)
    coefficients: np.ndarray  # (n_outputs, n_tiles * TILE), zero beyond the last vector
    first: np.ndarray  # (n_players + 1,) where the features of each player begin


class Room(NamedTuple):
    """Where a thread works. Players come in pairs: an odd one has a partner whose factor is always 1."""

    exponents: np.ndarray  # (n_pairs * PAIR,) logarithms of factors, to the base of 2
    gaps: np.ndarray  # (n_rows, n_pairs * PAIR) 1 - k, exact however small it is
    factors: np.ndarray  # (n_rows, n_pairs * PAIR) k
    shares: np.ndarray  # (n_rows, n_pairs * PAIR) what the values are the weighted sums of
    other_gaps: np.ndarray  # (n_pairs * PAIR,) 1 - b
    other_factors: np.ndarray  # (n_pairs * PAIR,) b
    sums: np.ndarray  # (PAIR,)
    records: np.ndarray  # one for each pair of players, and another one


def new_game(vectors, coefficients, first) -> Game:
    """A game for vectors (n, n_features), whose features are in the order of their players."""
    n_tiles = -(-len(vectors) // TILE)
    filled = np.minimum(np.arange(n_tiles * TILE), len(vectors) - 1)  # the last vector again, without a coefficient
    tiles = np.ascontiguousarray(vectors[filled].reshape(n_tiles, TILE, -1).transpose(0, 2, 1), np.float64)
    weights = np.zeros((len(coefficients), n_tiles * TILE))
    weights[:, : len(vectors)] = coefficients
    return Game(tiles, weights, np.asarray(first, np.int64))


def new_room(n_players: int, n_rows: int, n_background: int) -> Room:
    """Room to explain up to so many rows."""
    size = -(-n_players // 2) * PAIR
    together = max(1, min(16, n_rows, _BLOCK_VALUES // size)) if n_background else 1
    gaps, factors, shares = np.zeros((3, together, size))
    exponents, other_gaps, other_factors = np.zeros((3, size))
    records = np.zeros((size // PAIR + 1, int(_RECORD)))
    records[:, :PAIR] = 1.0  # where features are left out, factors start from 1
    return Room(exponents, gaps, factors, shares, other_gaps, other_factors, np.zeros(PAIR), records.ravel())


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
    n_rows, together, width = len(rows), len(room.gaps), game.tiles.shape[2]
    for tile in range(len(game.tiles)):
        for start in range(0, n_rows, together):
            count = min(together, n_rows - start)
            for i in range(count):
                _set_zero(room.shares[i])
                _compare(kernel, rows[start + i], game.tiles[tile], game.first, room.exponents)
                _set_gaps(room.exponents, room.gaps[i])
            if len(background) == 0:
                _leave_out(room.gaps[0], room.sums, room.records)
                _add_shares(rules, room, 0)
            else:
                _replace_all(kernel, rows, start, count, background, rules, game, tile, room)
            for i in range(count):
                _add_weighted(game.coefficients, tile, width, room.shares[i], max(1, len(background)), out[start + i])


@separate
def _replace_all(kernel, rows, start, count, background, rules, game, tile, room):
    """The shares of some rows and a tile, summed over all background rows."""
    for i in range(count):
        _compare(kernel, rows[start + i], game.tiles[tile], game.first, room.exponents)
        _set_factors(room.exponents, room.factors[i])
    for j in range(len(background)):
        _compare(kernel, background[j], game.tiles[tile], game.first, room.exponents)
        _set_gaps(room.exponents, room.other_gaps)
        _set_factors(room.exponents, room.other_factors)
        for i in range(count):
            _replace(room, i)
            _add_shares(rules, room, i)


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


@inlined
def _set_factors(exponents, factors):
    for c in range(factors.size):
        factors[c] = exp2_nonpositive(exponents[c])


@separate
def _leave_out(gaps, sums, records):
    """Factors from 1 to k, of features that are left out, and the sums of their gaps."""
    at, width = _NONE, np.uint64(sums.size)
    _set_zero(sums)
    for start in range(0, gaps.size, PAIR):
        gap = gaps[start:]
        for c in range(width):
            records[at + _STEP + c] = -gap[c]
        for c in range(width):
            sums[c] += gap[c]
        at += _RECORD


@separate
def _replace(room, i):
    """Factors from b to k, of features that are those of a background row, and the sums of their relative gaps."""
    records, sums = room.records, room.sums
    at, width = _NONE, np.uint64(sums.size)
    _set_zero(sums)
    for start in range(0, room.gaps.shape[1], PAIR):
        gap, k = room.gaps[i, start:], room.factors[i, start:]
        other_gap, b = room.other_gaps[start:], room.other_factors[start:]
        for c in range(width):
            # Two factors near 1 are subtracted by their gaps, and two near 0 as they are: no digits are lost.
            by_gaps, as_they_are = other_gap[c] - gap[c], k[c] - b[c]
            records[at + _STEP + c] = by_gaps if gap[c] + other_gap[c] < 1.0 else as_they_are
        for c in range(width):
            records[at + _START + c] = b[c]
        for c in range(width):
            sums[c] += abs(k[c] - b[c]) / larger(k[c], b[c])
        at += _RECORD


@inlined
def _rule_for(rules, sums):
    """The first rule that is exact enough for all vectors of a tile, from the sums of both players of all pairs."""
    most = 0.0
    for c in range(sums.size // 2):
        most = larger(most, sums[c] + sums[TILE + c])
    rule = 0
    while rule < rules.limits.size - 1 and most > rules.limits[rule]:
        rule += 1
    return rule


@separate
def _add_shares(rules, room, i):
    """Add ``(k - b)`` times the integrals to the shares of all players and vectors of a tile."""
    records, width = room.records, np.uint64(room.sums.size)
    n_pairs = np.uint64(room.shares.shape[1] // PAIR)
    at = _NONE
    for _ in range(n_pairs):
        for c in range(width):
            records[at + _INTEGRAL + c] = 0.0
        at += _RECORD
    rule = _rule_for(rules, room.sums)
    half = np.uint64(room.sums.size // 2)
    for m in range(rules.first[rule], rules.first[rule + 1], 2):
        _multiply_before(records, n_pairs, half, rules.nodes[m], rules.nodes[m + 1])
        _integrate(records, n_pairs, half, rules.nodes[m], rules.nodes[m + 1], rules.weights[m], rules.weights[m + 1])
    at = _NONE
    for start in range(0, room.shares.shape[1], PAIR):
        own = room.shares[i, start:]
        for c in range(width):
            own[c] += records[at + _STEP + c] * records[at + _INTEGRAL + c]
        at += _RECORD


@separate
def _multiply_before(records, n_pairs, width, s, t):
    """The products of all factors before each pair, at the nodes s and t."""
    at = _NONE
    for c in range(width):
        records[_BEFORE + c] = records[_NEXT_BEFORE + c] = 1.0
    for _ in range(n_pairs - _ONE):
        for c in range(width):
            start, step = records[at + _START + c], records[at + _STEP + c]
            next_start, next_step = records[at + _NEXT_START + c], records[at + _NEXT_STEP + c]
            by_s = (start + s * step) * (next_start + s * next_step)
            by_t = (start + t * step) * (next_start + t * next_step)
            records[at + _RECORD + _BEFORE + c] = records[at + _BEFORE + c] * by_s
            records[at + _RECORD + _NEXT_BEFORE + c] = records[at + _NEXT_BEFORE + c] * by_t
        at += _RECORD


@separate
def _integrate(records, n_pairs, width, s, t, weight_s, weight_t):
    """Add what both nodes add to the integrals, from the last pair to the first.

    The products of all factors after a pair, times the weight of the node, take the place of those before the next one.
    """
    at = (n_pairs - _ONE) * _RECORD
    for c in range(width):
        records[at + _RECORD + _BEFORE + c] = weight_s
        records[at + _RECORD + _NEXT_BEFORE + c] = weight_t
    for _ in range(n_pairs):
        for c in range(width):
            start, step = records[at + _START + c], records[at + _STEP + c]
            next_start, next_step = records[at + _NEXT_START + c], records[at + _NEXT_STEP + c]
            after_s, after_t = records[at + _RECORD + _BEFORE + c], records[at + _RECORD + _NEXT_BEFORE + c]
            others_s, others_t = records[at + _BEFORE + c] * after_s, records[at + _NEXT_BEFORE + c] * after_t
            own_s, own_t = start + s * step, start + t * step
            next_s, next_t = next_start + s * next_step, next_start + t * next_step
            records[at + _INTEGRAL + c] += others_s * next_s + others_t * next_t
            records[at + _NEXT_INTEGRAL + c] += others_s * own_s + others_t * own_t
            records[at + _BEFORE + c] = after_s * (own_s * next_s)
            records[at + _NEXT_BEFORE + c] = after_t * (own_t * next_t)
        at -= _RECORD


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
