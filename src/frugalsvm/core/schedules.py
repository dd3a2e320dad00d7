"""When an example is learned, by what step, and how the model shrinks.

Subgradient steps, Table 2 of the BSGD paper (Wang, Crammer & Vucetic 2012): with ``m`` the margin,

========== ================ ================= ===========================================
learner    lambda           eta_t             learns when
========== ================ ================= ===========================================
Pegasos    lambda > 0       1 / (lambda t)    m < 1
Norma      lambda > 0       eta0 / sqrt(t)    m < 1
Perceptron 0                eta0              m <= 0, a mistake; or m < 1 (margin = 1)
========== ================ ================= ===========================================

``Forgetting`` is Pegasos with a clock that stops: ``eta_t = 1 / (lambda min(t, clock))``. From then on the model
shrinks by the factor ``1 - 1 / clock`` with every example, and steps stay as long as they are: it minimizes the
regularized loss of the examples of late, about ``clock`` of them.

Steps that solve a small problem exactly, with ``w`` the weight of the example:

* ``PassiveAggressive`` (PA-I): ``min 1/2 ||h - f||^2 + C w hinge(h)`` adds the example with the coefficient
  ``min(C w, (1 - m) / K(x, x))``.
* ``Implicit`` (ILK): ``min 1/2 ||h - f||^2 + eta (lambda/2 ||h||^2 + w hinge(h))``. Where its derivative is zero,
  ``h = s f + tau y K(x, .)`` with ``s = 1 / (1 + eta lambda)`` and ``tau = s eta w theta``, theta in [0, 1] the
  subgradient of the hinge: between 0 and 1 if ``y h(x) = 1``, 0 above and 1 below. As ``y h(x) = s m + tau K(x, x)``
  grows with tau, that is ``tau = min(s eta w, max(0, (1 - s m) / K(x, x)))``.

The model is stored as ``scale * raw``, so that shrinking by ``1 - eta_t lambda`` and the projection on a ball
are one multiplication. For Pegasos without a ball (``free=True``) the scale is ``1 / (lambda t)`` exactly: a new
example then has a raw coefficient of exactly 1, which budget maintenance makes use of.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from frugalsvm._stored import NotNegative, Positive, stored
from frugalsvm.compiling.functions import generic
from frugalsvm.core.kernels import self_value
from frugalsvm.core.losses import MARGIN


@stored("pegasos", kind="schedule")
class Pegasos(NamedTuple):
    """``eta_t = 1 / (lambda t)``"""

    lam: NotNegative
    free: bool


@stored("forgetting", kind="schedule")
class Forgetting(NamedTuple):
    """``eta_t = 1 / (lambda min(t, clock))``"""

    lam: NotNegative
    clock: Annotated[float, (1, 1e100)]


@stored("norma", kind="schedule")
class Norma(NamedTuple):
    """``eta_t = eta0 / sqrt(t)``"""

    lam: NotNegative
    eta0: Positive

    needs_small_steps = True  # eta0 lambda < 1, or shrinking would change the sign of the model


@stored("perceptron", kind="schedule")
class Perceptron(NamedTuple):
    """``eta_t = eta0``, no shrinking; learns from mistakes, or below the margin too"""

    eta0: Positive
    margin: Annotated[float, (0, 1)]  # 0 or 1


@stored("passive-aggressive", kind="schedule")
class PassiveAggressive(NamedTuple):
    """The least change that gives an example its margin, up to a largest step"""

    C: Positive


@stored("implicit", kind="schedule")
class Implicit(NamedTuple):
    """The exact minimum of the regularized loss of one example, near the model"""

    lam: NotNegative
    eta0: Positive


@generic
def advance(schedule, t, scale):
    """The step size ``eta_t``, the scale after shrinking by ``1 - eta_t lambda``, and the step in raw units.

    The last is ``eta_t`` over the new scale; ``t`` starts at 1.
    """


@generic
def step_size(schedule, kernel, margin, norm, weight, scale, raw_step):
    """The raw coefficient, times its sign, of an example with this margin and squared norm; 0: it is not learned.

    ``margin`` is that of the model before shrinking; ``scale`` and ``raw_step`` are what ``advance`` returned.
    """


@generic
def may_fold(schedule):
    """Whether the scale may be folded into the raw coefficients when it becomes small."""


@generic
def scale_at(schedule, t):
    """The scale for a model that comes from elsewhere and has seen ``t`` examples."""


@scale_at.implement()
def _true_coefficients(schedule, t):
    return 1.0


@advance.implement(Pegasos)
def _pegasos_advance(schedule, t, scale):
    eta = 1.0 / (schedule.lam * t)
    if schedule.free or t == 1:
        return eta, eta, 1.0
    scale *= 1.0 - 1.0 / t
    return eta, scale, eta / scale


@scale_at.implement(Pegasos)
def _units_of_the_step(schedule, t):
    return 1.0 / (schedule.lam * t) if t > 0 else 1.0


@may_fold.implement(Pegasos)
def _pegasos_may_fold(schedule):
    # Without a ball raw coefficients are at most t: float64 holds them for longer than anyone will run.
    return not schedule.free


@advance.implement(Forgetting)
def _forgetting_advance(schedule, t, scale):
    clock = min(float(t), schedule.clock)
    eta = 1.0 / (schedule.lam * clock)
    if t == 1:
        return eta, eta, 1.0
    scale *= 1.0 - 1.0 / clock
    return eta, scale, eta / scale


@advance.implement(Norma)
def _norma_advance(schedule, t, scale):
    eta = schedule.eta0 / np.sqrt(t)
    scale *= 1.0 - eta * schedule.lam
    return eta, scale, eta / scale


@advance.implement(Perceptron)
def _perceptron_advance(schedule, t, scale):
    return schedule.eta0, scale, schedule.eta0 / scale


@advance.implement(PassiveAggressive)
def _passive_aggressive_advance(schedule, t, scale):
    return 1.0, scale, 1.0 / scale


@advance.implement(Implicit)
def _implicit_advance(schedule, t, scale):
    shrinking = 1.0 / (1.0 + schedule.eta0 * schedule.lam)
    scale *= shrinking
    return schedule.eta0, scale, shrinking * schedule.eta0 / scale


@step_size.implement(Pegasos, Forgetting, Norma)
def _subgradient_size(schedule, kernel, margin, norm, weight, scale, raw_step):
    return weight * raw_step if margin < MARGIN else 0.0


@step_size.implement(Perceptron)
def _perceptron_size(schedule, kernel, margin, norm, weight, scale, raw_step):
    return weight * raw_step if margin <= 0.0 or margin < schedule.margin else 0.0


@step_size.implement(PassiveAggressive)
def _passive_aggressive_size(schedule, kernel, margin, norm, weight, scale, raw_step):
    own = self_value(kernel, norm)
    if margin >= MARGIN or own <= 0.0:  # an example at the origin of a linear kernel's space
        return 0.0
    return min(schedule.C * weight, (MARGIN - margin) / own) * raw_step


@step_size.implement(Implicit)
def _implicit_size(schedule, kernel, margin, norm, weight, scale, raw_step):
    own = self_value(kernel, norm)
    shrunk = margin / (1.0 + schedule.eta0 * schedule.lam)
    if shrunk >= MARGIN or own <= 0.0:
        return 0.0
    return min(weight * raw_step, (MARGIN - shrunk) / (own * scale))


@may_fold.implement(Forgetting, Norma, Perceptron, PassiveAggressive, Implicit)
def _multiplicative_may_fold(schedule):
    return True


LEARNERS: dict[str, Any] = {"pegasos": Pegasos, "norma": Norma, "perceptron": Perceptron}


def clock_of(half_life):
    """The clock with which a model is halved by ``half_life`` examples: ``(1 - 1 / clock) ** half_life`` is 1/2."""
    return -1.0 / np.expm1(-np.log(2.0) / half_life)


def new_schedule(part, **values):
    """A schedule, which takes those of the values that it has fields for: numbers as floats."""
    taken = {field: values[field] for field in part._fields}
    return part(**{field: value if isinstance(value, bool) else float(value) for field, value in taken.items()})
