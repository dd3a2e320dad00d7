"""Budget maintenance of BSGD: what happens when there is one support vector too many.

BSGD paper (Wang, Crammer & Vucetic 2012), section 6. Notation: support vectors ``x_j`` with coefficient
vectors ``a_j``; the degradation is ``||Delta||``, the norm of what the model loses; the *size* of a support
vector is ``||a_j||^2 K(x_j, x_j)``. All quantities here are in raw units (without the model's lazy scale).

Removal and merging are here, projection is in ``projection.py``. A new policy is a NamedTuple, a body of ``admit``
(``policy.py``) and a line in ``POLICIES``.

Choices among equals (relative slack in brackets), so that results can be reproduced:

* removal takes the smallest; of equals [1e-12] the oldest. With Pegasos all have the same size, and the paper
  lets the choice be arbitrary; always taking the first slot would freeze the others for ever.
* projection and merging take the smallest, of equals [1e-12] the first, and prefer the newcomer [1e-9], whose kernel
  row is at hand.

Deviation from the paper: with one output, vectors are merged with vectors of the same sign only, unless there is
none.
"""

from typing import Any, NamedTuple

from frugalsvm._stored import Budget, stored
from frugalsvm.budgeted.norm_constraint import note_merge
from frugalsvm.budgeted.policy import (
    NEWCOMER_SLACK,
    Unlimited,
    admit,
    oldest_of_the_least,
    remove,
    smallest_or_newcomer,
)
from frugalsvm.budgeted.projection import Project
from frugalsvm.compiling.functions import inlined, smaller
from frugalsvm.core.expansion import (
    free_slot,
    refresh_slot,
)
from frugalsvm.core.fastmath import minimum, rows_dot
from frugalsvm.core.lookahead import slot_row, touch
from frugalsvm.core.merge import best_partner, between, log_kernel_value, merge_factors


@stored("remove", kind="policy")
class Remove(NamedTuple):
    """Drop the smallest support vector (section 6.1)."""

    budget: Budget

    changes_few_slots = True


@stored("merge", kind="policy")
class Merge(NamedTuple):
    """Merge the smallest support vector with its best partner (section 6.3), O(B)."""

    budget: Budget

    needs = ("gaussian",)
    changes_few_slots = True


def new_policy(name, budget):
    """The policy of a name, or ``Unlimited`` if there is no budget."""
    if budget is None:
        return Unlimited()
    part = POLICIES[name]
    return part.new(budget, budget + 1) if hasattr(part, "new") else part(budget)


# --- removal ----------------------------------------------------------------------------------------------


@admit.implement(Remove, inline=False)
def _admit_by_removal(policy, loss, kernel, ball, source, expansion, work):
    n = expansion.counts[0]["n_slots"]
    if n > policy.budget:
        dropped = oldest_of_the_least(expansion.sizes, expansion.births, n)
        return remove(kernel, ball, source, expansion, work, dropped)
    return 0.0


# --- merging ----------------------------------------------------------------------------------------------


@admit.implement(Merge, inline=False)
def _admit_by_merging(policy, loss, kernel, ball, source, expansion, work):
    lost = 0.0
    n = expansion.counts[0]["n_slots"]
    if n > policy.budget:
        m = _whom_to_merge(expansion.sizes, n - 1, work.least_size)
        if m != n - 1:
            slot_row(kernel, source, m, expansion, work)
        partner, h, lost = partner_of(loss, expansion, work, m)
        log_kappa = log_kernel_value(work.kernel_row, partner)
        note_merge(ball, kernel, expansion, work, m, partner, h, log_kappa, lost)
        write_merged(kernel, expansion, m, partner, h, log_kappa)
        last = partner if m == n - 1 else n - 1  # the newcomer stays
        work.least_size[0] = smaller(work.least_size[0], smaller(expansion.sizes[partner], expansion.sizes[last]))
        touch(source, partner, expansion)
        if free_slot(expansion, m):
            touch(source, m, expansion)
        expansion.counts[0]["n_maintenance"] += 1
    return lost


@inlined
def _whom_to_merge(sizes, newcomer, least_known):
    """The smallest, without a look at all while the newcomer is no larger than the others are known to be at least."""
    if sizes[newcomer] > least_known[0] * NEWCOMER_SLACK:
        least_known[0] = minimum(sizes, newcomer)
    return smallest_or_newcomer(sizes, newcomer, least_known[0])


@inlined
def partner_of(loss, expansion, work, m):
    """Whom to merge slot m with, where between them, and what is lost; ``work.kernel_row`` is that of m."""
    n = expansion.counts[0]["n_slots"]
    return best_partner(
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


@inlined
def write_merged(kernel, expansion, m, n, h, log_kappa):
    """Put the merged vector and its coefficients into slot n."""
    between(expansion.rows, m, n, h, expansion.rows, n)
    expansion.norms[n] = rows_dot(expansion.rows, n, expansion.rows, n)
    u, v = merge_factors(h, log_kappa)
    for o in range(expansion.coef.shape[0]):
        expansion.coef[o, n] = u * expansion.coef[o, m] + v * expansion.coef[o, n]
    expansion.births[n] = expansion.counts[0]["n_seen"]
    refresh_slot(expansion, kernel, n)


POLICIES: dict[str, Any] = {"remove": Remove, "project": Project, "merge": Merge}
