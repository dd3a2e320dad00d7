"""The Twin Vector Machine: an SVM on a fixed number of twin vectors that is optimal on them at every moment.

TVM paper (Z. Wang, S. Vucetic, "Twin vector machines for online learning on a budget", SDM 2009), section 4::

    Beneficial:   while there are fewer than B twins, or if |f(x)| <= m1
    UpdateTV:     the newcomer takes a free slot; or that of the twin with the largest |f|, if that is above m2;
                  or two twins merge, of which one may be the newcomer: the cheapest pair that is not rejected
    UpdateTVM:    C is scaled so that C times the sum of the weights stays the same, and the SVM is made optimal

A merge is rejected if f at the merged twin is off its estimate, the weighted mean of the two, by more than a part
``reject`` of it: there the boundary is curved.

Deviations, each found by measurement: the paper gives up after the second pair, which blocks the model for ever when
those two are rejected (nothing changes, so they will be again); here the pair of every twin with its cheapest partner
is tried in order, and then those of the newcomer with each twin, so that one that is near to a twin always gets in. A
twin that is removed is unlearned, since it may carry mass. For a negative estimate the printed test flips.
"""

import numpy as np

from frugalsvm._compile import compiled, entry, inlined, separate
from frugalsvm.core.cache import new_rows, note_insertion
from frugalsvm.core.expansion import whole_groups
from frugalsvm.core.fastmath import copy_row, float64_sum, row_products, rows_dot
from frugalsvm.core.kernels import kernel_row, kernel_value, self_value
from frugalsvm.core.lookahead import example_norm, load, products_row, touch, write_example
from frugalsvm.core.merge import log_kernel_value
from frugalsvm.core.sources import new_source, rows_at_a_time
from frugalsvm.exact.active_set import DONE, TOLERANCE, repair, withdraw
from frugalsvm.exact.margin_set import leave
from frugalsvm.exact.passes import rescale, update_g
from frugalsvm.exact.state import (
    CHANGE,
    HI,
    HIGH,
    LO,
    LOW,
    STATUS,
    B,
    G,
    beta_of,
    set_beta,
    set_ends,
    stand,
    zone_of,
)
from frugalsvm.exact.twins import (
    MINUS,
    N_IGNORED,
    N_MERGED,
    N_PASSED,
    N_REMOVED,
    N_STUCK,
    N_TRIED,
    PLUS,
    TOTAL,
    C,
    cheapest,
    forget_tries,
    notice_sides,
    part_of_first,
    weight_of,
)

__all__ = ["learn", "new_cache"]

REFRESH = 500  # accepted examples after which rounding errors are removed
MERGED, NEW = range(2)  # rows of `Twins.merged` and of `Twins.kernel_rows`


def new_cache(twins):
    """Room for the kernel rows of all twins."""
    capacity = twins.exact.points.rows.shape[0]
    n = int(twins.exact.points.counts[0]["n_slots"])
    return new_rows(8 * capacity * capacity, capacity, np.float64, filled=np.arange(n))


def learn(rules, twins, rows, X, labels, weights, order=None):
    """Learn the rows of ``X``, with ``labels`` +1 and -1 and ``weights``, in ``order``."""
    order = np.arange(X.shape[0]) if order is None else order
    source = new_source(X, order, twins.exact.points)
    _run(rules, source, labels[order], weights[order], rows_at_a_time(source), twins, rows)


# What becomes of an example
PASSED, IGNORED, ADDED, REPLACES, MERGED_TWINS = range(5)


@entry
def _run(rules, source, labels, weights, block_rows, twins, rows):
    """Learn a sequence of examples.

    The large pieces, ``withdraw`` and ``repair``, are called here and not further down: each level above them costs
    seconds of compilation.
    """
    exact = twins.exact
    points = exact.points
    start = 0
    while start < labels.size:
        stop = start + load(source, start, min(block_rows, labels.size - start), points)
        first = start
        fate = PASSED
        while start < stop and fate != ADDED:  # the block's products have no place for a new slot
            i, label, weight = start - first, labels[start], weights[start]
            start += 1
            if weight <= 0.0:
                continue
            fate, slot = _judge(rules, source, i, label, weight, twins, rows)
            if fate <= IGNORED:
                twins.tallies[N_PASSED if fate == PASSED else N_IGNORED] += 1
                continue
            if fate == REPLACES:
                withdraw(rules.kernel, exact, rows, slot)
                twins.sums[TOTAL] -= weight_of(twins, slot)
                twins.tallies[N_REMOVED] += 1
            if slot >= 0:
                _put(rules, source, i, label, weight, twins, rows, slot)
                touch(source, slot, points)
            points.counts[0]["n_updates"] += 1
            _adjust_C(rules, twins, weight)
            repair(rules.kernel, exact, rows, REFRESH)
            if exact.counts[STATUS] != DONE:
                twins.tallies[N_STUCK] += 1
            if points.counts[0]["n_slots"] == rules.budget:
                notice_sides(rules, twins, rows)


