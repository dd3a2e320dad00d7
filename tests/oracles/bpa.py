"""Budgeted passive-aggressive learning (BPA) in plain numpy: the oracle of the compiled one.

Follows Z. Wang and S. Vucetic, "Online Passive-Aggressive Algorithms on a Budget" (2010), as it is summarised in
section 2.4 of Z. Wang, K. Crammer and S. Vucetic, JMLR 13 (2012). Update and removal are one problem. When an
example (x_t, y_t) has a loss and the model w_t = sum_j alpha_j Phi(x_j) is full, then for each support vector
(SV) r

    min  0.5 ||w - w_t||^2 + C xi    subject to    y_t <w, Phi(x_t)> >= 1 - xi,   xi >= 0,
    w = w_t - alpha_r Phi(x_r) + sum_{i in V} beta_i Phi(x_i)

over beta and xi, and the r of the least minimum is removed. The variants differ in V, which always has t in it:

    simple       V = {t}
    nn           V = {n, t}, n the SV nearest to x_r in feature space, besides r
    projecting   V = all SVs but r, and t

Solution
--------
Let K be the kernel matrix on V, k_r and k_t the kernel values of V with x_r and x_t, and tau, mu >= 0 the multipliers
of the two inequalities. The derivative of the Lagrangian by xi gives C = tau + mu, hence tau <= C; that by beta
gives K beta - alpha_r k_r - tau y_t k_t = 0, hence

    beta = alpha_r K^-1 k_r + tau y_t K^-1 k_t.

Now t is in V, so that k_t is a column of K: K^-1 k_t is 1 at t and 0 elsewhere, and k_t^T K^-1 k_r = k_rt. Therefore

    beta = alpha_r d + tau y_t e_t,       d = K^-1 k_r,

where d are the coefficients of the projection of Phi(x_r) on the span of V. This projection leaves the value at
x_t as it was: y_t f_new(x_t) = y_t f(x_t) - alpha_r k_rt + alpha_r k_t^T d + tau k_tt = y_t f(x_t) + tau k_tt. So the
loss l = 1 - y_t f(x_t) > 0 becomes l - tau k_tt, and complementary slackness (tau < C means xi = 0) gives

    tau = min(C, l / k_tt),

the ordinary passive-aggressive step, for every r and every V. Also w - w_t = tau y_t Phi(x_t) - alpha_r delta_r with
delta_r = Phi(x_r) - sum_i d_i Phi(x_i) orthogonal to the span of V, to Phi(x_t) in particular. The minimum is

    0.5 tau^2 k_tt + C max(0, l - tau k_tt)  +  0.5 alpha_r^2 ||delta_r||^2,   ||delta_r||^2 = k_rr - k_r^T d.

Only the last term depends on r: the SV goes whose projection on V loses least.

    simple       d_t = k_rt / k_tt,   ||delta_r||^2 = k_rr - k_rt^2 / k_tt
    nn           d_n = (k_tt k_rn - k_nt k_rt) / D,   d_t = (k_nn k_rt - k_nt k_rn) / D,   D = k_nn k_tt - k_nt^2
    projecting   with G the kernel matrix of all SVs and t, H = G^-1:  d_i = -H_ir / H_rr,   ||delta_r||^2 = 1 / H_rr

A model with room is not asked to lose anything: w = w_t + tau y_t Phi(x_t).

Where K is singular the minimum is still attained, by one w but by many beta. Two cases are kept apart from it:

- nn, and x_t numerically in the span of x_n: n adds nothing to V, and V = {t}.
- projecting, and x_t numerically in the span of the SVs, full or not: w_t + tau y_t Phi(x_t) itself needs no new
  SV. The newcomer is projected on the SVs, and leaves again; no w has a smaller objective.
"""

from typing import NamedTuple

import numpy as np

from .bsgd import DEPENDENCE, first_tied
from .perceptrons import SupportVectors

VARIANTS = ("simple", "nn", "projecting")
# Two vectors are the same if the part of one that is not along the other is not above this. A matrix of two by two
# that is nearly singular does less harm than a large one: this is smaller than DEPENDENCE.
SAME = 1e-8


class Step(NamedTuple):
    """What one call of ``learn_one`` did. Slots are numbered as before the last SV moved to the freed one."""

    t: int
    margin: float  # y f(x) before the step
    violated: bool = False  # the loss was positive: the model was updated
    tau: float = 0.0
    dropped: int | None = None  # r; the newcomer's slot if it was projected; None: nothing was removed
    degradation: float = 0.0  # alpha_r^2 ||delta_r||^2
    objective: float = 0.0  # 0.5 ||w - w_t||^2 + C xi at the chosen r
    runner_up: float = np.inf  # least objective among the other r, to spot near-ties
    dependent: bool = False  # projecting: the newcomer was in the span of the SVs


class Update(NamedTuple):
    """Solution of the problem for one r."""

    removed: int  # r
    support: list  # V, as slots in increasing order: the newcomer is the last one
    beta: np.ndarray  # over V
    degradation: float  # alpha_r^2 ||delta_r||^2
    objective: float


# ----------------------------------------------------------------------------------------------------
# The closed forms


def passive_aggressive_step(loss, self_kernel, C):
    """tau."""
    return min(C, loss / self_kernel)


def passive_aggressive_objective(loss, self_kernel, C):
    """The part of the objective that is the same for all r."""
    tau = passive_aggressive_step(loss, self_kernel, C)
    return 0.5 * tau**2 * self_kernel + C * max(0.0, loss - tau * self_kernel)


