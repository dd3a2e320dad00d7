"""The exact weighted SVM with a bias in plain numpy: its optimum, its conditions, and adiabatic changes of it.

Follows Z. Wang and S. Vucetic, "Twin Vector Machines for Online Learning on a Budget", SDM 2009, sections 2 and 3, and
for the adiabatic steps G. Cauwenberghs and T. Poggio, "Incremental and Decremental Support Vector Machine Learning",
NIPS 2000.

One signed coefficient per point
    A twin is a point q with a positive example of weight s+ and a negative one of weight s-, both at q. Its two dual
    coefficients 0 <= alpha+ <= C s+ and 0 <= alpha- <= C s- act on f(x) = sum_j beta_j K(q_j, x) + b only through
    beta = alpha+ - alpha-. The dual is

        minimise  1/2 sum_ij beta_i beta_j K_ij - sum_j (alpha+_j + alpha-_j)   subject to   sum_j beta_j = 0.

    For a given beta both alphas are best as large as possible: up to the bound of one of them. With the breakpoints

        lower = -C s-,   kink = C (s+ - s-) = lower + upper,   upper = C s+

    alpha- = C s- below the kink and alpha+ = C s+ above it, so the gain alpha+ + alpha- is 2 C s- + beta below, with
    slope +1, and 2 C s+ - beta above, with slope -1: concave, and beta alone tells all. An ordinary example of weight s
    is a twin with s- = 0 (positive: lower = 0, kink = upper = C s) or s+ = 0 (negative: lower = kink = -C s,
    upper = 0).

The conditions
    b is the multiplier of the constraint, so the derivative of the Lagrangian by beta_j is f(q_j) - slope. A beta that
    can go up (beta < upper) needs f >= the slope to its right: +1 for beta < kink, else -1. One that can go down
    (beta > lower) needs f <= the slope to its left: +1 for beta <= kink, else -1. That is

        at lower: f >= 1;  between: f = 1;  at the kink: -1 <= f <= 1;  between: f = -1;  at upper: f <= -1,

    where for lower = kink (or kink = upper) the demand on the side that does not exist falls away: f >= -1 at the lower
    end of a negative example, f <= 1 at the upper end of a positive one. The problem is convex: what satisfies the
    conditions is the optimum, however it was found.

    They bound b from below by those that can go up, and from above by those that can go down. Where a point is
    strictly between two breakpoints the bounds meet. Otherwise b is not unique, and ``bias`` takes the middle (one
    class only: the one bound there is, so that f = +1 or f = -1 everywhere).

Adiabatic steps, section 2.2
    Ordinary examples, unsigned coefficients, Q_ij = y_i y_j K_ij, g_i = y_i f(x_i) - 1. S are the examples kept on the
    margin (g = 0), E those at their bound C s (g <= 0), R those at 0 (g >= 0). While the coefficient of the example c
    goes up by d, those in S and b follow such that g stays 0 in S and sum y alpha stays 0:

        J (db, dalpha_S) = - (y_c, Q_Sc) d,      dg_i = Q_ic d + sum_{j in S} Q_ij dalpha_j + y_i db.

    All is linear in d until the first of these events: g_c = 0 (c joins S, done); alpha_c = C s (c joins E, done); an
    alpha in S comes to 0 (to R) or to its bound (to E); a g in R or E comes to 0 (to S). To unlearn c, it is taken out
    of S and d is negative until alpha_c = 0. The text stops at the least W ("as long as W decreases"); that is the
    same, since dW/dalpha_c = g_c along the way.

    With S empty no coefficient can move. Then b does, towards y_c to learn and away from it to unlearn: that is the
    direction in which those examples come to g = 0 that can balance c (opposite ones in R, or like ones in E, to
    learn). To learn, g_c may come to 0 first, and c joins S with alpha_c = 0. That is also how the first example is
    learned. Events that come at the same d are taken one at a time, lowest index first. They are the rule at the start:
    while there is one class, all its examples have g = 0. Other degeneracies, such as duplicates in S, make J
    singular: not for this class.
"""

import numpy as np

from .bsgd import KERNELS, kernel_matrix

# A coefficient no farther from a breakpoint than this part of its range is at the breakpoint.
AT_END = 1e-12
# A violation of the conditions (in units of f) that ``optimum`` does not try to make smaller.
ROUNDING = 1e-12
# It does not return anything that violates the conditions by more than this.
OPTIMAL = 1e-9
# Two events of an adiabatic change are simultaneous when their steps differ by no more than this part of the bound.
SIMULTANEOUS = 1e-13


