"""Projectron and Projectron++ (Orabona, Keshet & Caputo 2009): perceptrons that project newcomers, O(B^2).

BSGD paper (Wang, Crammer & Vucetic 2012), section 2.4 and Table 1.

On an update x is projected on the span of the support vectors: P K(x, .) = sum_j d_j K(x_j, .), with d = K^-1 k; what
remains, delta = K(x, .) - P K(x, .), has ||delta||^2 = K(x, x) - k'd. If ||delta|| is at most the threshold,
y P K(x, .) is added, which needs no new support vector; otherwise y K(x, .). A full model always projects, and so does
one whose span x is numerically in.

**Projectron++** does this on mistakes (y f <= 0), and on margin errors (0 < y f < 1, loss l = 1 - y f) adds
tau y P K(x, .) where that certainly helps. The passive-aggressive step inside the span has
tau = min(1, l / ||P K(x, .)||^2). For any g with ||g|| <= U = 1 / threshold,

    ||f - g||^2 - ||f + tau y P K(x, .) - g||^2
        = 2 tau y (g(x) - <g, delta> - f(x)) - tau^2 ||P K(x, .)||^2
        >= 2 tau (l - U ||delta||) - tau^2 ||P K(x, .)||^2 - 2 tau loss(g),

whose first two terms are not negative up to tau = 2 (l - U ||delta||) / ||P K(x, .)||^2. Hence

    tau = min( l / ||P K(x, .)||^2,  2 (l - ||delta|| / threshold) / ||P K(x, .)||^2,  1 ),

and no step where l < ||delta|| / threshold. A margin error never adds a support vector. Without a threshold it is 0
while there is room (no step unless delta = 0) and infinite once the model is full. delta counts as 0 when ||delta||^2
is below ``tolerance`` K(x, x): without a threshold that must not be too small, or few dimensions give the support
vectors huge coefficients that cancel.

With several classes the update is +1 for the class and -1 for its best rival, and all classes share the span. It is
the binary one for stacked models and features; the squared norm of the stacked projection is 2 ||P K(x, .)||^2.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import Budget, NotNegative, stored
from frugalsvm.budgeted.policy import TURNED_AWAY, admit
from frugalsvm.budgeted.projection import (
    IN_SPAN,
    Span,
    newcomer_distance,
    replace_by_projection,
    resized_span,
    widen,
)
from frugalsvm.compiling.functions import compiled, inlined
from frugalsvm.core.expansion import free_slot, refresh_slot
from frugalsvm.core.kernels import self_value
from frugalsvm.core.losses import MARGIN

NO_THRESHOLD = -1.0
NEVER_STALE = 2**62  # the span only grows, which loses no accuracy


@stored("projectron", kind="policy")
class Projectron(NamedTuple):
    """Project newcomers that are near the span of the support vectors, and all of them when the model is full."""

    budget: Budget
    threshold: Annotated[float, (NO_THRESHOLD, 1e100)]  # or NO_THRESHOLD
    tolerance: NotNegative
    on_margin_errors: bool  # Projectron++
    span: Span

    def with_room(self, capacity):
        return self._replace(span=resized_span(self.span, capacity))


@admit.implement(Projectron, inline=False)
def _admit(policy, loss, kernel, ball, source, expansion, work):
    newcomer = expansion.counts[0]["n_slots"] - 1
    squared_distance = newcomer_distance(policy.span, kernel, expansion, NEVER_STALE, IN_SPAN)
    if squared_distance <= policy.tolerance * self_value(kernel, expansion.norms[newcomer]):
        squared_distance = 0.0
    distance = np.sqrt(squared_distance)
    full = newcomer >= policy.budget
    margin = _margin(work.direction, work.scores) * expansion.scalars[0]["scale"]
    if policy.on_margin_errors and margin > 0.0:
        norm = _projected_norm(work.direction, policy.span.column, policy.span.solved, newcomer)
        tau = _margin_error_step(MARGIN - margin, distance, norm, policy.threshold, full)
        if tau <= 0.0:
            free_slot(expansion, newcomer)
            return TURNED_AWAY
        _scale_slot(kernel, expansion, newcomer, tau)
    elif squared_distance > 0.0 and not full and (newcomer == 0 or distance > policy.threshold):
        widen(policy.span, newcomer, squared_distance)
        return 0.0
    return replace_by_projection(kernel, ball, source, expansion, newcomer, policy.span.solved, squared_distance)


@compiled
def _margin(direction, scores):
    """``y f(x)``, or ``f_y(x) - f_rival(x)``"""
    total = 0.0
    for o in range(scores.size):
        total += direction[o] * scores[o]
    return total


@compiled
def _projected_norm(direction, column, solved, n):
    """``||P K(x, .)||^2 = k'd`` times the number of outputs that are changed."""
    total = 0.0
    for j in range(n):
        total += column[j] * solved[j]
    return total * (1.0 if direction.size == 1 else 2.0)


@compiled
def _margin_error_step(loss, distance, projected_norm, threshold, full):
    """tau of Projectron++; 0 when a step may do harm."""
    if projected_norm <= 0.0:
        return 0.0
    spoiled = 0.0
    if distance > 0.0:
        if threshold > 0.0:
            spoiled = distance / threshold
        elif threshold == 0.0 or not full:  # infinite
            return 0.0
    return min(min(loss, 2.0 * (loss - spoiled)) / projected_norm, 1.0)


@inlined
def _scale_slot(kernel, expansion, slot, factor):
    for o in range(expansion.coef.shape[0]):
        expansion.coef[o, slot] *= factor
    refresh_slot(expansion, kernel, slot)
