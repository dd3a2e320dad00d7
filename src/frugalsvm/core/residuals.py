"""Losses of residuals: epsilon-insensitive, squared epsilon-insensitive, Huber, squared and pinball, in one formula.

With the residual ``r = y - f(x)``, minus the derivative of each of them by ``f(x)`` is a clipped line with a dead zone,

    slope(r) = clip(gain * dead(r), low, high),      dead(r) = r - clip(r, -epsilon, epsilon)

============================= ======== ======= ========= =====
loss                          epsilon  gain    low       high
============================= ======== ======= ========= =====
epsilon_insensitive           epsilon  steep   -1        1
squared_epsilon_insensitive   epsilon  1       none      none
huber                         0        1/eps   -1        1
squared                       0        1       none      none
pinball (of a quantile q)     0        steep   -(1 - q)  q
============================= ======== ======= ========= =====

so that one piece of machine code learns all of them. "Steep" and "none" are numbers beyond all residuals.

**The step is implicit**: the slope is that of the model *after* the step, ``h = f + tau K(x, .)`` with
``tau = e slope(r - tau K(x, x))``, where e is the step size times the weight of the example. An explicit step of a
squared loss overshoots as soon as ``e K(x, x) > 2``, and steps of 1 / (lambda t) begin far above that; this one stops
at the residual, however long it is. The left side grows with tau and the right side falls, so that there is one
solution: that of the line where it is between the ends, and the nearer end otherwise,

    tau = clip(e gain dead(r) / (1 + e gain K(x, x)), e low, e high).

Several outputs have a residual, and an end, each; a row of the loss's arrays is not shared between them.

B. Kulis, P. L. Bartlett, "Implicit online learning", ICML 2010. I. Steinwart, A. Christmann, "Estimating conditional
quantiles with the help of the pinball loss", Bernoulli 17 (2011).
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import NotNegative, stored
from frugalsvm.compiling.functions import generic, inlined, larger, smaller

STEEP, NONE = 1e12, 1e30  # beyond all residuals of standardized targets, without infinite products
NOTHING = 1e-12  # shorter steps, of such targets, are rounding errors


@stored("residual", kind="loss")
class Residual(NamedTuple):
    """A loss of one output."""

    epsilon: NotNegative
    gain: Annotated[float, (0, STEEP)]
    low: Annotated[float, (-NONE, 0)]
    high: Annotated[float, (0, NONE)]


@stored("residuals", kind="loss")
class Residuals(NamedTuple):
    """The losses of several outputs, such as quantiles."""

    n_outputs: Annotated[int, (2, 2**31)]
    epsilon: Annotated[np.ndarray, "d o"]
    gain: Annotated[np.ndarray, "d o"]
    low: Annotated[np.ndarray, "d o"]
    high: Annotated[np.ndarray, "d o"]


def _insensitive(epsilon, quantile):
    return epsilon, STEEP, -1.0, 1.0


def _squared_insensitive(epsilon, quantile):
    return epsilon, 1.0, -NONE, NONE


def _huber(epsilon, quantile):
    return 0.0, 1.0 / epsilon, -1.0, 1.0


def _squared(epsilon, quantile):
    return 0.0, 1.0, -NONE, NONE


def _pinball(epsilon, quantile):
    return 0.0, STEEP, quantile - 1.0, quantile


LOSSES = {
    "epsilon_insensitive": _insensitive,
    "squared_epsilon_insensitive": _squared_insensitive,
    "huber": _huber,
    "squared": _squared,
    "pinball": _pinball,
}


def loss_of_residuals(name, epsilons, quantiles):
    """The loss of a name, for as many outputs as there are numbers in each of the two sequences."""
    rows = [LOSSES[name](*map(float, each)) for each in zip(epsilons, quantiles, strict=True)]
    if len(rows) == 1:
        return Residual(*rows[0])
    return Residuals(len(rows), *(np.array(column) for column in zip(*rows, strict=True)))


@inlined
def implicit_step(epsilon, gain, low, high, residual, e, own):
    """tau of the header, ``own`` is K(x, x)."""
    dead = residual - smaller(larger(residual, -epsilon), epsilon)
    steep = e * gain
    return smaller(larger(steep * dead / (1.0 + steep * own), e * low), e * high)


@generic
def residual_steps(loss, target, scores, scale, e, own, steps):
    """Fill ``steps`` with tau for each output of ``scale * scores``; whether one of them is worth a support vector."""


@residual_steps.implement(Residual)
def _one_step(loss, target, scores, scale, e, own, steps):
    residual = target[0] - scale * scores[0]
    steps[0] = implicit_step(loss.epsilon, loss.gain, loss.low, loss.high, residual, e, own)
    return abs(steps[0]) > NOTHING


@residual_steps.implement(Residuals)
def _several_steps(loss, target, scores, scale, e, own, steps):
    learns = False
    for o in range(loss.n_outputs):
        residual = target[o] - scale * scores[o]
        steps[o] = implicit_step(loss.epsilon[o], loss.gain[o], loss.low[o], loss.high[o], residual, e, own)
        learns = learns or abs(steps[o]) > NOTHING
    return learns
