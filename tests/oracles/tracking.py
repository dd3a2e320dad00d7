"""Approximate incremental SVMs in plain numpy: random dual coordinate ascent that tracks the sequence of optima.

Follows N. Usunier, A. Bordes and L. Bottou, "Guarantees for Approximate Incremental SVMs", AISTATS 2010. Numbers in
brackets are that paper's equations. Here the coefficients are not signed: 0 <= alpha_i <= C, f(x) = sum_i alpha_i y_i
K(x_i, x), and g_i = 1 - y_i f(x_i). There is no bias. After t examples the problem is (1) and its dual (2),

    P_t(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i f(x_i)),     D_t = sum_i alpha_i - 1/2 ||w(alpha)||^2.

One iteration changes a single coefficient to the maximum of D_t along it (3):

    alpha_i <- alpha_i + max( -alpha_i, min( C - alpha_i, g_i / K_ii ) ).

An example with K_ii <= 0 keeps its coefficient, as in ``lasvm``: f would not change with it.

Algorithm 1 (``process=False``)
    A new example has alpha = 0. Then K iterations, each on an example drawn uniformly from all t seen so far.

Algorithm 2 (``process=True``)
    Before them one iteration on the new example itself (line 4; alpha_t = 0 there). It is not one of the K.

Output
    The classifier after example t is w(mean of alpha over the K iterates of this t), each taken after its change of a
    coefficient (line 8); PROCESS alone makes no iterate. The iterations go on from the last iterate, not from the mean.
    ``average=False`` outputs the last iterate. The proofs (section 4.1) average the iterates before each change, so
    that lemma 1 applies to them: strictly, the theorems are about a mean that is shifted by one iteration.

Section 5.2 (``cached=True``, a variant of Algorithm 2)
    Gradients are kept for the examples with alpha_i > 0 only, and line 7 is left out when alpha_i = 0, or alpha_i = C
    and g_i >= 0. Line 6 is not changed in the text, and most of its draws from all t would hit some alpha_i = 0. But a
    draw from all t that is known to do nothing unless alpha_i > 0 is, once it does something, a uniform draw from the
    examples with alpha_i > 0, and so the section says that the algorithm "chooses its ascent directions randomly, on
    its current set of support vectors". That is the reading here:

    6'. pick i randomly among the examples that have alpha_i > 0 now; if there are none, this iteration changes nothing;
    7'. unless alpha_i = C and g_i >= 0, as 7.

    All K iterations count for the mean, those that change nothing too. A newcomer that PROCESS leaves at 0, and a
    support vector that comes to 0, have no gradient any more and cannot be drawn: they are forgotten for good, though
    they are still part of P_t, and one that came to 0 within the K iterations still has a coefficient in their mean.
    7' does not change any number, only how much work is done: in that case (3) is 0.

Batch (section 2 and 6.3)
    All examples are given at the start, and the same iteration is made on examples drawn uniformly from all of them.
    The mean is over all iterations since the start.

The normalised duality gap (P_t - D_t) / (C t), always over all t examples seen, is evaluated from (1) and (2). By (4)
it is also 1 / (C t) sum_i max( (C - alpha_i) g_i, -alpha_i g_i ).
"""

from typing import NamedTuple

import numpy as np

from .bsgd import KERNELS, kernel_matrix


class TrackingStep(NamedTuple):
    """What one call of ``learn_one`` did. Examples are numbered by t, from 1."""

    t: int
    z: float  # y f(x) under the last iterate, before the step
    process_step: float  # what PROCESS added to alpha_t; 0 for Algorithm 1
    moves: list  # for each of the K iterations (number of the example, what was added); (None, 0.0) if none was there


# ----------------------------------------------------------------------------------------------------
# Objective functions


def primal(gram, y, alpha, C):
    """P_t of (1) at w(alpha)."""
    w = alpha * y
    f = gram @ w
    return 0.5 * w @ f + C * np.maximum(0.0, 1.0 - y * f).sum()


def dual(gram, y, alpha):
    """D_t of (2)."""
    w = alpha * y
    return alpha.sum() - 0.5 * w @ gram @ w


def normalised_gap(gram, y, alpha, C):
    """(P_t - D_t) / (C t), from the definitions."""
    return float(primal(gram, y, alpha, C) - dual(gram, y, alpha)) / (C * len(y))


def duality_bound(dual_increase, C):
    """mu of lemma 1: bounds the normalised gap, if K_ii <= 1, by the mean of what a coordinate can add to D_t."""
    return np.sqrt(2.0 * dual_increase) + dual_increase / C


# ----------------------------------------------------------------------------------------------------
# Coordinate ascent


