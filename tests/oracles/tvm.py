"""The Twin Vector Machine (TVM) in plain numpy: an SVM with a bias that stays exactly optimal on a budget of twins.

Follows Z. Wang and S. Vucetic, "Twin Vector Machines for Online Learning on a Budget", SDM 2009, sections 3 and 4. A
twin is a point q that stands for s+ positive and s- negative examples; its two dual coefficients are one number beta
here, with the breakpoints of ``exact``. After every change of the twins the optimum is solved for anew (UpdateTVM):
what the paper unlearns and learns in steps ends in the same place.

One example (x, y), f being the TVM before it:

1. Beneficial (Algorithm 2): it is passed over unless there are fewer than ``budget`` twins or |f(x)| <= m1.
2. UpdateTV (Algorithm 3): the newcomer is a twin with q = x and the weight 1 for y, 0 for -y.
   a. With fewer than ``budget`` twins it goes to the next free slot.
   b. Else, if the largest |f(q_k)| is above m2, it takes the slot k of that twin, which is gone.
   c. Else two twins i < j are merged: the new one goes to slot i, the newcomer to slot j. If no pair may be merged the
      newcomer is ignored, and nothing changes.
3. UpdateTVM: C <- C0 budget / sum (s+ + s-), section 4.3; beta and b are the optimum.

Merging, sections 4.2.1 and 4.2.2
    Weights add up, separately for s+ and s-. With s = s+ + s- the pair of least distortion is the best,

        input space:    d_ij = s_i s_j / (s_i + s_j) ||q_i - q_j||^2,   q_new = (s_i q_i + s_j q_j) / (s_i + s_j);
        feature space:  d_ij = s_i s_j / (s_i + s_j) ||Phi(q_i) - Phi(q_j)||^2,   q_new = h q_i + (1 - h) q_j,

    with the h in [0, 1] for which Phi(q_new) is nearest to the weighted mean m of Phi(q_i) and Phi(q_j) (4.2). For the
    Gaussian kernel all Phi have the same norm, so <m, Phi(q_new)> = (s_i u + s_j v) / (s_i + s_j) is to be as large as
    possible, u = K(q_i, q_new), v = K(q_j, q_new). That is the h of a merge of two support vectors with coefficients
    s_i and s_j of the same sign, ``bsgd.best_merge``, where both minima for K(q_i, q_j) < e^-2 are looked at.

Rejection, section 4.2.4
    With est = (s_i f(q_i) + s_j f(q_j)) / (s_i + s_j) the pair may be merged if |f(q_new) - est| < reject |est|. As
    printed, (1 - eta) est < f(q_new) < (1 + eta) est, no negative est would ever pass.

Choices where the paper is silent, contradicts itself, or does not work

1.  The first ``budget`` examples all become twins, duplicates too. C sum s = C0 budget holds from the first example on:
    C is larger than C0 until ``budget`` examples were taken in, and equal to C0 at that moment.
2.  Of several twins with the largest |f|, or pairs with the least d_ij (ties: ``bsgd.TIE``), the first is taken:
    lowest slot, or lowest i and then lowest j.
3.  Step b comes before c: no pair is looked at while a twin is beyond m2. Only one twin leaves, the farthest, also when
    several are beyond, and none leaves without a beneficial newcomer. |f| = m2 stays, |f(x)| = m1 is beneficial.
4.  A twin that leaves takes its weights, and with them its beta, out of the problem: it is unlearned, not made another
    twin's. As its weights no longer count in sum s, C grows if they were more than the newcomer's 1. C shrinks with
    every merge and every added twin.
5.  ``merge_newcomer``: whether the newcomer, in slot ``budget``, is itself one of those that pairs are made of, after
    all others were rejected. Algorithm 3 can be read both ways. With True (the default) j may be ``budget``: then the
    merged twin goes to slot i, and the newcomer is a part of it. Section 4.1 does speak of the "replacement of one or
    two twin vectors through merging". With False two of the ``budget`` old twins make room. On equal terms the newcomer
    would nearly always be in the cheapest pair, because its weight is 1, and the paper's accuracies are not reached.
6.  All candidate pairs are tried in order of d_ij until one passes. The paper gives up after the second ("the next best
    merging candidates"). As an ignored newcomer changes nothing, the same old pairs would be refused for ever. With
    ``merge_newcomer=False`` that happens all the same: once all old pairs are refused, they always are (5 of 30 streams
    of 400 noisy checkerboard examples with ``budget`` 15 came to that). With True a newcomer close enough to a twin on
    the same side always gets in.
7.  One-sided merging (4.2.3): candidates are the pairs with f(q_i) f(q_j) > 0. A twin with f = 0 exactly is in neither
    region. Global merging: all pairs. The side of a twin is that of f, not of its larger weight.
8.  est and f(q_new) both belong to the TVM before the newcomer is learned, for the newcomer's own f too. est = 0 is
    always refused. ``reject=None``: never.
9.  est is weighted by s in feature space as well, though q_new divides the segment at h there. The order of pairs in
    feature space is that of d_ij at the mean m itself, which has no pre-image, not of the distortion at q_new: d_ij
    needs no search for h. Feature space needs the Gaussian kernel.
10. While all examples are of one class beta = 0 and f = b = +1 or -1, see ``exact.bias``: newcomers are beneficial,
    and every merge passes. When b is not unique otherwise it is in the middle of its interval.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from .bsgd import KERNELS, best_merge, first_tied, kernel_matrix, squared_distances
from .exact import breakpoints, kkt_violation, optimum

MERGE_SPACES = ("input", "feature")
ROUNDING = 1e-9  # twins on the margin are not beyond m2 = 1


class Trial(NamedTuple):
    """One pair that was considered for a merge."""

    i: int
    j: int
    distortion: float
    estimate: float  # est
    value: float  # f(q_new)
    accepted: bool


class TVMStep(NamedTuple):
    """What one call of ``learn`` did."""

    t: int
    f: float  # of the example, when it was met
    action: str  # "passed over" (1.), "added" (2a), "replaced" (2b), "merged" (2c) or "ignored" (2c, no pair)
    slot: int | None = None  # where the newcomer is now; None if it is nowhere, or a part of the merged twin
    merged_slot: int | None = None  # where the merged twin is
    trials: tuple = ()  # the pairs tried, in order; the last one was accepted if action == "merged"


class TVM:
    """The online TVM, for labels -1 and +1.

    Parameters
    ----------
    budget : int
        B, the most twins there may be.
    C0 : float
        C sum s = C0 budget always.
    kernel, gamma, degree, coef0 : as in ``bsgd.kernel_matrix``
    m1, m2 : float
        Examples with |f| <= m1 are taken in; a twin with |f| > m2 makes room for one.
    merge_space : {"input", "feature"}
    one_sided : bool
        False: global merging.
    reject : float or None
        eta of section 4.2.4; None: merges are never rejected.
    merge_newcomer : bool
        See choice 5.
    all_pairs : bool
        False: of the old twins only the best pair of each is a candidate, as a learner has it that remembers one
        partner for each (section 4.2.1); with the newcomer all pairs are.

    Attributes
    ----------
    rows, s_plus, s_minus, beta : of the twins, in slot order
    b, C : float
    t : int, examples seen
    """

    def __init__(
        self,
        budget,
        C0,
        kernel="rbf",
        m1=1.0,
        m2=2.0,
        merge_space="input",
        one_sided=True,
        reject=0.2,
        merge_newcomer=True,
        all_pairs=True,
        gamma=1.0,
        degree=3,
        coef0=1.0,
    ):
        if kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {KERNELS}, got {kernel!r}")
        if merge_space not in MERGE_SPACES:
            raise ValueError(f"merge_space must be one of {MERGE_SPACES}, got {merge_space!r}")
        if merge_space == "feature" and kernel != "rbf":
            raise ValueError("merging in feature space needs the rbf kernel")
        if budget < 2:
            raise ValueError(f"budget must be at least 2, got {budget!r}")
        self.budget = budget
        self.C0 = C0
        self.kernel = {"kernel": kernel, "gamma": gamma, "degree": degree, "coef0": coef0}
        self.m1 = m1
        self.m2 = m2
        self.merge_space = merge_space
        self.one_sided = one_sided
        self.reject = reject
        self.merge_newcomer = merge_newcomer
        self.all_pairs = all_pairs

        self.rows = []
        self.s_plus, self.s_minus, self.beta = np.zeros(0), np.zeros(0), np.zeros(0)
        self.b = 0.0
        self.C = C0
        self.t = 0

    # ---- what the model says -----------------------------------------------------------------------

    @property
    def gram(self):
        return kernel_matrix(self.rows, self.rows, **self.kernel)

    @property
    def ends(self):
        """lower, kink and upper."""
        return breakpoints(self.C, self.s_plus, self.s_minus)

    @property
    def violation(self):
        """By how much the twins violate the conditions."""
        return kkt_violation(self.gram, self.beta, self.b, *self.ends) if self.rows else 0.0

    def decision(self, X):
        """f(x) for each row of X; 0 before any example."""
        X = np.atleast_2d(np.asarray(X, dtype=np.float64))
        return kernel_matrix(X, self.rows, **self.kernel) @ self.beta + self.b if self.rows else np.zeros(len(X))

    # ---- one example -------------------------------------------------------------------------------

    def learn(self, x, y):
        """Algorithm 1 for one example."""
        x = np.array(x, dtype=np.float64)
        self.t += 1
        f = float(self.decision(x)[0])
        if not self.is_beneficial(f):
            return TVMStep(self.t, f, "passed over")
        step = self._update_twins(x, y, f)
        if step.action != "ignored":
            self._update_machine()
        return step

    def is_beneficial(self, f):
        """Algorithm 2."""
        return len(self.rows) < self.budget or abs(f) <= self.m1

    def _update_twins(self, x, y, f):
        """Algorithm 3."""
        size = len(self.rows)
        if size < self.budget:
            self.rows.append(x)
            self.s_plus, self.s_minus = np.append(self.s_plus, 0.0), np.append(self.s_minus, 0.0)
            self._put(size, x, *_weights(y))
            return TVMStep(self.t, f, "added", slot=size)

        values = self.decision(self.rows)
        farthest = first_tied(-np.abs(values))
        if abs(values[farthest]) > self.m2 + ROUNDING:
            self._put(farthest, x, *_weights(y))
            return TVMStep(self.t, f, "replaced", slot=farthest)

        # The newcomer is the last of the candidates, in slot ``budget``.
        rows = [*self.rows, x]
        s_plus, s_minus = (
            np.append(old, new) for old, new in zip((self.s_plus, self.s_minus), _weights(y), strict=True)
        )
        values = np.append(values, f)
        trials = self._try_pairs(np.array(rows), s_plus + s_minus, values)
        if not trials or not trials[-1].accepted:
            return TVMStep(self.t, f, "ignored", trials=trials)
        i, j = trials[-1][:2]
        merged = self.merge_point(rows[i], rows[j], s_plus[i] + s_minus[i], s_plus[j] + s_minus[j])
        self._put(i, merged, s_plus[i] + s_plus[j], s_minus[i] + s_minus[j])
        if j == self.budget:
            return TVMStep(self.t, f, "merged", merged_slot=i, trials=trials)
        self._put(j, x, *_weights(y))
        return TVMStep(self.t, f, "merged", slot=j, merged_slot=i, trials=trials)

    def _update_machine(self):
        """The C of section 4.3, and the optimum."""
        self.C = self.C0 * self.budget / (self.s_plus.sum() + self.s_minus.sum())
        self.beta, self.b = optimum(self.gram, *self.ends)

    def _put(self, slot, q, s_plus, s_minus):
        self.rows[slot] = q
        self.s_plus[slot], self.s_minus[slot] = s_plus, s_minus

    # ---- merging -----------------------------------------------------------------------------------

    def _try_pairs(self, rows, s, values):
        """Tries the candidate pairs in order of their distortion, up to the first that is accepted."""
        pairs = self._candidate_pairs(values)
        distortions = [self.distortion(rows[i], rows[j], s[i], s[j]) for i, j in pairs]
        if not self.all_pairs:
            kept = [k for k, pair in enumerate(pairs) if self._is_best_of_one(pair, pairs, distortions)]
            pairs, distortions = [pairs[k] for k in kept], [distortions[k] for k in kept]
        trials = []
        while pairs:
            old = [k for k, (_, j) in enumerate(pairs) if j < self.budget]  # those with the newcomer come last
            best = old[first_tied([distortions[k] for k in old])] if old else first_tied(distortions)
            (i, j), d = pairs.pop(best), distortions.pop(best)
            value = float(self.decision(self.merge_point(rows[i], rows[j], s[i], s[j]))[0])
            estimate = float((s[i] * values[i] + s[j] * values[j]) / (s[i] + s[j]))
            accepted = self.reject is None or abs(value - estimate) < self.reject * abs(estimate)
            trials.append(Trial(i, j, d, estimate, value, accepted))
            if accepted:
                break
        return tuple(trials)

    def _candidate_pairs(self, values):
        """All i < j, in lexicographic order, on the same side of the boundary if that is asked for."""
        n = self.budget + 1 if self.merge_newcomer else self.budget
        return [(i, j) for i, j in combinations(range(n), 2) if not self.one_sided or values[i] * values[j] > 0.0]

    def _is_best_of_one(self, pair, pairs, distortions):
        """Whether a pair has the newcomer, or is the best old one of one of its two twins."""
        if pair[1] == self.budget:
            return True
        own = distortions[pairs.index(pair)]
        old = [(other, d) for other, d in zip(pairs, distortions, strict=True) if other[1] < self.budget]
        return any(own <= min(d for other, d in old if twin in other) for twin in pair)

    def distortion(self, q_i, q_j, s_i, s_j):
        """d_ij, with the squared distance of input or feature space."""
        squared = float(squared_distances(q_i[None], q_j[None])[0, 0])
        if self.merge_space == "feature":
            squared = -2.0 * float(np.expm1(-self.kernel["gamma"] * squared))
        return float(s_i * s_j / (s_i + s_j) * squared)

    def merge_point(self, q_i, q_j, s_i, s_j):
        """q_new."""
        h = s_i / (s_i + s_j)
        if self.merge_space == "feature":
            log_kernel = -self.kernel["gamma"] * float(squared_distances(q_i[None], q_j[None])[0, 0])
            h, _ = best_merge(h**2, (1.0 - h) ** 2, h * (1.0 - h), log_kernel)
        return h * q_i + (1.0 - h) * q_j


def _weights(y):
    """s+ and s- of a single example."""
    return (1.0, 0.0) if y > 0 else (0.0, 1.0)
