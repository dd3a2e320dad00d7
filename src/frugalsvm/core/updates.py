"""What an example adds to the model, for each kind of loss: the place where losses and steps meet.

Losses of margins (``core/losses.py``) push one way or another by a size that the schedule tells; losses of residuals
(``core/residuals.py``) take the schedule's step size and find out themselves how far it goes.
"""

from frugalsvm.compiling.functions import generic
from frugalsvm.core.experts import Experts, vote
from frugalsvm.core.kernels import self_value
from frugalsvm.core.losses import margin_of, update_direction
from frugalsvm.core.one_class import OneClass
from frugalsvm.core.residuals import Residual, Residuals, residual_steps
from frugalsvm.core.schedules import step_size


@generic
def update_of(loss, schedule, kernel, label, norm, weight, before, scale, raw_step, work):
    """Fill ``work.direction``; returns the factor that makes it the raw coefficients of the example, 0: no update.

    ``work.scores`` are the raw scores of the model. Its scale was ``before``; ``scale`` and ``raw_step`` are what
    `advance` returned.
    """


@update_of.implement()
def _update_of_margin(loss, schedule, kernel, label, norm, weight, before, scale, raw_step, work):
    raw_margin, rival = margin_of(loss, work.scores, label)
    size = step_size(schedule, kernel, before * raw_margin, norm, weight, scale, raw_step)
    if size > 0.0:
        update_direction(loss, label, rival, work.direction)
    return size


@update_of.implement(OneClass)
def _update_of_one_class(loss, schedule, kernel, label, norm, weight, before, scale, raw_step, work):
    label[0] = before * work.scores[0]
    work.direction[0] = 1.0
    return weight * raw_step if label[0] < loss.threshold else 0.0


@update_of.implement(Residual, Residuals)
def _update_of_residuals(loss, schedule, kernel, label, norm, weight, before, scale, raw_step, work):
    own = self_value(kernel, norm)
    learns = residual_steps(loss, label, work.scores, scale, weight * raw_step * scale, own, work.direction)
    return 1.0 / scale if learns else 0.0


@update_of.implement(Experts)
def _update_of_experts(loss, schedule, kernel, label, norm, weight, before, scale, raw_step, work):
    # Experts have steps and scales of their own: those of the schedule are 1.
    return 1.0 if vote(loss, label, weight, work.scores, work.direction) else 0.0
