"""Budget maintenance: what happens when there is one support vector too many.

BSGD paper (Wang, Crammer & Vucetic 2012), section 6. Notation: support vectors ``x_j`` with coefficient
vectors ``a_j``; the degradation is ``||Delta||``, the norm of what the model loses; the *size* of a support
vector is ``||a_j||^2 K(x_j, x_j)``. All quantities here are in raw units (without the model's lazy scale).

A policy is a NamedTuple with one body of ``admit``, which is called after a newcomer was written to the last
slot and returns the squared degradation. A new policy is one such pair and a line in ``POLICIES``.

Choices among equals (relative slack in brackets), so that results can be reproduced:

* removal takes the smallest; of equals [1e-12] the oldest. With Pegasos all have the same size, and the paper
  lets the choice be arbitrary; always taking the first slot would freeze the others for ever.
* projection and merging take the smallest, and prefer the newcomer [1e-9], whose kernel row is at hand.

Deviations from the paper: a newcomer that is numerically in the span of the others (squared distance below
1e-8 of its squared norm) is projected at once, full or not, since its row would make the kernel matrix
singular; and with one output, vectors are merged with vectors of the same sign only, unless there is none.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import compiled, entry, generic, inlined
from frugalsvm.budgeted.ball import note_merge, note_projection, note_removal
from frugalsvm.core.expansion import (
    N_KERNEL_EVALS,
    N_MAINTENANCE,
    N_SEEN,
    N_SLOTS,
    exact_kernel,
    free_slot,
    refresh_slot,
    slot_kernel_row,
)
from frugalsvm.core.fastmath import first_argmin, minimum, rows_dot
from frugalsvm.core.inverse import grow_inverse, inverse_times, shrink_inverse
from frugalsvm.core.lookahead import touch
from frugalsvm.core.merge import best_partner, between, log_kernel_value, merge_factors

__all__ = ["POLICIES", "Freeze", "Merge", "Project", "Remove", "Unlimited", "admit", "frozen", "new_policy"]

TIE = 1.0 + 1e-12
NEWCOMER_SLACK = 1.0 + 1e-9
IN_SPAN = 1e-8


class Unlimited(NamedTuple):
    """No budget: the parent algorithm."""


class Remove(NamedTuple):
    """Drop the smallest support vector (section 6.1)."""

    budget: int


class Project(NamedTuple):
    """Project the smallest support vector on all others (section 6.2), O(B^2)."""

    budget: int
    inverse: np.ndarray  # of the kernel matrix of the slots in use
    column: np.ndarray
    solved: np.ndarray
    state: np.ndarray  # [slots that `inverse` covers, changes since it was computed afresh]


class Freeze(NamedTuple):
    """Project every newcomer on the support vectors, which stay as they are: only coefficients are learned."""

    ridge: float  # added to the diagonal of the kernel matrix: merged vectors can be close to dependent
    inverse: np.ndarray
    column: np.ndarray
    solved: np.ndarray


class Merge(NamedTuple):
    """Merge the smallest support vector with its best partner (section 6.3), O(B)."""

    budget: int


def new_policy(name, budget):
    """The policy of a name, or ``Unlimited`` if there is no budget."""
    if budget is None:
        return Unlimited()
    if name == "project":
        capacity = budget + 1
        return Project(
            budget,
            inverse=np.zeros((capacity, capacity)),
            column=np.zeros(capacity),
            solved=np.zeros(capacity),
            state=np.zeros(2, np.int64),
        )
    return POLICIES[name](budget)


def frozen(kernel, expansion, ridge=1e-6):
    """The policy that keeps the present support vectors."""
    n = int(expansion.counts[N_SLOTS])
    inverse, column, solved = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    _fill_inverse(inverse, kernel, expansion.rows, n, column, solved, ridge)
    return Freeze(ridge, inverse, column, solved)


@generic
def admit(policy, loss, kernel, ball, source, expansion, work):
    """Make room after a newcomer was written to the last slot; returns the squared degradation.

    ``work.kernel_row`` holds the newcomer's kernel values with the slots before it.
    """


@admit.implement(Unlimited)
def _admit_unlimited(policy, loss, kernel, ball, source, expansion, work):
    return 0.0


# --- removal ----------------------------------------------------------------------------------------------


@admit.implement(Remove, inline=False)
def _admit_by_removal(policy, loss, kernel, ball, source, expansion, work):
    lost = 0.0
    n = expansion.counts[N_SLOTS]
    if n > policy.budget:
        victim = _oldest_of_the_smallest(expansion.sizes, expansion.births, n)
        lost = expansion.sizes[victim]
        note_removal(ball, kernel, expansion, work, victim, lost)
        if free_slot(expansion, victim):
            touch(source, victim, expansion)
        expansion.counts[N_MAINTENANCE] += 1
    return lost


@compiled
def _oldest_of_the_smallest(sizes, births, n):
    limit = minimum(sizes, n) * TIE
    oldest = -1
    for j in range(n):
        if sizes[j] <= limit and (oldest < 0 or births[j] < births[oldest]):
            oldest = j
    return oldest


@compiled
def _smallest_or_newcomer(sizes, newcomer):
    if sizes[newcomer] <= minimum(sizes, newcomer) * NEWCOMER_SLACK:
        return newcomer
    return first_argmin(sizes, newcomer)


# --- merging ----------------------------------------------------------------------------------------------


@admit.implement(Merge, inline=False)
def _admit_by_merging(policy, loss, kernel, ball, source, expansion, work):
    lost = 0.0
    n = expansion.counts[N_SLOTS]
    if n > policy.budget:
        m = _smallest_or_newcomer(expansion.sizes, n - 1)
        if m != n - 1:
            slot_kernel_row(kernel, expansion, m, work.products, work.kernel_row)
        partner, h, lost = best_partner(
            loss,
            expansion.coef,
            expansion.weights,
            expansion.sizes,
            work.kernel_row,
            m,
            n,
            work.overlaps,
            work.closeness,
        )
        log_kappa = log_kernel_value(work.kernel_row, partner)
        note_merge(ball, kernel, expansion, work, m, partner, h, log_kappa, lost)
        _write_merged(kernel, expansion, m, partner, h, log_kappa)
        touch(source, partner, expansion)
        if free_slot(expansion, m):
            touch(source, m, expansion)
        expansion.counts[N_MAINTENANCE] += 1
    return lost


@inlined
def _write_merged(kernel, expansion, m, n, h, log_kappa):
    """Put the merged vector and its coefficients into slot n."""
    between(expansion.rows, m, n, h, expansion.rows, n)
    expansion.norms[n] = rows_dot(expansion.rows, n, expansion.rows, n)
    u, v = merge_factors(h, log_kappa)
    for o in range(expansion.coef.shape[0]):
        expansion.coef[o, n] = u * expansion.coef[o, m] + v * expansion.coef[o, n]
    expansion.births[n] = expansion.counts[N_SEEN]
    refresh_slot(expansion, kernel, n)


# --- projection -------------------------------------------------------------------------------------------


@admit.implement(Project, inline=False)
def _admit_by_projection(policy, loss, kernel, ball, source, expansion, work):
    n = expansion.counts[N_SLOTS]
    newcomer = n - 1
    rows, inverse, solved, state = expansion.rows, policy.inverse, policy.solved, policy.state
    if state[0] != newcomer or state[1] > 2 * policy.budget:
        _recompute_inverse(inverse, kernel, rows, newcomer, policy.column, solved, 0.0)
        state[0], state[1] = newcomer, 0
    distance, self_value = _distance_to_span(kernel, rows, newcomer, inverse, policy.column, solved)
    expansion.counts[N_KERNEL_EVALS] += newcomer
    in_span = distance <= IN_SPAN * self_value
    over = n > policy.budget
    victim = newcomer if in_span or not over else _smallest_or_newcomer(expansion.sizes, newcomer)
    lost = 0.0
    if not in_span and (victim != newcomer or not over):
        grow_inverse(inverse, newcomer, solved, distance)
        state[0], state[1] = n, state[1] + 1
    if victim != newcomer:
        distance = _projection_of(inverse, n, victim, solved)
        shrink_inverse(inverse, n, victim)
        state[0] = newcomer
    if in_span or over:
        lost = _spread(kernel, expansion, victim, solved) * max(distance, 0.0)
        note_projection(ball, expansion, lost)
        if free_slot(expansion, victim):
            touch(source, victim, expansion)
        expansion.counts[N_MAINTENANCE] += 1
    return lost


@admit.implement(Freeze, inline=False)
def _admit_by_freezing(policy, loss, kernel, ball, source, expansion, work):
    newcomer = expansion.counts[N_SLOTS] - 1
    distance, _ = _distance_to_span(kernel, expansion.rows, newcomer, policy.inverse, policy.column, policy.solved)
    expansion.counts[N_KERNEL_EVALS] += newcomer
    lost = _spread(kernel, expansion, newcomer, policy.solved) * max(distance, 0.0)
    note_projection(ball, expansion, lost)
    free_slot(expansion, newcomer)
    expansion.counts[N_MAINTENANCE] += 1
    return lost


@compiled
def _distance_to_span(kernel, rows, newcomer, inverse, column, solved):
    """Squared distance of the newcomer to the span of the others, and its squared norm; ``solved`` is (6.3)."""
    for j in range(newcomer):
        column[j] = exact_kernel(kernel, rows, newcomer, j)
    inverse_times(inverse, newcomer, column, solved)
    self_value = exact_kernel(kernel, rows, newcomer, newcomer)
    distance = self_value
    for j in range(newcomer):
        distance -= column[j] * solved[j]
    return distance, self_value


@compiled
def _projection_of(inverse, n, victim, solved):
    """Coefficients of the projection of a slot on the others, and its squared distance to their span."""
    distance = 1.0 / inverse[victim, victim]
    for j in range(n):
        solved[j] = -inverse[j, victim] * distance
    return distance


@inlined
def _spread(kernel, expansion, victim, solved):
    """``a_j += solved_j a_victim`` for the others (6.3); returns ``||a_victim||^2``."""
    for j in range(expansion.counts[N_SLOTS]):
        if j != victim:
            for o in range(expansion.coef.shape[0]):
                expansion.coef[o, j] += solved[j] * expansion.coef[o, victim]
            refresh_slot(expansion, kernel, j)
    size = 0.0
    for o in range(expansion.weights.shape[0]):
        size += expansion.coef[o, victim] * expansion.coef[o, victim]
    return size


@compiled
def _recompute_inverse(inverse, kernel, rows, n, column, solved, ridge):
    """The inverse of the kernel matrix of the first n slots, from scratch: one point after the other."""
    for k in range(n):
        distance, self_value = _distance_to_span(kernel, rows, k, inverse, column, solved)
        grow_inverse(inverse, k, solved, distance + ridge * self_value)


@entry
def _fill_inverse(inverse, kernel, rows, n, column, solved, ridge):
    _recompute_inverse(inverse, kernel, rows, n, column, solved, ridge)


POLICIES = {"remove": Remove, "project": Project, "merge": Merge}
