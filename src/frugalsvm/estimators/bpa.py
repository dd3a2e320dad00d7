"""Budgeted passive-aggressive learning as a scikit-learn classifier."""

from typing import Any

from frugalsvm.budgeted.norm_constraint import Unconstrained
from frugalsvm.budgeted.sgd import Parts
from frugalsvm.budgeted.strategies import VARIANTS, new_variant
from frugalsvm.core.schedules import PassiveAggressive
from frugalsvm.estimators.constraints import one_of, positive
from frugalsvm.estimators.learner import OneVsRestLearners
from frugalsvm.estimators.parameters import estimator, parameter


@estimator
class BPAClassifier(OneVsRestLearners):
    """Kernel passive-aggressive classifier with a fixed number of support vectors.

    Makes, for each example with a margin below 1, the least change of the model that gives it that margin, up to a
    largest step ``C``; when the budget is used up, the same small problem also decides which support vector goes, and
    how others make up for it. Several classes are learned one-vs-rest.

    Choose it as a baseline, or where gamma is small and data are clean: ``"nn"`` comes close to `BSGDClassifier`'s
    merging on smooth problems at a similar cost. For most data choose `BSGDClassifier`.

    Parameters
    ----------
    variant : {"simple", "nn", "projecting"}, default="nn"
        What makes up for the support vector that goes: the newcomer; the newcomer and the nearest neighbor (both in
        time linear in the budget); or all others (quadratic).
    C : float, default=1.0
        Largest step. Small values are robust to noise, large ones learn clean data faster.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, factors of ``C`` ("balanced" in `fit` only).
    n_jobs : int, default=None
        Threads for predictions, and for learning classes side by side; None is one, -1 all cores.

    Attributes
    ----------
    classes_, support_vectors_, dual_coef_, intercept_, gamma_, budget_, n_updates_, t_, n_iter_, calibration_
    n_features_in_

    See Also
    --------
    BSGDClassifier : Budgeted gradient descent with merging.
    BudgetedPerceptron : The perceptrons of the same literature.

    References
    ----------
    Z. Wang, S. Vucetic (2010). Online passive-aggressive algorithms on a budget. AISTATS.

    Examples
    --------
    >>> from frugalsvm import BPAClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = make_checkerboard(20_000, random_state=0)
    >>> model = BPAClassifier(budget=100, C=0.1, gamma=5.0, random_state=0).fit(X[:15_000], y[:15_000])
    >>> model.support_vectors_.shape
    (100, 2)
    >>> model.score(X[15_000:], y[15_000:]) > 0.9
    True
    """

    variant: Any = parameter(default="nn", check=one_of(VARIANTS), kw_only=False)
    budget: int | str | None = parameter(default=500, kw_only=False)
    C: Any = parameter(default=1.0, check=positive)

    def _new_parts(self, loss, kernel, budget, capacity, random_state):
        policy = new_variant(self.variant, budget, capacity)
        return Parts(loss, kernel, PassiveAggressive(float(self.C)), policy, Unconstrained())
