"""Budgeted stochastic gradient descent as a scikit-learn classifier."""

from typing import Any

from frugalsvm.budgeted.projection import frozen
from frugalsvm.core.expansion import restart_average
from frugalsvm.core.experts import HALF_LIVES, TRACKING_STEP, experts_with_classes, new_experts
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.losses import hinge_for
from frugalsvm.core.outputs import n_outputs_for, with_classes
from frugalsvm.core.schedules import LEARNERS, clock_of
from frugalsvm.estimators._bsgd import BudgetedSGD, has_room_to_learn, prediction_state
from frugalsvm.estimators._saved import CLASSIFIER, HAS_BUDGET, OPTIONAL, check_loaded_parameters, expansion_is_sound
from frugalsvm.estimators.automatic import chooses_in_order
from frugalsvm.estimators.constraints import is_auto, one_of
from frugalsvm.estimators.learner import BudgetedClassifier
from frugalsvm.estimators.parameters import estimator, learned, parameter
from frugalsvm.persist.savable import FOR_PREDICTION, Saved
from frugalsvm.persist.values import array, is_positive, or_none, part
from frugalsvm.selection.in_order import ENOUGH_ROWS, choice_in_order
from frugalsvm.selection.widths import has_width

_USUAL_ALPHA = 1e-4  # of streams, whose length is not known
# alpha="auto". In the end an example that was wrong has the coefficient 1 / (alpha n): what noise adds averages out
# only if many have a part in it, so alpha n grows with the share of errors. Of few rows that share tells less about
# noise than about how few they are. Clean rows need no more than what is usual, and less the more there are of them.
_NOISE_FACTOR, _MOST_ALPHA_ROWS = 180.0, 8.0
_FEW_ROWS = 3000


def _is_sound(model):
    experts, n_outputs = model._experts, n_outputs_for(len(model.classes_))
    counts = getattr(model, "_class_counts", None)
    if counts is not None and (counts.shape != model.classes_.shape or (counts < 0).any()):
        return False
    if (experts is not None) != (is_auto(model.half_life) and not hasattr(model, FOR_PREDICTION)):
        return False
    if experts is not None:
        if experts.n_outputs != n_outputs * len(experts.clocks):
            return False
        n_outputs = experts.n_outputs
    return has_room_to_learn(model) and expansion_is_sound(model, n_outputs)


