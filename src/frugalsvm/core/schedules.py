"""Step sizes and shrinking: Table 2 of the BSGD paper (Wang, Crammer & Vucetic 2012).

========== ================ ================= =======================================
learner    lambda           eta_t             after the step
========== ================ ================= =======================================
Pegasos    lambda > 0       1 / (lambda t)
Norma      lambda > 0       eta0 / sqrt(t)
Perceptron 0                eta0              (usually) projection on a ball
========== ================ ================= =======================================

The model is stored as ``scale * raw``, so that shrinking by ``1 - eta_t lambda`` and the projection on a ball
are one multiplication. For Pegasos without a ball (``free=True``) the scale is ``1 / (lambda t)`` exactly: a new
example then has a raw coefficient of exactly 1, which budget maintenance makes use of.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._compile import generic

__all__ = ["LEARNERS", "Norma", "Pegasos", "Perceptron", "advance", "may_fold"]


class Pegasos(NamedTuple):
    """``eta_t = 1 / (lambda t)``"""

    lam: float
    free: bool


class Norma(NamedTuple):
    """``eta_t = eta0 / sqrt(t)``"""

    lam: float
    eta0: float


class Perceptron(NamedTuple):
    """``eta_t = eta0``, no shrinking"""

    eta0: float


@generic
def advance(schedule, t, scale):
    """The step size ``eta_t``, the scale after shrinking by ``1 - eta_t lambda``, and the step in raw units.

    The last is ``eta_t`` over the new scale; ``t`` starts at 1.
    """


@generic
def may_fold(schedule):
    """Whether the scale may be folded into the raw coefficients when it becomes small."""


@advance.implement(Pegasos)
def _pegasos_advance(schedule, t, scale):
    eta = 1.0 / (schedule.lam * t)
    if schedule.free or t == 1:
        return eta, eta, 1.0
    scale *= 1.0 - 1.0 / t
    return eta, scale, eta / scale


@may_fold.implement(Pegasos)
def _pegasos_may_fold(schedule):
    # Without a ball raw coefficients are at most t: float64 holds them for longer than anyone will run.
    return not schedule.free


@advance.implement(Norma)
def _norma_advance(schedule, t, scale):
    eta = schedule.eta0 / np.sqrt(t)
    scale *= 1.0 - eta * schedule.lam
    return eta, scale, eta / scale


@advance.implement(Perceptron)
def _perceptron_advance(schedule, t, scale):
    return schedule.eta0, scale, schedule.eta0 / scale


@may_fold.implement(Norma, Perceptron)
def _multiplicative_may_fold(schedule):
    return True


LEARNERS = {"pegasos": Pegasos, "norma": Norma, "perceptron": Perceptron}
