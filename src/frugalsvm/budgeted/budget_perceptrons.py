"""Budget policies that look at the model's values at its own support vectors: budget, tighter, tightest.

BSGD paper (Wang, Crammer & Vucetic 2012), section 2.4 and Table 1. f' is the model with the newcomer in it.

* ``RemoveConfident`` (Crammer, Kandola & Singer 2004): the support vector goes that is classified best without its own
  help, ``argmax_j y_j (f'(x_j) - alpha_j K(x_j, x_j))``.
* ``RemoveHarmless`` (Weston, Bordes & Bottou 2005; Wang & Vucetic 2009): the one goes without which the model makes the
  fewest errors on a validation set. For "tighter" that set is the support vectors with their labels. They are not
  typical of the stream, so for "tightest" each also stands for the examples that were nearest to it: it carries the
  numbers n+ and n- of them. A newcomer counts itself, an example that is not learned is counted by its nearest
  support vector, and the counts of a removed one go to the one nearest to that, so that they add up to t. Without r
  there are

      sum_k  n+_k [f'(x_k) - alpha_r K(x_r, x_k) < 0]  +  n-_k [f'(x_k) - alpha_r K(x_r, x_k) >= 0]

  errors, over all B + 1 support vectors k, r itself included: the examples it stands for do not vanish with it. Of
  equals the oldest goes; with the first slot instead, all others would be frozen whenever nothing is at stake.

**Cost.** The values f'(x_j) are kept: a newcomer's kernel row is at hand, and that of the dropped one is computed; so
the first policy is O(B). The second needs all kernel values between support vectors at each removal, O(B^2), and
computes them one after the other in O(B) space. Now and then the values are computed afresh, so that rounding cannot
add up.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import COUNTED, Budget, renamed, stored
from frugalsvm.budgeted.neighbors import nearest
from frugalsvm.budgeted.policy import admit, oldest_of_the_least, pass_by, remove
from frugalsvm.compiling.functions import compiled, inlined
from frugalsvm.core.expansion import row_kernel_row
from frugalsvm.core.fastmath import first_argmax, row_weighted_sum
from frugalsvm.core.kernels import self_value
from frugalsvm.core.lookahead import slot_row
from frugalsvm.core.records import integer_record

REFRESH = 32  # changes per slot after which the values are computed from scratch
SCORES_STATE = integer_record("n_covered", "n_changes")  # slots with values; changes since they were computed
ZERO_64, ZERO_32 = 1e-12, 1e-6  # a value below this part of K(x, x) is zero: class +1


@stored("self-scores")
class SelfScores(NamedTuple):
    """The model's raw values at its own support vectors."""

    values: Annotated[np.ndarray, "d s"]
    state: Annotated[np.ndarray, SCORES_STATE, "1", COUNTED]

    def is_sound(self, sizes) -> bool:
        """Whether there is room for the slots that are covered."""
        return int(self.state[0]["n_covered"]) <= sizes["s"]


@stored("remove-confident", kind="policy")
class RemoveConfident(NamedTuple):
    """Remove the support vector that is classified best without its own help."""

    budget: Budget
    scores: SelfScores
    confidence: Annotated[np.ndarray, "d s"]  # scratch

    one_output = True


@stored("remove-harmless", kind="policy", earlier=renamed(summarises="summarizes"))  # codespell:ignore
class RemoveHarmless(NamedTuple):
    """Remove the support vector without which the model makes the fewest errors on all of them."""

    budget: Budget
    scores: SelfScores
    errors: Annotated[np.ndarray, "d s"]  # scratch
    counts: Annotated[np.ndarray, "d 2s"]  # the negative and positive examples that a support vector stands for
    summarizes: bool  # whether it stands for others too ("tightest")

    one_output = True


def new_self_scores(capacity):
    return SelfScores(values=np.zeros(capacity), state=np.zeros(1, SCORES_STATE))


# --- the values -------------------------------------------------------------------------------------------


@inlined
def _add_newcomer(scores, kernel, source, expansion, work):
    """Bring the values up to date after a newcomer was written to the last slot."""
    newcomer = expansion.counts[0]["n_slots"] - 1
    if scores.state[0]["n_covered"] != newcomer or scores.state[0]["n_changes"] > REFRESH * newcomer:
        _recompute(scores.values, kernel, source, expansion, newcomer, work)
        scores.state[0]["n_changes"] = 0
        # The scratch row was overwritten.
        slot_row(kernel, source, newcomer, expansion, work)
    a = expansion.coef[0, newcomer]
    _add_multiple(scores.values, a, work.kernel_row, newcomer)
    scores.values[newcomer] = work.scores[0] + a * self_value(kernel, expansion.norms[newcomer])
    scores.state[0]["n_covered"] = newcomer + 1
    scores.state[0]["n_changes"] += 1


@inlined
def _recompute(values, kernel, source, expansion, n, work):
    """The model without the newcomer, at all support vectors before it."""
    for j in range(n):
        slot_row(kernel, source, j, expansion, work)
        values[j] = row_weighted_sum(expansion.weights, 0, work.kernel_row, n)


