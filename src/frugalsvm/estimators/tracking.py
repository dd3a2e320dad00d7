"""The tracking algorithms as a scikit-learn classifier."""

from typing import Any

from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.rng import new_rng
from frugalsvm.dual.online import new_work
from frugalsvm.dual.tracking import make_rounds, mean_of_round, new_tracking
from frugalsvm.estimators.constraints import count
from frugalsvm.estimators.dual import DualClassifier, with_learner
from frugalsvm.estimators.parameters import estimator, learned, parameter


@estimator
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
    random_state : int, RandomState instance or None, default=None
        For shuffling, selection and the steps.

    Attributes
    ----------
    classes_, support_vectors_, dual_coef_, intercept_
    n_support_ : ndarray of int
        Support vectors of each output, of the last iterate.
    duality_gap_ : float
        Primal minus dual objective of the last iterate on all examples; not with ``cached``, which forgets examples.
    member_gap_ : float
        The same over the members: those that are kept.
    normalized_gap_, mean_normalized_gap_ : float
        The gap over the members, divided by C, by ``t_`` and by the number of outputs: now, and on average over the
        moments after each example. Where rows are learned again, in further passes, ``t_`` counts them again.
    n_kernel_evals_, t_, n_iter_, calibration_, n_features_in_

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

    n_steps: Any = parameter(default=10, check=count(), kw_only=False)
    C: Any = parameter(default=1.0, kw_only=False)
    process: Any = True
    average: Any = True
    cached: Any = False
    batch: Any = False
    _saved = with_learner("tracking")

    def _check_params(self):
        super()._check_params()
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

    _keeps_all = property(lambda self: not self.cached)

    @property
    def normalized_gap_(self):
        """The gap over the members, of the last iterate, divided by C, by ``t_`` and by the number of outputs."""
        return self.member_gap_ / (self.C * max(self.t_, 1) * len(self.n_support_))

    @learned
    def mean_normalized_gap_(self):
        """Its mean over the moments after each example."""
        trace = self._learner.trace[0]
        return float(trace["gap_sum"] / max(trace["n_gaps"], 1.0))
