"""Budgeted stochastic gradient descent (BSGD) in plain numpy: the oracle of the compiled engine.

Follows Z. Wang, K. Crammer and S. Vucetic, "Breaking the Curse of Kernelization: Budgeted Stochastic Gradient
Descent for Large-Scale SVM Training", JMLR 13 (2012). Numbers in brackets are that paper's equations.

The model is w = sum_j Phi(x_j) alpha_j, with a row alpha_j of ``n_outputs`` coefficients for each support
vector (SV). Everything is recomputed from the SVs whenever it is needed: no lazily applied scale, no kept
norm, no kept inverse. That is what makes it slow, and what makes it a reference.

One step, for the example (x_t, y_t) of weight s > 0:

1. t <- t + 1; margin under w_t;
2. w <- (1 - eta_t lambda) w_t;                                              (3.4)
3. if margin < 1: w <- w + s beta_t Phi(x_t), a new SV in the last slot;     (3.5), section 5
4. if the budget is exceeded: one SV less, by removal, projection or merging; section 6
5. if step 3 happened and there is a radius: w <- w min(1, radius / ||w||);  section 4
6. the average of the iterates takes in the new w.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from .kernels import ORDERS, value

LEARNERS = ("pegasos", "norma", "perceptron")
MAINTENANCES = ("removal", "projection", "merging")
KERNELS = ("rbf", "laplacian", *ORDERS, "poly", "linear")

# Numbers that are equal on paper differ in the last digits once computed. Two of them are called tied when
# they agree to this relative accuracy.
TIE = 1e-12
# In projection and merging the newcomer is preferred to an SV that is smaller by no more than this.
NEWCOMER_SLACK = 1e-9
# A newcomer whose squared distance to the span of the SVs, relative to its own squared norm, is not above
# this would make the kernel matrix numerically singular.
DEPENDENCE = 1e-6
# BSGD projects, and is stricter: its coefficients grow long before the matrix is singular.
NEAR_DEPENDENCE = 1e-4

# Where the search for the merge point begins; even number of intervals, so that h = 1/2 is on the grid.
MERGE_GRID = np.linspace(0.0, 1.0, 1001)


class Step(NamedTuple):
    """What one call of ``learn_one`` did. Slots are numbered as before the last SV moved to the freed one."""

    t: int
    violated: bool = False  # the loss was positive: an SV was added
    margin: float = np.nan  # y f(x), or f[y] - f[rival], under w_t; nan for a skipped example
    eta: float = np.nan
    rival: int | None = None  # Crammer-Singer only
    dropped: int | None = None  # p of removal and projection, m of merging; None: no maintenance
    partner: int | None = None  # n of merging
    h: float | None = None  # z = h x_m + (1 - h) x_n
    degradation: float = 0.0  # ||Delta_t||^2, squared as in (6.1)
    runner_up: float = np.inf  # merging: least degradation among the partners not taken, to spot near-ties
    dependent: bool = False  # projection: the newcomer was in the span of the others


class Maintenance(NamedTuple):
    """The part of a ``Step`` that a maintenance routine reports; same field names and meaning."""

    dropped: int
    degradation: float
    partner: int | None = None
    h: float | None = None
    runner_up: float = np.inf
    dependent: bool = False


# ----------------------------------------------------------------------------------------------------
# Kernels


def squared_distances(X, Z):
    """||x - z||^2 for all pairs, from the differences: exact zeros for equal rows, no cancellation."""
    return ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)


def kernel_matrix(X, Z, *, kernel, gamma=1.0, degree=3, coef0=1.0):
    """K(x, z) for all rows x of X and z of Z."""
    X = np.atleast_2d(np.asarray(X, dtype=np.float64))
    Z = np.atleast_2d(np.asarray(Z, dtype=np.float64))
    if kernel == "rbf":
        return np.exp(-gamma * squared_distances(X, Z))
    if kernel == "poly":
        return (gamma * (X @ Z.T) + coef0) ** degree
    if kernel == "linear":
        return X @ Z.T
    if kernel in ("laplacian", *ORDERS):
        return value(kernel, X, Z, gamma)
    raise ValueError(f"kernel must be one of {KERNELS}, got {kernel!r}")


# ----------------------------------------------------------------------------------------------------
# Merging two SVs of the Gaussian kernel, section 6.3
#
# A = ||alpha_m||^2, B = ||alpha_n||^2, C = alpha_m . alpha_n, L = ln kappa = ln K(x_m, x_n) <= 0.
# L is carried instead of kappa, which is 0 in floating point for SVs far apart, and 1 for close ones.


def merge_factors(h, L):
    """Returns u = K(x_m, z) = kappa^((1-h)^2) and v = K(x_n, z) = kappa^(h^2), z = h x_m + (1-h) x_n."""
    return np.exp((1.0 - h) ** 2 * L), np.exp(h**2 * L)


def merge_degradation(h, A, B, C, L):
    """||Delta||^2 of (6.8) at h, with the best alpha_z = alpha_m u + alpha_n v put in.

    On paper it is A + B + 2 C kappa - (A u^2 + 2 C u v + B v^2). For close SVs that is a small difference of
    large numbers, so each bracket A (1 - u^2), B (1 - v^2) and 2 C (kappa - u v) is formed with expm1; in the
    last one kappa = u v kappa^(2h(1-h)).
    """
    u, v = merge_factors(h, L)
    lost_m = -A * np.expm1(2.0 * (1.0 - h) ** 2 * L)
    lost_n = -B * np.expm1(2.0 * h**2 * L)
    lost_common = 2.0 * C * u * v * np.expm1(2.0 * h * (1.0 - h) * L)
    return lost_m + lost_n + lost_common


def merge_slope(h, A, B, C, L):
    """A positive multiple of the derivative of the degradation by h.

    With q(h) = A u^2 + 2 C u v + B v^2 and u' = -2 (1-h) L u, v' = 2 h L v, the derivative of the degradation
    is -q' = -4 L (h B v^2 - (1-h) A u^2 + (2h-1) C u v). The factor -4 L >= 0 is left out, so that the slope
    keeps its meaning for kappa = 1, where it vanishes at h = ||alpha_m|| / (||alpha_m|| + ||alpha_n||) for
    parallel coefficients: the limit of the best h.
    """
    u, v = merge_factors(h, L)
    return h * B * v**2 - (1.0 - h) * A * u**2 + (2.0 * h - 1.0) * C * u * v


def merge_minima(A, B, C, L):
    """All h in [0, 1] at which the degradation has a local minimum, in increasing order.

    The end points count when the degradation does not fall towards the inside. The others are the changes of
    the slope from - to + on a grid, each polished with Brent's root finder. A root of the slope is found to
    full accuracy, whereas the minimum of a function is found to the square root of it only.
    """
    slope = merge_slope(MERGE_GRID, A, B, C, L)
    minima = []
    if slope[0] >= 0.0:
        minima.append(0.0)
    signed = np.flatnonzero(slope)  # a slope of exactly 0 at a grid point must not hide a change of sign
    for left, right in pairwise(signed):
        if slope[left] < 0.0 < slope[right]:
            bracket = MERGE_GRID[left], MERGE_GRID[right]
            root = brentq(merge_slope, *bracket, args=(A, B, C, L), xtol=1e-16, rtol=4 * np.finfo(float).eps)
            minima.append(root)
    if slope[-1] <= 0.0:
        minima.append(1.0)
    return minima


def best_merge(A, B, C, L):
    """The h in [0, 1] of least degradation, and that degradation.

    There can be two minima (for kappa < e^-2). Between SVs of equal size they are mirror images, equally
    good: among tied minima the smaller h is taken.
    """
    minima = merge_minima(A, B, C, L)
    degradations = [float(merge_degradation(h, A, B, C, L)) for h in minima]
    chosen = first_tied(degradations)
    return minima[chosen], max(degradations[chosen], 0.0)


def first_tied(values):
    """First index among the values tied with the least one."""
    return int(tied_with_least(values)[0])


def tied_with_least(values):
    """Indices of all values tied with the least one, in increasing order."""
    values = np.asarray(values)
    least = values.min()
    return np.flatnonzero(values <= least + TIE * abs(least))


# ----------------------------------------------------------------------------------------------------
# The learner


class BSGDOracle:
    """Algorithm 1 of the paper, with the three learners of Table 2 and the three maintenances of Algorithm 2.

    Parameters
    ----------
    learner : {"pegasos", "norma", "perceptron"}
        eta_t = 1 / (lambda t); eta_t = eta0 / sqrt(t); eta_t = eta0 and lambda = 0.
    maintenance : {"removal", "projection", "merging"}
        Merging needs the rbf kernel.
    budget : int or None
        Most SVs after a step. None: no limit.
    n_outputs : int
        1: binary, labels -1 and +1. c > 1: Crammer-Singer, labels 0..c-1.
    kernel : one of ``KERNELS``
        exp(-gamma ||x-z||^2), (gamma <x,z> + coef0)^degree, <x,z>.
    alpha : float
        lambda of the paper (not used by the perceptron).
    eta0 : float
        eta of Table 2 (not used by Pegasos).
    radius : float or None
        U of section 4: w is kept in the ball of this radius.
    average_from : int or None
        t0: the iterates with t > t0 are averaged.
    clock : float
        Where the clock of Pegasos stops: eta_t = 1 / (lambda min(t, clock)).

    Attributes
    ----------
    rows : list of arrays, the SVs in slot order
    coef : array (n_sv, n_outputs), the coefficients alpha_j
    births : list of int, the t at which each SV was made; a merged SV is made at the merge
    average_coef : array (n_sv, n_outputs), the average of the iterates on the same SVs
    t : int, examples of positive weight seen
    gradient_error_sum : float, sum of ||E_t|| = ||Delta_t|| / eta_t
    """

    def __init__(
        self,
        *,
        learner,
        maintenance,
        budget,
        n_outputs,
        kernel="rbf",
        gamma=1.0,
        degree=3,
        coef0=1.0,
        alpha=1e-4,
        eta0=1.0,
        radius=None,
        average_from=None,
        clock=np.inf,
    ):
        if learner not in LEARNERS:
            raise ValueError(f"learner must be one of {LEARNERS}, got {learner!r}")
        if maintenance not in MAINTENANCES:
            raise ValueError(f"maintenance must be one of {MAINTENANCES}, got {maintenance!r}")
        if kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {KERNELS}, got {kernel!r}")
        if maintenance == "merging" and kernel != "rbf":
            raise ValueError("merging needs the rbf kernel")
        if budget is not None and budget < 1:
            raise ValueError(f"budget must be at least 1, or None, got {budget!r}")
        self.learner = learner
        self.maintenance = maintenance
        self.budget = budget
        self.n_outputs = n_outputs
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.lam = 0.0 if learner == "perceptron" else alpha
        self.eta0 = eta0
        self.radius = radius
        self.average_from = average_from
        self.clock = clock

        self.rows = []
        self.coef = np.zeros((0, n_outputs))
        self.average_coef = np.zeros((0, n_outputs))
        self.births = []
        self.t = 0
        self.gradient_error_sum = 0.0

    # ---- what the model says -----------------------------------------------------------------------

    def decision(self, X):
        """f(x) of (3.8) for each row of X: shape (n,) in the binary case, (n, n_outputs) otherwise."""
        return self._expansion(X, self.coef)

    def average_decision(self, X):
        """Decision values of the average of the iterates with t > average_from."""
        if self.average_from is None or self.t <= self.average_from:
            raise ValueError("no iterate has been averaged")
        return self._expansion(X, self.average_coef)

    @property
    def squared_norm(self):
        """||w||^2 = sum_i ||w^(i)||^2, from the kernel matrix of the SVs."""
        return float(np.sum(self.coef * (self._gram() @ self.coef)))

    @property
    def gradient_error(self):
        """The average gradient error of Theorem 1: the mean over all t of ||E_t||, most of them 0."""
        return self.gradient_error_sum / self.t if self.t else 0.0

    # ---- one step ----------------------------------------------------------------------------------

    def learn_one(self, x, y, weight=1.0):
        """One round of Algorithm 1. An example of weight 0 is skipped: even t stays as it was."""
        if weight < 0:
            raise ValueError(f"weight must not be negative, got {weight!r}")
        if weight == 0:
            return Step(t=self.t)
        x = np.array(x, dtype=np.float64)
        self.t += 1
        eta = self.learning_rate(self.t)
        margin, rival = self._margin(x, y)  # under w_t: before the shrinking
        violated = margin < 1.0

        self.coef *= 1.0 - eta * self.lam  # (3.4)
        maintained = None
        if violated:
            self._add(x, weight * self._beta(y, rival, eta))
            maintained = self._maintain()
            self._project_onto_ball()
        self._take_into_average()

        step = Step(t=self.t, violated=bool(violated), margin=margin, eta=eta, rival=rival)
        if maintained is None:
            return step
        self.gradient_error_sum += np.sqrt(maintained.degradation) / eta
        return step._replace(**maintained._asdict())

    def learning_rate(self, t):
        """eta_t of Table 2."""
        if self.learner == "pegasos":
            return 1.0 / (self.lam * min(t, self.clock))
        if self.learner == "norma":
            return self.eta0 / np.sqrt(t)
        return self.eta0

    def _margin(self, x, y):
        """The margin, of which the hinge loss is max(0, 1 - margin), and the rival class of (5.2)."""
        values = self.decision(x[None, :])[0]
        if self.n_outputs == 1:
            return float(y * values), None
        others = values.copy()
        others[y] = -np.inf
        rival = int(np.argmax(others))  # the first one, if there are several
        return float(values[y] - values[rival]), rival

    def _beta(self, y, rival, eta):
        """The coefficients of the new SV: (3.5), or its multi-class form in section 5."""
        beta = np.zeros(self.n_outputs)
        if self.n_outputs == 1:
            beta[0] = eta * y
        else:
            beta[y] = eta
            beta[rival] = -eta
        return beta

    def _project_onto_ball(self):
        """phi_t = min(1, U / ||w||) of section 4. Shrinking alone cannot leave the ball."""
        if self.radius is None:
            return
        norm = np.sqrt(self.squared_norm)
        if norm > self.radius:
            self.coef *= self.radius / norm

    def _take_into_average(self):
        """Running mean of the iterates with t > average_from."""
        if self.average_from is None or self.t <= self.average_from:
            return
        self.average_coef += (self.coef - self.average_coef) / (self.t - self.average_from)

    # ---- budget maintenance, section 6 -------------------------------------------------------------

    def _maintain(self):
        """Makes room if the newcomer in the last slot is one SV too many. None if it is not."""
        if self.maintenance == "projection":
            # Asked for every newcomer: one in the span of the others would make K_p of (6.3) singular for
            # all projections to come, and costs nothing to project now.
            newcomer = len(self.rows) - 1
            combination, residual = self._projection_on_others(newcomer)
            if residual <= NEAR_DEPENDENCE * self._self_kernels()[newcomer]:
                return self._project(newcomer, combination, residual)._replace(dependent=True)
        if self.budget is None or len(self.rows) <= self.budget:
            return None
        if self.maintenance == "removal":
            return self._remove_smallest()
        if self.maintenance == "projection":
            return self._project_smallest()
        return self._merge_smallest()

    def _sizes(self):
        """||alpha_j||^2 k(x_j, x_j): the degradation of removing the SV."""
        return np.sum(self.coef**2, axis=1) * self._self_kernels()

    def _smallest_or_newcomer(self):
        """The SV to project or merge: the newcomer, unless some other SV is really smaller."""
        sizes = self._sizes()
        newcomer = len(sizes) - 1
        smallest_other = int(tied_with_least(sizes[:newcomer])[0])
        if sizes[newcomer] <= sizes[smallest_other] * (1.0 + NEWCOMER_SLACK):
            return newcomer
        return smallest_other

    def _remove_smallest(self):
        """Section 6.1: Delta = alpha_p Phi(x_p). Of equally small SVs the oldest goes."""
        sizes = self._sizes()
        dropped = min(tied_with_least(sizes), key=lambda slot: (self.births[slot], slot))
        self._free_slot(dropped)
        return Maintenance(dropped=int(dropped), degradation=float(sizes[dropped]))

    def _project_smallest(self):
        """Section 6.2."""
        dropped = self._smallest_or_newcomer()
        return self._project(dropped, *self._projection_on_others(dropped))

    def _projection_on_others(self, p):
        """K_p^-1 k_p of (6.3), over the other slots in order, and k_pp - k_p^T K_p^-1 k_p of (6.4)."""
        others = self._slots_without(p)
        gram = self._gram()
        combination = np.linalg.solve(gram[np.ix_(others, others)], gram[others, p])
        return combination, float(gram[p, p] - gram[others, p] @ combination)

    def _project(self, p, combination, residual):
        """Hands the coefficients of slot p to the other SVs (6.3) and frees it; degradation (6.4)."""
        degradation = float(np.sum(self.coef[p] ** 2)) * max(residual, 0.0)
        others = self._slots_without(p)
        for table in (self.coef, self.average_coef):
            table[others] += np.outer(combination, table[p])
        self._free_slot(p)
        return Maintenance(dropped=p, degradation=degradation)

    def _merge_smallest(self):
        """Section 6.3: the smallest SV m is merged with the partner n of least degradation (6.8)."""
        m = self._smallest_or_newcomer()
        partners = self._merge_partners(m)
        merges = [self._best_merge(m, n) for n in partners]
        degradations = [degradation for _, degradation in merges]
        chosen = first_tied(degradations)
        n = partners[chosen]
        h, degradation = merges[chosen]
        self._merge(m, n, h)
        return Maintenance(
            dropped=m,
            partner=n,
            h=h,
            degradation=degradation,
            runner_up=min(degradations[:chosen] + degradations[chosen + 1 :], default=np.inf),
        )

    def _merge_partners(self, m):
        """The other slots; in the binary case those of the same sign, if there are any."""
        others = self._slots_without(m)
        if self.n_outputs == 1:
            same_sign = [n for n in others if np.sign(self.coef[n, 0]) == np.sign(self.coef[m, 0])]
            return same_sign or others
        return others

    def _best_merge(self, m, n):
        """Best h and its degradation for the pair of slots m and n."""
        a_m, a_n = self.coef[m], self.coef[n]
        return best_merge(float(a_m @ a_m), float(a_n @ a_n), float(a_m @ a_n), self._log_kappa(m, n))

    def _log_kappa(self, m, n):
        return float(-self.gamma * np.sum((self.rows[m] - self.rows[n]) ** 2))

    def _merge(self, m, n, h):
        """Writes z = h x_m + (1-h) x_n with alpha_z = alpha_m u + alpha_n v to slot n, and frees slot m."""
        u, v = merge_factors(h, self._log_kappa(m, n))
        for table in (self.coef, self.average_coef):
            table[n] = table[m] * u + table[n] * v
        self.rows[n] = h * self.rows[m] + (1.0 - h) * self.rows[n]
        self.births[n] = self.t
        self._free_slot(m)

    # ---- the table of SVs --------------------------------------------------------------------------

    def _add(self, x, coefficients):
        """A new SV in the last slot. It has no part in the average yet."""
        self.rows.append(x)
        self.coef = np.vstack([self.coef, coefficients])
        self.average_coef = np.vstack([self.average_coef, np.zeros(self.n_outputs)])
        self.births.append(self.t)

    def _free_slot(self, free):
        """Drops the SV in the slot; the SV of the last slot moves there."""
        last = len(self.rows) - 1
        self.rows[free] = self.rows[last]
        self.births[free] = self.births[last]
        self.coef[free] = self.coef[last]
        self.average_coef[free] = self.average_coef[last]
        self.rows.pop()
        self.births.pop()
        self.coef = self.coef[:last].copy()
        self.average_coef = self.average_coef[:last].copy()

    def _slots_without(self, slot):
        return [j for j in range(len(self.rows)) if j != slot]

    def _kernel(self, X, Z):
        return kernel_matrix(X, Z, kernel=self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)

    def _gram(self):
        if not self.rows:
            return np.zeros((0, 0))
        return self._kernel(self.rows, self.rows)

    def _self_kernels(self):
        return np.diag(self._gram())

    def _expansion(self, X, coefficients):
        """sum_j coefficients_j k(x_j, x) for each row x of X (3.8)."""
        X = np.atleast_2d(np.asarray(X, dtype=np.float64))
        values = np.zeros((len(X), self.n_outputs))
        if self.rows:
            values = self._kernel(X, self.rows) @ coefficients
        return values[:, 0] if self.n_outputs == 1 else values
