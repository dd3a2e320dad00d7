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

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import COUNTED, stored, within
from frugalsvm.compiling.functions import compiled, larger, separate, smaller
from frugalsvm.core.cache import row_of_slot
from frugalsvm.core.kernels import self_value
from frugalsvm.core.merge import best_point
from frugalsvm.core.records import float_record, integer_record
from frugalsvm.exact.state import ExactState, new_state, with_rows_apart

NOBODY = 1e300  # the cost of a merge with nobody

COUNTS = integer_record("n_passed", "n_removed", "n_merged", "n_ignored", "n_tried", "n_stuck")
SUMS = float_record("C", "total")  # the present C, and the sum of the weights


class TVM(NamedTuple):
    """Parameters of the Twin Vector Machine."""

    kernel: NamedTuple
    budget: int
    total: float  # C times the sum of the weights, kept constant
    m1: float
    m2: float
    reject: float  # below 0: never
    one_sided: bool
    in_features: bool  # merge in feature space


_RENAMED = {"exact": "state", "tallies": "counts"}
_ROWS = {"of": ("plus", "minus", "cost", "cost_new", "costs"), "is_": ("known", "tried", "tried_new")}


def _earlier(fields):
    """Files of version 1 have the numbers of twins as rows of two matrices."""
    fields = {_RENAMED.get(name, name): each for name, each in fields.items()}
    return with_rows_apart(fields, _ROWS)


@stored("twins", earlier=_earlier)
class Twins(NamedTuple):
    state: ExactState
    # Of each twin, (capacity,)
    plus: Annotated[np.ndarray, "d s"]  # weights of the positive and of the negative examples that it stands for
    minus: Annotated[np.ndarray, "d s"]
    partner: Annotated[np.ndarray, "i s"]  # the remembered partner
    cost: Annotated[np.ndarray, "d s"]  # of the merge with it
    known: Annotated[np.ndarray, "? s"]  # whether it is the cheapest
    tried: Annotated[np.ndarray, "? s"]  # whether that merge was tried
    cost_new: Annotated[np.ndarray, "d s"]  # of the merge with the newcomer
    tried_new: Annotated[np.ndarray, "? s"]
    costs: Annotated[np.ndarray, "d s"]  # scratch
    side: Annotated[np.ndarray, "t s"]  # +1 or -1 of the boundary; 0 on it, and for new rows that are not noticed yet
    products: Annotated[np.ndarray, "d ss"]  # inner products of the twins: costs and merges are made of them
    merged: Annotated[np.ndarray, "d 2f"]  # (2, n_features) a merged twin, and the newcomer
    kernel_rows: Annotated[np.ndarray, "d 2s"]  # (2, capacity) their kernel values
    counts: Annotated[np.ndarray, COUNTS, "1", COUNTED]
    sums: Annotated[np.ndarray, SUMS, "1"]

    def is_sound(self, sizes) -> bool:
        """Whether partners are slots."""
        return within(self.partner, sizes["s"], -1) and within(self.side, 2, -1)


def new_twins(budget, n_features):
    state = new_state(budget, n_features, budget + 1)
    capacity = state.points.rows.shape[0]
    return Twins(
        state,
        plus=np.zeros(capacity),
        minus=np.zeros(capacity),
        partner=np.zeros(capacity, np.int64),
        cost=np.zeros(capacity),
        known=np.zeros(capacity, np.bool_),
        tried=np.zeros(capacity, np.bool_),
        cost_new=np.zeros(capacity),
        tried_new=np.zeros(capacity, np.bool_),
        costs=np.zeros(capacity),
        side=np.zeros(capacity, np.int8),
        products=np.zeros((capacity, capacity)),
        merged=np.zeros((2, n_features)),
        kernel_rows=np.zeros((2, capacity)),
        counts=np.zeros(1, COUNTS),
        sums=np.zeros(1, SUMS),
    )


@separate
def weight_of(twins, k):
    return twins.plus[k] + twins.minus[k]