class _CoordinateAscent:
    """The examples known, their coefficients, and one iteration on one of them."""

    def __init__(self, *, C, average, draw, kernel, gamma, degree, coef0):
        if kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {KERNELS}, got {kernel!r}")
        self.C = C
        self.average = average
        self.draw = np.random.default_rng(0).integers if draw is None else draw
        self.kernel = {"kernel": kernel, "gamma": gamma, "degree": degree, "coef0": coef0}
        self.rows = []
        self.y, self.alpha, self.mean_alpha = np.zeros(0), np.zeros(0), np.zeros(0)
        self.gram = np.zeros((0, 0))
        self.n_averaged = 0

    @property
    def output_alpha(self):
        """The coefficients of the classifier that is put out."""
        return self.mean_alpha if self.average and self.n_averaged else self.alpha

    @property
    def n_sv(self):
        return int(np.count_nonzero(self.alpha))

    def decision(self, X):
        """f(x) of the output for each row of X."""
        return self._expansion(X, self.output_alpha)

    def last_decision(self, X):
        """f(x) of the last iterate."""
        return self._expansion(X, self.alpha)

    @property
    def normalised_gap(self):
        """Of the last iterate."""
        return normalised_gap(self.gram, self.y, self.alpha, self.C)

    @property
    def output_normalised_gap(self):
        """Of the output: P_t and D_t both at the same coefficients."""
        return normalised_gap(self.gram, self.y, self.output_alpha, self.C)

    def gradient(self, i):
        """g_i at the last iterate."""
        return 1.0 - self.y[i] * (self.gram[i] @ (self.alpha * self.y))

    def ascend(self, i):
        """(3) on the example in slot i; returns what was added. At an end of [0, C] alpha is exactly that end."""
        g, K = self.gradient(i), self.gram[i, i]
        if K <= 0.0:
            return 0.0
        before = self.alpha[i]
        self.alpha[i] = min(max(before + g / K, 0.0), self.C)
        return float(self.alpha[i] - before)

    def _start_average(self):
        self.n_averaged = 0
        self.mean_alpha = np.zeros(len(self.alpha))

    def _take_into_average(self):
        """Line 8."""
        self.n_averaged += 1
        k = self.n_averaged
        self.mean_alpha = (k - 1) / k * self.mean_alpha + self.alpha / k

    def _append(self, x, y):
        self.rows.append(np.array(x, dtype=np.float64))
        row = kernel_matrix(x, self.rows, **self.kernel)
        self.gram = np.vstack([np.hstack([self.gram, row[:, :-1].T]), row])
        self.y = np.append(self.y, float(y))
        self.alpha = np.append(self.alpha, 0.0)

    def _expansion(self, X, alpha):
        X = np.atleast_2d(np.asarray(X, dtype=np.float64))
        return kernel_matrix(X, self.rows, **self.kernel) @ (alpha * self.y) if self.rows else np.zeros(len(X))


class TrackingOracle(_CoordinateAscent):
    """Algorithms 1 and 2 and the variant of section 5.2, for labels -1 and +1.

    Parameters
    ----------
    C : float
    n_steps : int
        K, the random iterations for each example.
    process : bool
        True: Algorithm 2. False: Algorithm 1.
    average : bool
        False: the output is the last iterate instead of the mean of the K.
    cached : bool
        The variant of section 5.2. Needs ``process``: nothing else ever makes a coefficient positive.
    draw : callable or None
        ``draw(n)`` returns the index, below n, of one of n candidates in order of arrival: all t examples, or
        with ``cached`` those with alpha > 0. It is called once for each iteration that has a candidate.
    kernel, gamma, degree, coef0 : as in ``bsgd.kernel_matrix``

    Attributes
    ----------
    rows, y, alpha : of all examples seen, in order of arrival; alpha is the last iterate
    mean_alpha : the mean of the K iterates of the last example
    t : int, examples seen
    """

    def __init__(
        self,
        C=1.0,
        n_steps=10,
        process=True,
        average=True,
        cached=False,
        kernel="rbf",
        gamma=1.0,
        degree=3,
        coef0=1.0,
        draw=None,
    ):
        super().__init__(C=C, average=average, draw=draw, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0)
        if n_steps < 1:
            raise ValueError(f"n_steps must be at least 1, got {n_steps!r}")
        if cached and not process:
            raise ValueError("the cached variant needs process=True: it never draws an example with alpha = 0")
        self.n_steps = n_steps
        self.process = process
        self.cached = cached

    @property
    def t(self):
        return len(self.rows)

    @property
    def kept_gradients(self):
        """The gradients that are kept: number of the example -> g_i."""
        slots = np.flatnonzero(self.alpha > 0.0) if self.cached else range(self.t)
        return {int(i) + 1: float(self.gradient(i)) for i in slots}

    def learn_one(self, x, y):
        """Shows a new example to the learner."""
        z = float(y * self.last_decision(x)[0])
        self._append(x, y)
        process_step = self.ascend(self.t - 1) if self.process else 0.0
        self._start_average()
        moves = []
        for _ in range(self.n_steps):
            moves.append(self._iterate())
            self._take_into_average()
        return TrackingStep(self.t, z, process_step, moves)

    def _iterate(self):
        """Lines 6 and 7."""
        candidates = np.flatnonzero(self.alpha > 0.0) if self.cached else np.arange(self.t)
        if len(candidates) == 0:
            return None, 0.0
        i = int(candidates[int(self.draw(len(candidates)))])
        if self.cached and self.alpha[i] == self.C and self.gradient(i) >= 0.0:
            return i + 1, 0.0
        return i + 1, self.ascend(i)


class BatchTrackingOracle(_CoordinateAscent):
    """The batch counterpart: all rows are given, and ``run`` makes iterations on random ones."""

    def __init__(self, X, y, C=1.0, average=True, kernel="rbf", gamma=1.0, degree=3, coef0=1.0, draw=None):
        super().__init__(C=C, average=average, draw=draw, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0)
        for row, label in zip(X, y, strict=True):
            self._append(row, label)
        self._start_average()

    def run(self, n_steps):
        """Makes ``n_steps`` more iterations; returns (number of the example, what was added) for each."""
        moves = []
        for _ in range(n_steps):
            i = int(self.draw(len(self.rows)))
            moves.append((i + 1, self.ascend(i)))
            self._take_into_average()
        return moves
