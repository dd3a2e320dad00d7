"""Online dual SVMs without a bias in plain numpy: LASVM-G, LASVM-NC, LASVM-I and FULL SVM.

Follows S. Ertekin, L. Bottou and C. L. Giles, "Nonconvex Online Support Vector Machines", IEEE PAMI 33 (2011);
numbers in brackets are its equations. LASVM itself, with a bias, is in ``lasvm_biased``. The coefficients alpha_k carry
the sign of the label, f(x) = sum_k alpha_k K(x_k, x), and g_k = y_k - f(x_k) is the gradient of the dual, kept for all
members (10). A member is an example in the expansion, whether its alpha is 0 or not; those with alpha != 0 are the
support vectors (SVs). The problem is

    maximise   G(alpha) = sum_k y_k alpha_k - 1/2 sum_kl alpha_k alpha_l K_kl   subject to   A_k <= alpha_k <= B_k.

The flip of LASVM-NC
    CCCP replaces the concave part -C H_s(z) of the ramp loss, z = y f, by its tangent where the example is met. For
    z < s that is -C (s - z), in general -beta (s - z) with beta = C if z < s and 0 otherwise (16). The problem left is

        P(w) = 1/2 ||w||^2 + sum_k [ C max(0, 1 - z_k) - beta_k (s - z_k) ].

    With C max(0, u) = max of a u over 0 <= a <= C, the saddle point has w = sum_k (a_k - beta_k) y_k Phi(x_k), so that
    alpha_k = (a_k - beta_k) y_k, whose box is (17), and the dual is D = G(alpha) + sum_k beta_k (1 - s). The constant,
    which the paper leaves out of (17), does not matter to the maximiser, but it does to the gap. For beta = C the
    box -C <= alpha y <= 0 is 0 <= alpha Y <= C with Y = -y: the box of an example with the label Y. G still has
    y_k alpha_k in it, so the gradient is y - f as before. Thus a single label Y tells all: Y = -y for a flipped
    example, Y = y for others, and A = min(0, C Y), B = max(0, C Y).

The duality gap
    With ||w||^2 = sum_k alpha_k f(x_k) and u_k = y_k g_k = 1 - z_k, all of this taken at w = w(alpha),

        P - D = sum_k [ C max(0, u_k) - beta_k u_k - alpha_k g_k ].

    For beta = 0 the first two terms are C max(0, y_k g_k), for beta = C they are C max(0, -u_k) = C max(0, -y_k g_k).
    In both cases gap = sum_k ( C max(0, Y_k g_k) - alpha_k g_k ), and as alpha_k g_k = (alpha_k Y_k) (Y_k g_k) with
    0 <= alpha_k Y_k <= C, no term is negative (in floating point neither). The printed (9) has lost its signs, and the
    derivation above it cuts off all negative u_k, though an SV with u_k < 0 has the term -alpha_k g_k > 0. The gap
    is that of the members: what CLEAN has removed has no part in it.

    The gap target (8) is the spread of h_k = C y_k g_k, with the number l of SVs, though the sums run over all
    members; what is under the root can therefore be negative and counts as 0 then.

PROCESS and REPROCESS
    Along one coordinate G rises by lambda g - lambda^2 K / 2: best at g / K, clipped to the box. PROCESS prints max
    twice; the second is min. An example with K_tt <= 0 is never moved (it would not change f), so it cannot be picked
    as a violator either. The violation of a member is g if it can go up (alpha < B), -g if it can go down (alpha > A),
    the larger of the two if it can do both. REPROCESS takes the member that violates most, and bails out when that is
    not above tau. Printed is the test g_i - g_j > tau of a pair, which belongs to the problem with a bias: here
    a model of one free SV, or one in which all gradients are equal, would never be optimised by it.

    steps="single" moves the worst violator i alone, as printed. steps="pair" moves two at once. When i has gone its
    own best step lambda_i, the gradient of another member j is r_j = g_j - K_ij lambda_i. If i was not clipped it can
    follow a step d of j by -K_ij d / K_ii, so that G rises by d r_j - c_j d^2 / 2 with c_j = K_jj - K_ij^2 / K_ii; if
    it was, it stays there, and c_j = K_jj. The j that gains most by its own clipped step is taken (an estimate: the
    box of i is not asked again), and then both together go to the exact maximum in their two boxes. A concave
    function has it where its gradient vanishes, if that is in the box, or else on one of the four edges.

CLEAN, every ``clean_every`` admitted examples: of the members with alpha = 0 at most ``max_non_sv`` stay, those nearest
to the margin (smallest |g|).

Not in the paper: as long as fewer than ``few`` examples of one of the classes were seen, or none of it for LONG times
as long as it takes on average, the examples are one-sided. Then nothing is skipped or flipped, and CLEAN leaves
PATIENCE times as many.
"""

