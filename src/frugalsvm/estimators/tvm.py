"""The Twin Vector Machine as a scikit-learn classifier."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm.compiling.threads import Threads, blas_threads, thread_count
from frugalsvm.core.capabilities import check_kernel
from frugalsvm.core.outputs import joined, n_outputs_for, signs
from frugalsvm.estimators._base import OnlineClassifier
from frugalsvm.estimators._saved import (
    CLASSIFIER,
    OPTIONAL,
    as_predictor,
    check_loaded_parameters,
    expansion_is_sound,
    predictor_saved,
)
from frugalsvm.estimators.constraints import count, one_of, optional, positive
from frugalsvm.estimators.expansion_model import PassParameters
from frugalsvm.estimators.parameters import estimator, learned, parameter
from frugalsvm.estimators.seen_rows import absolute_rows
from frugalsvm.exact.kkt import violation
from frugalsvm.exact.tvm import learn, new_cache
from frugalsvm.exact.twins import TVM, new_twins
from frugalsvm.persist.savable import Saved
from frugalsvm.persist.values import parts

MERGE_SPACES = ("input", "feature")


def _is_sound(model):
    n_outputs = n_outputs_for(len(model.classes_))
    if len(model._twins) != n_outputs or len(model._caches) != n_outputs:
        return False
    pairs = zip(model._twins, model._caches, strict=True)
    sound = all(_twins_are_sound(twins, cache, int(model.budget)) for twins, cache in pairs)
    return sound and expansion_is_sound(model)


def _twins_are_sound(twins, cache, budget):
    """Whether there is room for the budget, and no weight is negative."""
    points = twins.state.points
    capacity, n = points.rows.shape[0], int(points.counts[0]["n_slots"])
    right = cache.place.size == capacity and cache.values.dtype == np.float64 and twins.state.margin_slots.size > budget
    right = right and n <= budget <= capacity and int(twins.partner[:n].max(initial=-1)) < capacity
    weights = (twins.plus[:n], twins.minus[:n], twins.sums["C"])
    return bool(right) and all(bool((each >= 0).all()) for each in weights)


@estimator
class TVMClassifier(PassParameters, OnlineClassifier):
    """Twin Vector Machine: an SVM on a fixed number of summarizing vectors, exactly optimal on them at every moment.

    Keeps ``budget`` *twin vectors*. Each stands for a number of positive and a number of negative examples near it, and
    the SVM on these weighted vectors, bias included, satisfies its optimality conditions after every example. Only
    examples near the decision boundary are taken in; to make room for one, a twin far from the boundary leaves, or two
    merge. Memory and time per example stay the same on endless streams.

    Choose it where a small model with a bias must be optimal on what it keeps, and say so by its certificate. It is not
    more accurate than `BSGDClassifier` with as many vectors, which is ten times faster or more: with 100 of each,
    94.5 % against 94.3 % on a noisy checkerboard and 91.4 % against 94.6 % on ijcnn1 (20 000 rows, one pass). Its time
    per example grows with the square of the budget.

    Parameters
    ----------
    budget : int, default=100
        Number of twin vectors, for each class against the rest if there are more than two.
    C : float, default=100.0
        Inverse regularization strength: C times the sum of all weights is kept at ``C * budget``.
    m1 : float, default=1.0
        Examples with a decision value of at most this size are taken in.
    m2 : float, default=2.0
        A twin with a decision value above this size makes room for a new one.
    merge_space : {"input", "feature"}, default="input"
        Where distances and means of twins are taken. "feature" needs the RBF kernel, "input" any but the
        Laplacian.
    one_sided : bool, default=True
        Whether only twins on the same side of the boundary merge.
    reject : float or None, default=0.2
        A merge is rejected if it would be off its estimated decision value by more than this part; None accepts all.
    n_jobs : int, default=None
        Threads for predictions, and for learning outputs side by side; None is one, -1 all cores.

    Attributes
    ----------
    classes_
    twin_vectors_ : ndarray of shape (n_twins, n_features), or a list of one for each class
    twin_weights_ : ndarray of shape (n_twins, 2), or a list of one for each class
    support_vectors_ : ndarray of shape (n_twins, n_features)
        The twins of all outputs.
    dual_coef_ : ndarray of shape (1, n_twins) or (n_classes, n_twins)
    intercept_ : ndarray
    kkt_violation_ : float
        How much the optimality conditions are violated on the twins, at most: by how much a decision value is not what
        is demanded of it, plus by how much the coefficients do not sum to zero.
    drift_ : float
    n_margin_, n_passed_, n_removed_, n_merged_, n_ignored_ : ndarray of int
        For each output: twins exactly on the margin; examples that were too far from the boundary; twins that left;
        merges; examples for which no merge was acceptable.
    t_, n_iter_, calibration_, n_features_in_

    See Also
    --------
    BSGDClassifier : Budgeted gradient descent: much faster for as many vectors.
    IncrementalSVC : All examples, exactly, with unlearning.

    Notes
    -----
    Several classes are learned one-vs-rest, each with twins of its own: twins gather at a boundary, and every
    class has another one. All arithmetic is in float64.

    References
    ----------
    Z. Wang, S. Vucetic (2009). Twin vector machines for online learning on a budget. SIAM Data Mining.

    Examples
    --------
    >>> from frugalsvm import TVMClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = make_checkerboard(20_000, noise=0.15, random_state=0)
    >>> model = TVMClassifier(budget=60, gamma=1.35, random_state=0).fit(X, y)
    >>> X_clean, y_clean = make_checkerboard(1_000, random_state=1)
    >>> model.score(X_clean, y_clean) > 0.85
    True
    >>> model.kkt_violation_ < 1e-6
    True
    """

    budget: Any = parameter(default=100, check=count(2), kw_only=False)
    C: Any = parameter(default=100.0, check=positive, kw_only=False)
    m1: Any = parameter(default=1.0, check=positive)
    m2: Any = parameter(default=2.0, check=positive)
    merge_space: Any = parameter(default="input", check=one_of(MERGE_SPACES))
    one_sided: Any = parameter(default=True, check=one_of((True, False)))
    reject: float | None = parameter(default=0.2, check=optional(positive))
    _first_dtype = np.float64
    _changed_in_place = ("_twins",)

    _saved = Saved(
        {**CLASSIFIER, "_twins": parts("twins"), "_caches": parts("kernel-rows")},
        OPTIONAL, _is_sound, check_loaded_parameters, as_predictor, predictor_saved(),
    )  # fmt: skip

    def _check_params(self):
        super()._check_params()
        if self.m2 < self.m1:
            raise ValueError(f"m2 must be at least m1, but {self.m2!r} is below {self.m1!r}.")
        if self.merge_space == "feature":  # elsewhere the merged vector is not known
            check_kernel("merge_space", "feature", ("gaussian",), self.kernel, "use merge_space='input'")
        else:  # products with a mean of two rows are made from those with the rows
            check_kernel("merge_space", "input", ("products",), self.kernel, "use BSGDClassifier or LASVMClassifier")

    def _parameters(self):
        total = float(self.C) * int(self.budget)
        reject = -1.0 if self.reject is None else float(self.reject)
        in_features = self.merge_space == "feature"
        m1, m2 = float(self.m1), float(self.m2)
        return TVM(self._kernel, int(self.budget), total, m1, m2, reject, bool(self.one_sided), in_features)

    def _start(self, X, targets, random_state, *, whole):
        classes = targets.classes
        self._kernel = self._new_kernel(X)
        self._twins = [new_twins(int(self.budget), X.shape[1]) for _ in range(n_outputs_for(len(classes)))]
        self._empty_caches()
        self.classes_ = classes

    def _learn(self, X, labels, weights, order):
        weights = np.ones(X.shape[0]) if weights is None else weights
        tvm, own = self._parameters(), signs(labels, len(self._twins))

        def learn_output(o):
            learn(tvm, self._twins[o], self._caches[o], X, own[o], weights, order)

        with blas_threads(1):  # outputs side by side, and budgets are small
            Threads(thread_count(self.n_jobs)).run(learn_output, range(len(self._twins)))

    def __getstate__(self):
        """Everything but the kernel values, which are computed again when they are needed."""
        state = dict(super().__getstate__())
        state.pop("_caches", None)
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        if "_twins" in state:
            self._empty_caches()

    def _empty_caches(self):
        self._caches = [new_cache(twins) for twins in self._twins]

    # --- what was learned ---------------------------------------------------------------------------------

    _dtype = np.dtype(np.float64)
    _stays = True  # inner products of all twins are kept, and float64 has room

    @property
    def _expansion(self):  # type: ignore[override]
        """The twins of all outputs."""
        if self._predictor is not None:
            return self._predictor.expansion()
        return joined([twins.state.points for twins in self._twins])

    @learned
    def intercept_(self):
        """The bias of each output."""
        if self._predictor is not None:
            return self._predictor.intercept.copy()
        return np.array([twins.state.scalars[0]["bias"] for twins in self._twins])

    def _of_each(self, function):
        check_is_fitted(self)
        parts = [function(twins, int(twins.state.points.counts[0]["n_slots"])) for twins in self._twins]
        return parts[0] if len(parts) == 1 else parts

    @property
    def twin_vectors_(self):
        """The twins, for each output if there are several."""
        return self._of_each(lambda twins, n: absolute_rows(twins.state.points.rows[:n], self._origin, self._metric))

    @property
    def twin_weights_(self):
        """How much of the negative and of the positive examples each twin stands for."""
        return self._of_each(lambda twins, n: np.column_stack([twins.minus[:n], twins.plus[:n]]))

    @learned
    def kkt_violation_(self):
        """The largest violation of the optimality conditions on the twins."""
        return max(violation(twins.state, twins.state.scalars[0]["bias"]) for twins in self._twins)

    @learned
    def drift_(self):
        """The largest rounding error of a kept decision value that was found and removed."""
        return max(float(twins.state.scalars[0]["drift"]) for twins in self._twins)

    def _counts(self, name):
        check_is_fitted(self)
        return np.array([twins.counts[0][name] for twins in self._twins])

    n_passed_ = property(lambda self: self._counts("n_passed"), doc="Examples too far from the boundary, per output.")
    n_removed_ = property(lambda self: self._counts("n_removed"), doc="Twins that left, per output.")
    n_merged_ = property(lambda self: self._counts("n_merged"), doc="Merges, per output.")
    n_ignored_ = property(
        lambda self: self._counts("n_ignored"), doc="Examples that no merge made room for, per output."
    )

    @learned
    def n_margin_(self):
        """Twins exactly on the margin, per output."""
        return np.array([twins.state.counts[0]["n_margin"] for twins in self._twins])

    @learned
    def C_(self):
        """The present C of each output: ``C * budget`` divided by the sum of the weights."""
        return np.array([twins.sums[0]["C"] for twins in self._twins])