# ----------------------------------------------------------------------------------------------------
# The problem and its conditions


def breakpoints(C, s_plus, s_minus):
    """lower, kink and upper of points with the weights ``s_plus`` and ``s_minus``."""
    s_plus, s_minus = np.asarray(s_plus, dtype=np.float64), np.asarray(s_minus, dtype=np.float64)
    return -C * s_minus, C * (s_plus - s_minus), C * s_plus


def objective(K, beta, lower, upper):
    """What is minimised: 1/2 beta K beta less the gain."""
    return float(0.5 * beta @ K @ beta - np.minimum(beta - 2.0 * lower, 2.0 * upper - beta).sum())


def demands(beta, lower, kink, upper):
    """The least and the largest f that each point may have: -inf and inf where nothing is asked."""
    dust = AT_END * (upper - lower)
    least = np.where(beta < kink - dust, 1.0, -1.0)
    largest = np.where(beta <= kink + dust, 1.0, -1.0)
    return np.where(beta < upper - dust, least, -np.inf), np.where(beta > lower + dust, largest, np.inf)


def bias(K, beta, lower, kink, upper):
    """The b in the middle of what the conditions allow; 0 if they ask for nothing."""
    least, largest = demands(beta, lower, kink, upper)
    f = K @ beta
    from_below, from_above = np.max(least - f, initial=-np.inf), np.min(largest - f, initial=np.inf)
    bounds = [float(bound) for bound in (from_below, from_above) if np.isfinite(bound)]
    return float(np.mean(bounds)) if bounds else 0.0


def kkt_violation(K, beta, b, lower, kink, upper):
    """The worst violation of the conditions on f, plus |sum beta|, plus the farthest that a beta is out of its box."""
    least, largest = demands(beta, lower, kink, upper)
    f = K @ beta + b
    on_f = np.max(np.maximum(least - f, f - largest), initial=0.0)
    out_of_box = np.max(np.maximum(lower - beta, beta - upper), initial=0.0)
    return float(on_f + abs(beta.sum()) + out_of_box)


# ----------------------------------------------------------------------------------------------------
# The optimum


def optimum(K, lower, kink, upper):
    """beta and b of the optimum, to rounding.

    An interior-point method on the 2n alphas shows, better with every step, which of them are at an end. On the points
    left strictly between two breakpoints f = +1 or -1 is a linear system. Its solution is checked at every step, and is
    the optimum as soon as the ends were guessed right. Raises if they never are.
    """
    K = np.asarray(K, dtype=np.float64)
    lower, kink, upper = (np.asarray(ends, dtype=np.float64) for ends in (lower, kink, upper))
    assert np.all(lower <= 0.0)
    assert np.all(upper >= 0.0)
    assert np.allclose(kink, lower + upper)
    best, least_violation = None, np.inf
    for guess in _guesses(K, lower, kink, upper):
        beta = solve_on_margin(K, guess, lower, kink, upper)
        beta = solve_on_margin(K, beta, lower, kink, upper)  # again for the sake of rounding
        b = bias(K, beta, lower, kink, upper)
        violation = kkt_violation(K, beta, b, lower, kink, upper)
        if violation < least_violation:
            best, least_violation = (beta, b), violation
        if violation < ROUNDING:
            break
    if least_violation > OPTIMAL:
        raise RuntimeError(f"no optimum found: the conditions are violated by {least_violation:.1e}")
    return best


def _guesses(K, lower, kink, upper):
    """Coefficients of which those are exactly at breakpoints that seem to be there at the optimum."""
    n = len(lower)
    labels = np.repeat([1.0, -1.0], n)
    caps = np.concatenate([upper, -lower])  # of the alpha+, then of the alpha-
    used = np.flatnonzero(caps > 0.0)
    if len(np.unique(labels[used])) < 2:
        yield np.zeros(n)  # one class only: sum beta = 0 leaves no other choice
        return
    y, points = labels[used], used % n
    for alpha in interior_points(y[:, None] * y * K[np.ix_(points, points)], y, caps[used]):
        beta = np.zeros(n)
        np.add.at(beta, points, y * alpha)
        for end in (lower, kink, upper):  # caps that add up to the kink do so but for rounding
            beta = np.where(np.abs(beta - end) <= AT_END * (upper - lower), end, beta)
        yield beta


