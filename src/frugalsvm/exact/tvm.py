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

from frugalsvm.compiling.functions import compiled, entry, larger, separate, smaller
from frugalsvm.core.cache import new_rows, note_insertion
from frugalsvm.core.expansion import whole_groups
from frugalsvm.core.fastmath import ADJACENT, copy_row, float64_sum, row_products, rows_dot
from frugalsvm.core.kernels import kernel_row, kernel_value, self_value
from frugalsvm.core.lookahead import example_norm, load, products_row, touch, write_example
from frugalsvm.core.merge import log_kernel_value
from frugalsvm.core.sources import new_source, rows_at_a_time
from frugalsvm.exact.active_set import DONE, TOLERANCE, repair, withdraw
from frugalsvm.exact.margin_set import leave
from frugalsvm.exact.passes import rescale, update_scores
from frugalsvm.exact.state import HIGH, LOW, beta_of, set_beta, set_box, set_zone, zone_of
from frugalsvm.exact.twins import cheapest, forget_tries, notice_sides, part_of_first, weight_of

REFRESH = 500  # accepted examples after which rounding errors are removed
MERGED, NEW = range(2)  # rows of `Twins.merged` and of `Twins.kernel_rows`


def new_cache(twins):
    """Room for the kernel rows of all twins."""
    capacity = twins.state.points.rows.shape[0]
    n = int(twins.state.points.counts[0]["n_slots"])
    return new_rows(8 * capacity * capacity, capacity, np.float64, filled=np.arange(n))


def learn(tvm, twins, cache, X, labels, weights, order=None):
    """Learn the rows of ``X``, with ``labels`` +1 and -1 and ``weights``, in ``order``."""
    order = np.arange(X.shape[0]) if order is None else order
    source = new_source(tvm.kernel, X, order, twins.state.points)
    _run(tvm, source, labels[order], weights[order], rows_at_a_time(source), twins, cache)


# What becomes of an example
PASSED, IGNORED, ADDED, REPLACES, MERGED_TWINS = range(5)


@entry
def _run(tvm, source, labels, weights, block_rows, twins, cache):
    """Learn a sequence of examples.

    The large pieces, ``withdraw`` and ``repair``, are called here and not further down: each level above them costs
    seconds of compilation.
    """
    state = twins.state
    points = state.points
    start = 0
    while start < labels.size:
        stop = start + load(source, start, smaller(block_rows, labels.size - start), points)
        first = start
        fate = PASSED
        while start < stop and fate != ADDED:  # the block's products have no place for a new slot
            i, label, weight = start - first, labels[start], weights[start]
            start += 1
            if weight <= 0.0:
                continue
            fate, slot = _judge(tvm, source, i, label, weight, twins, cache)
            if fate <= IGNORED:
                twins.counts[0]["n_passed"] += np.int64(fate == PASSED)
                twins.counts[0]["n_ignored"] += np.int64(fate == IGNORED)
                continue
            if fate == REPLACES:
                withdraw(tvm.kernel, state, cache, slot)
                twins.sums[0]["total"] -= weight_of(twins, slot)
                twins.counts[0]["n_removed"] += 1
            if slot >= 0:
                _put(tvm, source, i, label, weight, twins, cache, slot)
                touch(source, slot, points)
            points.counts[0]["n_updates"] += 1
            _adjust_C(tvm, twins, weight)
            repair(tvm.kernel, state, cache, REFRESH)
            if state.counts[0]["status"] != DONE:
                twins.counts[0]["n_stuck"] += 1
            if points.counts[0]["n_slots"] == tvm.budget:
                notice_sides(tvm, twins, cache)