@separate
def _costs(tvm, twins, cache, k):
    """The cost of merging k with each twin, whatever its side, as scratch."""
    points, costs = twins.state.points, twins.costs
    n = points.counts[0]["n_slots"]
    if tvm.in_features:
        row = row_of_slot(cache, tvm.kernel, points, k)
        own = self_value(tvm.kernel, points.norms[k])
        for j in range(n):
            other = self_value(tvm.kernel, points.norms[j])
            costs[j] = larger(own + other - 2.0 * cache.values[row, j], 0.0)
    else:
        for j in range(n):
            costs[j] = larger(points.norms[k] + points.norms[j] - 2.0 * twins.products[k, j], 0.0)
    s = weight_of(twins, k)
    for j in range(n):
        other = weight_of(twins, j)
        costs[j] *= s * other / (s + other)


@separate
def _recall(twins, k, partner, cost):
    twins.partner[k], twins.cost[k], twins.known[k] = partner, cost, True


@separate
def _look_around(tvm, twins, cache, k, tell_others):
    """Find the cheapest partner of k; ``tell_others`` of k as theirs."""
    _costs(tvm, twins, cache, k)
    best, cost = -1, NOBODY
    for j in range(twins.state.points.counts[0]["n_slots"]):
        if j != k and twins.side[j] == twins.side[k]:
            price = twins.costs[j]
            if price < cost:
                best, cost = j, price
            if tell_others and price < twins.cost[j]:
                _recall(twins, j, k, price)
    _recall(twins, k, best, cost)


@separate
def notice_sides(tvm, twins, cache):
    """Take note of twins that are new, or crossed the boundary: the others lose them, and they look around."""
    state = twins.state
    n, b = state.points.counts[0]["n_slots"], state.scalars[0]["bias"]
    for k in range(n):
        f = state.scores[k] + b
        side = np.int8(1 if f > 0.0 or not tvm.one_sided else -1 if f < 0.0 else 0)
        if side != twins.side[k] or side == 0:
            _depart(twins.partner, twins.known, k, n)
            twins.side[k] = side
            twins.cost[k] = NOBODY
            twins.known[k] = side == 0  # with nobody
            twins.tried[k] = True  # a mark for the loop below
    for k in range(n):
        if twins.tried[k]:
            twins.tried[k] = False
            if twins.side[k] != 0:
                _look_around(tvm, twins, cache, k, True)


@compiled
def _depart(partner, known, k, n):
    for j in range(n):
        if partner[j] == k:
            known[j] = False


@separate
def forget_tries(tvm, twins, products, norm, weight, side):
    """For a newcomer with such products and weight: all merges may be tried, also those with itself."""
    state = twins.state
    points = state.points
    own = self_value(tvm.kernel, norm)
    for k in range(points.counts[0]["n_slots"]):
        twins.tried[k] = False
        same_side = twins.side[k] == side and side != 0
        twins.tried_new[k] = not same_side
        if tvm.in_features:
            distance = own + self_value(tvm.kernel, points.norms[k]) - 2.0 * twins.kernel_rows[1, k]
        else:
            distance = norm + points.norms[k] - 2.0 * products[k]
        s = weight_of(twins, k)
        twins.cost_new[k] = larger(distance, 0.0) * s * weight / (s + weight)


@separate
def cheapest(tvm, twins, cache):
    """The cheapest merge that was not tried yet: (i, j), with j = -1 for the newcomer; i = -1 if there is none.

    Those with the newcomer come last. On equal terms they would nearly always be the cheapest, because its weight is
    small: twins would grow heavy and stay where they are, and on real data the model is much worse.
    """
    n = twins.state.points.counts[0]["n_slots"]
    while True:
        first, with_new, cost = -1, False, NOBODY
        for k in range(n):
            if not twins.tried[k] and twins.cost[k] < cost:
                first, with_new, cost = k, False, twins.cost[k]
        if first < 0:
            for k in range(n):
                if not twins.tried_new[k] and twins.cost_new[k] < cost:
                    first, with_new, cost = k, True, twins.cost_new[k]
        if first < 0:
            return first, -1
        if with_new:
            twins.tried_new[first] = True
            return first, -1
        if not twins.known[first]:
            _look_around(tvm, twins, cache, first, False)
            continue
        second = twins.partner[first]
        twins.tried[first] = True
        if twins.known[second] and twins.partner[second] == first:
            twins.tried[second] = True
        return smaller(first, second), larger(first, second)


@separate
def part_of_first(tvm, s_i, s_j, log_kappa):
    """Where the merged twin is on the way from the second to the first."""
    if tvm.in_features:
        return best_point(s_i * s_i, s_i * s_j, s_j * s_j, log_kappa)
    return s_i / (s_i + s_j)
