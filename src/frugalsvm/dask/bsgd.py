"""Budgeted SGD on a Dask cluster."""

from copy import copy
from typing import NamedTuple

import numpy as np

from frugalsvm._threads import blas_threads
from frugalsvm.budgeted.learner import Learner
from frugalsvm.budgeted.model_averaging import mean_coefficients, with_coefficients
from frugalsvm.core.expansion import Expansion, averaged_coefficients
from frugalsvm.dask._base import DaskClassifier, Training, Watch, validation_accuracy
from frugalsvm.dask._preparing import Rows, own
from frugalsvm.estimators._validation import check_positive
from frugalsvm.estimators._warnings import warn_at_limit
from frugalsvm.estimators.bsgd import BSGDClassifier
from frugalsvm.exceptions import ParameterError

__all__ = ["DaskBSGDClassifier"]


class DaskBSGDClassifier(DaskClassifier):
    """`BSGDClassifier` for data on many machines: a pass over every partition by itself, then one model of all.

    In a round, every partition learns its rows once, from the model of the round before. The models are averaged, by
    the examples that they have learned from, and merged down to the budget; the result goes to all workers. Rounds end
    when the accuracy on validation rows does not grow any more, and the model that did best on them is kept. A last
    round is for its coefficients alone.

    The result does not depend on the number of workers, nor on which of them does what, but it does on the partitions:
    fewer and larger ones need fewer rounds. Choose about as many as there are cores.

    Parameters
    ----------
    learner, maintenance, budget, alpha, eta0, radius, kernel, gamma, degree, coef0, class_weight, random_state
        As in `BSGDClassifier`. ``class_weight="balanced"`` counts the labels of all partitions. With a maintenance
        policy of your own, partitions learn with it, and the models of all are brought down to the budget by removal.
    average : False or "post", default="post"
        "post" adds a last round in which the support vectors stay, and their coefficients are learned by every
        partition and averaged. Nothing is merged in it, so that it makes up for what merging took. False does without.
    max_iter : int, default=10
        Rounds at most.
    tol : float, default=1e-3
        Gain of accuracy on the validation rows that counts as one.
    n_iter_no_change : int, default=2
        Rounds without a gain after which training ends.
    validation_fraction : float, default=0.05
        Share of rows for the validation set, at most 10 000. With 0 there are ``max_iter`` rounds.
    persist : {"auto", True, False}, default="auto"
        Whether prepared partitions stay in the memory of the workers between rounds; otherwise they are computed, or
        read, in each of them. "auto" keeps them if they take less than 30 % of the memory of all workers.
    metric : {"diag", "full", "auto"}, array or None, default=None
        As in `BSGDClassifier`; the client learns it from a sample of all rows but those for validation, before the
        first round.
    client : distributed.Client, default=None
        None takes that of the context.

    Attributes
    ----------
    classes_, n_features_in_, n_iter_
    history_ : list of dict
        What was measured after each round.
    last_model_ : BSGDClassifier or None
        The ordinary estimator after the last round that was finished, also if training failed later.

    See Also
    --------
    to_local : The ordinary estimator, with support vectors and all other attributes.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from frugalsvm.dask import DaskBSGDClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = (da.from_array(part, chunks=5000) for part in make_checkerboard(20_000, random_state=0))
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
    ...     model = DaskBSGDClassifier(budget=100, gamma=8.0, alpha=1e-5, random_state=0).fit(X, y)
    ...     bool(model.score(X, y).compute() > 0.9)
    True
    >>> model.to_local().support_vectors_.shape
    (100, 2)
    """

    def __init__(
        self,
        learner="pegasos",
        maintenance="merge",
        budget=500,
        *,
        alpha=1e-4,
        eta0=1.0,
        radius=None,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        average="post",
        max_iter=10,
        tol=1e-3,
        n_iter_no_change=2,
        validation_fraction=0.05,
        class_weight=None,
        persist="auto",
        random_state=None,
        metric=None,
        client=None,
    ):
        self.learner = learner
        self.maintenance = maintenance
        self.budget = budget
        self.alpha = alpha
        self.eta0 = eta0
        self.radius = radius
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.persist = persist
        self.random_state = random_state
        self.metric = metric
        self.client = client

    def _new_local(self):
        if self.average is not False and self.average != "post":
            raise ParameterError("average", self.average, "False or 'post' on many machines")
        names = ("learner", "maintenance", "budget", "alpha", "eta0", "radius", "kernel", "gamma", "degree", "coef0")
        others = ("average", "max_iter", "class_weight", "random_state", "metric")
        return BSGDClassifier(**{name: getattr(self, name) for name in names + others})

    def _check_own_params(self):
        super()._check_own_params()
        check_positive("tol", self.tol, zero=True)

    def _n_sample(self, n_rows):
        return 1  # tells whether rows are sparse

    def _start(self, local, overview, first):
        super()._start(local, overview, first)
        local.set_learner(0, local.learners[0].restarted(0))  # averages are for the last round

    def _parts_of(self, local):
        return local.learners[0].parts

    def _rounds(self, local, training: Training):
        watch = Watch(self.n_iter_no_change, self.tol)
        clock, done, n_rounds = 0, False, 0
        mean_rows = max(int(np.average(training.n_train, weights=training.n_train)), 1)
        while n_rounds < self.max_iter and not done:
            n_rounds += 1
            clock += mean_rows
            learner = _one_round(local.learners[0], training, Round(n_rounds, clock - mean_rows, clock))
            accuracy = self._told(local, learner, training)
            done = watch(accuracy, learner) if training.validation.n_rows else False
        if training.validation.n_rows and not done:
            rising = f"the accuracy on the validation rows still rose within the last {self.n_iter_no_change} rounds"
            advice = f"{rising}; raise max_iter"
            warn_at_limit(self, f"max_iter={self.max_iter}", advice)
        if watch.value is not None:
            local.set_learner(0, watch.value)
        if self.average == "post":
            self._post_round(local, training, Round(n_rounds + 1, clock, clock))

    def _told(self, local, learner, training: Training):
        """Tell of a round; returns the accuracy on the validation rows."""
        local.set_learner(0, learner)
        accuracy = validation_accuracy(local, training.validation)
        training.tell(copy(local), accuracy=accuracy, gradient_error=local.gradient_error_)
        return accuracy

    def _post_round(self, local, training: Training, turn: "Round"):
        learner = local.learners[0]
        told = training.cluster.reduced(
            learned_coefficients,
            mean_of_coefficients,
            [(rows,) for rows in training.rows],
            training.cluster.broadcast(learner),
            turn,
        )
        self._told(local, learner._replace(expansion=with_coefficients(learner.expansion, told[0])), training)


