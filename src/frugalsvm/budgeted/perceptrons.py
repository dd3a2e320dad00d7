"""Budget policies of the kernel perceptrons that add and remove: stop, random, forgetron, and SILK's.

BSGD paper (Wang, Crammer & Vucetic 2012), section 2.4 and Table 1. The survey has a sentence for each; what it
leaves out is derived here. f' is the model with the newcomer in it, B the budget.

* ``Stop`` (Stoptron): a full model turns newcomers away. O(1).
* ``RemoveRandom`` (Cesa-Bianchi & Gentile 2006): one of the B old support vectors goes, each as likely. O(1).
* ``RemoveWeakest`` (SILK, Cheng et al. 2007): the least absolute coefficient goes, the newcomer's included. O(B).
* ``Forget`` (the self-tuned Forgetron, Dekel, Shalev-Shwartz & Singer 2008): the oldest support vector r goes, after
  all coefficients were multiplied by phi in (0, 1], so that little is lost with it. O(B).

**The self-tuned phi.** Let sigma = |alpha_r| before the shrinking, l = phi sigma after it, m = y_r phi f'(x_r). For
any g, and K <= 1, adding x_r brought f nearer to g, and removing it takes f away again::

    ||f - g||^2 - ||f + y_r K(x_r, .) - g||^2             >= 2 y_r g(x_r) - 1     (y_r f(x_r) <= 0 at the time)
    ||phi f' - g||^2 - ||phi f' - l y_r K(x_r, .) - g||^2  >= 2 l (m - y_r g(x_r)) - l^2

With y_r g(x_r) >= 1 - loss(g) and l <= 1 the sum is at least 1 - Psi(l, m) - 2 loss(g), where
Psi(l, m) = l^2 + 2 l (1 - m) is what the removal spoils. The sum Q of all Psi so far is kept below a part of the
number M of updates so far, the present one included: phi is the largest number in (0, 1] with

    Q + Psi(phi sigma, phi mu) <= (15/32) M,      mu = y_r f'(x_r).

Psi = a phi^2 + b phi with a = sigma^2 - 2 sigma mu and b = 2 sigma > 0. With the slack c = (15/32) M - Q > 0, either
a + b <= c and phi = 1, or a phi^2 + b phi - c changes sign once between 0 and 1, at 2 c / (b + sqrt(b^2 + 4 a c)).
In the original M counts mistakes; with the margin update it must be the updates, or c could be zero.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import ABOVE_ZERO, Budget, stored
from frugalsvm.budgeted.norm_constraint import note_removal
from frugalsvm.budgeted.policy import TURNED_AWAY, admit, oldest, remove, weakest
from frugalsvm.compiling.functions import compiled
from frugalsvm.core.expansion import (
    free_slot,
)
from frugalsvm.core.fastmath import row_weighted_sum
from frugalsvm.core.lookahead import slot_row
from frugalsvm.core.rng import below

FORGETRON_SHARE = 15.0 / 32.0


@stored("stop", kind="policy")
class Stop(NamedTuple):
    """Turn newcomers away when the model is full."""

    budget: Budget


@stored("remove-random", kind="policy")
class RemoveRandom(NamedTuple):
    """Remove one of the old support vectors at random."""

    budget: Budget
    rng: Annotated[np.ndarray, "u 1", ABOVE_ZERO]


@stored("remove-weakest", kind="policy")
class RemoveWeakest(NamedTuple):
    """Remove the support vector of the least absolute coefficient."""

    budget: Budget

    one_output = True


@stored("forget", kind="policy")
class Forget(NamedTuple):
    """Shrink all coefficients, then remove the oldest support vector."""

    budget: Budget
    spoiled: Annotated[np.ndarray, "d 1"]  # [Q]

    one_output = True


@admit.implement(Stop, inline=False)
def _stop(policy, loss, kernel, ball, source, expansion, work):
    n = expansion.counts[0]["n_slots"]
    if n > policy.budget:
        note_removal(ball, kernel, expansion, work, n - 1, expansion.sizes[n - 1])
        free_slot(expansion, n - 1)
        return TURNED_AWAY
    return 0.0


@admit.implement(RemoveRandom, inline=False)
def _remove_random(policy, loss, kernel, ball, source, expansion, work):
    n = expansion.counts[0]["n_slots"]
    if n > policy.budget:
        return remove(kernel, ball, source, expansion, work, below(policy.rng, n - 1))
    return 0.0


@admit.implement(RemoveWeakest, inline=False)
def _remove_weakest(policy, loss, kernel, ball, source, expansion, work):
    n = expansion.counts[0]["n_slots"]
    if n > policy.budget:
        return remove(kernel, ball, source, expansion, work, weakest(expansion.coef, n))
    return 0.0


@admit.implement(Forget, inline=False)
def _forget(policy, loss, kernel, ball, source, expansion, work):
    n = expansion.counts[0]["n_slots"]
    if n > policy.budget:
        dropped = oldest(expansion.births, n)
        slot_row(kernel, source, dropped, expansion, work)
        value = expansion.scalars[0]["scale"] * row_weighted_sum(expansion.weights, 0, work.kernel_row, n)
        alpha = expansion.scalars[0]["scale"] * expansion.coef[0, dropped]
        sigma, mu = abs(alpha), value if alpha > 0.0 else -value
        n_updates = expansion.counts[0]["n_updates"] + 1
        phi = _shrinking(sigma, mu, FORGETRON_SHARE * n_updates - policy.spoiled[0])
        policy.spoiled[0] += (phi * sigma) ** 2 + 2.0 * phi * sigma * (1.0 - phi * mu)
        expansion.scalars[0]["scale"] *= phi
        return remove(kernel, ball, source, expansion, work, dropped)
    return 0.0


@compiled
def _shrinking(sigma, mu, slack):
    """The largest phi in (0, 1] with Psi(phi sigma, phi mu) <= slack, which is positive."""
    a = sigma * sigma - 2.0 * sigma * mu
    b = 2.0 * sigma
    if a + b <= slack:
        return 1.0
    return 2.0 * slack / (b + np.sqrt(max(b * b + 4.0 * a * slack, 0.0)))
