"""Budgeted kernel perceptrons in plain numpy: the oracles of the compiled ones.

They are the removal and projection rows of Table 1, described in section 2.4, of Z. Wang, K. Crammer and S. Vucetic,
"Breaking the Curse of Kernelization", JMLR 13 (2012). That survey has a sentence for each of them; what is
missing there is derived here. As in ``bsgd``, everything is recomputed from the support vectors (SVs) whenever
it is needed.

The model is f = sum_j alpha_j K(x_j, .), with a row alpha_j of ``n_outputs`` coefficients for each SV. Apart from SILK,
an example (x, y) that violates the margin is added with coefficient y, and the strategies differ in what they
do when that makes one SV too many. Below, f' is the model with the newcomer in it, and B the budget.

stop, random, budget
    Nothing is added to a full model; one of the B old SVs, uniformly at random, goes; the SV that is classified
    best without its own help, argmax_j y_j (f'(x_j) - alpha_j K(x_j, x_j)), goes.

forgetron (self-tuned; Dekel, Shalev-Shwartz and Singer 2008)
    The oldest SV r goes, after all coefficients were multiplied by phi in (0, 1], so that little is lost with it.
    Let sigma = |alpha_r| before the shrinking, l = phi sigma after it, m = y_r phi f'(x_r). For any g and K <= 1,
    adding x_r brought f nearer to g, and removing it takes f away again:

        ||f - g||^2 - ||f + y_r K(x_r, .) - g||^2            >= 2 y_r g(x_r) - 1     (y_r f(x_r) <= 0 at the time)
        ||phi f' - g||^2 - ||phi f' - l y_r K(x_r, .) - g||^2 >= 2 l (m - y_r g(x_r)) - l^2

    With y_r g(x_r) >= 1 - loss(g) and l <= 1 the sum is at least 1 - Psi(l, m) - 2 loss(g), where
    Psi(l, m) = l^2 + 2 l (1 - m) is what the removal spoils. The sum Q of all Psi so far is kept below a part of the
    number M of updates so far, the present one included: phi is the largest number in (0, 1] with

        Q + Psi(phi sigma, phi mu) <= (15/32) M,      mu = y_r f'(x_r).

    Psi = a phi^2 + b phi with a = sigma^2 - 2 sigma mu and b = 2 sigma > 0, so with the slack c = (15/32) M - Q
    the inequality is q(phi) = a phi^2 + b phi - c <= 0. As Q was within (15/32) (M - 1), c > 0 and q(0) < 0. If
    q(1) <= 0 then phi = 1. Otherwise q changes sign once in (0, 1): a parabola that did so more often would do it
    three times. That root, whichever way the parabola opens, is (-b + sqrt(b^2 + 4 a c)) / (2 a), that is

        phi = 2 c / (b + sqrt(b^2 + 4 a c)),

    which also covers a = 0. Then Q grows by Psi, so Q <= (15/32) M always. In the paper M counts mistakes, and every
    update is one; with margin = 1 it must be the updates that are counted, or c could be 0 and no phi would do.

tighter, tightest
    The SV goes without which the model makes the fewest errors on a validation set. For ``tighter`` that set is the
    B + 1 SVs with their labels. SVs are not typical of the stream, so for ``tightest`` each SV also stands for the
    examples of the stream that were nearest to it: it carries the numbers n+ and n- of them. A newcomer counts
    itself, an example that is not added is counted by the SV nearest to it, and the counts of a removed SV go to the
    SV nearest to that, so that all counts add up to t. Removing r has the estimated number of errors

        sum_k  n+_k [f'(x_k) - alpha_r K(x_r, x_k) < 0]  +  n-_k [f'(x_k) - alpha_r K(x_r, x_k) >= 0]

    over all B + 1 SVs k, r itself included: the examples it stands for do not vanish with it. ``tighter`` is the same
    sum with a single 1 for each SV, at its own label. Of several SVs with the same number of errors the oldest goes;
    with the first slot, which the newcomer takes over, all others would stay for ever. "Nearest" is the distance in
    feature space, K(x, x) - 2 K(x, x_j) + K(x_j, x_j): the largest K(x, x_j), for rbf.

projectron (Orabona, Keshet and Caputo 2009)
    On an update x is projected on the span of the SVs: P K(x, .) = sum_j d_j K(x_j, .) with d = K^-1 k, the least
    squares solution; delta = K(x, .) - P K(x, .) has ||delta||^2 = K(x, x) - k^T d. If ||delta|| <= threshold, then
    y P K(x, .) is added to f, which needs no new SV; otherwise y K(x, .). A full model always projects. Without a
    threshold, it is 0 up to there.

projectron++
    A mistake (y f <= 0) as before. On a margin error (0 < y f < 1) with loss l = 1 - y f, f moves by tau y P K(x, .).
    The passive-aggressive step inside the span, argmin 0.5 ||h - f||^2 + hinge(h; x, y), is
    tau = min(1, l / ||P K(x, .)||^2). That it helps is certain only up to some tau: for ||g|| <= U = 1 / threshold,

        ||f - g||^2 - ||f + tau y P K(x, .) - g||^2
            = 2 tau y (g(x) - <g, delta> - f(x)) - tau^2 ||P K(x, .)||^2
            >= 2 tau (l - U ||delta||) - tau^2 ||P K(x, .)||^2 - 2 tau loss(g),

    whose first two terms are not negative for 0 <= tau <= 2 (l - U ||delta||) / ||P K(x, .)||^2. So the step is

        tau = min( l / ||P K(x, .)||^2,  2 (l - ||delta|| / threshold) / ||P K(x, .)||^2,  1 )

    and is left out when l < ||delta|| / threshold. A margin error never adds an SV. Without a threshold, it is 0 while
    there is room (no step, unless delta = 0) and infinite once the model is full.

silk (Cheng, Vishwanathan, Schuurmans, Wang and Caelli 2007)
    f_new = argmin 0.5 ||h - f||^2 + eta (lam / 2 ||h||^2 + hinge(h; x, y)), the implicit step. At the minimum
    h - f + eta lam h - eta theta y K(x, .) = 0, with theta in [0, 1] the subgradient of the hinge, so that

        h = s f + tau y K(x, .),      s = 1 / (1 + eta lam),   0 <= tau = s eta theta <= s eta.

    Where theta is strictly between, y h(x) = 1; where it is 0, y h(x) >= 1; where it is 1, y h(x) <= 1. As y h(x)
    = s y f(x) + tau K(x, x) grows with tau, all three are

        tau = min( s eta, max(0, (1 - s y f(x)) / K(x, x)) ).

    The shrinking by s happens at every example. If there is one SV too many, that of the smallest |alpha_j| goes.

Multi-class (stop, random, projectron, projectron++)
    The ultraconservative update +1 for the class y and -1 for its best rival r, on the margin f_y - f_r. Projectron++
    is the binary one for the stacked model (f_1, ..., f_c) and the stacked feature that is K(x, .) at y and -K(x, .)
    at r. Its projection has twice the squared norm, and its residual sqrt(2) times the norm: with the test
    ||delta|| <= threshold kept as it is, the stacked threshold is sqrt(2) times as large too, the ratio is still
    ||delta|| / threshold, and tau is as above with 2 ||P K(x, .)||^2 for the squared norm. All classes share the SVs,
    hence the span.
"""