def projection_on(gram, p, support):
    """Coefficients d of the projection of slot p on the slots of the support, and ||delta_p||^2."""
    combination = np.linalg.solve(gram[np.ix_(support, support)], gram[support, p])
    return combination, max(float(gram[p, p] - gram[support, p] @ combination), 0.0)


def is_dependent(gram, p, support, part=DEPENDENCE):
    """Whether slot p is numerically in the span of the support."""
    return projection_on(gram, p, support)[1] <= part * gram[p, p]


def update_without(gram, alpha, y, r, support, C):
    """The best update that removes slot r and changes only the slots of the support.

    ``gram`` and ``alpha`` are those of the SVs and, last, of the newcomer, whose coefficient is 0; it must have a loss.
    """
    newcomer = len(alpha) - 1
    self_kernel = gram[newcomer, newcomer]
    loss = 1.0 - y * (gram[newcomer] @ alpha)
    combination, lost_norm2 = projection_on(gram, r, support)
    beta = alpha[r] * combination
    beta[support.index(newcomer)] += y * passive_aggressive_step(loss, self_kernel, C)
    degradation = float(alpha[r] ** 2 * lost_norm2)
    objective = passive_aggressive_objective(loss, self_kernel, C) + 0.5 * degradation
    return Update(removed=r, support=support, beta=beta, degradation=degradation, objective=float(objective))


# ----------------------------------------------------------------------------------------------------
# The learner


class BPAOracle(SupportVectors):
    """Passive-aggressive learning with hinge loss (PA-I) on a budget; binary, labels -1 and +1.

    Parameters
    ----------
    variant : {"simple", "nn", "projecting"}
    C : float
        Weight of the loss, and largest step.
    budget : int or None
        Most SVs after a step. None: no limit.
    kernel : {"rbf", "poly", "linear"}
        exp(-gamma ||x-z||^2), (gamma <x,z> + coef0)^degree, <x,z>.

    Attributes
    ----------
    rows : list of arrays, the SVs in slot order
    coef : array (n_sv, 1)
    births : list of int, the t at which each SV was added
    t : int, examples seen
    """

    def __init__(self, variant="nn", C=1.0, budget=None, kernel="rbf", gamma=1.0, degree=3, coef0=1.0):
        super().__init__(kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, n_outputs=1)
        if variant not in VARIANTS:
            raise ValueError(f"variant must be one of {VARIANTS}, got {variant!r}")
        if C <= 0:
            raise ValueError(f"C must be positive, got {C!r}")
        if budget is not None and budget < 1:
            raise ValueError(f"budget must be at least 1, or None, got {budget!r}")
        self.variant = variant
        self.C = C
        self.budget = budget

    def learn_one(self, x, y):
        """Shows one example to the learner."""
        x = np.array(x, dtype=np.float64)
        self.t += 1
        margin = float(y * self.decision(x)[0])
        loss = 1.0 - margin
        self_kernel = self._self_kernel(x)
        if loss <= 0.0 or self_kernel <= 0.0:  # Phi(x) = 0 has the same loss under every model
            return Step(t=self.t, margin=margin)
        step = Step(
            t=self.t,
            margin=margin,
            violated=True,
            tau=passive_aggressive_step(loss, self_kernel, self.C),
            objective=passive_aggressive_objective(loss, self_kernel, self.C),
        )
        self._add(x, [0.0])  # as the last slot, for the kernel matrix
        if self.variant == "projecting" and self._newcomer_is_dependent():
            return self._project_newcomer(y, step)
        if self.budget is None or len(self.rows) <= self.budget:
            self.coef[-1, 0] = step.tau * y
            return step
        return self._replace_one(y, step)

    # ---- a full model ------------------------------------------------------------------------------

    def _replace_one(self, y, step):
        gram = self._gram()
        updates = [self._update_without(gram, y, r) for r in range(len(self.rows) - 1)]
        objectives = [update.objective for update in updates]
        chosen = first_tied(objectives)
        update = updates[chosen]
        self.coef[update.support, 0] += update.beta
        self._free_slot(update.removed)
        return step._replace(
            dropped=update.removed,
            degradation=update.degradation,
            objective=update.objective,
            runner_up=min(objectives[:chosen] + objectives[chosen + 1 :], default=np.inf),
        )

    def _update_without(self, gram, y, r):
        return update_without(gram, self.coef[:, 0], y, r, self._support(gram, r), self.C)

    def _support(self, gram, r):
        """V, for the removal of slot r."""
        newcomer = len(self.rows) - 1
        others = [j for j in range(newcomer) if j != r]
        if self.variant == "projecting":
            return [*others, newcomer]
        if self.variant == "nn" and others:
            neighbour = self._nearest(self.rows[r], others)
            if not is_dependent(gram, neighbour, [newcomer], SAME):
                return [neighbour, newcomer]
        return [newcomer]

    # ---- a newcomer in the span of the SVs ---------------------------------------------------------

    def _newcomer_is_dependent(self):
        newcomer = len(self.rows) - 1
        return newcomer > 0 and is_dependent(self._gram(), newcomer, list(range(newcomer)))

    def _project_newcomer(self, y, step):
        newcomer = len(self.rows) - 1
        combination, _ = projection_on(self._gram(), newcomer, list(range(newcomer)))
        self.coef[:newcomer, 0] += step.tau * y * combination
        self._free_slot(newcomer)
        return step._replace(dropped=newcomer, dependent=True)
