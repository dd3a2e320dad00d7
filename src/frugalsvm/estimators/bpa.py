"""Budgeted passive-aggressive learning as a scikit-learn classifier."""

from frugalsvm.budgeted.norm_constraint import Unconstrained
from frugalsvm.budgeted.sgd import Parts
from frugalsvm.budgeted.strategies import VARIANTS, new_variant
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.schedules import PassiveAggressive
from frugalsvm.estimators._calibrated import check_calibrate
from frugalsvm.estimators._validation import check_choice, check_count, check_positive, slots_for_budget
from frugalsvm.estimators.learner import OneVsRestLearners

__all__ = ["BPAClassifier"]


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
    budget : int, str or None, default=500
        Maximum number of support vectors; or bytes of the model, such as ``"64KB"``; or None for no limit. With several
        classes, each of them has a budget of this number, and a part of these bytes.
    C : float, default=1.0
        Largest step. Small values are robust to noise, large ones learn clean data faster.
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
        Weights of the classes, factors of ``C`` ("balanced" in `fit` only).
    warm_start : bool, default=False
        Whether `fit` continues from the present model.
    calibrate : {"platt", "isotonic"} or None, default=None
        How to calibrate `predict_proba`, see :ref:`calibration`: by sigmoids of decision values, or by any
        increasing function of them, which needs some thousands of rows.
    n_jobs : int, default=None
        Threads for predictions, and for learning classes side by side; None is one, -1 all cores.
    verbose : int, default=0
        With 1, `fit` shows its progress in a line on standard error: rows, rows per second, time left, and how
        good the model is.
    random_state : int, RandomState instance or None, default=None
        For shuffling.

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

    def __init__(
        self,
        variant="nn",
        budget: int | str | None = 500,
        *,
        C=1.0,
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
        self.variant = variant
        self.budget = budget
        self.C = C
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
        check_choice("variant", self.variant, VARIANTS)
        check_choice("kernel", self.kernel, KERNELS)
        check_calibrate(self.calibrate)
        check_positive("C", self.C)
        check_count("max_iter", self.max_iter)
        slots_for_budget(self.budget, 1)

    def _new_parts(self, loss, kernel, budget, capacity, random_state):
        policy = new_variant(self.variant, budget, capacity)
        return Parts(loss, kernel, PassiveAggressive(float(self.C)), policy, Unconstrained())