from typing import NamedTuple

import numpy as np

from .bsgd import DEPENDENCE, KERNELS, TIE, first_tied, kernel_matrix, tied_with_least

STRATEGIES = ("stop", "random", "forgetron", "budget", "tighter", "tightest", "projectron", "projectron++", "silk")
MULTI_CLASS_STRATEGIES = ("stop", "random", "projectron", "projectron++")

# The part of the number of updates that the Forgetron's removals may spoil.
FORGETRON_SHARE = 15.0 / 32.0


class Step(NamedTuple):
    """What one call of ``learn_one`` did. Slots are numbered as before the last SV moved to the freed one."""

    t: int
    margin: float  # y f(x), or f[y] - f[rival], before the step
    violated: bool = False  # the example asked for an update
    rival: int | None = None  # multi-class only
    tau: float = 0.0  # size of the update: 1 for perceptrons, less for Projectron++ and SILK, 0 for none
    added: bool = False  # x was given the last slot (and may have been dropped)
    projected: bool = False  # the update went to the coefficients of the SVs there were
    residual: float = np.nan  # ||delta|| of the projection, where there was one to be computed
    dropped: int | None = None
    score: float = np.nan  # what the dropped one had least of; see ``_make_room``
    runner_up: float = np.inf  # the least score among the others, to spot near-ties
    phi: float = 1.0  # Forgetron: shrinking before the removal
    psi: float = 0.0  # Forgetron: what the removal added to Q


