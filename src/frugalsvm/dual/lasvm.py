"""LASVM: the online SVM with a bias (Bordes, Ertekin, Weston & Bottou 2005; LASVM-NC paper, section 3).

The bias makes sum_k alpha_k = 0 a constraint, so alphas move in pairs (i, j) by opposite amounts: i may rise, j may
fall, and the pair violates optimality by g_i - g_j > tau, with g the gradients without the bias. For every example::

    PROCESS:    it becomes a member; its partner is the worst of those that can go the other way
    REPROCESS:  once, on the worst pair; then members leave that cannot come back: alpha = 0 and
                y = -1 with g >= max g of those that may rise, or y = +1 with g <= min g of those that may fall
    FINISH:     at the end, REPROCESS until no pair violates by more than tau

With ``second_order``, j is not the least gradient but the largest gain (g_i - g_j)^2 / (K_ii + K_jj - 2 K_ij). The
bias is half way between the two extreme gradients. While few examples of one class were seen nobody leaves: as long as
there are none there is no pair, and in a stream sorted by label the first pairs would dismiss what matters later.

Its duality gap, with sum alpha = 0, is  sum_k ( c_k max(0, Y_k (g_k - b)) - alpha_k g_k ).
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._stored import Count, NotNegative, Positive, stored
from frugalsvm.compiling.functions import compiled, larger, separate, smaller
from frugalsvm.core.cache import row_of_slot
from frugalsvm.core.fastmath import float64_sum
from frugalsvm.core.kernels import self_value
from frugalsvm.core.outputs import sign_of
from frugalsvm.dual.online import newcomers_row, reprocess, visit
from frugalsvm.dual.state import MIDDLE, UNKNOWN
from frugalsvm.dual.steps import change_alpha
from frugalsvm.dual.working_set import admit_member, dismiss, meet, one_sided, take_slot

NOBODY = 1e300  # the gradient of nobody who may rise or fall
TIE = 1e-12


@stored("lasvm")
class LASVM(NamedTuple):
    """Parameters of LASVM."""

    kernel: NamedTuple
    C: Positive
    tau: NotNegative
    pairs: bool  # choose the partner by the gain
    few: Count  # examples of each class there must be before any may leave


@compiled
def _extremes(gradient, up, down, c, n):
    """The largest gradient of those that may rise, and the least of those that may fall."""
    most, least = -NOBODY, NOBODY
    for k in range(n):
        g, u, d = np.float64(gradient[c, k]), up[c, k], down[c, k]
        most = larger(most, g if u > 0.0 else -NOBODY)
        least = smaller(least, g if d > 0.0 else NOBODY)
    return most, least


@compiled
def _riser(gradient, up, c, most, n):
    """The first that may rise with the largest gradient, up to rounding: after a step two are often equal."""
    limit = most - TIE * abs(most)
    for k in range(n):
        if gradient[c, k] >= limit and up[c, k] > 0.0:
            return k
    return -1


@compiled
def _faller(gradient, down, c, least, n):
    limit = least + TIE * abs(least)
    for k in range(n):
        if gradient[c, k] <= limit and down[c, k] > 0.0:
            return k
    return -1


@compiled
def _best_partner(kernel, gradient, down, c, norms, row, g_i, own, n, gains):
    """The j of the largest (g_i - g_j)^2 / (K_ii + K_jj - 2 K_ij) among those that may fall."""
    best = 0.0
    for j in range(n):
        drop = larger(g_i - np.float64(gradient[c, j]), 0.0)
        both = own + self_value(kernel, norms[j])
        curvature = larger(both - 2.0 * np.float64(row[j]), TIE * both)
        gain = drop * drop / curvature if down[c, j] > 0.0 else 0.0
        gains[j] = gain
        best = larger(best, gain)
    limit = best - TIE * best
    for j in range(n):
        if gains[j] >= limit:
            return j
    return -1


@compiled
def _shift(gradient, c, row_i, row_j, step, n):
    """``g -= step (K_i - K_j)``"""
    for k in range(n):
        gradient[c, k] -= step * (np.float64(row_i[k]) - np.float64(row_j[k]))


@separate
def _move_pair(kernel, state, cache, c, i, j, work):
    """The best step that raises i and lowers j by the same amount."""
    working_set = state.working_set
    row_i = row_of_slot(cache, kernel, working_set, i)
    row_j = row_of_slot(cache, kernel, working_set, j)
    both = self_value(kernel, working_set.norms[i]) + self_value(kernel, working_set.norms[j])
    curvature = larger(both - 2.0 * np.float64(cache.values[row_i, j]), TIE * both if both > 0.0 else TIE)
    step = (np.float64(state.gradient[c, i]) - np.float64(state.gradient[c, j])) / curvature
    step = smaller(step, np.float64(smaller(state.up[c, i], state.down[c, j])))
    change_alpha(state, c, i, step)
    change_alpha(state, c, j, -step)
    _shift(state.gradient, c, cache.values[row_i], cache.values[row_j], step, working_set.counts[0]["n_slots"])
    state.sums[c]["h_squared"] = UNKNOWN


@separate
def _set_bias(state, c):
    """Half way between the extremes; the one there is while nobody can go the other way. Returns them."""
    most, least = _extremes(state.gradient, state.up, state.down, c, state.working_set.counts[0]["n_slots"])
    if most > -NOBODY and least < NOBODY:
        state.sums[c]["bias"] = 0.5 * (most + least)
    elif most > -NOBODY or least < NOBODY:
        state.sums[c]["bias"] = most if most > -NOBODY else least
    return most, least


@visit.implement(LASVM)
def _visit(learner, source, i, label, box, row, known, state, cache, work):
    newcomers_row(learner.kernel, source, i, state, work)
    n = state.working_set.counts[0]["n_slots"]
    n_outputs = state.bound.shape[0]
    slot = known
    for c in range(n_outputs):
        if slot < 0 or state.bound[c, slot] == 0.0:
            y = sign_of(label, c, n_outputs)
            meet(state, c, y)
            f = float64_sum(state.working_set.coef, c, work.kernel_row, n)
            if slot < 0:
                slot = take_slot(learner.kernel, source, i, row, state, cache, work)
            admit_member(state, c, slot, y, y * box, y - f, MIDDLE, work.kernel_row[slot])
            _process(learner, state, cache, c, slot, work)
            _set_bias(state, c)
        reprocess(learner, learner.tau, state, cache, c, work)


@separate
def _process(learner, state, cache, c, slot, work):
    """PROCESS: a step with the member that violates most together with the newcomer."""
    n = state.working_set.counts[0]["n_slots"]
    most, least = _extremes(state.gradient, state.up, state.down, c, n)
    g = np.float64(state.gradient[c, slot])
    if state.bound[c, slot] > 0.0:
        if least < NOBODY and g - least > learner.tau:
            _move_pair(learner.kernel, state, cache, c, slot, _faller(state.gradient, state.down, c, least, n), work)
            state.working_set.counts[0]["n_updates"] += 1
    elif most > -NOBODY and most - g > learner.tau:
        _move_pair(learner.kernel, state, cache, c, _riser(state.gradient, state.up, c, most, n), slot, work)
        state.working_set.counts[0]["n_updates"] += 1


@reprocess.implement(LASVM)
def _reprocess(learner, tau, state, cache, c, work):
    working_set = state.working_set
    n = working_set.counts[0]["n_slots"]
    most, least = _extremes(state.gradient, state.up, state.down, c, n)
    if most == -NOBODY or least == NOBODY or most - least <= tau:
        return False
    i = _riser(state.gradient, state.up, c, most, n)
    if i < 0:  # gradients overflowed
        return False
    if learner.pairs:
        row = cache.values[row_of_slot(cache, learner.kernel, working_set, i)]
        own = self_value(learner.kernel, working_set.norms[i])
        g_i = np.float64(state.gradient[c, i])
        j = _best_partner(
            learner.kernel, state.gradient, state.down, c, working_set.norms, row, g_i, own, n, work.sizes
        )
    else:
        j = _faller(state.gradient, state.down, c, least, n)
    if j < 0:
        return False
    _move_pair(learner.kernel, state, cache, c, i, j, work)
    state.counts[c]["n_reprocess"] += 1
    most, least = _set_bias(state, c)
    if one_sided(state, c, learner.few):
        return True
    for k in range(n):
        if state.bound[c, k] != 0.0 and working_set.coef[c, k] == 0.0:
            g = np.float64(state.gradient[c, k])
            if g <= least if state.bound[c, k] > 0.0 else g >= most:
                dismiss(state, cache, c, k)
    return True
