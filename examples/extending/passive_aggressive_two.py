"""An algorithm of your own: budgeted PA-II, passive-aggressive steps with a squared penalty, and merging.

For each example with a margin ``m`` below 1, PA-II (Crammer et al., 2006) solves
``min 1/2 ||h - f||^2 + C xi^2`` with the hinge loss of ``h`` at most ``xi``: it adds the example with the coefficient
``(1 - m) / (K(x, x) + 1 / (2 C))``. What happens when the budget is used up, kernels, blocks, sparse rows, several
classes and ``partial_fit`` come from the parts that are there.
"""

from typing import NamedTuple

from frugalsvm.budgeted.maintenance import new_policy
from frugalsvm.budgeted.norm_constraint import Unconstrained
from frugalsvm.budgeted.sgd import Parts
from frugalsvm.core.kernels import self_value
from frugalsvm.core.losses import MARGIN
from frugalsvm.core.schedules import advance, may_fold, step_size
from frugalsvm.estimators.constraints import constraints, one_of, positive
from frugalsvm.estimators.learner import OneVsRestLearners
from frugalsvm.persist import register

# --- the step: a part of the compiled floors ----------------------------------------------------------------------


class SquaredPassiveAggressive(NamedTuple):
    """PA-II"""

    C: float


@advance.implement(SquaredPassiveAggressive)
def _advance(schedule, t, scale):
    return 1.0, scale, 1.0 / scale  # the step size that errors are measured in; nothing shrinks


@step_size.implement(SquaredPassiveAggressive)
def _step_size(schedule, kernel, margin, norm, weight, scale, raw_step):
    if margin >= MARGIN or weight <= 0.0:
        return 0.0
    return (MARGIN - margin) / (self_value(kernel, norm) + 0.5 / (schedule.C * weight)) * raw_step


@may_fold.implement(SquaredPassiveAggressive)
def _may_fold(schedule):
    return True


# --- the estimator: parameters in, parts out ------------------------------------------------------------------------


class PA2Classifier(OneVsRestLearners):
    """Budgeted PA-II with merging, in the manner of scikit-learn; several classes one against the rest."""

    def __init__(
        self,
        budget=500,
        *,
        C=1.0,
        gamma="scale",
        max_iter=1,
        shuffle=True,
        class_weight=None,
        n_jobs=None,
        random_state=None,
    ):
        self.budget = budget
        self.C = C
        self.gamma = gamma
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    kernel, degree, coef0 = "rbf", 3, 1.0  # merging is for the RBF kernel only, so these are no parameters

    _constraints = constraints(C=positive, shuffle=one_of((True, False)))  # budget and max_iter are the base class's

    def _new_parts(self, loss, kernel, budget, capacity, random_state):
        schedule = SquaredPassiveAggressive(float(self.C))
        return Parts(loss, kernel, schedule, new_policy("merge", budget), Unconstrained())


# The registry lines: what model files may hold.
register(SquaredPassiveAggressive)
register(PA2Classifier)