from typing import NamedTuple

import numpy as np

from .bsgd import KERNELS, TIE, first_tied, kernel_matrix, tied_with_least

VARIANTS = ("g", "nc", "i", "full")
STEPS = ("single", "pair")

# Curvatures are not taken for smaller than this part of the kernel values they are the difference of.
CURVATURE_FLOOR = 1e-12

PATIENCE = 30
LONG = 20


class Step(NamedTuple):
    """What one visit of an example did. Members are named by their ids."""

    t: int  # the id of the example
    z: float  # y f(x) when it was met
    skipped: bool  # variant "i" only: not admitted
    flipped: bool  # variant "nc" only: beta = C
    target: float  # what the gap was to be brought to, max(C, gap target); nan for a skipped example
    gap_after: float  # when the loop ended, that is before CLEAN
    n_reprocess: int
    pairs: list  # of each REPROCESS (id_i, id_j or None, lambda_i, lambda_j)
    cleaned: list  # ids, in order of admission
    process_step: float = 0.0  # lambda of PROCESS


# ----------------------------------------------------------------------------------------------------
# The objective functions, straight from their definitions


def hinge_primal(gram, y, alpha, C):
    """J(w) of (1) with b = 0, at w = sum_k alpha_k Phi(x_k)."""
    f = gram @ alpha
    return 0.5 * alpha @ f + C * np.maximum(0.0, 1.0 - y * f).sum()


def dual(gram, y, alpha):
    """G(alpha) of (2) and (17)."""
    return y @ alpha - 0.5 * alpha @ gram @ alpha


def ramp_primal(gram, y, alpha, C, s, flipped):
    """(15) with C H_s replaced by its tangent: beta (s - z), beta = C for the flipped examples (16)."""
    z = y * (gram @ alpha)
    beta = np.where(flipped, C, 0.0)
    return hinge_primal(gram, y, alpha, C) - np.sum(beta * (s - z))


def ramp_dual(gram, y, alpha, C, s, flipped):
    """(17) with the constant that belongs to it."""
    return dual(gram, y, alpha) + C * np.sum(flipped) * (1.0 - s)


# ----------------------------------------------------------------------------------------------------
# Classes that are lacking


def is_one_sided(labels, few):
    """Whether examples of a class are lacking at the end of a sequence of labels -1 and +1."""
    labels = np.array(labels)
    counts = {y: np.sum(labels == y) for y in (-1, 1)}
    if min(counts.values()) < few:
        return True
    if few == 0 or len(labels) == 0:
        return False
    absent = -labels[-1]
    since = len(labels) - 1 - np.flatnonzero(labels == absent)[-1]
    return since > LONG * len(labels) / counts[absent]


# ----------------------------------------------------------------------------------------------------
# Steps


def coordinate_step(g, k, low, high):
    """The maximiser of g a - k a^2 / 2 in [low, high], where low <= 0 <= high; 0 for k <= 0."""
    return min(max(g / k, low), high) if k > 0.0 else 0.0