class Round(NamedTuple):
    number: int
    began: int  # examples that each partition had learned from before, on average
    ends: int


class _Merging:
    """Models of several partitions as one: a function for trees."""

    __name__ = "merging"

    def __init__(self, learner: Learner, n_seen: int):
        self._learner, self._n_seen = learner, n_seen

    def __call__(self, models: list[Expansion]) -> Expansion:
        with blas_threads(None):
            return self._learner.merged([own(model) for model in models], self._n_seen)


def _one_round(learner: Learner, training: Training, turn: Round) -> Learner:
    """The learner of all partitions after each has learned its rows."""
    model = training.cluster.reduced(
        learned,
        _Merging(learner, turn.ends),
        [(rows,) for rows in training.rows],
        training.cluster.broadcast(learner),
        turn,
    )
    return learner.advanced(model)


def learned(rows: Rows, learner: Learner, turn: Round) -> Expansion:
    """The model after the rows of a partition, as one of these examples alone."""
    return _after_pass(own(learner).restarted(turn.began), rows, turn).model_since(turn.began)


def learned_coefficients(rows: Rows, learner: Learner, turn: Round) -> tuple[np.ndarray, int]:
    """Coefficients of fixed support vectors, averaged over a pass over the rows of a partition."""
    after = _after_pass(own(learner).restarted(turn.began).averaging(), rows, turn)
    return averaged_coefficients(after.expansion), rows.n_rows - rows.n_validation


def _after_pass(learner: Learner, rows: Rows, turn: Round) -> Learner:
    X, labels, weights = rows.part(slice(rows.n_validation, None))
    with blas_threads(None):
        return learner.learn(X, labels, weights, _order(rows, turn, len(labels))) if len(labels) else learner


def mean_of_coefficients(told: list[tuple[np.ndarray, int]]) -> tuple[np.ndarray, int]:
    """The mean, and of how many examples it is."""
    numbers = [n for _, n in told]
    return mean_coefficients([values for values, _ in told], numbers), sum(numbers)


def _order(rows: Rows, turn: Round, n_rows: int) -> np.ndarray:
    """Rows are in random order already; later rounds take them in another one."""
    if turn.number == 1:
        return np.arange(n_rows)
    return np.random.default_rng([rows.number, turn.number]).permutation(n_rows)
