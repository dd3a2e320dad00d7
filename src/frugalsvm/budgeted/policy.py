"""What a budget policy is, and what its body is given.

A policy is a NamedTuple with a body of ``admit``, which is called after a newcomer was written to the last slot.
It makes room if there is one support vector too many and returns the squared degradation ``||Delta||^2``, the
squared norm of what the model lost, or ``TURNED_AWAY`` if it took the newcomer out again and left everything
else as it was. All quantities are in raw units (without the model's lazy scale).

Policies that also learn from examples which do not change the model have a body of ``pass_by``.

What else there is to know, a policy declares in its class; none of it is there unless it says so:

===================== ===============================================================================================
``needs``             what it needs of a kernel, such as ``("gaussian",)`` (``core/capabilities.py``)
``changes_few_slots`` it changes one slot or two at a time and says so by ``touch``: learning may use a device
``one_output``        it is for one output: several classes are learned one-vs-rest
``new``               a classmethod ``(budget, n_slots)`` that makes it, if it has a memory: fields besides ``budget``
``with_room``         a method ``(capacity)``, the policy for a store that has grown: it works without a budget, too
===================== ===============================================================================================
"""

from typing import NamedTuple

from frugalsvm._stored import stored
from frugalsvm.budgeted.norm_constraint import note_removal
from frugalsvm.compiling.functions import compiled, generic, inlined, larger, smaller
from frugalsvm.core.expansion import free_slot
from frugalsvm.core.fastmath import CHUNK, first_at_most, minimum
from frugalsvm.core.lookahead import touch

TIE = 1.0 + 1e-12
NEWCOMER_SLACK = 1.0 + 1e-9
TURNED_AWAY = -1.0
NO_BUDGET = 2**62  # the budget of policies that work without one


@stored("unlimited", kind="policy")
class Unlimited(NamedTuple):
    """No budget: the parent algorithm."""


Unlimited.changes_few_slots = True  # type: ignore[attr-defined] # in the class, mypy would take it for a field


@generic
def admit(policy, loss, kernel, ball, source, expansion, work):
    """Make room after a newcomer was written to the last slot; returns the squared degradation.

    ``work.kernel_row`` holds the newcomer's kernel values with the slots before it, ``work.scores`` the raw scores
    of the model without it.
    """


@generic
def pass_by(policy, kernel, label, expansion, work):
    """Take note of an example that was not learned; ``work.kernel_row`` holds its kernel values."""


@admit.implement(Unlimited)
def _admit_unlimited(policy, loss, kernel, ball, source, expansion, work):
    return 0.0


@pass_by.implement()
def _ignore(policy, kernel, label, expansion, work):
    pass


def renewed(policy):
    """The same policy with an empty memory."""
    return policy.new(policy.budget, policy.budget + 1) if hasattr(policy, "new") else policy


def few_slots(policy) -> bool:
    """Whether a policy, or its class, changes few slots at a time."""
    return getattr(policy, "changes_few_slots", False)


def with_room(policy, capacity):
    """The policy for a store that has grown: policies that work without a budget have a method of this name."""
    return policy.with_room(capacity) if hasattr(policy, "with_room") else policy


def has_room(policy, expansion):
    """Whether there is room, in a store and in its policy, for the support vectors that may come."""
    capacity, n = expansion.rows.shape[0], int(expansion.counts[0]["n_slots"])
    budget, span = getattr(policy, "budget", NO_BUDGET), getattr(policy, "span", None)
    grows = not hasattr(policy, "budget") or (budget == NO_BUDGET and hasattr(policy, "with_room"))
    if not grows and not n <= budget < capacity:
        return False
    return span is None or span.column.size >= min(capacity, budget + 1)


@inlined
def remove(kernel, ball, source, expansion, work, dropped):
    """Take a slot out of the model; returns the squared degradation."""
    lost = expansion.sizes[dropped]
    note_removal(ball, kernel, expansion, work, dropped, lost)
    if free_slot(expansion, dropped):
        touch(source, dropped, expansion)
    expansion.counts[0]["n_maintenance"] += 1
    return lost


@compiled
def smallest_or_newcomer(sizes, newcomer, least):
    """The newcomer if it is among the smallest; else the first of these: ``least`` is the smallest of the others."""
    return newcomer if sizes[newcomer] <= least * NEWCOMER_SLACK else first_at_most(sizes, least * TIE, newcomer)


@compiled
def oldest_of_the_least(values, births, n):
    """The slot of the least value, which is not negative; the oldest one of several."""
    limit = minimum(values, n) * TIE
    oldest = -1
    for j in range(n):
        if values[j] <= limit and (oldest < 0 or births[j] < births[oldest]):
            oldest = j
    return larger(oldest, 0)  # numbers that overflowed may not be found again


@compiled
def oldest(births, n):
    """The slot of the least birth."""
    found, first = 0, births[0]
    for start in range(0, n, CHUNK):
        first_here = minimum(births[start:], min(CHUNK, n - start))
        if first_here < first:
            found, first = start, first_here
    while births[found] > first:
        found += 1
    return found


@compiled
def weakest(coef, n):
    """First slot of the least absolute coefficient."""
    found, least = 0, abs(coef[0, 0])
    for start in range(0, n, CHUNK):
        chunk, size = coef[0, start:], min(CHUNK, n - start)
        least_here = _least_absolute(chunk, size)
        if least_here < least:
            found, least = start, least_here
    while found < n - 1 and abs(coef[0, found]) > least:
        found += 1
    return found


@compiled
def _least_absolute(values, n):
    least = abs(values[0])
    for j in range(n):
        least = smaller(least, abs(values[j]))
    return least
