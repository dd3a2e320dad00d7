"""Budgeted passive-aggressive learning (Wang & Vucetic 2010): update and removal as one problem.

BSGD paper (Wang, Crammer & Vucetic 2012), section 2.4 and Table 1. When an example (x_t, y_t) has a loss and the
model w_t = sum_j alpha_j Phi(x_j) is full, then for each support vector r

    min  1/2 ||w - w_t||^2 + C xi    subject to    y_t <w, Phi(x_t)> >= 1 - xi,   xi >= 0,
    w = w_t - alpha_r Phi(x_r) + sum_{i in V} beta_i Phi(x_i)

over beta and xi, and the r of the least minimum is removed. V always has t in it: ``simple`` V = {t}; ``nn`` V = {n,
t}, n the support vector nearest to x_r; ``projecting`` V = all but r.

**Solution.** Let K be the kernel matrix on V, k_r and k_t the kernel values of V with x_r and x_t, and tau <= C the
multiplier of the margin. The derivative by beta gives K beta = alpha_r k_r + tau y_t k_t. As t is in V, k_t is a column
of K, hence

    beta = alpha_r d + tau y_t e_t,       d = K^-1 k_r,

where d projects Phi(x_r) on the span of V and leaves the value at x_t as it was. So the loss l becomes l - tau K_tt,
and tau = min(C, l / K_tt): the ordinary passive-aggressive step, for every r and V (``PassiveAggressive``). What is
left of the objective and depends on r is 1/2 alpha_r^2 rho_r, rho_r = k_rr - k_r'd: the support vector goes whose
projection on V loses least.

    simple       d_t = k_rt / k_tt,   rho_r = k_rr - k_rt^2 / k_tt
    nn           d_n = (k_tt k_rn - k_nt k_rt) / D,   d_t = (k_nn k_rt - k_nt k_rn) / D,   D = k_nn k_tt - k_nt^2
    projecting   with H the inverse of the kernel matrix of all, t included:  d_i = -H_ir / H_rr,   rho_r = 1 / H_rr

A newcomer in the span of x_n (D = 0) makes V = {t}; one in the span of all is itself projected on them.

**Cost.** ``simple`` needs only the newcomer's kernel row, which is at hand. ``nn`` remembers each support vector's
neighbor, and looks again only for those that lost theirs: O(B) expected. ``projecting`` keeps H, O(B^2).
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import Budget, renamed, stored
from frugalsvm.budgeted.neighbors import Neighbors, forget_slot, know_the_old, meet_newcomer
from frugalsvm.budgeted.policy import admit
from frugalsvm.budgeted.projection import (
    IN_SPAN,
    REFRESH,
    Span,
    narrow,
    newcomer_distance,
    replace_by_projection,
    widen,
)
from frugalsvm.compiling.functions import compiled, generic, inlined
from frugalsvm.core.expansion import free_slot, refresh_slot
from frugalsvm.core.fastmath import first_tied
from frugalsvm.core.kernels import UNIT_KERNELS, self_value
from frugalsvm.core.lookahead import touch

SAME = 1e-8  # squared distances below this part of the squared norm are zero


@stored("project-on-newcomer", kind="policy")
class ProjectOnNewcomer(NamedTuple):
    """BPA-S, V = {t}. For learners without a ball."""

    budget: Budget
    lost: Annotated[np.ndarray, "d s"]  # scratch: alpha_r^2 rho_r of each slot

    one_output = True


@stored("project-on-neighbor", kind="policy", earlier=renamed(neighbours="neighbors"))  # codespell:ignore
class ProjectOnNeighbor(NamedTuple):
    """BPA-NN, V = {n, t}. For learners without a ball."""

    budget: Budget
    lost: Annotated[np.ndarray, "d s"]
    neighbors: Neighbors

    one_output = True


@stored("project-on-all", kind="policy")
class ProjectOnAll(NamedTuple):
    """BPA-P, V = all others."""

    budget: Budget
    lost: Annotated[np.ndarray, "d s"]
    span: Span

    one_output = True


@inlined
def _give_and_free(kernel, source, expansion, dropped, heir, to_heir, newcomer, to_newcomer):
    """``alpha_heir += to_heir alpha_dropped`` and the same for the newcomer; then the slot is freed."""
    a = expansion.coef[0, dropped]
    expansion.coef[0, heir] += to_heir * a
    refresh_slot(expansion, kernel, heir)
    expansion.coef[0, newcomer] += to_newcomer * a
    refresh_slot(expansion, kernel, newcomer)
    if free_slot(expansion, dropped):
        touch(source, dropped, expansion)
    expansion.counts[0]["n_maintenance"] += 1


# --- simple -----------------------------------------------------------------------------------------------


@admit.implement(ProjectOnNewcomer, inline=False)
def _project_on_newcomer(policy, loss, kernel, ball, source, expansion, work):
    n = expansion.counts[0]["n_slots"]
    if n <= policy.budget:
        return 0.0
    newcomer = n - 1
    own = self_value(kernel, expansion.norms[newcomer])
    _losses_on_newcomer(expansion.sizes, expansion.coef, work.kernel_row, own, newcomer, policy.lost)
    dropped = first_tied(policy.lost, newcomer)
    lost = policy.lost[dropped]
    _give_and_free(kernel, source, expansion, dropped, newcomer, 0.0, newcomer, work.kernel_row[dropped] / own)
    return max(lost, 0.0)


@compiled
def _losses_on_newcomer(sizes, coef, kernel_row, own, n, lost):
    for r in range(n):
        overlap = coef[0, r] * kernel_row[r]
        lost[r] = sizes[r] - overlap * overlap / own


# --- nn ---------------------------------------------------------------------------------------------------


@admit.implement(ProjectOnNeighbor, inline=False)
def _project_on_neighbor(policy, loss, kernel, ball, source, expansion, work):
    n = expansion.counts[0]["n_slots"]
    newcomer = n - 1
    neighbors, row, norms = policy.neighbors, work.kernel_row, expansion.norms
    know_the_old(neighbors, kernel, source, expansion, work)
    if n <= policy.budget:
        meet_newcomer(neighbors, kernel, expansion, work)
        return 0.0
    own = self_value(kernel, norms[newcomer])
    heir_row, heir_norms = work.products, work.closeness
    _gather(row, neighbors.slot, newcomer, heir_row)
    _norms_of_heirs(kernel, norms, neighbors.slot, newcomer, heir_norms)
    _losses_on_neighbor(
        kernel, expansion.coef, norms, row, neighbors.value, heir_row, heir_norms, own, newcomer, policy.lost
    )
    dropped = first_tied(policy.lost, newcomer)
    lost = policy.lost[dropped]
    heir = neighbors.slot[dropped]  # budgets are at least 2
    k_rn, k_nt, k_rt = neighbors.value[dropped], np.float64(row[heir]), np.float64(row[dropped])
    to_heir, to_newcomer = _shares(self_value(kernel, norms[heir]), own, k_rn, k_nt, k_rt)
    meet_newcomer(neighbors, kernel, expansion, work)
    _give_and_free(kernel, source, expansion, dropped, heir, to_heir, newcomer, to_newcomer)
    forget_slot(neighbors, kernel, source, expansion, dropped, work)
    return max(lost, 0.0)


@compiled
def _shares(k_nn, k_tt, k_rn, k_nt, k_rt):
    """d_n and d_t"""
    determinant = k_nn * k_tt - k_nt * k_nt
    if determinant <= SAME * k_nn * k_tt:
        return 0.0, k_rt / k_tt
    return (k_tt * k_rn - k_nt * k_rt) / determinant, (k_nn * k_rt - k_nt * k_rn) / determinant


@generic
def _norms_of_heirs(kernel, norms, slot, n, out):
    """The squared norms of the neighbors of the first n slots, if K(x, x) depends on them."""


@_norms_of_heirs.implement()
def _gather_norms(kernel, norms, slot, n, out):
    _gather(norms, slot, n, out)


@_norms_of_heirs.implement(*UNIT_KERNELS)
def _unit_needs_no_norms(kernel, norms, slot, n, out):
    pass


@compiled
def _gather(values, slot, n, out):
    for r in range(n):
        out[r] = values[np.uint64(slot[r])]  # an index that is never negative


@compiled
def _losses_on_neighbor(kernel, coef, norms, row, value, heir_row, heir_norms, own, n, lost):
    """``alpha_r^2 rho_r`` of the first n slots: as ``_shares`` does it, with one division and without a branch.

    ``heir_row`` and ``heir_norms`` are what ``row`` and ``norms`` are for the neighbors: the loop is vectorized only if
    no place is looked up in it.
    """
    for r in range(n):
        k_rn, k_nt, k_rt = value[r], np.float64(heir_row[r]), np.float64(row[r])
        k_nn = self_value(kernel, heir_norms[r])
        determinant = k_nn * own - k_nt * k_nt
        projected = own * k_rn * k_rn - 2.0 * k_nt * k_rt * k_rn + k_nn * k_rt * k_rt
        is_same = determinant <= SAME * k_nn * own
        top, bottom = k_rt * k_rt if is_same else projected, own if is_same else determinant
        a = coef[0, r]
        lost[r] = a * a * (self_value(kernel, norms[r]) - top / bottom)


# --- projecting -------------------------------------------------------------------------------------------


@admit.implement(ProjectOnAll, inline=False)
def _project_on_all(policy, loss, kernel, ball, source, expansion, work):
    n = expansion.counts[0]["n_slots"]
    newcomer = n - 1
    span = policy.span
    distance = newcomer_distance(span, kernel, expansion, REFRESH * policy.budget, IN_SPAN)
    dropped = newcomer
    if distance > 0.0:
        widen(span, newcomer, distance)
        if n <= policy.budget:
            return 0.0
        for r in range(newcomer):
            policy.lost[r] = expansion.coef[0, r] * expansion.coef[0, r] / span.inverse[r, r]
        dropped = first_tied(policy.lost, newcomer)
        distance = narrow(span, n, dropped)
    return replace_by_projection(kernel, ball, source, expansion, dropped, span.solved, distance)