def interior_points(Q, y, caps, n_steps=100):
    """Ever better minimisers of 1/2 a Q a - sum a with y.a = 0 and 0 <= a <= caps.

    A primal-dual path: every Newton step aims at products a z = mu and (caps - a) v = mu a tenth of the present ones,
    where z and v are the multipliers of the two ends. An alpha is taken to be at the end whose multiplier is larger
    than the distance from it (as a part of the cap), and is put there in what is handed out.
    """
    a, room = 0.5 * caps, 0.5 * caps  # the room above is kept for itself: caps - a would be 0 too soon
    z, v = np.ones(len(a)), np.ones(len(a))
    b = 0.0
    for _ in range(n_steps):
        yield np.where(a < z * caps, 0.0, np.where(room < v * caps, caps, a))
        mu = 0.1 * np.mean(np.concatenate([a * z, room * v]))
        newton = np.block([[Q + np.diag(z / a + v / room), y[:, None]], [y[None, :], np.zeros((1, 1))]])
        aim = np.concatenate([1.0 - Q @ a - b * y + mu / a - mu / room, [-(y @ a)]])
        try:
            step = np.linalg.solve(newton, aim)
        except np.linalg.LinAlgError:  # duplicates on the margin, and hardly any barrier left
            return
        da, db = step[:-1], step[-1]
        dz = mu / a - z - z / a * da
        dv = mu / room - v + v / room * da
        length = min(1.0, *(0.99 * _longest(*pair) for pair in ((a, da), (room, -da), (z, dz), (v, dv))))
        a, room, b = a + length * da, room - length * da, b + length * db
        z, v = z + length * dz, v + length * dv


def _longest(values, step):
    """How often the step can be gone until one of the positive values is 0."""
    falling = step < 0.0
    return float(np.min(-values[falling] / step[falling], initial=np.inf))


def solve_on_margin(K, beta, lower, kink, upper):
    """Moves the beta strictly between two breakpoints such that f = +1 or -1 there, without leaving the interval."""
    margin = np.flatnonzero((beta > lower) & (beta != kink) & (beta < upper))
    if len(margin) == 0:
        return beta
    below = beta[margin] < kink[margin]
    ones = np.ones((len(margin), 1))
    system = np.block([[K[np.ix_(margin, margin)], ones], [ones.T, np.zeros((1, 1))]])
    missing = np.where(below, 1.0, -1.0) - K[margin] @ beta
    step = np.linalg.lstsq(system, np.append(missing, -beta.sum()), rcond=None)[0][:-1]
    moved = beta.copy()
    moved[margin] = np.clip(
        beta[margin] + step,
        np.where(below, lower[margin], kink[margin]),
        np.where(below, kink[margin], upper[margin]),
    )
    return moved


# ----------------------------------------------------------------------------------------------------
# Adiabatic learning and unlearning


