"""The budgeted kernel perceptrons as a scikit-learn classifier."""

from frugalsvm.budgeted.norm_constraint import Unconstrained
from frugalsvm.budgeted.sgd import Parts
from frugalsvm.budgeted.strategies import MULTI_CLASS, STRATEGIES, new_strategy
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.schedules import new_schedule
from frugalsvm.estimators._calibrated import check_calibrate
from frugalsvm.estimators._validation import check_choice, check_count, check_positive, slots_for_budget
from frugalsvm.estimators.learner import OneVsRestLearners

__all__ = ["BudgetedPerceptron"]

IN_SPAN = 0.02**2  # without a threshold, examples so near to the span are in it


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
    budget : int, str or None, default=500
        Maximum number of support vectors; or bytes of the model, such as ``"64KB"``; or None for no limit. Where
        several classes are learned one-vs-rest, each of them has a budget of this number, and a part of
        these bytes.
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
    kernel : str, default="rbf"
        Kernel, see :ref:`kernels`.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient; "scale" is ``1 / X.var(axis=0).sum()``, with the standard deviations in place of the
        variances for "laplacian", from the rows given to `fit`, or from the first batch of `partial_fit`. "auto" is
        chosen on some thousands of these, see :ref:`first-rows`.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial kernel.
    max_iter : int, default=1
        Number of passes over the data in `fit`.
    shuffle : bool, default=True
        Whether `fit` visits the examples in random order, a new one in every pass.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes ("balanced" in `fit` only).
    warm_start : bool, default=False
        Whether `fit` continues from the present model.
    calibrate : {"platt", "isotonic"} or None, default=None
        How to calibrate `predict_proba`, see :ref:`calibration`: by sigmoids of decision values, or by any
        increasing function of them, which needs some thousands of rows.
    n_jobs : int, default=None
        Threads for predictions, and for learning classes side by side where each has a learner of its own; None is one,
        -1 all cores.
    verbose : int, default=0
        With 1, `fit` shows its progress in a line on standard error: rows, rows per second, time left, and how
        good the model is.
    random_state : int, RandomState instance or None, default=None
        For shuffling and for the strategy "random".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_vectors_ : ndarray of shape (n_support_vectors, n_features)
    dual_coef_ : ndarray of shape (1, n_support_vectors) or (n_classes, n_support_vectors)
    intercept_ : ndarray
        Zeros: the model has no bias term.
    gamma_ : float
        The kernel's gamma as a number.
    budget_ : int or None
        The budget as a number of support vectors.
    n_updates_, n_maintenance_, n_kernel_evals_ : int
        Examples that changed the model; maintenance steps; kernel values computed.
    t_ : int
        Examples learned from.
    n_iter_ : int
        Passes made by the last `fit`.
    calibration_ : object
        With ``calibrate``: what turns decision values into probabilities; it has ``probabilities(values)``.
    n_features_in_ : int

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

    def __init__(
        self,
        strategy="random",
        budget: int | str | None = 500,
        *,
        margin=0,
        threshold=None,
        eta0=1.0,
        alpha=1e-4,
        kernel="rbf",
        gamma: float | str = "scale",
        degree=3,
        coef0=1.0,
        max_iter=1,
        shuffle=True,
        class_weight=None,
        warm_start=False,
        calibrate=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.strategy = strategy
        self.budget = budget
        self.margin = margin
        self.threshold = threshold
        self.eta0 = eta0
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _check_params(self):
        check_choice("strategy", self.strategy, STRATEGIES)
        check_choice("margin", self.margin, (0, 1))
        check_choice("kernel", self.kernel, KERNELS)
        check_calibrate(self.calibrate)
        check_positive("eta0", self.eta0)
        check_positive("alpha", self.alpha, zero=True)
        check_count("max_iter", self.max_iter)
        slots_for_budget(self.budget, 1)
        if self.threshold is not None:
            check_positive("threshold", self.threshold, zero=True)
            if not STRATEGIES[self.strategy].has_threshold:
                able = " and ".join(repr(name) for name, strategy in STRATEGIES.items() if strategy.has_threshold)
                raise ValueError(f"threshold is for {able}, not for {self.strategy!r}.")

    @property
    def _is_native(self):
        return self.strategy in MULTI_CLASS

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
