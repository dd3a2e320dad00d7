"""The tracking algorithms as a scikit-learn classifier."""

from sklearn.utils.validation import check_is_fitted

from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.rng import new_rng
from frugalsvm.dual.online import new_work
from frugalsvm.dual.tracking import make_rounds, mean_of_round, new_tracking
from frugalsvm.estimators._calibrated import check_calibrate
from frugalsvm.estimators._dual_saved import with_learner
from frugalsvm.estimators._validation import check_count
from frugalsvm.estimators.lasvm import DualClassifier

__all__ = ["TrackingSVC"]


class TrackingSVC(DualClassifier):
    """Approximate incremental SVM: close to the optimum after every example, by a constant number of steps for each.

    For each new example, ``n_steps`` randomly chosen coefficients of all examples seen take their best step. The
    duality gap, divided by the number of examples, then stays bounded on average, in whatever order the examples
    come: also in one that depends on the model, as in active learning.

    Choose it where the model must be near the SVM of all examples so far at every moment, with examples in an
    adversarial or selected order, and up to some 10^4 of them: it keeps them all. `LASVMClassifier` is faster for one
    pass over shuffled data.

    Parameters
    ----------
    n_steps : int, default=10
        Random coordinate steps after each example, K in the paper; the mean gap falls like 1/K.
    C : float, default=1.0
        Inverse regularization strength, as in `sklearn.svm.SVC`.
    process : bool, default=True
        Whether a new example takes a step at once (Algorithm 2) or waits to be picked (Algorithm 1).
    average : bool, default=True
        Whether to predict with the mean of the ``n_steps`` iterates of the present example, as the guarantee asks, or
        with the last one.
    cached : bool, default=False
        Keep support vectors only (section 5.2): less memory and time, without the guarantee. Needs ``process=True``.
    batch : bool, default=False
        The batch counterpart, for comparison: `fit` first reads all examples, and then makes all steps.
    kernel : str, default="rbf"
        Kernel, see :ref:`kernels`. With "precomputed", X has kernel values: in `fit` those of all rows with all rows,
        in predictions those of new rows with all rows of `fit`, see :ref:`blocks-of-kernel-values`.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient; "scale" is ``1 / X.var(axis=0).sum()``, with the standard deviations in place of the
        variances for "laplacian", from the rows given to `fit`, or from the first batch of `partial_fit`. "auto" is
        chosen on some thousands of these, see :ref:`first-rows`.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial kernel.
    selection : {"random", "margin", "gradient"}, default="random"
        Which example `fit` learns next: any, or out of a random pool of unseen ones the one nearest to the boundary,
        or the one that violates its margin most.
    pool_size : int, default=50
        Size of that pool.
    n_selected : int, default=None
        Stop after this many selected examples; None learns all.
    cache_size : float, default=200
        Megabytes for kernel values that are kept.
    max_iter : int, default=1
        Number of passes over the data in `fit`.
    shuffle : bool, default=True
        Whether `fit` visits the examples in random order, a new one in every pass.
    class_weight : dict, "balanced" or None, default=None
        Factors of ``C`` for the classes ("balanced" in `fit` only).
    warm_start : bool, default=False
        Whether `fit` continues from the present model.
    calibrate : {"platt", "isotonic"} or None, default=None
        How to calibrate `predict_proba`, see :ref:`calibration`: by sigmoids of decision values, or by any
        increasing function of them, which needs some thousands of rows.
    n_jobs : int, default=None
        Threads for predictions, and for matrix products in learning that are large; None is one, -1 all cores.
    verbose : int, default=0
        With 1, `fit` shows its progress in a line on standard error: rows, rows per second, time left, and how
        good the model is.
    random_state : int, RandomState instance or None, default=None
        For shuffling, selection and the steps.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_vectors_ : ndarray of shape (n_support_vectors, n_features)
    dual_coef_ : ndarray of shape (1, n_support_vectors) or (n_classes, n_support_vectors)
    intercept_ : ndarray
        Zeros: the model has no bias term.
    n_support_ : ndarray of int
        Support vectors of each output, of the last iterate.
    duality_gap_ : float
        Primal minus dual objective of the last iterate on all examples; not with ``cached``, which forgets examples.
    member_gap_ : float
        The same over the members: those that are kept.
    normalized_gap_, mean_normalized_gap_ : float
        The gap over the members, divided by C, by ``t_`` and by the number of outputs: now, and on average over the
        moments after each example. Where rows are learned again, in further passes, ``t_`` counts them again.
    n_kernel_evals_ : int
        Kernel values computed in training.
    t_ : int
        Examples learned from.
    n_iter_ : int
        Passes made by the last `fit`.
    calibration_ : object
        With ``calibrate``: what turns decision values into probabilities; it has ``probabilities(values)``.
    n_features_in_ : int

    References
    ----------
    N. Usunier, A. Bordes, L. Bottou (2010). Guarantees for approximate incremental SVMs. AISTATS.

    Examples
    --------
    >>> from frugalsvm import TrackingSVC
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = make_checkerboard(3_000, random_state=0)
    >>> model = TrackingSVC(n_steps=20, C=10.0, gamma=8.0, random_state=0).fit(X[:2_000], y[:2_000])
    >>> model.score(X[2_000:], y[2_000:]) > 0.95
    True
    """

    _saved = with_learner("tracking")

    def __init__(
        self,
        n_steps=10,
        C=1.0,
        *,
        process=True,
        average=True,
        cached=False,
        batch=False,
        kernel="rbf",
        gamma: float | str = "scale",
        degree=3,
        coef0=1.0,
        selection="random",
        pool_size=50,
        n_selected=None,
        cache_size: float = 200,
        max_iter=1,
        shuffle=True,
        class_weight=None,
        warm_start=False,
        calibrate=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.n_steps = n_steps
        self.C = C
        self.process = process
        self.average = average
        self.cached = cached
        self.batch = batch
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.selection = selection
        self.pool_size = pool_size
        self.n_selected = n_selected
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _check_params(self):
        self._check_kernel()
        check_calibrate(self.calibrate)
        check_count("n_steps", self.n_steps)
        self._check_dual_params()
        if self.batch and self.selection != "random":
            raise ValueError("batch=True reads all examples first: selection must be 'random'.")
        if self.cached and not self.process:
            raise ValueError("cached=True needs process=True, or an example would be forgotten before its first step.")

    def _new_learner(self, kernel, random_state):
        rng = new_rng(random_state.randint(2**31))
        n_outputs = self._solver.state.bound.shape[0]
        return new_tracking(
            kernel, float(self.C), int(self.n_steps), bool(self.process), bool(self.cached), n_outputs, rng
        )

    def _passes(self, X, labels, weights, random_state):
        if not self.batch:
            super()._passes(X, labels, weights, random_state)
            return
        tracking = self._learner
        self._learner = tracking._replace(n_steps=0, process=False, cached=False)
        self._learn(X, labels, weights, self._order(X.shape[0], random_state))
        self._learner = tracking
        with blas_threads(self.n_jobs):
            state, cache = self._solver
            make_rounds(tracking, self.max_iter * X.shape[0], state, cache, new_work(state))

    @property
    def _judges_on_its_way(self):
        return super()._judges_on_its_way and not self.batch

    def _slot_coefficients(self):
        coef = super()._slot_coefficients()
        return mean_of_round(self._learner, coef) if self.average else coef

    @property
    def _keeps_all(self):
        return not self.cached

    @property
    def normalized_gap_(self):
        """The gap over the members, of the last iterate, divided by C, by ``t_`` and by the number of outputs."""
        return self.member_gap_ / (self.C * max(self.t_, 1) * len(self.n_support_))

    @property
    def mean_normalized_gap_(self):
        """Its mean over the moments after each example."""
        check_is_fitted(self)
        trace = self._learner.trace[0]
        return float(trace["gap_sum"] / max(trace["n_gaps"], 1.0))