@inlined
def _judge(rules, source, i, label, weight, twins, rows):
    """What is to become of an example, and the slot that it gets, if it gets one; makes a merge that is needed."""
    exact = twins.exact
    points, n = exact.points, exact.points.counts[0]["n_slots"]
    begin = products_row(source, i, points)
    norm = example_norm(source, i)
    products = source.products[begin:]
    kernel_row(rules.kernel, products, points.norms, norm, twins.kernel_rows[NEW], whole_groups(n))
    points.counts[0]["n_kernel_evals"] += n
    points.counts[0]["n_seen"] += 1
    f = float64_sum(points.coef, 0, twins.kernel_rows[NEW], n) + exact.scalars[B]
    if n < rules.budget:
        points.counts[0]["n_slots"] += 1
        return ADDED, n
    if abs(f) > rules.m1:
        return PASSED, NOWHERE
    slot = _farthest(exact.of[G, :n], exact.scalars[B])
    if abs(exact.of[G, slot] + exact.scalars[B]) > rules.m2 + TOLERANCE:  # with m2 = 1, the margin stays
        return REPLACES, slot
    write_example(source, i, twins.merged, NEW)
    side = np.int8(1 if f > 0.0 or not rules.one_sided else -1 if f < 0.0 else 0)
    forget_tries(rules, twins, products, norm, weight, side)
    while True:
        first, second = cheapest(rules, twins, rows)
        if first < 0:
            return IGNORED, NOWHERE
        twins.tallies[N_TRIED] += 1
        h = _try(rules, twins, first, second, products, norm, weight, f)
        if h >= 0.0:
            _merge(rules, twins, rows, first, second, h, label, weight)
            touch(source, first, points)
            twins.tallies[N_MERGED] += 1
            return MERGED_TWINS, second  # none if the newcomer was one of the two


NOWHERE = -1


@compiled
def _farthest(g, b):
    best = 0
    for k in range(g.size):
        if abs(g[k] + b) > abs(g[best] + b):
            best = k
    return best


@inlined
def _try(rules, twins, first, second, products, norm, weight, f_new):
    """Where between the two the merged twin would be, or -1 if that is rejected. From inner products alone."""
    exact = twins.exact
    points, n, b = exact.points, exact.points.counts[0]["n_slots"], exact.scalars[B]
    s_i, f_i = weight_of(twins, first), exact.of[G, first] + b
    values = twins.kernel_rows[MERGED]
    if second >= 0:
        s_j, f_j, norm_j = weight_of(twins, second), exact.of[G, second] + b, points.norms[second]
        h = part_of_first(rules, s_i, s_j, _log_kappa(rules, twins, first, second))
        _mix(twins.products[first, :n], twins.products[second, :n], h, values[:n])
    else:
        s_j, f_j, norm_j = weight, f_new, norm
        h = part_of_first(rules, s_i, s_j, _log_kappa(rules, twins, first, second))
        _mix(twins.products[first, :n], products[:n], h, values[:n])
    overlap = twins.products[first, second] if second >= 0 else products[first]
    merged_norm = h * h * points.norms[first] + (1.0 - h) * ((1.0 - h) * norm_j + 2.0 * h * overlap)
    kernel_row(rules.kernel, values, points.norms, merged_norm, values, whole_groups(n))
    points.counts[0]["n_kernel_evals"] += n
    f = float64_sum(points.coef, 0, values, n) + b
    estimate = (s_i * f_i + s_j * f_j) / (s_i + s_j)
    accepted = rules.reject < 0.0 or abs(f - estimate) < rules.reject * abs(estimate)
    return h if accepted else -1.0


@compiled
def _mix(a, b, h, out):
    for k in range(out.size):
        out[k] = h * a[k] + (1.0 - h) * b[k]


@inlined
def _log_kappa(rules, twins, first, second):
    """ln K of a pair; for merges in feature space only, whose kernel is Gaussian."""
    if not rules.in_features:
        return 0.0
    points = twins.exact.points
    if second < 0:
        return log_kernel_value(twins.kernel_rows[NEW], first)
    product = twins.products[first, second]
    value = kernel_value(rules.kernel, product, points.norms[first], points.norms[second])
    return np.log(max(value, 1e-300))


