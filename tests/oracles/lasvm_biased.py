"""LASVM, the online dual SVM with a bias, in plain numpy.

Follows A. Bordes, S. Ertekin, J. Weston and L. Bottou, "Fast Kernel Classifiers with Online and Active Learning", JMLR
6 (2005). Notation and members are those of ``lasvm``: signed coefficients alpha_k between A_k = min(0, C y_k) and B_k =
max(0, C y_k), gradients g_k = y_k - f(x_k) with f(x) = sum_k alpha_k K(x_k, x), which has no bias in it.

The bias puts the constraint sum_k alpha_k = 0 on the dual G, so pairs (i, j) move by lambda and -lambda, along which G
rises by lambda (g_i - g_j) - lambda^2 (K_ii + K_jj - 2 K_ij) / 2. Over the members that can go up (alpha < B) g_max is
the largest g, over those that can go down (alpha > A) g_min the smallest. All is optimal when g_max <= g_min, up to
tau: then any b between satisfies the conditions on f + b, and b = (g_max + g_min) / 2 is taken.

PROCESS inserts the newcomer with alpha = 0 and pairs it with the member it violates most with; it can only go up, as i,
if y = +1, and only down, as j, if y = -1. Without such a partner, or if g_i - g_j <= tau, it is a member all the same.

REPROCESS takes one step at the worst pair, unless it violates by no more than tau. With g_max and g_min taken again
after the step, a member with alpha = 0 cannot come back, and leaves, if y = -1 (it can only go down) and g >= g_max, or
if y = +1 and g <= g_min: it would not violate with any of the others.

Ties are the rule here, not the exception: a step that is not clipped ends with g_i = g_j, and after PROCESS these two
often are the largest or the smallest gradients both. Which of them is larger is up to rounding, so the first of those
that are tied (``bsgd.TIE``) is taken.

While only one class was seen nothing can go the other way. There is no pair, members accumulate with alpha = 0, f = 0.
Nobody leaves either, and this is not in the paper, while examples of a class are lacking (``lasvm.is_one_sided``).
"""

from typing import NamedTuple

import numpy as np

from .bsgd import first_tied
from .lasvm import CURVATURE_FLOOR, Expansion, is_one_sided


class BiasedStep(NamedTuple):
    """What one visit of an example did to the learner with a bias. None: bailed out."""

    t: int
    f: float  # the decision value when it was met, without the bias
    processed: tuple | None  # (id_i, id_j, lambda)
    reprocessed: tuple | None  # (id_i, id_j, lambda)
    removed: list  # ids, in order of admission


class BiasedLASVMOracle(Expansion):
    """LASVM: one PROCESS and one REPROCESS for every example, on pairs that keep sum_k alpha_k = 0.

    ``b`` is set after every insertion (and the step it may lead to), and after every step of REPROCESS before the
    members that cannot come back leave. It is g_max or g_min when there is only one of them, and 0 before any example.
    ``second_order``: REPROCESS chooses j by what the step would gain if it were not clipped, (g_i - g_j)^2 / curvature.
    """

    def __init__(self, C=1.0, kernel="rbf", gamma=1.0, degree=3, coef0=1.0, tau=1e-3, second_order=True, few=0):
        super().__init__(C=C, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0)
        self.tau = tau
        self.second_order = second_order
        self.few = few
        self.history = []
        self.b = 0.0

    def decision(self, X):
        return self.expansion(X) + self.b

    def learn_one(self, x, y):
        """Shows a new example to the learner, or again one that has left."""
        x = np.array(x, dtype=np.float64)
        self.t += 1
        self.history.append(y)
        f = float(self.expansion(x)[0])
        self._insert(x, y, y)
        processed = self.process(len(self.rows) - 1)
        self._set_bias()
        reprocessed, removed = self.reprocess(self.tau)
        return BiasedStep(self.t, f, processed, reprocessed, removed)

    def relearn(self, id):
        """Visits a member again: PROCESS has nothing to insert, so this is one REPROCESS."""
        f = float(self.y[k := self.slot_of(id)] - self.g[k])
        return BiasedStep(id, f, None, *self.reprocess(self.tau))

    def finish(self, tol):
        """REPROCESS until no pair violates by more than ``tol``; returns the ids that left."""
        removed = []
        while (step := self.reprocess(tol))[0] is not None:
            removed += step[1]
        return removed

    def process(self, k):
        """Pairs the newcomer in slot k with the member that violates most; (id_i, id_j, lambda), or None."""
        up, down = self._movable()
        partners = down if self.y[k] > 0 else up
        if len(partners) == 0:
            return None
        if self.y[k] > 0:
            i, j = k, int(down[first_tied(self.g[down])])
        else:
            i, j = int(up[first_tied(-self.g[up])]), k
        return self._pair_move(i, j) if self.g[i] - self.g[j] > self.tau else None

    def reprocess(self, tol):
        """((id_i, id_j, lambda), ids that left), or (None, []) if no pair violates by more than ``tol``."""
        up, down = self._movable()
        if len(up) == 0 or len(down) == 0:
            return None, []
        i, j = int(up[first_tied(-self.g[up])]), int(down[first_tied(self.g[down])])
        if self.g[i] - self.g[j] <= tol:
            return None, []
        if self.second_order:
            partners = down[self.g[down] < self.g[i]]
            scores = [(self.g[i] - self.g[m]) ** 2 / self._curvature(i, m) for m in partners]
            j = int(partners[first_tied(-np.array(scores))])
        moved = self._pair_move(i, j)
        self._set_bias()
        return moved, [] if is_one_sided(self.history, self.few) else self._remove(self._cannot_come_back())

    def _movable(self):
        """Slots that can go up, and slots that can go down."""
        return np.flatnonzero(self.alpha < self.high), np.flatnonzero(self.alpha > self.low)

    def _curvature(self, i, j):
        lengths = self.gram[i, i] + self.gram[j, j]
        return max(lengths - 2.0 * self.gram[i, j], CURVATURE_FLOOR * (lengths if lengths > 0.0 else 1.0))

    def _pair_move(self, i, j):
        best = (self.g[i] - self.g[j]) / self._curvature(i, j)
        step = float(min(best, self.high[i] - self.alpha[i], self.alpha[j] - self.low[j]))
        self._move({i: step, j: -step})
        return (self.ids[i], self.ids[j], step)

    def _extremes(self):
        """g_max and g_min; -inf and inf where there is no member that can go up or down."""
        up, down = self._movable()
        return self.g[up].max(initial=-np.inf), self.g[down].min(initial=np.inf)

    def _set_bias(self):
        there = [g for g in self._extremes() if np.isfinite(g)]
        self.b = float(np.mean(there)) if there else 0.0

    def _cannot_come_back(self):
        g_max, g_min = self._extremes()
        useless = np.where(self.y > 0, self.g <= g_min, self.g >= g_max)
        return [int(k) for k in np.flatnonzero((self.alpha == 0.0) & useless)]
