"""Twin vectors: points that stand for many examples each, and which two of them to merge.

TVM paper (Wang & Vucetic 2009), section 4.2. A twin at q with the weights s+ and s-, s = s+ + s-, merges with another
one of the same side of the boundary (or of any side), at the cost of

    d_ij = s_i s_j / (s_i + s_j) D(i, j),

with D the squared distance in input space or in feature space. The merged twin is the weighted mean; in feature space
it is the point of the segment whose image is nearest to the mean of the images.

Every twin remembers its cheapest partner. When the partner is gone, or on the other side, the remembered cost is still
a lower bound, because a partner that went can only have been the cheapest: so a new one is looked for not before that
twin comes first in order. An arriving twin is compared with all.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import compiled, inlined
from frugalsvm._stored import stored, within
from frugalsvm.core.cache import row_of_slot
from frugalsvm.core.kernels import self_value
from frugalsvm.core.merge import best_point
from frugalsvm.exact.state import B as BIAS
from frugalsvm.exact.state import Exact, G, new_exact

__all__ = [
    "COST",
    "MINUS",
    "NOBODY",
    "N_IGNORED",
    "N_MERGED",
    "N_PASSED",
    "N_REMOVED",
    "N_STUCK",
    "N_TRIED",
    "PLUS",
    "Rules",
    "Twins",
    "cheapest",
    "forget_tries",
    "new_twins",
    "notice_sides",
    "part_of_first",
    "weight_of",
]

NOBODY = 1e300  # the cost of a merge with nobody

# Rows of `Twins.of`: weights, the cost of the remembered merge, that of a merge with the newcomer, scratch
PLUS, MINUS, COST, COST_NEW, SCRATCH = range(5)
# Rows of `Twins.is_`: the remembered partner is the cheapest; the merge, or that with the newcomer, was tried
KNOWN, TRIED, TRIED_NEW = range(3)
# Places in `Twins.tallies` and `Twins.sums`
N_PASSED, N_REMOVED, N_MERGED, N_IGNORED, N_TRIED, N_STUCK = range(6)
C, TOTAL = range(2)  # the present C, and the sum of the weights


class Rules(NamedTuple):
    """Parameters of the Twin Vector Machine."""

    kernel: NamedTuple
    budget: int
    total: float  # C times the sum of the weights, kept constant
    m1: float
    m2: float
    reject: float  # below 0: never
    one_sided: bool
    in_features: bool  # merge in feature space


@stored(
    "twins", arrays={"of": "d 5s", "is_": "? 3s", "partner": "i s", "side": "t s", "products": "d ss", "merged":
    "d 2f", "kernel_rows": "d 2s", "tallies": "i 6", "sums": "d 2"},
)  # fmt: skip
class Twins(NamedTuple):
    exact: Exact
    of: np.ndarray  # (5, capacity) floats named above
    is_: np.ndarray  # (3, capacity) booleans named above
    partner: np.ndarray  # (capacity,)
    side: np.ndarray  # (capacity,) +1 or -1 of the boundary; 0 on it, and for newcomers that nobody has noticed
    products: np.ndarray  # (capacity, capacity) inner products of the twins: costs and merges are made of them
    merged: np.ndarray  # (2, n_features) a merged twin, and the newcomer
    kernel_rows: np.ndarray  # (2, capacity) their kernel values
    tallies: np.ndarray
    sums: np.ndarray

    def is_sound(self, sizes) -> bool:
        """Whether partners are slots."""
        return within(self.partner, sizes["s"], -1) and within(self.side, 2, -1) and within(self.tallies)


def new_twins(budget, n_features):
    exact = new_exact(budget, n_features, budget + 1)
    capacity = exact.points.rows.shape[0]
    return Twins(
        exact,
        of=np.zeros((5, capacity)),
        is_=np.zeros((3, capacity), np.bool_),
        partner=np.zeros(capacity, np.int64),
        side=np.zeros(capacity, np.int8),
        products=np.zeros((capacity, capacity)),
        merged=np.zeros((2, n_features)),
        kernel_rows=np.zeros((2, capacity)),
        tallies=np.zeros(6, np.int64),
        sums=np.zeros(2),
    )


@inlined
def weight_of(twins, k):
    return twins.of[PLUS, k] + twins.of[MINUS, k]


@inlined
def _costs(rules, twins, rows, k):
    """The cost of merging k with each twin, whatever its side, as scratch."""
    points, costs = twins.exact.points, twins.of[SCRATCH]
    n = points.counts[0]["n_slots"]
    if rules.in_features:
        row = row_of_slot(rows, rules.kernel, points, k)
        own = self_value(rules.kernel, points.norms[k])
        for j in range(n):
            other = self_value(rules.kernel, points.norms[j])
            costs[j] = max(own + other - 2.0 * rows.values[row, j], 0.0)
    else:
        for j in range(n):
            costs[j] = max(points.norms[k] + points.norms[j] - 2.0 * twins.products[k, j], 0.0)
    s = weight_of(twins, k)
    for j in range(n):
        other = weight_of(twins, j)
        costs[j] *= s * other / (s + other)


@inlined
def _recall(twins, k, partner, cost):
    twins.partner[k], twins.of[COST, k], twins.is_[KNOWN, k] = partner, cost, True


@inlined
def _look_around(rules, twins, rows, k, tell_others):
    """Find the cheapest partner of k; ``tell_others`` of k as theirs."""
    _costs(rules, twins, rows, k)
    best, cost = -1, NOBODY
    for j in range(twins.exact.points.counts[0]["n_slots"]):
        if j != k and twins.side[j] == twins.side[k]:
            price = twins.of[SCRATCH, j]
            if price < cost:
                best, cost = j, price
            if tell_others and price < twins.of[COST, j]:
                _recall(twins, j, k, price)
    _recall(twins, k, best, cost)


@inlined
def notice_sides(rules, twins, rows):
    """Take note of twins that are new, or crossed the boundary: the others lose them, and they look around."""
    exact = twins.exact
    n, b = exact.points.counts[0]["n_slots"], exact.scalars[BIAS]
    for k in range(n):
        f = exact.of[G, k] + b
        side = np.int8(1 if f > 0.0 or not rules.one_sided else -1 if f < 0.0 else 0)
        if side != twins.side[k] or side == 0:
            _depart(twins.partner, twins.is_, k, n)
            twins.side[k] = side
            twins.of[COST, k] = NOBODY
            twins.is_[KNOWN, k] = side == 0  # with nobody
            twins.is_[TRIED, k] = True  # a mark for the loop below
    for k in range(n):
        if twins.is_[TRIED, k]:
            twins.is_[TRIED, k] = False
            if twins.side[k] != 0:
                _look_around(rules, twins, rows, k, True)


@compiled
def _depart(partner, is_, k, n):
    for j in range(n):
        if partner[j] == k:
            is_[KNOWN, j] = False


@inlined
def forget_tries(rules, twins, products, norm, weight, side):
    """For a newcomer with such products and weight: all merges may be tried, also those with itself."""
    exact = twins.exact
    points = exact.points
    own = self_value(rules.kernel, norm)
    for k in range(points.counts[0]["n_slots"]):
        twins.is_[TRIED, k] = False
        same_side = twins.side[k] == side and side != 0
        twins.is_[TRIED_NEW, k] = not same_side
        if rules.in_features:
            distance = own + self_value(rules.kernel, points.norms[k]) - 2.0 * twins.kernel_rows[1, k]
        else:
            distance = norm + points.norms[k] - 2.0 * products[k]
        s = weight_of(twins, k)
        twins.of[COST_NEW, k] = max(distance, 0.0) * s * weight / (s + weight)


@inlined
def cheapest(rules, twins, rows):
    """The cheapest merge that was not tried yet: (i, j), with j = -1 for the newcomer; i = -1 if there is none.

    Those with the newcomer come last. On equal terms they would nearly always be the cheapest, because its weight is
    small: twins would grow heavy and stay where they are, and on real data the model is much worse.
    """
    n = twins.exact.points.counts[0]["n_slots"]
    while True:
        first, with_new, cost = -1, False, NOBODY
        for k in range(n):
            if not twins.is_[TRIED, k] and twins.of[COST, k] < cost:
                first, with_new, cost = k, False, twins.of[COST, k]
        if first < 0:
            for k in range(n):
                if not twins.is_[TRIED_NEW, k] and twins.of[COST_NEW, k] < cost:
                    first, with_new, cost = k, True, twins.of[COST_NEW, k]
        if first < 0:
            return first, -1
        if with_new:
            twins.is_[TRIED_NEW, first] = True
            return first, -1
        if not twins.is_[KNOWN, first]:
            _look_around(rules, twins, rows, first, False)
            continue
        second = twins.partner[first]
        twins.is_[TRIED, first] = True
        if twins.is_[KNOWN, second] and twins.partner[second] == first:
            twins.is_[TRIED, second] = True
        return min(first, second), max(first, second)


@inlined
def part_of_first(rules, s_i, s_j, log_kappa):
    """Where the merged twin is on the way from the second to the first."""
    if rules.in_features:
        return best_point(s_i * s_i, s_i * s_j, s_j * s_j, log_kappa)
    return s_i / (s_i + s_j)