@compiled
def _between(A, i, other, j, h, out):
    for d in range(A.shape[1]):
        out[MERGED, d] = h * A[i, d] + (1.0 - h) * other[j, d]


@inlined
def _take_beta(exact, slot):
    """Empty a slot of its coefficient, for another point to come."""
    if exact.place[slot] >= 0:
        leave(exact, slot)
    beta = beta_of(exact, slot)
    exact.of[CHANGE, slot] -= beta
    set_beta(exact, slot, 0.0)
    return beta


@separate
def _merge(rules, twins, rows, first, second, h, label, weight):
    """Put the merged twin into the first slot; the second one, if it is a slot, becomes free."""
    exact = twins.exact
    points, n = exact.points, exact.points.counts[0]["n_slots"]
    if second >= 0:
        _between(points.rows, first, points.rows, second, h, twins.merged)
    else:
        _between(points.rows, first, twins.merged, NEW, h, twins.merged)
    beta = _take_beta(exact, first)
    if second >= 0:
        beta += _take_beta(exact, second)
    update_g(rules.kernel, exact, rows)
    if second >= 0:
        twins.of[PLUS, first] += twins.of[PLUS, second]
        twins.of[MINUS, first] += twins.of[MINUS, second]
    else:
        twins.of[PLUS if label > 0 else MINUS, first] += weight
    values = twins.kernel_rows[MERGED]
    copy_row(points.rows, first, twins.merged, MERGED)
    norm = rows_dot(points.rows, first, points.rows, first)
    row_products(points.rows, first, points.rows, n, values)
    _note_products(twins.products, first, values, n, norm)
    points.norms[first] = norm
    kernel_row(rules.kernel, values, points.norms, norm, values, whole_groups(n))
    values[first] = self_value(rules.kernel, norm)
    note_insertion(rows, first, values, n, rows.state[0]["clock"])
    exact.of[G, first] = float64_sum(points.coef, 0, values, n)
    set_ends(exact, first, twins.sums[C], twins.of[PLUS, first], twins.of[MINUS, first])
    beta = min(max(beta, exact.of[LO, first]), exact.of[HI, first])
    zone = zone_of(exact, first, beta)
    set_beta(exact, first, beta)
    stand(exact, first, zone)
    exact.of[CHANGE, first] = beta_of(exact, first)
    update_g(rules.kernel, exact, rows)
    twins.side[first] = 0


@compiled
def _note_products(products, slot, values, n, norm):
    for k in range(n):
        products[slot, k] = products[k, slot] = values[k]
    products[slot, slot] = norm


@inlined
def _put(rules, source, i, label, weight, twins, rows, slot):
    """The newcomer as a twin of its own, not learned yet."""
    exact = twins.exact
    points, n = exact.points, exact.points.counts[0]["n_slots"]
    values = twins.kernel_rows[NEW]
    norm = example_norm(source, i)
    write_example(source, i, points.rows, slot)
    points.norms[slot] = norm
    begin = products_row(source, i, points)  # again, because a twin may have merged since
    products = source.products[begin:]
    _note_products(twins.products, slot, products, n, norm)
    kernel_row(rules.kernel, products, points.norms, norm, values, whole_groups(n))
    values[slot] = self_value(rules.kernel, norm)
    note_insertion(rows, slot, values, n, rows.state[0]["clock"])
    twins.of[PLUS, slot] = weight if label > 0 else 0.0
    twins.of[MINUS, slot] = 0.0 if label > 0 else weight
    set_ends(exact, slot, twins.sums[C], twins.of[PLUS, slot], twins.of[MINUS, slot])
    stand(exact, slot, LOW if label > 0 else HIGH)
    exact.of[G, slot] = float64_sum(points.coef, 0, values, n)
    twins.side[slot] = 0


@inlined
def _adjust_C(rules, twins, weight):
    """Keep C times the sum of the weights constant."""
    twins.sums[TOTAL] += weight
    before = twins.sums[C]
    twins.sums[C] = rules.total / twins.sums[TOTAL]
    if before > 0.0:
        rescale(twins.exact, twins.sums[C] / before)
    else:
        _first_ends(twins.exact, twins)


@inlined
def _first_ends(exact, twins):
    """The box of the first twin, which was made before there was a C."""
    set_ends(exact, 0, twins.sums[C], twins.of[PLUS, 0], twins.of[MINUS, 0])
    stand(exact, 0, LOW if twins.of[PLUS, 0] > 0.0 else HIGH)