# ----------------------------------------------------------------------------------------------------
# The closed forms


def forgetron_psi(weight, margin):
    """Psi(l, m): damage of removing an SV of coefficient l (times its label) and margin m."""
    return weight**2 + 2.0 * weight * (1.0 - margin)


def forgetron_shrinkage(sigma, margin, slack):
    """The largest phi in (0, 1] with Psi(phi sigma, phi margin) <= slack; slack > 0."""
    a = sigma**2 - 2.0 * sigma * margin
    b = 2.0 * sigma
    if a + b <= slack:
        return 1.0
    discriminant = max(b**2 + 4.0 * a * slack, 0.0)  # not negative on paper: there is a root
    return 2.0 * slack / (b + np.sqrt(discriminant))


def margin_error_step(loss, residual, projected_norm2, threshold):
    """tau of Projectron++ on a margin error; 0 when the step may do harm.

    ``projected_norm2`` is that of the (stacked) feature. ``threshold`` may be 0 or infinite.
    """
    relative_residual = 0.0
    if residual > 0.0:
        relative_residual = residual / threshold if threshold > 0.0 else np.inf
    if loss < relative_residual or projected_norm2 <= 0.0:
        return 0.0
    return min(loss / projected_norm2, 2.0 * (loss - relative_residual) / projected_norm2, 1.0)


def implicit_step(margin, self_kernel, eta, lam):
    """Shrinking factor s and coefficient tau (times y) of the new SV, for SILK."""
    shrinkage = 1.0 / (1.0 + eta * lam)
    if self_kernel <= 0.0:  # the loss is the same for every model: only the shrinking is left
        return shrinkage, 0.0
    tau = (1.0 - shrinkage * margin) / self_kernel
    return shrinkage, min(shrinkage * eta, max(0.0, tau))


# ----------------------------------------------------------------------------------------------------
# The table of SVs, also used by ``bpa``


class SupportVectors:
    """Rows, coefficients and births of the SVs, and the function that they make.

    A newcomer is appended; when a slot is freed, the SV of the last slot moves there.
    """

    def __init__(self, *, kernel, gamma, degree, coef0, n_outputs):
        if kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {KERNELS}, got {kernel!r}")
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_outputs = n_outputs
        self.rows = []
        self.coef = np.zeros((0, n_outputs))
        self.births = []
        self.t = 0

    def decision(self, X):
        """f(x) for each row of X: shape (n,) in the binary case, (n, n_outputs) otherwise."""
        X = np.atleast_2d(np.asarray(X, dtype=np.float64))
        values = np.zeros((len(X), self.n_outputs))
        if self.rows:
            values = self._kernel(X, self.rows) @ self.coef
        return values[:, 0] if self.n_outputs == 1 else values

    def predict(self, X):
        """Labels -1 and +1, with sign(0) = +1; or the first class of largest value."""
        values = self.decision(X)
        if self.n_outputs == 1:
            return np.where(values >= 0.0, 1, -1)
        return np.argmax(values, axis=1)

    def _add(self, x, coefficients):
        self.rows.append(x)
        self.coef = np.vstack([self.coef, coefficients])
        self.births.append(self.t)

    def _free_slot(self, free):
        last = len(self.rows) - 1
        self.rows[free] = self.rows[last]
        self.births[free] = self.births[last]
        self.coef[free] = self.coef[last]
        self.rows.pop()
        self.births.pop()
        self.coef = self.coef[:last].copy()

    def _nearest(self, x, candidates):
        """The candidate slot nearest to x in feature space, the first one of several."""
        similarities = self._kernel(x, [self.rows[j] for j in candidates])[0]
        if self.kernel == "rbf":
            # K(x_j, x_j) = 1 is left out: added to a tiny K(x, x_j), it would drown it
            distances = -similarities
        else:
            distances = np.array([self._self_kernel(self.rows[j]) for j in candidates]) - 2.0 * similarities
        return candidates[first_tied(distances)]

    def _kernel(self, X, Z):
        return kernel_matrix(X, Z, kernel=self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)

    def _gram(self):
        return self._kernel(self.rows, self.rows)

    def _self_kernel(self, x):
        return float(self._kernel(x, x)[0, 0])


