"""A maintenance policy of your own: a sliding window, which removes the oldest support vector.

Import this module before you fit, and ``BSGDClassifier(maintenance="oldest")`` works, with every kernel and learner.
"""

from typing import NamedTuple

from frugalsvm.budgeted.maintenance import POLICIES
from frugalsvm.budgeted.policy import admit, oldest, remove


class RemoveOldest(NamedTuple):
    """Parameters of the policy; arrays that it needs as its memory would be fields as well."""

    budget: int


@admit.implement(RemoveOldest, inline=False)
def _admit_by_age(policy, loss, kernel, ball, source, expansion, work):
    n = expansion.counts[0]["n_slots"]  # the newcomer is in the last slot already
    if n > policy.budget:
        dropped = oldest(expansion.births, n)
        return remove(kernel, ball, source, expansion, work, dropped)
    return 0.0  # nothing was lost


POLICIES["oldest"] = RemoveOldest  # the registry line
