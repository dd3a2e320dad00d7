"""What estimators of budgeted stochastic gradient descent have in common, whatever their loss is."""

from typing import Any, ClassVar

import numpy as np

from frugalsvm._locks import exclusive
from frugalsvm.arrays.namespace import arrays_on
from frugalsvm.budgeted.device_blocks import learn_by_blocks
from frugalsvm.budgeted.learner import Learner
from frugalsvm.budgeted.maintenance import POLICIES, new_policy
from frugalsvm.budgeted.norm_constraint import Ball, Unconstrained
from frugalsvm.budgeted.policy import Unlimited, few_slots, has_room
from frugalsvm.budgeted.sgd import Parts, learn
from frugalsvm.core.capabilities import check_kernel, kernels_that_offer, needs_of
from frugalsvm.core.expansion import averaged_coefficients, moved_rows, new_expansion
from frugalsvm.core.experts import Experts, combined_coefficients
from frugalsvm.core.losses import MARGIN
from frugalsvm.core.outputs import n_outputs_for
from frugalsvm.core.schedules import LEARNERS, Forgetting, Perceptron, clock_of, new_schedule
from frugalsvm.estimators._saved import kept_for_prediction, trimmed
from frugalsvm.estimators.constraints import (
    bytes_per_slot,
    check_positive,
    constraints,
    is_auto,
    one_of,
    optional,
    positive,
    slots_for_budget,
)
from frugalsvm.estimators.expansion_model import ExpansionModel, PassParameters
from frugalsvm.estimators.learner import FIRST_SLOTS, with_features
from frugalsvm.estimators.parameters import learned
from frugalsvm.exceptions import ParameterError


def has_room_to_learn(model: Any) -> bool:
    """Whether a model from a file has room for the support vectors that may come."""
    return has_room(model._policy, model._expansion)


def prediction_state(model: Any) -> dict[str, Any]:
    """The attributes of a model without what is for learning on."""
    expansion = trimmed(model._expansion, model._coefficients())
    return {**kept_for_prediction(model), "_expansion": expansion, "_policy": Unlimited()}