# ----------------------------------------------------------------------------------------------------
# The learner


class PerceptronOracle(SupportVectors):
    """A kernel perceptron on a budget.

    Parameters
    ----------
    strategy : one of ``STRATEGIES``
    budget : int or None
        Most SVs after a step. None: no limit.
    kernel : {"rbf", "poly", "linear"}
        exp(-gamma ||x-z||^2), (gamma <x,z> + coef0)^degree, <x,z>.
    margin : {0, 1}
        0: update when the margin is <= 0, on a mistake. 1: update when it is < 1. Projectron++ and SILK have
        rules of their own, and do not use it.
    n_outputs : int
        1: binary, labels -1 and +1. c > 1: labels 0..c-1, only for ``MULTI_CLASS_STRATEGIES``.
    threshold : float or None
        Projectron and Projectron++: largest ||delta|| that is projected while there is room. None: 0.
    eta, lam : float
        Step and regularisation of SILK. All others add y itself.
    draw_dropped : numpy Generator, or callable
        For ``random``. A callable is given the number of old SVs and returns the slot of the dropped one.

    Attributes
    ----------
    rows : list of arrays, the SVs in slot order
    coef : array (n_sv, n_outputs)
    births : list of int, the t at which each SV was added
    t : int, examples seen
    n_updates : int, updates so far: M of the Forgetron
    spoiled : float, Q of the Forgetron
    counts : array (n_sv, 2), n+ and n- of ``tightest``; no rows for the others
    """

    def __init__(
        self,
        strategy,
        budget,
        kernel="rbf",
        gamma=1.0,
        degree=3,
        coef0=1.0,
        margin=0.0,
        n_outputs=1,
        threshold=None,
        eta=1.0,
        lam=1e-4,
        draw_dropped=None,
    ):
        super().__init__(kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, n_outputs=n_outputs)
        if strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {STRATEGIES}, got {strategy!r}")
        if budget is not None and budget < 1:
            raise ValueError(f"budget must be at least 1, or None, got {budget!r}")
        if margin not in (0, 1):
            raise ValueError(f"margin must be 0 or 1, got {margin!r}")
        if n_outputs > 1 and strategy not in MULTI_CLASS_STRATEGIES:
            raise ValueError(f"more than one output needs one of {MULTI_CLASS_STRATEGIES}, got {strategy!r}")
        self.strategy = strategy
        self.budget = budget
        self.margin = margin
        self.threshold = threshold
        self.eta = eta
        self.lam = lam
        self.draw_dropped = np.random.default_rng(0) if draw_dropped is None else draw_dropped

        self.n_updates = 0
        self.spoiled = 0.0
        self.counts = np.zeros((0, 2))

    # ---- one step ----------------------------------------------------------------------------------

    def learn_one(self, x, y):
        """Shows one example to the learner."""
        x = np.array(x, dtype=np.float64)
        self.t += 1
        margin, rival = self._margin(x, y)
        step = Step(t=self.t, margin=margin, rival=rival)
        if self.strategy == "silk":
            step = self._learn_implicitly(x, y, step)
        elif not self._violates(margin):
            self._count_elsewhere(x, y)
        elif self.strategy in ("projectron", "projectron++"):
            step = self._learn_by_projection(x, y, step._replace(violated=True))
        else:
            step = self._learn_by_addition(x, y, step._replace(violated=True))
        return step

    def _margin(self, x, y):
        """The margin, and the rival class: the first one of largest value besides y."""
        values = self.decision(x[None, :])[0]
        if self.n_outputs == 1:
            return float(y * values), None
        others = values.copy()
        others[y] = -np.inf
        rival = int(np.argmax(others))
        return float(values[y] - values[rival]), rival

    def _violates(self, margin):
        if self.strategy == "projectron++" or self.margin == 1:
            return margin < 1.0
        return margin <= 0.0

    def _direction(self, y, rival):
        """The coefficients of a whole update."""
        direction = np.zeros(self.n_outputs)
        if self.n_outputs == 1:
            direction[0] = y
        else:
            direction[y] = 1.0
            direction[rival] = -1.0
        return direction

    @property
    def is_full(self):
        return self.budget is not None and len(self.rows) >= self.budget

    # ---- perceptrons that add and remove -----------------------------------------------------------

    def _learn_by_addition(self, x, y, step):
        if self.strategy == "stop" and self.is_full:
            return step
        self.n_updates += 1
        self._add(x, self._direction(y, step.rival))
        if self.strategy == "tightest":
            self.counts = np.vstack([self.counts, self._count_of(y)])
        return self._make_room(step._replace(added=True, tau=1.0))

    def _make_room(self, step):
        """Frees a slot if the newcomer in the last one is one SV too many.

        All but ``random`` free the slot of the least score: minus the confidence of ``budget``, the validation errors
        of ``tighter`` and ``tightest``, the birth of ``forgetron``, the |coefficient| of ``silk``. The newcomer is a
        candidate like the others.
        """
        if self.budget is None or len(self.rows) <= self.budget:
            return step
        if self.strategy == "random":
            dropped = self._drawn()
            self._free_slot(dropped)
            return step._replace(dropped=dropped)
        scores = self._scores()
        dropped = self._least(scores)
        if self.strategy == "forgetron":
            step = self._shrink_before_removing(dropped, step)
        if self.strategy == "tightest":
            self._pass_counts_on(dropped)
        self._free_slot(dropped)
        runner_up = np.delete(scores, dropped).min()
        return step._replace(dropped=dropped, score=float(scores[dropped]), runner_up=float(runner_up))

    def _least(self, scores):
        """The slot of the least score: the first one of several, or the oldest where equal scores are the rule."""
        tied = tied_with_least(scores)
        if self.strategy in ("tighter", "tightest"):
            return int(min(tied, key=lambda j: self.births[j]))
        return int(tied[0])

    def _scores(self):
        if self.strategy == "forgetron":
            return np.array(self.births)
        if self.strategy == "budget":
            return -self._confidences_without_itself()
        if self.strategy == "tighter":
            return self._errors_without_each(self._labels_only())
        if self.strategy == "tightest":
            return self._errors_without_each(self.counts)
        return np.abs(self.coef[:, 0])  # silk

    def _drawn(self):
        n_old = len(self.rows) - 1
        if isinstance(self.draw_dropped, np.random.Generator):
            return int(self.draw_dropped.integers(n_old))
        return int(self.draw_dropped(n_old))

    def _free_slot(self, free):
        if self.strategy == "tightest":
            self.counts[free] = self.counts[-1]
            self.counts = self.counts[:-1].copy()
        super()._free_slot(free)

    # ---- budget ------------------------------------------------------------------------------------

    def _confidences_without_itself(self):
        """y_j (f(x_j) - alpha_j K(x_j, x_j)); coefficients are as large as they began, so their signs are labels."""
        gram = self._gram()
        alpha = self.coef[:, 0]
        return np.sign(alpha) * (gram @ alpha - alpha * np.diag(gram))

    # ---- forgetron ---------------------------------------------------------------------------------

    def _shrink_before_removing(self, oldest, step):
        alpha = self.coef[oldest, 0]
        sigma, label = abs(alpha), np.sign(alpha)
        margin = label * self.decision(self.rows[oldest])[0]
        phi = forgetron_shrinkage(sigma, margin, FORGETRON_SHARE * self.n_updates - self.spoiled)
        psi = forgetron_psi(phi * sigma, phi * margin)
        self.spoiled += psi
        self.coef *= phi
        return step._replace(phi=float(phi), psi=float(psi))

    # ---- tighter and tightest ----------------------------------------------------------------------

    def _errors_without_each(self, counts):
        """For every slot r, the counted examples that the model without SV r gets wrong.

        An SV far from all others, taken away, leaves a value of 0 at its place on paper, and what rounding makes of
        0 when computed. A value that is tiny on the scale of the kernel is therefore taken for 0: class +1.
        """
        gram = self._gram()
        alpha = self.coef[:, 0]
        values = (gram @ alpha)[:, None] - gram * alpha[None, :]  # at SV k, without SV r
        says_positive = values >= -TIE * np.diag(gram)[:, None]
        positives, negatives = counts[:, 0], counts[:, 1]
        return positives @ ~says_positive + negatives @ says_positive

    def _labels_only(self):
        """Counts of a validation set in which every SV stands for itself only."""
        is_positive = self.coef[:, 0] > 0.0
        return np.column_stack([is_positive, ~is_positive]).astype(np.float64)

    @staticmethod
    def _count_of(y):
        return np.array([y > 0, y < 0], dtype=np.float64)

    def _count_elsewhere(self, x, y):
        """An example that is not added is counted by the SV nearest to it."""
        if self.strategy == "tightest":
            self.counts[self._nearest(x, list(range(len(self.rows))))] += self._count_of(y)

    def _pass_counts_on(self, dropped):
        others = [j for j in range(len(self.rows)) if j != dropped]
        self.counts[self._nearest(self.rows[dropped], others)] += self.counts[dropped]

    # ---- projectron and projectron++ ---------------------------------------------------------------

    def _learn_by_projection(self, x, y, step):
        combination, residual, projected_norm2 = self._projection(x)
        step = step._replace(residual=residual)
        is_mistake = self.strategy == "projectron" or step.margin <= 0.0
        if is_mistake and not self._is_projected(residual):
            self.n_updates += 1
            self._add(x, self._direction(y, step.rival))
            return step._replace(added=True, tau=1.0)
        tau = 1.0 if is_mistake else self._margin_error_step(1.0 - step.margin, residual, projected_norm2)
        if tau == 0.0:
            return step
        self.n_updates += 1
        self.coef += tau * np.outer(combination, self._direction(y, step.rival))
        return step._replace(projected=True, tau=tau)

    def _projection(self, x):
        """K^-1 k, ||delta|| and ||P K(x, .)||^2.

        ||delta|| is 0 for an x that is numerically in the span of the SVs; added, it would make K singular.
        """
        self_kernel = self._self_kernel(x)
        if not self.rows:
            return np.zeros(0), np.sqrt(self_kernel), 0.0
        k = self._kernel(self.rows, x)[:, 0]
        combination = np.linalg.solve(self._gram(), k)
        projected_norm2 = float(k @ combination)
        residual2 = self_kernel - projected_norm2
        residual = 0.0 if residual2 <= DEPENDENCE * self_kernel else float(np.sqrt(residual2))
        return combination, residual, projected_norm2

    def _is_projected(self, residual):
        """Whether a whole update is projected. The first SV never is: there is nothing to project on."""
        if residual == 0.0 or self.is_full:
            return True
        return bool(self.rows) and self.threshold is not None and residual <= self.threshold

    def _margin_error_step(self, loss, residual, projected_norm2):
        n_copies = 1 if self.n_outputs == 1 else 2  # of K(x, .) in the stacked feature
        return margin_error_step(loss, residual, n_copies * projected_norm2, self._margin_error_threshold())

    def _margin_error_threshold(self):
        if self.threshold is not None:
            return self.threshold
        return np.inf if self.is_full else 0.0

    # ---- silk --------------------------------------------------------------------------------------

    def _learn_implicitly(self, x, y, step):
        shrinkage, tau = implicit_step(step.margin, self._self_kernel(x), self.eta, self.lam)
        self.coef *= shrinkage
        if tau == 0.0:
            return step
        self.n_updates += 1
        self._add(x, [tau * y])
        return self._make_room(step._replace(violated=True, added=True, tau=tau))