def pair_step(g, K, low, high):
    """The maximiser (a, b) of g_i a + g_j b - (K_ii a^2 + 2 K_ij a b + K_jj b^2) / 2 in a box.

    ``g``, ``low`` and ``high`` have two entries, ``K`` is (K_ii, K_ij, K_jj) with positive K_ii and K_jj. On an edge
    the coordinate that does not vary is exactly its end. Where the curvature is too small for an inner maximum to be
    computed, as for equal rows, there is one on an edge that is as good.
    """
    (g_i, g_j), (K_ii, K_ij, K_jj) = g, K
    schur = K_jj - K_ij**2 / K_ii
    if schur > CURVATURE_FLOOR * K_jj:
        b = (g_j - K_ij * g_i / K_ii) / schur
        a = (g_i - K_ij * b) / K_ii
        if low[0] <= a <= high[0] and low[1] <= b <= high[1]:
            return a, b

    edges = [(a, coordinate_step(g_j - K_ij * a, K_jj, low[1], high[1])) for a in (low[0], high[0])]
    edges += [(coordinate_step(g_i - K_ij * b, K_ii, low[0], high[0]), b) for b in (low[1], high[1])]
    gains = [g_i * a + g_j * b - 0.5 * (K_ii * a**2 + 2.0 * K_ij * a * b + K_jj * b**2) for a, b in edges]
    return edges[int(np.argmax(gains))]


# ----------------------------------------------------------------------------------------------------
# The members


class Expansion:
    """The members in order of admission, with their boxes, coefficients and gradients."""

    def __init__(self, *, C, kernel, gamma, degree, coef0):
        if kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {KERNELS}, got {kernel!r}")
        self.C = C
        self.kernel = {"kernel": kernel, "gamma": gamma, "degree": degree, "coef0": coef0}
        self.t = 0
        self.rows, self.ids = [], []
        self.y, self.alpha, self.g = np.zeros(0), np.zeros(0), np.zeros(0)
        self.low, self.high = np.zeros(0), np.zeros(0)  # A and B
        self.gram = np.zeros((0, 0))

    @property
    def n_sv(self):
        return int(np.count_nonzero(self.alpha))

    @property
    def dual_objective(self):
        return float(dual(self.gram, self.y, self.alpha))

    def expansion(self, X):
        """sum_k alpha_k K(x_k, x) for each row x of X."""
        X = np.atleast_2d(np.asarray(X, dtype=np.float64))
        return kernel_matrix(X, self.rows, **self.kernel) @ self.alpha if self.rows else np.zeros(len(X))

    def slot_of(self, id):
        if id not in self.ids:
            raise ValueError(f"example {id} is not a member")
        return self.ids.index(id)

    def _insert(self, x, y, label):
        """A new member in the last slot, with alpha = 0 and the box of ``label``."""
        g = y - self.expansion(x)[0]
        self.rows.append(x)
        row = kernel_matrix(x, self.rows, **self.kernel)
        self.gram = np.vstack([np.hstack([self.gram, row[:, :-1].T]), row])
        self.ids.append(self.t)
        self.y = np.append(self.y, y)
        self.alpha = np.append(self.alpha, 0.0)
        self.g = np.append(self.g, g)
        self.low = np.append(self.low, min(0.0, self.C * label))
        self.high = np.append(self.high, max(0.0, self.C * label))

    def _move(self, steps):
        """Goes the step of each slot in ``steps``. One that leads to an end of the box, nearly, ends there exactly."""
        for k, step in steps.items():
            low, high = self.low[k], self.high[k]
            dust = TIE * (high - low)
            if step <= low - self.alpha[k] + dust:
                self.alpha[k] = low
            elif step >= high - self.alpha[k] - dust:
                self.alpha[k] = high
            else:
                self.alpha[k] += step
            self.g -= step * self.gram[k]

    def _remove(self, slots):
        """Takes the members out, and returns their ids."""
        gone = sorted(slots)
        stay = [k for k in range(len(self.rows)) if k not in gone]
        ids = [self.ids[k] for k in gone]
        self.rows = [self.rows[k] for k in stay]
        self.ids = [self.ids[k] for k in stay]
        for name in ("y", "alpha", "g", "low", "high"):
            setattr(self, name, getattr(self, name)[stay])
        self.gram = self.gram[np.ix_(stay, stay)]
        return ids


# ----------------------------------------------------------------------------------------------------
# The learner


