"""What estimators of budgeted stochastic gradient descent have in common, whatever their loss is."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm.arrays.namespace import arrays_on
from frugalsvm.budgeted.device_blocks import learn_by_blocks
from frugalsvm.budgeted.learner import Learner
from frugalsvm.budgeted.maintenance import POLICIES, new_policy
from frugalsvm.budgeted.norm_constraint import Ball, Unconstrained
from frugalsvm.budgeted.policy import Unlimited, few_slots, has_room
from frugalsvm.budgeted.sgd import Parts, learn
from frugalsvm.core.capabilities import check_kernel, kernels_that_offer, needs_of
from frugalsvm.core.expansion import averaged_coefficients, coefficients, moved_rows, new_expansion
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.losses import MARGIN
from frugalsvm.core.schedules import LEARNERS, new_schedule
from frugalsvm.estimators._kernel_model import FIRST_SLOTS, ExpansionModel, bytes_per_slot
from frugalsvm.estimators._metric import check_metric
from frugalsvm.estimators._saved import kept_for_prediction, trimmed
from frugalsvm.estimators._validation import check_choice, check_count, check_positive, slots_for_budget
from frugalsvm.exceptions import ParameterError

__all__ = ["BudgetedSGD", "has_room_to_learn", "prediction_state"]


def has_room_to_learn(model: Any) -> bool:
    """Whether a model from a file has room for the support vectors that may come."""
    return has_room(model._policy, model._expansion)


def prediction_state(model: Any) -> dict[str, Any]:
    """The attributes of a model without what is for learning on."""
    expansion = trimmed(model._expansion, model._coefficients())
    return {**kept_for_prediction(model), "_expansion": expansion, "_policy": Unlimited()}


class BudgetedSGD(ExpansionModel):
    """Base of estimators with one learner: its parameters, its parts and its store.

    Subclasses define ``_loss`` and have the parameters of `BSGDClassifier`.
    """

    _changed_in_place: ClassVar[tuple[str, ...]] = ("_expansion", "_policy")
    _narrowing = 3.0
    _policy: Any
    budget_: int | None

    # Parameters; some estimators lack one and have a constant in its place.
    learner: str
    maintenance: str
    budget: Any
    radius: Any = None
    device = "cpu"

    def _loss(self) -> Any:
        """The loss part."""
        raise NotImplementedError

    # --- parameters ---------------------------------------------------------------------------------------

    def _check_machine(self):
        """Check the parameters that all of them have."""
        check_choice("maintenance", self.maintenance, POLICIES)
        check_choice("kernel", self.kernel, KERNELS)
        check_metric(self.metric, self.kernel)
        self._check_schedule()
        if self.budget is not None:
            self._check_policy()
        if self.radius is not None:
            check_positive("radius", self.radius)
        slots_for_budget(self.budget, 1)
        if self.average == "post" and self.budget is None:
            raise ValueError("average='post' needs a budget; without one use average=True.")
        check_count("max_iter", self.max_iter)
        if not (self.average == "post" or (isinstance(self.average, int | np.integer) and self.average >= 0)):
            raise ParameterError("average", self.average, "True, False, a number of examples or 'post'")

    @property
    def _alpha(self):
        """The strength of the regularization as a number, or what somebody has set who is to be told."""
        return self.alpha

    def _check_schedule(self):
        schedule = LEARNERS[self.learner]
        if "lam" in schedule._fields:
            check_positive("alpha", self._alpha)
        if "eta0" in schedule._fields:
            check_positive("eta0", self.eta0)
        if getattr(schedule, "needs_small_steps", False) and self._alpha * self.eta0 >= 1:
            product = f"{self._alpha * self.eta0:g}"
            raise ValueError(f"alpha * eta0 must be below 1 for learner={self.learner!r}, but it is {product}.")

    def _check_policy(self):
        """Refuse a policy that the kernel does not go with, or the device."""
        policy = POLICIES[self.maintenance]
        check_kernel("maintenance", self.maintenance, needs_of(policy), self.kernel, self._other_policies)
        if arrays_on(self.device).is_torch and not few_slots(policy):
            able = [name for name, part in POLICIES.items() if few_slots(part)]
            raise ValueError(
                f"maintenance={self.maintenance!r} is for device='cpu', not {self.device!r}; "
                f"use maintenance={_either(able)}."
            )

    def _other_policies(self):
        able = [name for name, part in POLICIES.items() if self.kernel in kernels_that_offer(needs_of(part))]
        return f"use maintenance={_either(able)}, or budget=None"

    # --- learning -----------------------------------------------------------------------------------------

    def _empty_store(self, n_features, n_outputs, dtype, averaged):
        """A model that has learned nothing; ``averaged`` is whether iterates are."""
        budget = slots_for_budget(self.budget, bytes_per_slot(n_features, n_outputs, dtype))
        average_from = None
        if averaged:
            average_from = 0 if self.average is True or self.average == "post" else int(self.average)
        n_slots = FIRST_SLOTS if budget is None else budget + 1
        self._expansion = new_expansion(n_slots, n_features, n_outputs, dtype, average_from)
        self._policy = new_policy(self.maintenance, budget)
        self.budget_ = budget

    @property
    def state(self):
        return self._expansion

    @property
    def learners(self):
        return [Learner(self._parts(), self._expansion)]

    def set_learner(self, k, learner):
        self._policy, self._expansion = learner.parts.policy, learner.expansion

    def _move_rows(self, shift):
        self._expansion = moved_rows(self._expansion, shift)

    def _parts(self, policy=None):
        values = {"lam": self._alpha, "eta0": self.eta0, "free": self.radius is None, "margin": MARGIN}
        return Parts(
            loss=self._loss(),
            kernel=self._kernel,
            schedule=new_schedule(LEARNERS[self.learner], **values),
            policy=self._policy if policy is None else policy,
            ball=Unconstrained() if self.radius is None else Ball(float(self.radius)),
        )

    def _learn(self, X, labels, weights, order, policy=None):
        parts, arrays = self._parts(policy), arrays_on(self.device)
        with self._products_with(len(self._expansion.rows)):
            # The last pass of average="post" changes the coefficients of all vectors, too.
            if arrays.is_torch and few_slots(parts.policy):
                _, self._expansion = learn_by_blocks(arrays, parts, self._expansion, X, labels, weights, order)
            else:
                _, self._expansion = learn(parts, self._expansion, X, labels, weights, order)

    def _scores(self, X):
        arrays = arrays_on(self.device)
        return self._device_scores(X, arrays) if arrays.is_torch else super()._scores(X)

    # --- what was learned ---------------------------------------------------------------------------------

    def _coefficients(self):
        averaged = self._expansion.coef.shape[0] > self._expansion.n_outputs
        return (averaged_coefficients if averaged else coefficients)(self._expansion)

    @property
    def gradient_error_(self):
        """Mean of ``||Delta_t|| / eta_t`` over the examples."""
        check_is_fitted(self)
        return float(self._expansion.scalars[0]["error_sum"] / max(self._expansion.counts[0]["n_seen"], 1))


def _either(names):
    """'merge' or 'remove'"""
    return " or ".join(map(repr, sorted(names)))