@estimator
class BSGDClassifier(BudgetedSGD, BudgetedClassifier):
    """Kernel SVM trained by stochastic gradient descent with a fixed number of support vectors.

    Reads examples one at a time, in one pass or several, and keeps at most ``budget`` support vectors: time per
    example and memory stay constant however long the stream is. Two classes share one decision function; more
    are learned together by the Crammer-Singer loss.

    Choose it for large or endless data, for small models, and when the data must be seen once only. It is
    sensitive to ``alpha``, ``gamma`` and the scale of the features: standardize them. The two are chosen on the first
    rows if they are not given, which is seldom as good as tuning them.

    Parameters
    ----------
    learner : {"pegasos", "norma", "perceptron"}, default="pegasos"
        Step sizes: ``1 / (alpha t)``, ``eta0 / sqrt(t)``, or ``eta0`` without regularization.
    alpha : float or "auto", default="auto"
        Strength of the L2 regularization, the lambda of the SVM objective. With n examples it corresponds to
        ``C = 1 / (alpha n)``. "auto" is 1e-4 up to 3000 rows, less for more of them, and up to ``8 / n`` where some
        thousands of rows tell that labels are noisy, see :ref:`first-rows`; in `partial_fit` and for "norma", 1e-4.
        With a number as ``half_life`` it is what makes steps of length 3 in the end, as ``C = 3`` does.
    eta0 : float, default=1.0
        Step size for "norma" and "perceptron".
    radius : float, default=None
        Keep the norm of the model within this radius (the margin perceptron's regularization).
    half_life : float, "auto" or None, default=None
        For streams that change: the weight of what was learned is halved after this many examples, and steps stay as
        long as they are then. "auto" learns with several half-lives at once, from 700 examples to no end, on the same
        support vectors, and lets those vote that were right of late: it needs to know nothing of the stream, and
        takes about twice the time. See :doc:`/howto/drift`. For ``learner="pegasos"``, without ``average``. None
        forgets nothing, except in a `StreamPipeline` that learns a stream: if gamma and alpha are "auto", it is
        ``half_life="auto"`` there. ``half_life=np.inf`` forgets nothing there either.
    gamma : {"auto", "scale"} or float, default="auto"
        Kernel coefficient. "scale" is ``1 / X.var(axis=0).sum()``, from the rows of `fit`, or from the first batch of
        `partial_fit`. "auto" is chosen on some thousands of these, in a fraction of a second, see :ref:`first-rows`;
        with a ``half_life``, in their order.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. "balanced" makes all classes count alike: by the labels of all rows in `fit`, in
        `partial_fit` by those so far, of which old ones count less with a ``half_life``.
    average : bool, int or "post", default=False
        "post" makes `fit` add one more pass, in which the support vectors stay and only their coefficients are
        learned, and predict with the mean over that pass: often more accurate, the budget holds, and each update
        takes time quadratic in the budget. True or a number predict with the mean of all models since the beginning,
        or since that many examples: good without a budget or with projection, bad with merging and removal, which take
        away the support vectors of the mean.
    new_classes : {"error", "grow"}, default="error"
        What `partial_fit` does with labels that were not in ``classes``.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where kernel values of coming examples are computed, in float32: "cuda" is for budgets of thousands and rows of
        hundreds of features (see :doc:`/howto/gpu`). Updates are on the CPU, and so is ``maintenance="project"``.

    Attributes
    ----------
    classes_, support_vectors_, dual_coef_, intercept_, gamma_
    alpha_ : float
        With ``alpha="auto"``: the chosen alpha.
    budget_
    half_life_shares_ : dict
        With ``half_life="auto"``: which half-lives predict, and with what share; None is the one that forgets nothing.
    gradient_error_ : float
        Mean over all ``t_`` examples of ``||Delta_t|| / eta_t``, what budget maintenance took from the model over the
        step size. The bound on the mean loss of "pegasos" grows in proportion to it (Theorem 1 of the paper): near 0
        is good. Removing a vector counts 1, so that it is 1 where every example costs one.
    n_updates_, t_, n_iter_, metric_, calibration_, n_features_in_

    Notes
    -----
    float32 input is stored and multiplied in float32, about twice as fast and half the memory of float64; the
    coefficients are float64 in both. The same data, order, seed and batch sizes give the same model bit for bit.

    References
    ----------
    Z. Wang, K. Crammer, S. Vucetic (2012). Breaking the curse of kernelization: budgeted stochastic gradient
    descent for large-scale SVM training. Journal of Machine Learning Research 13.

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = make_checkerboard(20_000, random_state=0)
    >>> model = BSGDClassifier(budget=100, gamma=8.0, alpha=1e-5, random_state=0).fit(X[:15_000], y[:15_000])
    >>> model.support_vectors_.shape
    (100, 2)
    >>> model.score(X[15_000:], y[15_000:]) > 0.95
    True
    """

    learner: Any = parameter(default="pegasos", check=one_of(LEARNERS), kw_only=False)
    maintenance: Any = parameter(default="merge", kw_only=False)
    budget: int | str | None = parameter(default=500, kw_only=False)
    alpha: float | str = "auto"
    eta0: Any = 1.0
    radius: Any = None
    half_life: Any = None
    gamma: float | str = "auto"
    metric: Any = None
    average: int | str = False
    new_classes: Any = parameter(default="error", check=one_of(("error", "grow")))
    device: Any = "cpu"
    _saved = Saved(
        {**CLASSIFIER, **HAS_BUDGET, "_expansion": part("expansion"), "_policy": part("policy")},
        {**OPTIONAL, "alpha_": is_positive, "_experts": or_none(part("experts")),
         "_class_counts": array("f", 1)},
        _is_sound, check_loaded_parameters, prediction_state,
    )  # fmt: skip

    # --- learning -----------------------------------------------------------------------------------------

    @property
    def _alpha(self):
        """The strength as a number, or what was set instead, which is refused later."""
        return getattr(self, "alpha_", _USUAL_ALPHA) if is_auto(self.alpha) else self.alpha

    def _choose(self, X, targets, weights, *, whole):
        """Of a stream that may change, gamma is chosen on rows in their order."""
        learned = self._metric is not None and self._metric.gamma > 0
        if learned or not chooses_in_order(self):
            super()._choose(X, targets, weights, whole=whole)
            return
        alpha = _USUAL_ALPHA if is_auto(self.alpha) else float(self.alpha)
        if X.shape[0] < ENOUGH_ROWS:
            super()._choose(X, targets, weights, whole=whole)
        if X.shape[0] >= ENOUGH_ROWS or self._chosen is None:
            self._chosen = choice_in_order(KERNELS.get(self.kernel), X, targets, alpha, self._new_store)
        self._take_strength(self._chosen, X.shape[0] if whole else None)

    def _take_strength(self, choice, n_rows):
        self.__dict__.pop("alpha_", None)
        if not is_auto(self.alpha):
            return
        if self.forgets and not is_auto(self.half_life):
            self.alpha_ = 1.0 / (TRACKING_STEP * float(clock_of(self.half_life)))
            return
        steps_of_alpha = "eta0" not in LEARNERS[self.learner]._fields
        if choice is None or n_rows is None or not steps_of_alpha:
            self.alpha_ = _USUAL_ALPHA
        else:
            n_rows = max(n_rows, _FEW_ROWS)
            of_noise = min(_NOISE_FACTOR * choice.error_rate**2, _MOST_ALPHA_ROWS) / n_rows
            self.alpha_ = max(of_noise, _USUAL_ALPHA * (_FEW_ROWS / n_rows) ** 0.5)

    def _empty(self, n_features, dtype, classes, random_state):
        n_outputs, n_experts = n_outputs_for(len(classes)), 1
        self.__dict__.pop("_experts", None)
        if is_auto(self.half_life):
            self._experts = new_experts(n_outputs, float(self._alpha))
            n_experts = len(self._experts.clocks)
        self._empty_store(n_features, n_outputs, dtype, self.average is not False, n_experts)
        self.classes_ = classes

    _balances_streams = True
    _has_experts = True

    @property
    def may_follow(self) -> bool:
        """Whether nobody has said how fast it is to forget, nor chosen anything for a machine that does not."""
        plain = self.metric is None and self.radius is None and self.average is False and self.device == "cpu"
        chooses = is_auto(self.gamma) and is_auto(self.alpha) and has_width(KERNELS.get(self.kernel))
        return plain and chooses and self.half_life is None and self.learner == "pegasos"

    @property
    def _kept_of_counts(self):
        if not self.forgets:
            return 1.0
        return 0.5 ** (1.0 / (HALF_LIVES[len(HALF_LIVES) // 2] if is_auto(self.half_life) else self.half_life))

    def _set_classes(self, classes):
        """Give the model outputs for new classes, if there are any."""
        if len(classes) > len(self.classes_):
            if self._experts is not None:
                found = experts_with_classes(self._experts, self._expansion, self.classes_, classes)
                self._experts, self._expansion = found
            elif n_outputs_for(len(classes)) != self._expansion.n_outputs:
                self._expansion = with_classes(self._expansion, self.classes_, classes)
            self.classes_ = classes

    def _loss(self):
        return hinge_for(self._expansion.n_outputs)

    @learned
    def half_life_shares_(self):
        """With ``half_life="auto"``: the share in the vote of each half-life, a dict; None is no forgetting."""
        if self._experts is None:
            raise AttributeError("half_life_shares_ exists with half_life='auto' only.")
        shares = self._experts.standing["share"]
        return dict(zip((None, *HALF_LIVES), (shares / shares.sum()).tolist(), strict=True))

    _judges_on_its_way = property(lambda self: self.average != "post")

    def _finish(self, X, labels, weights, random_state):
        """The post-pass: it learns and averages coefficients of fixed support vectors."""
        if self.average == "post":
            restart_average(self._expansion)
            order = self._order(X.shape[0], random_state)
            self._learn(X, labels, weights, order, frozen(self._kernel, self._expansion))
            self.n_iter_ += 1