class BudgetedSGD(PassParameters, ExpansionModel):
    """Base of estimators with one learner: its parameters, its parts and its store.

    Subclasses define ``_loss()``, the loss part, and have the parameters of `BSGDClassifier`.

    Parameters
    ----------
    maintenance : {"merge", "project", "remove"}
        What is done with the smallest support vector when there is one too many: merge it with its best partner
        (RBF kernel only; time linear in the budget), project it on all others (quadratic), or remove it (linear,
        much less accurate).
    n_jobs : int
        Threads for predictions, and for learning with budgets of thousands; None is one, -1 all cores.
    """

    _constraints = constraints(maintenance=one_of(POLICIES), radius=optional(positive))
    _changed_in_place: ClassVar[tuple[str, ...]] = ("_expansion", "_policy", "_experts")
    _narrowing = 3.0
    _policy: Any
    budget_: int | None

    maintenance: str
    budget: Any
    # What only some estimators have a parameter for
    learner, eta0 = "pegasos", 1.0
    average: Any = False
    metric: Any = None
    radius: Any = None
    half_life: Any = None
    device = "cpu"
    _experts: Experts | None = None  # with half_life="auto"

    # --- parameters ---------------------------------------------------------------------------------------

    def _check_params(self):
        super()._check_params()
        if self.forgets:
            self._check_half_life()
        self._check_schedule()
        if self.budget is not None:
            self._check_policy()
        if self.average == "post" and self.budget is None:
            raise ValueError("average='post' needs a budget; without one use average=True.")
        if not (self.average == "post" or (isinstance(self.average, int | np.integer) and self.average >= 0)):
            raise ParameterError("average", self.average, "True, False, a number of examples or 'post'")

    @property
    def forgets(self) -> bool:
        """Whether what was learned counts less and less; a half-life without end is none."""
        return self.half_life is not None and self.half_life != np.inf

    @property
    def _alpha(self):
        """The strength of the regularization as a number, or what was set instead, which is refused later."""
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

    _has_experts = False  # whether half_life="auto" is there

    def _check_half_life(self):
        if is_auto(self.half_life) and not self._has_experts:
            raise ParameterError("half_life", self.half_life, "a number of examples, 1 at least, or None")
        if not is_auto(self.half_life):
            check_positive("half_life", self.half_life)
            if self.half_life < 1:
                raise ParameterError("half_life", self.half_life, "a number of examples of at least 1, 'auto' or None")
        elif self.radius is not None:
            raise ValueError("half_life='auto' cannot be combined with a radius: leave one of them out.")
        elif arrays_on(self.device).is_torch:
            raise ValueError(f"half_life='auto' is for device='cpu', not {self.device!r}.")
        if self._has_experts and LEARNERS[self.learner] is not LEARNERS["pegasos"]:
            raise ValueError(f"half_life is for learner='pegasos', not {self.learner!r}.")
        if self.average is not False:
            raise ValueError("average is for streams that stay as they are: leave it out, or half_life.")

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

    def _empty_store(self, n_features, n_outputs, dtype, averaged, n_experts=1):
        """Be a model that has learned nothing; ``averaged`` is whether iterates are."""
        average_from = None
        if averaged:
            average_from = 0 if self.average is True or self.average == "post" else int(self.average)
        store = self._new_store(n_features, n_outputs, dtype, n_experts=n_experts, average_from=average_from)
        self._policy, self._expansion = store
        self.budget_ = self._slots_for(n_features, n_outputs, dtype)

    def _slots_for(self, n_features, n_outputs, dtype):
        return slots_for_budget(self.budget, bytes_per_slot(n_features, n_outputs, dtype))

    def _new_store(self, n_features, n_outputs, dtype, *, n_experts=1, average_from=None):
        """A policy, and an expansion that has learned nothing."""
        budget = self._slots_for(n_features, n_outputs, dtype)
        n_slots = FIRST_SLOTS if budget is None else budget + 1
        expansion = new_expansion(n_slots, n_features, n_outputs * n_experts, dtype, average_from)
        return new_policy(self.maintenance, budget), expansion

    state = property(lambda self: self._expansion)
    experts = property(lambda self: self._experts)
    learners = property(lambda self: [Learner(self._parts(), self._expansion)])

    def set_learner(self, k, learner):
        self._policy, self._expansion = learner.parts.policy, learner.expansion

    @exclusive
    def add_features(self, n_new: int) -> None:
        """Take up features that were zero in all rows so far."""
        self._widen_origin(n_new)
        self._expansion = with_features(self._expansion, n_new)

    def _move_rows(self, shift):
        self._expansion = moved_rows(self._expansion, shift)

    def _schedule(self):
        if self._experts is not None:
            return Perceptron(1.0, MARGIN)  # they have steps of their own
        if self.forgets:
            return Forgetting(float(self._alpha), float(clock_of(self.half_life)))
        values = {"lam": self._alpha, "eta0": self.eta0, "free": self.radius is None, "margin": MARGIN}
        return new_schedule(LEARNERS[self.learner], **values)

    def _parts(self, policy=None):
        return Parts(
            loss=self._loss() if self._experts is None else self._experts,
            kernel=self._kernel,
            schedule=self._schedule(),
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

    def scoring_expansion(self, again=None):
        if again is None and self._experts is not None:
            expansion, n_outputs = self._expansion, n_outputs_for(len(self.classes_))
            weights = np.zeros((n_outputs, len(expansion.rows)), expansion.rows.dtype)
            again = expansion._replace(weights=weights, counts=expansion.counts.copy())
        return super().scoring_expansion(again)

    @learned
    def intercept_(self):
        """Zeros: the model has no bias term."""
        return np.zeros(self._expansion.n_outputs // (1 if self._experts is None else len(self._experts.clocks)))

    def _coefficients(self):
        if self._experts is not None:
            n = int(self._expansion.counts[0]["n_slots"])
            return combined_coefficients(self._experts, self._expansion.coef, n)
        averaged = self._expansion.coef.shape[0] > self._expansion.n_outputs
        return averaged_coefficients(self._expansion) if averaged else super()._coefficients()

    @learned
    def gradient_error_(self):
        """Mean of ``||Delta_t|| / eta_t`` over the examples."""
        return float(self._expansion.scalars[0]["error_sum"] / max(self._expansion.counts[0]["n_seen"], 1))


def _either(names):
    """'merge' or 'remove'"""
    return " or ".join(map(repr, sorted(names)))
