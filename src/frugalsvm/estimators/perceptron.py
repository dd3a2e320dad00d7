"""The budgeted kernel perceptrons as a scikit-learn classifier."""

from typing import Any

from frugalsvm.budgeted.norm_constraint import Unconstrained
from frugalsvm.budgeted.sgd import Parts
from frugalsvm.budgeted.strategies import MULTI_CLASS, STRATEGIES, new_strategy
from frugalsvm.core.schedules import new_schedule
from frugalsvm.estimators.constraints import non_negative, one_of, optional, positive
from frugalsvm.estimators.learner import OneVsRestLearners
from frugalsvm.estimators.parameters import estimator, parameter

IN_SPAN = 0.02**2  # without a threshold, examples so near to the span are in it


@estimator
class BudgetedPerceptron(OneVsRestLearners):
    """Kernel perceptron with a fixed number of support vectors, by one of nine strategies.

    Learns one example at a time, from mistakes or from small margins too, and keeps at most ``budget`` support vectors.

    Choose it as a baseline, to compare with or to repeat published results: these are the perceptrons that the
    literature on budgets compares with. For accuracy choose `BSGDClassifier`, whose merging is better at the same
    size and about as fast. ``"stop"`` and ``"random"`` cost the least; ``"projectron++"`` is mostly the most accurate.

    Parameters
    ----------
    strategy : str, default="random"
        What is done with one support vector too many, and the cost of an update with a budget B:

        ================ ================================================================================ ========
        "stop"           a full model learns no more (Stoptron)                                           O(1)
        "random"         a random one is removed                                                          O(1)
        "forgetron"      all are weakened, then the oldest is removed (self-tuned Forgetron)              O(B)
        "budget"         the one is removed that is classified best without itself (Budget Perceptron)    O(B)
        "tighter"        the one is removed without which the fewest support vectors are misclassified    O(B^2)
        "tightest"       the same, each counting for the examples it was nearest to                       O(B^2)
        "projectron"     newcomers are projected on the support vectors                                   O(B^2)
        "projectron++"   the same, and examples with a small margin are learned inside their span         O(B^2)
        "silk"           implicit steps with regularization; the smallest coefficient is removed             O(B)
        ================ ================================================================================ ========
    margin : {0, 1}, default=0
        0 learns from mistakes, 1 also from examples with a margin below 1 (margin perceptron). "projectron++" and
        "silk" have rules of their own.
    threshold : float, default=None
        For "projectron" and "projectron++": largest distance to the span of the support vectors at which an example is
        projected although there is room. With ``budget=None`` this is the original algorithm, whose size is limited by
        the threshold alone. None projects only when the budget is used up (or an example is numerically in the span).
    eta0 : float, default=1.0
        Step size; "forgetron" and "projectron++" always use 1. With ``margin=0`` it only scales the decision values.
    alpha : float, default=1e-4
        Regularization of "silk".
    n_jobs : int, default=None
        Threads for predictions, and for learning classes side by side where each has a learner of its own; None is one,
        -1 all cores.
    random_state : int, RandomState instance or None, default=None
        For shuffling and for the strategy "random".

    Attributes
    ----------
    classes_, support_vectors_, dual_coef_, intercept_, gamma_, budget_, n_updates_, t_, n_iter_, calibration_
    n_features_in_

    See Also
    --------
    BSGDClassifier : Budgeted gradient descent with merging: more accurate at the same budget.
    BPAClassifier : Budgeted passive-aggressive learning.

    Notes
    -----
    "stop", "random", "projectron" and "projectron++" learn several classes together on shared support vectors; the
    others learn each class against the rest. The self-tuning of "forgetron" is made for examples of equal weight.

    References
    ----------
    Z. Wang, K. Crammer, S. Vucetic (2012). Breaking the curse of kernelization: budgeted stochastic gradient
    descent for large-scale SVM training. Journal of Machine Learning Research 13, section 2.4.

    Examples
    --------
    >>> from frugalsvm import BudgetedPerceptron
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = make_checkerboard(20_000, random_state=0)
    >>> model = BudgetedPerceptron("projectron++", budget=100, gamma=8.0, random_state=0).fit(X[:15_000], y[:15_000])
    >>> model.support_vectors_.shape
    (100, 2)
    >>> model.score(X[15_000:], y[15_000:]) > 0.9
    True
    """

    strategy: Any = parameter(default="random", check=one_of(STRATEGIES), kw_only=False)
    budget: int | str | None = parameter(default=500, kw_only=False)
    margin: Any = parameter(default=0, check=one_of((0, 1)))
    threshold: Any = parameter(default=None, check=optional(non_negative))
    eta0: Any = parameter(default=1.0, check=positive)
    alpha: Any = parameter(default=1e-4, check=non_negative)

    def _check_params(self):
        super()._check_params()
        if self.threshold is not None and not STRATEGIES[self.strategy].has_threshold:
            able = " and ".join(repr(name) for name, strategy in STRATEGIES.items() if strategy.has_threshold)
            raise ValueError(f"threshold is for {able}, not for {self.strategy!r}.")

    _is_native = property(lambda self: self.strategy in MULTI_CLASS)

    def _new_parts(self, loss, kernel, budget, capacity, random_state):
        seed = random_state.randint(2**31)
        tolerance = IN_SPAN if self.threshold is None else 0.0
        policy = new_strategy(self.strategy, budget, capacity, threshold=self.threshold, tolerance=tolerance, seed=seed)
        return Parts(loss, kernel, self._schedule(), policy, Unconstrained())

    def _schedule(self):
        strategy = STRATEGIES[self.strategy]
        eta0 = self.eta0 if strategy.eta0 is None else strategy.eta0
        margin = self.margin if strategy.margin is None else strategy.margin
        return new_schedule(strategy.schedule, lam=self.alpha, eta0=eta0, margin=margin)
