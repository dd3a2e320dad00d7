"""Selective sampling: which unseen example a learner sees next (Bordes et al. 2005, section 4).

A pool of unseen examples is drawn at random, and the most informative one of it is learned:

    margin     the one nearest to the decision boundary, whatever its label (active learning)
    gradient   the one that violates its margin most, that is, with the largest gradient of the dual
"""

import numpy as np

from frugalsvm.core.expansion import Expansion, new_expansion
from frugalsvm.core.predict import confidence

SELECTIONS = ("random", "margin", "gradient")


def selected_rows(unseen, n_selected, pool_size, random_state, choose):
    """Rows out of ``unseen``, which is used up, one after the other until there are ``n_selected``.

    ``choose`` gets a pool of rows and returns the index in it of the one to learn; the first row is any.
    """
    for k in range(n_selected):
        n_left = len(unseen) - k
        size = min(pool_size, n_left)
        pool = random_state.choice(n_left, size, replace=False) if size < n_left else np.arange(n_left)
        best = pool[choose(unseen[pool]) if k > 0 and size > 1 else 0]
        row = unseen[best]
        unseen[best] = unseen[n_left - 1]
        yield row


def most_informative(selection, values, labels):
    """The index of the example to learn next, by the decision values of a pool."""
    if selection == "margin":
        return int(np.argmin(confidence(values)))
    if values.shape[1] == 1:
        return int(np.argmin(np.where(labels == 1, values[:, 0], -values[:, 0])))
    own = values[np.arange(len(labels)), labels]
    return int(np.argmin(own))


class PackedSupport:
    """The support vectors side by side, for scoring again and again while the model changes.

    Only those that are new since the last time are copied, in the place of those that are none any more.
    """

    packed: Expansion

    def __init__(self, working_set):
        self._start(working_set)

    def _start(self, working_set):
        capacity, n_features = working_set.rows.shape
        self.packed = new_expansion(capacity, n_features, working_set.n_outputs, working_set.rows.dtype)
        self.slot = np.zeros(capacity, np.int64)

    def update(self, working_set, coef):
        """The expansion with the slots of ``working_set`` that have a coefficient other than zero in ``coef``."""
        if working_set.rows.shape[0] > len(self.slot):
            self._start(working_set)
        packed, slot = self.packed, self.slot
        lacking = (coef[:, : working_set.counts[0]["n_slots"]] != 0.0).any(axis=0)
        n = np.count_nonzero(lacking)
        n_known = min(n, packed.counts[0]["n_slots"])
        known = slot[:n_known]
        stays = np.zeros(n, bool)
        # A slot that another example has taken has another birth.
        stays[:n_known] = lacking[known] & (packed.births[:n_known] == working_set.births[known])
        lacking[slot[:n][stays]] = False
        replaced, new = np.flatnonzero(~stays), np.flatnonzero(lacking)
        slot[replaced] = new
        packed.rows[replaced], packed.norms[replaced] = working_set.rows[new], working_set.norms[new]
        packed.births[replaced] = working_set.births[new]
        packed.coef[:, :n] = coef[:, slot[:n]]
        packed.counts[0]["n_slots"] = n
        return packed