@inlined
def _remove_scored(scores, kernel, ball, source, expansion, work, dropped):
    """Take a slot out of the model, whose kernel row is in the workspace; returns the squared degradation."""
    last = expansion.counts[0]["n_slots"] - 1
    _add_multiple(scores.values, -expansion.coef[0, dropped], work.kernel_row, last + 1)
    scores.values[dropped] = scores.values[last]
    scores.state[0]["n_covered"] = last
    return remove(kernel, ball, source, expansion, work, dropped)


@compiled
def _add_multiple(values, factor, row, n):
    for j in range(n):
        values[j] += factor * row[j]


# --- budget -----------------------------------------------------------------------------------------------


@admit.implement(RemoveConfident, inline=False)
def _remove_confident(policy, loss, kernel, ball, source, expansion, work):
    _add_newcomer(policy.scores, kernel, source, expansion, work)
    n = expansion.counts[0]["n_slots"]
    if n > policy.budget:
        _confidences(kernel, policy.scores.values, expansion.coef, expansion.norms, n, policy.confidence)
        dropped = first_argmax(policy.confidence, n)
        slot_row(kernel, source, dropped, expansion, work)
        return _remove_scored(policy.scores, kernel, ball, source, expansion, work, dropped)
    return 0.0


@compiled
def _confidences(kernel, values, coef, norms, n, out):
    """``y_j (f'(x_j) - alpha_j K(x_j, x_j))``"""
    for j in range(n):
        without = values[j] - coef[0, j] * self_value(kernel, norms[j])
        out[j] = without if coef[0, j] > 0.0 else -without


# --- tighter and tightest ---------------------------------------------------------------------------------


@admit.implement(RemoveHarmless, inline=False)
def _remove_harmless(policy, loss, kernel, ball, source, expansion, work):
    _add_newcomer(policy.scores, kernel, source, expansion, work)
    n = expansion.counts[0]["n_slots"]
    a = expansion.coef[0, n - 1]
    policy.counts[0, n - 1] = np.float64(a < 0.0)
    policy.counts[1, n - 1] = np.float64(a > 0.0)
    if n > policy.budget:
        _count_errors(kernel, expansion, policy.scores.values, policy.counts, policy.errors, work)
        dropped = oldest_of_the_least(policy.errors, expansion.births, n)
        slot_row(kernel, source, dropped, expansion, work)
        if policy.summarizes:
            heir = nearest(kernel, work.kernel_row, expansion.norms, n, dropped)
            policy.counts[0, heir] += policy.counts[0, dropped]
            policy.counts[1, heir] += policy.counts[1, dropped]
        policy.counts[0, dropped] = policy.counts[0, n - 1]
        policy.counts[1, dropped] = policy.counts[1, n - 1]
        return _remove_scored(policy.scores, kernel, ball, source, expansion, work, dropped)
    return 0.0


@pass_by.implement(RemoveHarmless)
def _count_elsewhere(policy, kernel, label, expansion, work):
    if policy.summarizes and expansion.counts[0]["n_slots"] > 0:
        heir = nearest(kernel, work.kernel_row, expansion.norms, expansion.counts[0]["n_slots"], -1)
        policy.counts[label, heir] += 1.0


@inlined
def _count_errors(kernel, expansion, values, counts, errors, work):
    """For every slot r, the counted examples that the model without it gets wrong."""
    n = expansion.counts[0]["n_slots"]
    for r in range(n):
        errors[r] = 0.0
    rows, norms = expansion.rows, expansion.norms
    zero = ZERO_64 if rows.itemsize == 8 else ZERO_32
    for k in range(n):
        floor = -zero * self_value(kernel, norms[k])
        # Kernel values are symmetric: slot k's row up to itself serves both (k, r) and (r, k).
        row_kernel_row(kernel, rows, k, norms[k], rows, norms, k + 1, work.products, work.kernel_row)
        _count_row(values, expansion.coef, counts, floor, work.kernel_row, k, errors)
        errors[k] += _count_column(values, expansion.coef[0, k], counts, norms, kernel, zero, work.kernel_row, k)
    expansion.counts[0]["n_kernel_evals"] += n * (n + 1) // 2


@compiled
def _count_row(values, coef, counts, floor, kernel_row, k, errors):
    """Add to ``errors[r]``, r <= k, what the model without r gets wrong at slot k."""
    wrong_if_positive, wrong_if_negative = counts[0, k], counts[1, k]
    for r in range(k + 1):
        value = values[k] - coef[0, r] * kernel_row[r]
        errors[r] += wrong_if_positive if value >= floor else wrong_if_negative


@compiled
def _count_column(values, a, counts, norms, kernel, zero, kernel_row, k):
    """What the model without slot k, of coefficient ``a``, gets wrong at the slots before it."""
    total = 0.0
    for j in range(k):
        floor = -zero * self_value(kernel, norms[j])
        total += counts[0, j] if values[j] - a * kernel_row[j] >= floor else counts[1, j]
    return total