class LASVMOracle(Expansion):
    """LASVM-G, LASVM-NC, LASVM-I or FULL SVM, for labels -1 and +1.

    Parameters
    ----------
    variant : {"g", "nc", "i", "full"}
    C : float
    s : float
        Where the ramp ends on the left; below 1.
    kernel, gamma, degree, coef0 : as in ``bsgd.kernel_matrix``
    steps : {"pair", "single"}
        What REPROCESS moves: two coefficients, or one as printed.
    tau : float
        A violation of no more than this is not worth a step.
    clean_every, max_non_sv : int
        CLEAN is run after so many admitted examples, and leaves so many members with alpha = 0. Not for "full".
    warm_up : int
        "nc" and "i": the left side of the ramp (z < s) is as for "g" until there are more SVs than this.
    few : int
        Examples of each class before any is left out.

    Attributes
    ----------
    rows, ids, y, flipped, alpha, g : of the members, in order of admission; an id is t when the example was seen
    t : int, examples seen, skipped ones included
    n_admitted : int
    admitted_left, admitted_right, cleaned_left, cleaned_right : int
        Members with z < s, or z > 1, when they were seen.
    """

    def __init__(
        self,
        variant,
        C=1.0,
        s=-1.0,
        kernel="rbf",
        gamma=1.0,
        degree=3,
        coef0=1.0,
        steps="pair",
        tau=1e-3,
        clean_every=500,
        max_non_sv=1000,
        warm_up=100,
        few=0,
    ):
        super().__init__(C=C, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0)
        if variant not in VARIANTS:
            raise ValueError(f"variant must be one of {VARIANTS}, got {variant!r}")
        if steps not in STEPS:
            raise ValueError(f"steps must be one of {STEPS}, got {steps!r}")
        if not s < 1.0:
            raise ValueError(f"s must be below 1, got {s!r}")
        self.variant = variant
        self.s = s
        self.steps = steps
        self.tau = tau
        self.clean_every = clean_every
        self.max_non_sv = max_non_sv
        self.warm_up = warm_up
        self.few = few
        self.history = []

        self.flipped = np.zeros(0, dtype=bool)
        self.sides = np.zeros(0, dtype=int)  # -1: z < s when seen, +1: z > 1, 0: on the ramp
        self.n_admitted = 0
        self.admitted_left = self.admitted_right = 0
        self.cleaned_left = self.cleaned_right = 0

    def decision(self, X):
        return self.expansion(X)

    @property
    def labels(self):
        """Y: the label whose box a member has."""
        return np.where(self.flipped, -self.y, self.y)

    @property
    def one_sided(self):
        return is_one_sided(self.history, self.few)

    @property
    def duality_gap(self):
        return float(np.sum(self.C * np.maximum(0.0, self.labels * self.g) - self.alpha * self.g))

    @property
    def gap_target(self):
        """max(C, (8))."""
        if self.n_sv == 0:
            return self.C
        h = self.C * self.y * self.g
        return max(self.C, float(np.sqrt(max(0.0, np.sum(h**2) - np.sum(h) ** 2 / self.n_sv))))

    # ---- visits ------------------------------------------------------------------------------------

    def learn_one(self, x, y):
        """Shows a new example to the learner."""
        x = np.array(x, dtype=np.float64)
        self.t += 1
        z = float(y * self.expansion(x)[0])
        self.history.append(y)
        is_outlier = z < self.s and self.n_sv > self.warm_up and not self.one_sided
        if self.variant == "i" and not self.one_sided and (z > 1.0 or is_outlier):
            return Step(self.t, z, True, False, np.nan, self.duality_gap, 0, [], [])

        target = self.gap_target  # before the newcomer is a member
        flipped = self.variant == "nc" and is_outlier
        self._admit(x, y, z, flipped)
        process_step = self.process(len(self.rows) - 1)
        pairs = self._close_gap(target)
        gap_after = self.duality_gap
        cleaned = self.clean() if self.variant != "full" and self.n_admitted % self.clean_every == 0 else []
        return Step(self.t, z, False, flipped, target, gap_after, len(pairs), pairs, cleaned, process_step)

    def relearn(self, id):
        """Visits a member again. Nothing is counted, and whether it is flipped is not asked again."""
        k = self.slot_of(id)
        z = float(1.0 - self.y[k] * self.g[k])
        target = self.gap_target
        process_step = self.process(k)
        pairs = self._close_gap(target)
        return Step(id, z, False, bool(self.flipped[k]), target, self.duality_gap, len(pairs), pairs, [], process_step)

    def finish(self, tol):
        """REPROCESS until no member violates its optimality by more than ``tol``; returns the steps."""
        pairs = []
        while (pair := self.reprocess(tol)) is not None:
            pairs.append(pair)
        return pairs

    def _close_gap(self, target):
        pairs = []
        while self.duality_gap > target and (pair := self.reprocess(self.tau)) is not None:
            pairs.append(pair)
        return pairs

    def _admit(self, x, y, z, flipped):
        self._insert(x, y, -y if flipped else y)
        side = int(z > 1.0) - int(z < self.s)
        self.flipped = np.append(self.flipped, flipped)
        self.sides = np.append(self.sides, side)
        self.n_admitted += 1
        self.admitted_left += side == -1
        self.admitted_right += side == 1

    # ---- the verbs ---------------------------------------------------------------------------------

    def process(self, k):
        """The best step of the coefficient in slot k alone."""
        step = self._own_step(k)
        self._move({k: step})
        return step

    def reprocess(self, tol):
        """One step at the worst violator, or None if it violates by no more than ``tol``."""
        violations = self.violations()
        if len(violations) == 0:
            return None
        i = first_tied(-violations)
        if violations[i] <= tol:
            return None
        j = self._partner(i) if self.steps == "pair" else None
        if j is None:
            return (self.ids[i], None, self.process(i), 0.0)
        pair = [i, j]
        K = self.gram[i, i], self.gram[i, j], self.gram[j, j]
        low, high = self.low[pair] - self.alpha[pair], self.high[pair] - self.alpha[pair]
        step_i, step_j = (float(step) for step in pair_step(self.g[pair], K, low, high))
        self._move({i: step_i, j: step_j})
        return (self.ids[i], self.ids[j], step_i, step_j)

    def violations(self):
        """By how much the gradient points out of the box; the larger direction, negative if both point in."""
        up = np.where(self.alpha < self.high, self.g, -np.inf)
        down = np.where(self.alpha > self.low, -self.g, -np.inf)
        return np.where(np.diag(self.gram) > 0.0, np.maximum(up, down), -np.inf)

    def clean(self):
        """CLEAN: removes the superfluous members with alpha = 0 and returns their ids."""
        candidates = [int(k) for k in np.flatnonzero(self.alpha == 0.0)]
        superfluous = []
        limit = self.max_non_sv * (PATIENCE if self.one_sided else 1)
        while len(candidates) > limit:
            farthest = candidates[tied_with_least(-np.abs(self.g[candidates]))[-1]]  # of several the youngest
            candidates.remove(farthest)
            superfluous.append(farthest)
        self.cleaned_left += int(np.sum(self.sides[superfluous] == -1))
        self.cleaned_right += int(np.sum(self.sides[superfluous] == 1))
        return self._remove(superfluous)

    def _own_step(self, k):
        low, high = self.low[k] - self.alpha[k], self.high[k] - self.alpha[k]
        return float(coordinate_step(self.g[k], self.gram[k, k], low, high))

    def _partner(self, i):
        """The member that gains most after i has gone its own step; None if no other one gains anything."""
        step = self._own_step(i)
        is_free = step == self.g[i] / self.gram[i, i]
        r = self.g - self.gram[i] * step
        gains = np.zeros(len(self.rows))
        for j, K_jj in enumerate(np.diag(self.gram)):
            if j == i or K_jj <= 0.0:
                continue
            c = max(K_jj - self.gram[i, j] ** 2 / self.gram[i, i], CURVATURE_FLOOR * K_jj) if is_free else K_jj
            d = coordinate_step(r[j], c, self.low[j] - self.alpha[j], self.high[j] - self.alpha[j])
            gains[j] = d * (r[j] - 0.5 * c * d)
        j = first_tied(-gains)
        return j if gains[j] > 0.0 else None

    def _remove(self, slots):
        stay = [k for k in range(len(self.rows)) if k not in slots]
        self.flipped, self.sides = self.flipped[stay], self.sides[stay]
        return super()._remove(slots)
