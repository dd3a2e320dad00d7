"""Policies that project on the span of the support vectors: O(B^2) by an inverse that grows and shrinks.

BSGD paper, section 6.2: with ``P`` the inverse of the kernel matrix of the others and ``k`` the kernel values of
the dropped vector with them, its projection has the coefficients ``P k`` (6.3) and the squared distance
``K(x, x) - k' P k``.

Deviation from the paper: a newcomer that is nearly in the span of the others (squared distance below 1e-4 of its
squared norm) is projected at once, full or not, since its row would make the kernel matrix close to singular. With 1e-6
the coefficients of some hundred vectors in the plane grew to 1e8 and more, and decisions were noise, in float64 too.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import COUNTED, Budget, stored
from frugalsvm.budgeted.norm_constraint import note_projection
from frugalsvm.budgeted.policy import admit, smallest_or_newcomer
from frugalsvm.compiling.functions import compiled, entry, inlined
from frugalsvm.core.expansion import exact_kernel, free_slot, refresh_slot
from frugalsvm.core.fastmath import minimum
from frugalsvm.core.inverse import grow_inverse, inverse_times, shrink_inverse
from frugalsvm.core.lookahead import touch
from frugalsvm.core.records import integer_record

IN_SPAN = 1e-6  # share of the squared norm: numerically in the span
NEARLY_IN_SPAN = 1e-4
SPAN_STATE = integer_record("n_covered", "n_changes")  # slots in `inverse`; changes since it was computed afresh
REFRESH = 2  # changes per slot of the budget after which the inverse is recomputed


@stored("span")
class Span(NamedTuple):
    """The inverse of the kernel matrix of the slots in use, and scratch arrays."""

    inverse: Annotated[np.ndarray, "d pp"]
    column: Annotated[np.ndarray, "d p"]  # kernel values of a newcomer
    solved: Annotated[np.ndarray, "d p"]  # coefficients of a projection
    state: Annotated[np.ndarray, SPAN_STATE, "1", COUNTED]

    def is_sound(self, sizes) -> bool:
        """Whether there is room for the slots that the inverse covers."""
        return int(self.state[0]["n_covered"]) <= sizes["p"]


@stored("project", kind="policy")
class Project(NamedTuple):
    """Project the smallest support vector on all others (section 6.2), O(B^2)."""

    budget: Budget
    span: Span

    @classmethod
    def new(cls, budget, n_slots):
        return cls(budget, new_span(n_slots))


@stored("freeze", kind="policy")
class Freeze(NamedTuple):
    """Project every newcomer on the support vectors, which stay as they are: only coefficients are learned."""

    span: Span


def new_span(capacity):
    """An empty span with room for ``capacity`` vectors."""
    return Span(
        inverse=np.zeros((capacity, capacity)),
        column=np.zeros(capacity),
        solved=np.zeros(capacity),
        state=np.zeros(1, SPAN_STATE),
    )


def resized_span(span, capacity):
    """A copy with room for ``capacity`` vectors."""
    larger = new_span(capacity)
    n = span.state[0]["n_covered"]
    larger.inverse[:n, :n] = span.inverse[:n, :n]
    larger.state[:] = span.state
    return larger


def frozen(kernel, expansion, ridge=1e-6):
    """The policy that keeps the present support vectors.

    ``ridge`` is added to the diagonal of the kernel matrix: merged vectors can be close to dependent.
    """
    n = int(expansion.counts[0]["n_slots"])
    span = new_span(n)
    _fill(span, kernel, expansion.rows, n, ridge)
    return Freeze(span)


@inlined
def newcomer_distance(span, kernel, expansion, max_changes, in_span):
    """Squared distance of the newcomer to the span of the others, 0 if it is below a share of its squared norm.

    Its projection (6.3) is left in ``span.solved``. The inverse is computed afresh first if it is not that of the
    slots before the newcomer, or has changed too often.
    """
    newcomer = expansion.counts[0]["n_slots"] - 1
    if span.state[0]["n_covered"] != newcomer or span.state[0]["n_changes"] > max_changes:
        _recompute_inverse(span.inverse, kernel, expansion.rows, newcomer, span.column, span.solved, 0.0)
        span.state[0]["n_covered"], span.state[0]["n_changes"] = newcomer, 0
    distance, self_value = _distance_to_span(kernel, expansion.rows, newcomer, span.inverse, span.column, span.solved)
    expansion.counts[0]["n_kernel_evals"] += newcomer
    return distance if distance > in_span * self_value else 0.0


@inlined
def widen(span, newcomer, distance):
    """Take the newcomer into the span, after ``newcomer_distance`` and before anything else is solved for."""
    grow_inverse(span.inverse, newcomer, span.solved, distance)
    span.state[0]["n_covered"] = newcomer + 1
    span.state[0]["n_changes"] += 1


@inlined
def narrow(span, n, dropped):
    """Take slot ``dropped`` of n out of the span; returns its squared distance to the others.

    Its projection on them is left in ``span.solved``.
    """
    distance = _projection_of(span.inverse, n, dropped, span.solved)
    shrink_inverse(span.inverse, n, dropped)
    span.state[0]["n_covered"] = n - 1
    return distance


@inlined
def spread(kernel, expansion, dropped, solved):
    """``a_j += solved_j a_dropped`` for the others (6.3); returns ``||a_dropped||^2``."""
    for j in range(expansion.counts[0]["n_slots"]):
        if j != dropped:
            for o in range(expansion.coef.shape[0]):
                expansion.coef[o, j] += solved[j] * expansion.coef[o, dropped]
            refresh_slot(expansion, kernel, j)
    size = 0.0
    for o in range(expansion.weights.shape[0]):
        size += expansion.coef[o, dropped] * expansion.coef[o, dropped]
    return size


@inlined
def replace_by_projection(kernel, ball, source, expansion, dropped, solved, distance):
    """Give the coefficients of a slot to the others and free it; returns the squared degradation."""
    lost = spread(kernel, expansion, dropped, solved) * max(distance, 0.0)
    note_projection(ball, expansion, lost)
    if free_slot(expansion, dropped):
        touch(source, dropped, expansion)
    expansion.counts[0]["n_maintenance"] += 1
    return lost


@admit.implement(Project, inline=False)
def _admit_by_projection(policy, loss, kernel, ball, source, expansion, work):
    n = expansion.counts[0]["n_slots"]
    newcomer = n - 1
    span = policy.span
    distance = newcomer_distance(span, kernel, expansion, REFRESH * policy.budget, NEARLY_IN_SPAN)
    over = n > policy.budget
    if distance > 0.0 and not over:
        widen(span, newcomer, distance)
        return 0.0
    dropped = (
        smallest_or_newcomer(expansion.sizes, newcomer, minimum(expansion.sizes, newcomer))
        if distance > 0.0
        else newcomer
    )
    if dropped != newcomer:
        widen(span, newcomer, distance)
        distance = narrow(span, n, dropped)
    return replace_by_projection(kernel, ball, source, expansion, dropped, span.solved, distance)


@admit.implement(Freeze, inline=False)
def _admit_by_freezing(policy, loss, kernel, ball, source, expansion, work):
    newcomer = expansion.counts[0]["n_slots"] - 1
    span = policy.span
    distance, _ = _distance_to_span(kernel, expansion.rows, newcomer, span.inverse, span.column, span.solved)
    expansion.counts[0]["n_kernel_evals"] += newcomer
    return replace_by_projection(kernel, ball, source, expansion, newcomer, span.solved, distance)


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
def _projection_of(inverse, n, dropped, solved):
    """Coefficients of the projection of a slot on the others, and its squared distance to their span."""
    distance = 1.0 / inverse[dropped, dropped]
    for j in range(n):
        solved[j] = -inverse[j, dropped] * distance
    return distance


@compiled
def _recompute_inverse(inverse, kernel, rows, n, column, solved, ridge):
    """The inverse of the kernel matrix of the first n slots, from scratch: one point after the other."""
    for k in range(n):
        distance, self_value = _distance_to_span(kernel, rows, k, inverse, column, solved)
        grow_inverse(inverse, k, solved, distance + ridge * self_value)


@entry
def _fill(span, kernel, rows, n, ridge):
    _recompute_inverse(span.inverse, kernel, rows, n, span.column, span.solved, ridge)
