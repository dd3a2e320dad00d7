"""Several half-lives at once: experts that share their support vectors, and a vote of those that were right of late.

How fast a stream changes is not known, and is not always the same. Each expert is a machine of the schedule
``Forgetting`` (``core/schedules.py``) with a clock of its own; the clock of the first never stops. They differ in their
coefficients alone: an example has one row of kernel values for all of them, and it becomes a support vector of those
that have it within their margin.

Coefficients are kept in steps of their expert. With ``s_k = 1 / (lambda_k min(t, clock_k))`` the decision function of
expert k is ``f_k(x) = s_k fade_k sum_j coef[k, j] K(x_j, x)``, a new example has the coefficient 1 (times its weight),
and what was learned before shrinks by ``fade_k``, which is multiplied into the coefficients when one is added: vectors
that are old, and right for slow experts at most, are small then, and are the first to be removed or merged.

The vote is the fixed share of Herbster & Warmuth (1998): an expert that is wrong loses the part ``1 - e^-RATE`` of its
share; then all give the part ``SHARE`` away, in equal parts, so that none is ever too small to come back. The decision
value is a mean of those of the experts, each relative to its usual size m_k (the mean of late of the absolute margin),

    f(x) = M sum_k p_k f_k(x) / m_k,      M = sum_k p_k m_k.

That is linear: one column of coefficients predicts, as that of a single machine does.

M. Herbster, M. K. Warmuth, "Tracking the best expert", Machine Learning 32 (1998).
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import COUNTED, stored
from frugalsvm.compiling.functions import compiled, entry, generic, larger, smaller
from frugalsvm.core.kernels import self_value
from frugalsvm.core.losses import MARGIN, hinge_for, margin_of, update_direction
from frugalsvm.core.outputs import n_outputs_for, with_classes
from frugalsvm.core.records import float_record, integer_record
from frugalsvm.core.schedules import clock_of

HALF_LIVES = (70_000, 21_000, 7_000, 2_100, 700)  # in examples, of all experts but the first
TRACKING_STEP = 3.0  # of those; elec2, ijcnn1 and checkerboards are as good with steps from 1 to 10
RATE = 0.3
SHARE = 0.001
MEMORY = 1000.0  # examples that usual sizes of margins are a mean of
NEVER = 1e100  # a clock that does not stop
_LEAST_SIZE = 1e-60  # of support vectors, so that they can be divided by
_LEAST_MARGIN = 1e-300  # only an expert without coefficients has less
_NEGLIGIBLE = 1e-30  # coefficients that shrink for ever end at zero, not among the subnormal numbers, which are slow

COUNTS = integer_record(
    "n_seen", "n_wrong"
)  # examples, and those that the vote was wrong about before they were learned
# What changes of an expert: its part in the vote, its usual absolute margin, what its coefficients have to shrink by
STANDING = float_record("share", "size", "fade")


@stored("experts", kind="loss")
class Experts(NamedTuple):
    """Machines with the same support vectors. The outputs of an expert are side by side."""

    n_outputs: Annotated[int, (1, 2**31)]  # of all experts together
    loss: NamedTuple  # of each
    strengths: Annotated[np.ndarray, "d k", (1e-300, math.inf)]  # (n_experts,) lambda
    clocks: Annotated[np.ndarray, "d k", (1, math.inf)]  # (n_experts,)
    standing: Annotated[np.ndarray, STANDING, "k"]
    counts: Annotated[np.ndarray, COUNTS, "1", COUNTED]
    parts: Annotated[np.ndarray, "d k"]  # (n_experts,) what sums of each are multiplied by in the vote; scratch
    values: Annotated[np.ndarray, "d v"]  # (n_outputs of one,) decision values of the example at hand; scratch

    def is_sound(self, sizes) -> bool:
        """Whether numbers are in their ranges, and there are outputs for each expert."""
        standing = self.standing
        right = bool((standing["share"] > 0).all() and (standing["size"] >= 0).all())
        right = right and bool(((standing["fade"] > 0) & (standing["fade"] <= 1)).all())
        n_each = getattr(self.loss, "n_outputs", 1)
        return right and sizes["v"] == n_each and sizes["k"] * n_each == self.n_outputs


def new_experts(n_outputs: int, alpha: float, half_lives=HALF_LIVES) -> Experts:
    """Experts of ``n_outputs`` outputs each that have seen nothing; ``alpha`` is the strength of the first one."""
    clocks = np.array([NEVER, *map(clock_of, half_lives)])
    strengths = np.array([alpha, *(1.0 / (TRACKING_STEP * clocks[1:]))])
    n_experts = len(clocks)
    standing = np.zeros(n_experts, STANDING)
    standing["share"], standing["fade"] = 1.0 / n_experts, 1.0
    own = (strengths, clocks, standing, np.zeros(1, COUNTS), np.zeros(n_experts), np.zeros(n_outputs))
    return Experts(n_experts * n_outputs, hinge_for(n_outputs), *own)


def experts_with_classes(experts: Experts, expansion, old_classes, new_classes):
    """The experts and their store for a larger sorted set of classes, of which the new ones have scores of zero."""
    n_experts, n_outputs = len(experts.clocks), n_outputs_for(len(new_classes))
    n_each = experts.n_outputs // n_experts
    blocks = [slice(k * n_each, (k + 1) * n_each) for k in range(n_experts)]
    own = [expansion._replace(coef=expansion.coef[block], weights=expansion.weights[block]) for block in blocks]
    grown = [with_classes(each, old_classes, new_classes) for each in own]
    coef, weights = (np.concatenate([getattr(each, name) for each in grown]) for name in ("coef", "weights"))
    # Sizes are brought up to date before the next support vector.
    expansion = grown[0]._replace(coef=coef, weights=weights, sizes=expansion.sizes)
    loss, values = hinge_for(n_outputs), np.zeros(n_outputs)
    return experts._replace(n_outputs=n_experts * n_outputs, loss=loss, values=values), expansion


# --- what they say together ---------------------------------------------------------------------------------------


@compiled
def _fill_parts(experts):
    """What sums over support vectors, and coefficients, of each expert are multiplied by in the decision value."""
    standing, parts = experts.standing, experts.parts
    total, mean = 0.0, 0.0
    for k in range(standing.size):
        total += standing[k]["share"]
        mean += standing[k]["share"] * standing[k]["size"]
    t = float(max(experts.counts[0]["n_seen"], 1))
    for k in range(standing.size):
        size = larger(standing[k]["size"], _LEAST_MARGIN)
        units = total * size * experts.strengths[k] * smaller(t, experts.clocks[k])
        parts[k] = standing[k]["share"] * standing[k]["fade"] * mean / units


@entry
def _find_parts(experts):
    _fill_parts(experts)


@compiled
def combine(experts, sums):
    """Leave the decision values of an example in ``experts.values``; ``sums`` are over all support vectors."""
    _fill_parts(experts)
    n_experts, n_each = experts.parts.size, experts.values.size
    for o in range(n_each):
        value = 0.0
        for k in range(n_experts):
            value += experts.parts[k] * sums[k * n_each + o]
        experts.values[o] = value


def combined_coefficients(experts: Experts, coef: np.ndarray, n: int) -> np.ndarray:
    """The coefficients (n, n_outputs of one) that predict, of those of all experts in n slots."""
    _find_parts(experts)
    parts = experts.parts
    return parts.dot(coef.reshape(len(parts), -1)).reshape(-1, coef.shape[1])[:, :n].T


# --- learning -----------------------------------------------------------------------------------------------------


@compiled
def vote(experts, label, weight, scores, direction):
    """Judge all experts by an example, and age them by it; returns whether one of them is to learn it.

    ``direction`` gets what it adds to their coefficients. ``scores`` are the sums over support vectors.
    """
    standing = experts.standing
    n_experts, n_each = standing.size, experts.values.size
    combine(experts, scores)
    margin, rival = margin_of(experts.loss, experts.values, label)
    if margin <= 0.0:
        experts.counts[0]["n_wrong"] += 1
    t = experts.counts[0]["n_seen"] + 1
    experts.counts[0]["n_seen"] = t
    pace = 1.0 / smaller(float(t), MEMORY)
    learns, total = False, 0.0
    for k in range(n_experts):
        first = k * n_each
        own = direction[first:]
        raw_margin, rival = margin_of(experts.loss, scores[first:], label)
        # The margin is that of the model before this example.
        before = smaller(float(max(t - 1, 1)), experts.clocks[k])
        margin = standing[k]["fade"] * raw_margin / (experts.strengths[k] * before)
        if t > experts.clocks[k]:
            standing[k]["fade"] *= (experts.clocks[k] - 1.0) / before
        standing[k]["size"] += pace * (abs(margin) - standing[k]["size"])
        if margin <= 0.0:
            standing[k]["share"] *= np.exp(-RATE * weight)
        total += standing[k]["share"]
        if margin < MARGIN:
            learns = True
            update_direction(experts.loss, label, rival, own)
            for o in range(n_each):
                own[o] *= weight
        else:
            for o in range(n_each):
                own[o] = 0.0
    for k in range(n_experts):
        standing[k]["share"] = (1.0 - SHARE) * standing[k]["share"] / total + SHARE / n_experts
    return learns


@generic
def settle(loss, kernel, expansion):
    """Bring coefficients up to date before one is added; returns whether there was something to bring."""


@settle.implement()
def _nothing_to_settle(loss, kernel, expansion):
    return False


@settle.implement(Experts, inline=False)
def _settle_fades(loss, kernel, expansion):
    n, n_experts = expansion.counts[0]["n_slots"], loss.standing.size
    n_each = loss.n_outputs // n_experts
    coef, weights, sizes = expansion.coef, expansion.weights, expansion.sizes
    for j in range(n):
        sizes[j] = 0.0
    for k in range(n_experts):
        fade = loss.standing[k]["fade"]
        loss.standing[k]["fade"] = 1.0
        for o in range(k * n_each, (k + 1) * n_each):
            for j in range(n):
                a = coef[o, j] * fade
                a = a if abs(a) >= _NEGLIGIBLE else 0.0
                coef[o, j] = a
                weights[o, j] = a
                sizes[j] += a * a
    for j in range(n):
        sizes[j] = max(sizes[j] * self_value(kernel, expansion.norms[j]), _LEAST_SIZE)
    return True