@separate
def _judge(tvm, source, i, label, weight, twins, cache):
    """What is to become of an example, and the slot that it gets, if it gets one; makes a merge that is needed."""
    state = twins.state
    points, n = state.points, state.points.counts[0]["n_slots"]
    begin = products_row(source, i, points)
    norm = example_norm(source, i)
    products = source.products[begin:]
    kernel_row(tvm.kernel, products, points.norms, norm, twins.kernel_rows[NEW], whole_groups(n))
    points.counts[0]["n_kernel_evals"] += n
    points.counts[0]["n_seen"] += 1
    f = float64_sum(points.coef, 0, twins.kernel_rows[NEW], n) + state.scalars[0]["bias"]
    if n < tvm.budget:
        points.counts[0]["n_slots"] += 1
        return ADDED, n
    if abs(f) > tvm.m1:
        return PASSED, NOWHERE
    slot = _farthest(state.scores[:n], state.scalars[0]["bias"])
    if abs(state.scores[slot] + state.scalars[0]["bias"]) > tvm.m2 + TOLERANCE:  # with m2 = 1, the margin stays
        return REPLACES, slot
    write_example(source, i, twins.merged, NEW)
    side = np.int8(1 if f > 0.0 or not tvm.one_sided else -1 if f < 0.0 else 0)
    forget_tries(tvm, twins, products, norm, weight, side)
    while True:
        first, second = cheapest(tvm, twins, cache)
        if first < 0:
            return IGNORED, NOWHERE
        twins.counts[0]["n_tried"] += 1
        h = _try(tvm, twins, first, second, products, norm, weight, f)
        if h >= 0.0:
            _merge(tvm, twins, cache, first, second, h, label, weight)
            touch(source, first, points)
            twins.counts[0]["n_merged"] += 1
            return MERGED_TWINS, second  # none if the newcomer was one of the two


NOWHERE = -1


@compiled
def _farthest(g, b):
    best = 0
    for k in range(g.size):
        if abs(g[k] + b) > abs(g[best] + b):
            best = k
    return best


@separate
def _try(tvm, twins, first, second, products, norm, weight, f_new):
    """Where between the two the merged twin would be, or -1 if that is rejected. From inner products alone."""
    state = twins.state
    points, n, b = state.points, state.points.counts[0]["n_slots"], state.scalars[0]["bias"]
    s_i, f_i = weight_of(twins, first), state.scores[first] + b
    values = twins.kernel_rows[MERGED]
    if second >= 0:
        s_j, f_j, norm_j = weight_of(twins, second), state.scores[second] + b, points.norms[second]
        h = part_of_first(tvm, s_i, s_j, _log_kappa(tvm, twins, first, second))
        _mix(twins.products[first, :n], twins.products[second, :n], h, values[:n])
    else:
        s_j, f_j, norm_j = weight, f_new, norm
        h = part_of_first(tvm, s_i, s_j, _log_kappa(tvm, twins, first, second))
        _mix(twins.products[first, :n], products[:n], h, values[:n])
    overlap = twins.products[first, second] if second >= 0 else products[first]
    merged_norm = h * h * points.norms[first] + (1.0 - h) * ((1.0 - h) * norm_j + 2.0 * h * overlap)
    kernel_row(tvm.kernel, values, points.norms, merged_norm, values, whole_groups(n))
    points.counts[0]["n_kernel_evals"] += n
    f = float64_sum(points.coef, 0, values, n) + b
    estimate = (s_i * f_i + s_j * f_j) / (s_i + s_j)
    accepted = tvm.reject < 0.0 or abs(f - estimate) < tvm.reject * abs(estimate)
    return h if accepted else -1.0


@compiled
def _mix(a, b, h, out):
    for k in range(out.size):
        out[k] = h * a[k] + (1.0 - h) * b[k]


@separate
def _log_kappa(tvm, twins, first, second):
    """ln K of a pair; for merges in feature space only, whose kernel is Gaussian."""
    if not tvm.in_features:
        return 0.0
    points = twins.state.points
    if second < 0:
        return log_kernel_value(twins.kernel_rows[NEW], first)
    product = twins.products[first, second]
    value = kernel_value(tvm.kernel, product, points.norms[first], points.norms[second])
    return np.log(larger(value, 1e-300))


@compiled
def _between(A, i, other, j, h, out):
    for d in range(A.shape[1]):
        out[MERGED, d] = h * A[i, d] + (1.0 - h) * other[j, d]