class Adiabatic:
    """Incremental and decremental SVM with a bias, for labels -1 and +1. J is inverted anew for every event.

    Parameters
    ----------
    C : float
    kernel, gamma, degree, coef0 : as in ``bsgd.kernel_matrix``

    Attributes
    ----------
    rows, y, alpha, caps : of the examples, in order of arrival; caps are the bounds C s
    b : float
    S, E, R : sets of indices
    n_events : int, those of all changes so far
    """

    def __init__(self, C=1.0, kernel="rbf", gamma=1.0, degree=3, coef0=1.0):
        if kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {KERNELS}, got {kernel!r}")
        self.C = C
        self.kernel = {"kernel": kernel, "gamma": gamma, "degree": degree, "coef0": coef0}
        self.rows = []
        self.y, self.alpha, self.caps = np.zeros(0), np.zeros(0), np.zeros(0)
        self.gram = np.zeros((0, 0))
        self.b = 0.0
        self.S, self.E, self.R = set(), set(), set()
        self.n_events = 0

    @property
    def beta(self):
        """The signed coefficients."""
        return self.y * self.alpha

    @property
    def ends(self):
        """lower, kink and upper of the examples, as signed coefficients."""
        return breakpoints(1.0, np.where(self.y > 0, self.caps, 0.0), np.where(self.y < 0, self.caps, 0.0))

    @property
    def g(self):
        return self.y * (self.gram @ self.beta + self.b) - 1.0

    def decision(self, X):
        X = np.atleast_2d(np.asarray(X, dtype=np.float64))
        return kernel_matrix(X, self.rows, **self.kernel) @ self.beta + self.b if self.rows else np.zeros(len(X))

    def learn(self, x, y, weight=1.0):
        """Adds an example of positive weight."""
        c = len(self.rows)
        self.rows.append(np.array(x, dtype=np.float64))
        row = kernel_matrix(x, self.rows, **self.kernel)
        self.gram = np.vstack([np.hstack([self.gram, row[:, :-1].T]), row])
        self.y, self.alpha = np.append(self.y, float(y)), np.append(self.alpha, 0.0)
        self.caps = np.append(self.caps, self.C * weight)
        if self.g[c] >= 0.0:
            self.R.add(c)
        else:
            self._change(c, 1.0)

    def unlearn(self, c):
        """Takes the example with index c out; those after it move up by one."""
        for examples in (self.S, self.E, self.R):
            examples.discard(c)
        if self.alpha[c] > AT_END * self.caps[c]:  # what rounding left cannot be balanced by others
            self._change(c, -1.0)
        self.rows.pop(c)
        self.y, self.alpha, self.caps = (np.delete(values, c) for values in (self.y, self.alpha, self.caps))
        self.gram = np.delete(np.delete(self.gram, c, axis=0), c, axis=1)
        self.S, self.E, self.R = ({i - (i > c) for i in examples} for examples in (self.S, self.E, self.R))

    def _change(self, c, sense):
        """Moves alpha_c up (sense 1) or down (-1), from event to event, until the conditions hold for c, or it is 0."""
        for _ in range(100 * len(self.rows)):
            dalpha, db = self._direction(c, sense)
            steps = self._steps_to_events(c, sense, dalpha, db)
            if not steps:
                raise RuntimeError("nothing limits the change")
            least = min(steps.values())
            together = [i for i, step in steps.items() if step <= least + SIMULTANEOUS * self.caps[c]]
            event = c if c in together else min(together)
            self.alpha += least * dalpha
            self.b += least * db
            self.n_events += 1
            self._reassign(event, c, sense, dalpha)
            if event == c:
                return
        raise RuntimeError("the events do not come to an end: a degenerate problem")

    def _direction(self, c, sense):
        """The change of all alpha and of b per unit of the step; of alpha_c it is +-1, or 0 while S is empty."""
        dalpha = np.zeros(len(self.rows))
        if not self.S:
            return dalpha, sense * self.y[c]
        S = sorted(self.S)
        Q = self.y[:, None] * self.y * self.gram
        J = np.block([[np.zeros((1, 1)), self.y[None, S]], [self.y[S, None], Q[np.ix_(S, S)]]])
        follow = -np.linalg.inv(J) @ np.append(self.y[c], Q[S, c]) * sense
        dalpha[c] = sense
        dalpha[S] = follow[1:]
        return dalpha, follow[0]

    def _steps_to_events(self, c, sense, dalpha, db):
        """Index of an example -> the step at which its event comes, for all that have one."""
        g = self.g
        dg = self.y * (self.gram @ (self.y * dalpha) + db)
        steps = {}
        for i in self.S:
            if dalpha[i] < 0.0:
                steps[i] = -self.alpha[i] / dalpha[i]
            elif dalpha[i] > 0.0:
                steps[i] = (self.caps[i] - self.alpha[i]) / dalpha[i]
        steps |= {i: -g[i] / dg[i] for i in self.R if dg[i] < 0.0}
        steps |= {i: -g[i] / dg[i] for i in self.E if dg[i] > 0.0}
        own = []
        if dalpha[c] != 0.0:
            own.append(self.caps[c] - self.alpha[c] if sense > 0 else self.alpha[c])
        if sense > 0 and dg[c] > 0.0:
            own.append(-g[c] / dg[c])
        if own:
            steps[c] = min(own)
        return {i: max(0.0, float(step)) for i, step in steps.items()}

    def _reassign(self, i, c, sense, dalpha):
        """Moves example i, whose event has come, to the set where it belongs now."""
        if i == c and sense < 0:
            self.alpha[c] = 0.0  # unlearned
        elif i == c:
            at_cap = self.alpha[c] >= self.caps[c] * (1.0 - AT_END)
            if at_cap:
                self.alpha[c] = self.caps[c]
            (self.E if at_cap else self.S).add(c)
        elif i in self.S:
            self.S.remove(i)
            self.alpha[i] = 0.0 if dalpha[i] < 0.0 else self.caps[i]
            (self.R if dalpha[i] < 0.0 else self.E).add(i)
        else:
            self.R.discard(i)
            self.E.discard(i)
            self.S.add(i)