@separate
def _take_beta(state, slot):
    """Empty a slot of its coefficient, for another point to come."""
    if state.margin_index[slot] >= 0:
        leave(state, slot)
    beta = beta_of(state, slot)
    state.change[slot] -= beta
    set_beta(state, slot, 0.0)
    return beta


@separate
def _merge(tvm, twins, cache, first, second, h, label, weight):
    """Put the merged twin into the first slot; the second one, if it is a slot, becomes free."""
    state = twins.state
    points, n = state.points, state.points.counts[0]["n_slots"]
    if second >= 0:
        _between(points.rows, first, points.rows, second, h, twins.merged)
    else:
        _between(points.rows, first, twins.merged, NEW, h, twins.merged)
    beta = _take_beta(state, first)
    if second >= 0:
        beta += _take_beta(state, second)
    update_scores(tvm.kernel, state, cache)
    if second >= 0:
        twins.plus[first] += twins.plus[second]
        twins.minus[first] += twins.minus[second]
    else:
        twins.plus[first] += weight if label > 0 else 0.0
        twins.minus[first] += 0.0 if label > 0 else weight
    values = twins.kernel_rows[MERGED]
    copy_row(points.rows, first, twins.merged, MERGED)
    norm = rows_dot(points.rows, first, points.rows, first)
    row_products(points.rows, first, points.rows, n, values, ADJACENT)
    _note_products(twins.products, first, values, n, norm)
    points.norms[first] = norm
    kernel_row(tvm.kernel, values, points.norms, norm, values, whole_groups(n))
    values[first] = self_value(tvm.kernel, norm)
    note_insertion(cache, first, values, n, cache.state[0]["clock"])
    state.scores[first] = float64_sum(points.coef, 0, values, n)
    set_box(state, first, twins.sums[0]["C"], twins.plus[first], twins.minus[first])
    beta = smaller(larger(beta, state.lower[first]), state.upper[first])
    zone = zone_of(state, first, beta)
    set_beta(state, first, beta)
    set_zone(state, first, zone)
    state.change[first] = beta_of(state, first)
    update_scores(tvm.kernel, state, cache)
    twins.side[first] = 0


@compiled
def _note_products(products, slot, values, n, norm):
    for k in range(n):
        products[slot, k] = products[k, slot] = values[k]
    products[slot, slot] = norm


@separate
def _put(tvm, source, i, label, weight, twins, cache, slot):
    """The newcomer as a twin of its own, not learned yet."""
    state = twins.state
    points, n = state.points, state.points.counts[0]["n_slots"]
    values = twins.kernel_rows[NEW]
    norm = example_norm(source, i)
    write_example(source, i, points.rows, slot)
    points.norms[slot] = norm
    begin = products_row(source, i, points)  # again, because a twin may have merged since
    products = source.products[begin:]
    _note_products(twins.products, slot, products, n, norm)
    kernel_row(tvm.kernel, products, points.norms, norm, values, whole_groups(n))
    values[slot] = self_value(tvm.kernel, norm)
    note_insertion(cache, slot, values, n, cache.state[0]["clock"])
    twins.plus[slot] = weight if label > 0 else 0.0
    twins.minus[slot] = 0.0 if label > 0 else weight
    set_box(state, slot, twins.sums[0]["C"], twins.plus[slot], twins.minus[slot])
    set_zone(state, slot, LOW if label > 0 else HIGH)
    state.scores[slot] = float64_sum(points.coef, 0, values, n)
    twins.side[slot] = 0


@separate
def _adjust_C(tvm, twins, weight):
    """Keep C times the sum of the weights constant."""
    twins.sums[0]["total"] += weight
    before = twins.sums[0]["C"]
    twins.sums[0]["C"] = tvm.total / twins.sums[0]["total"]
    if before > 0.0:
        rescale(twins.state, twins.sums[0]["C"] / before)
    else:
        _first_box(twins.state, twins)


@separate
def _first_box(state, twins):
    """The box of the first twin, which was made before there was a C."""
    set_box(state, 0, twins.sums[0]["C"], twins.plus[0], twins.minus[0])
    set_zone(state, 0, LOW if twins.plus[0] > 0.0 else HIGH)
