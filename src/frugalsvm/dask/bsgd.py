"""Budgeted SGD on a Dask cluster."""

from copy import copy
from typing import NamedTuple

import numpy as np

from frugalsvm.budgeted.learner import Learner
from frugalsvm.budgeted.model_averaging import with_coefficients
from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.expansion import Expansion, averaged_coefficients
from frugalsvm.dask._asset_tasks import mean_by_examples
from frugalsvm.dask._base import DaskEstimator, Training, calibrate_on_validation, validation_accuracy
from frugalsvm.dask._preparing import Rows, as_made_here
from frugalsvm.dask._refit import Refit, rows_for
from frugalsvm.estimators.bsgd import BSGDClassifier
from frugalsvm.estimators.constraints import check_count, check_positive
from frugalsvm.estimators.fit_warnings import warn_at_limit
from frugalsvm.estimators.parameters import documented
from frugalsvm.exceptions import ParameterError
from frugalsvm.lowrank.training import Watch

_REGULARIZED = ("pegasos", "norma")  # learners that alpha is for


@documented
class DaskBSGDClassifier(
    DaskEstimator,
    local=BSGDClassifier,
    refit_rows="auto",
    max_iter=10,
    tol=1e-3,
    n_iter_no_change=2,
    validation_fraction=0.05,
    persist="auto",
):
    """`BSGDClassifier` for data on many machines: a pass over every partition by itself, then one model of all.

    In a round, every partition learns its rows once, from the model of the round before. Two models come out of it: the
    mean of all, by the examples that they have learned from and merged down to the budget, and that of the largest
    partition. The one with the better support vectors stays, and the client learns its coefficients once more on a
    sample of the rows. Rounds end when the accuracy on validation rows does not grow any more, and the model that did
    best on them is kept. They end after the first if the largest partition's model was as good when it had learned a
    half or a quarter of its rows. ``max_iter=1`` reads all rows once, as `BSGDClassifier` does.

    The result does not depend on the number of workers, nor on which of them does what, but it does on the partitions:
    fewer and larger ones need fewer rounds. Choose about as many as there are cores.

    Parameters
    ----------
    maintenance : {"merge", "project", "remove"}, default="merge"
        As in `BSGDClassifier`. With a policy of your own, partitions learn with it, and the models of all are brought
        down to the budget by removal.
    alpha : float or "auto", default="auto"
        Strength of the L2 regularization. "auto", as of ``gamma``, is chosen by the client, on some thousands of rows
        of all partitions.
    average : False or "post", default=False
        "post" adds a last round in which the support vectors stay, and their coefficients are learned by every
        partition and averaged: one more pass over all rows.
    refit_rows : int or "auto", default="auto"
        Rows of the sample on which the client learns coefficients once more, after every round; 0 does without. "auto"
        is 200 rows for each support vector, or a 200th of all rows if that is more, as far as 256 MB go. It is 0
        without a budget, with a ``radius``, and for learners without regularization.
    max_iter : int, default=10
        Rounds at most.
    tol : float, default=1e-3
        Gain of accuracy on the validation rows that counts as one.
    n_iter_no_change : int, default=2
        Rounds without a gain after which training ends. In the first round, each time that the number of rows learned
        doubles counts as one.

    Attributes
    ----------
    classes_, n_features_in_, n_iter_, history_, last_model_

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

    def _check_own_params(self):
        super()._check_own_params()
        if self.average is not False and self.average != "post":
            raise ParameterError("average", self.average, "False or 'post' on many machines")
        check_positive("tol", self.tol, zero=True)
        if self.refit_rows != "auto":
            check_count("refit_rows", self.refit_rows, least=0)

    def _n_sample(self, local, overview):
        n_rows = int(overview.n_rows.sum())
        if self.refit_rows != "auto":
            return min(self.refit_rows, n_rows)
        budget = local.learners[0].budget
        if budget is None or self.radius is not None or self.learner not in _REGULARIZED:
            return 0
        return rows_for(budget, n_rows, max(overview.n_bytes // n_rows, 1))

    def _start(self, local, overview, first):
        super()._start(local, overview, first)
        local.set_learner(0, local.learners[0].restarted(0))  # averages are for the last round

    def _parts_of(self, local):
        return local.learners[0].parts

    def _rounds(self, local, training: Training):
        watch = Watch(self.n_iter_no_change, self.tol)
        clock, done, learner = 0, False, local.learners[0]
        mean_rows = max(int(np.average(training.n_train, weights=training.n_train)), 1)
        for number in range(1, self.max_iter + 1):
            n_looks = self.n_iter_no_change if number == 1 < self.max_iter else 0
            turn = Round(number, clock, clock + mean_rows, n_looks)
            models, clock = _one_round(learner, training, turn), turn.ends
            mean, single, *earlier = map(learner.advanced, (models.mean, models.single, *models.earlier))
            alpha, threads = getattr(local, "alpha_", self.alpha), training.cluster.free_threads()
            refit = Refit(training.sample, len(local.classes_), alpha, threads)
            learner = mean if len(training.rows) == 1 else refit.better(mean, single)
            refitted = refit(learner)
            accuracy = self._tell(local, refitted, training)
            if training.validation.n_rows:
                done = watch.note(accuracy, refitted) or self._is_level(local, training, refit, accuracy, earlier)
            if done:
                break
        if training.validation.n_rows and not done and self.max_iter > 1:
            rising = f"the accuracy on the validation rows still rose within the last {self.n_iter_no_change} rounds"
            warn_at_limit(self, f"max_iter={self.max_iter}", f"{rising}; raise max_iter")
        if watch.best_parameters is not None:
            local.set_learner(0, watch.best_parameters)
        if self.average == "post":
            self._post_round(local, training, Round(number + 1, clock, clock))
        if self.calibrate is not None:
            calibrate_on_validation(local, training.validation)

    def _is_level(self, local, training: Training, refit: Refit, accuracy: float, earlier: list[Learner]) -> bool:
        """Whether models of half of the rows, a quarter and so on were as good: another pass gains nothing, either."""
        if not (earlier and training.sample.n_rows):  # coefficients that are not learned again move too much
            return False
        accuracies = (_accuracy(local, refit(learner), training) for learner in earlier)
        return all(accuracy <= before + self.tol for before in accuracies)

    def _tell(self, local, learner, training: Training):
        """Tell of a round; returns the accuracy on the validation rows."""
        accuracy = _accuracy(local, learner, training)
        training.tell(copy(local), accuracy=accuracy, gradient_error=local.gradient_error_)
        return accuracy

    def _post_round(self, local, training: Training, turn: "Round"):
        learner = local.learners[0]
        coefficients = training.cluster.reduced(
            learned_coefficients,
            mean_by_examples,
            [(rows,) for rows in training.rows],
            training.cluster.broadcast(learner),
            turn,
        )
        self._tell(local, learner._replace(expansion=with_coefficients(learner.expansion, coefficients[0])), training)


def _accuracy(local, learner: Learner, training: Training) -> float:
    local.set_learner(0, learner)
    return validation_accuracy(local, training.validation)


class Round(NamedTuple):
    number: int
    began: int  # examples that each partition had learned from before, on average
    ends: int
    n_looks: int = 0  # at models that have learned a part of their rows; in the first round only


class Learned(NamedTuple):
    """What some partitions have learned."""

    mean: Expansion  # of all, inside the budget
    single: Expansion  # of the largest
    earlier: tuple[Expansion, ...] = ()  # that one when it had learned a half of its rows, a quarter, ...


class _Merging:
    """Models of several partitions as one: a function for trees."""

    __name__ = "merging"

    def __init__(self, learner: Learner, n_seen: int):
        self._learner, self._n_seen = learner, n_seen

    def __call__(self, parts: list[Learned]) -> Learned:
        parts = [as_made_here(each) for each in parts]
        if len(parts) == 1:
            return parts[0]
        # The first of the largest: who runs what makes no difference.
        largest = max(parts, key=lambda part: int(part.single.counts[0]["n_seen"]))
        with blas_threads(None):
            return largest._replace(mean=self._learner.merged([each.mean for each in parts], self._n_seen))


def _one_round(learner: Learner, training: Training, turn: Round) -> Learned:
    """The models of all partitions after each has learned its rows."""
    return training.cluster.reduced(
        learned,
        _Merging(learner, turn.ends),
        [(rows,) for rows in training.rows],
        training.cluster.broadcast(learner),
        turn,
    )


def learned(rows: Rows, learner: Learner, turn: Round) -> Learned:
    """The model after the rows of a partition, as one of these examples alone."""
    learner, models, start = as_made_here(learner).restarted(turn.began), [], rows.n_validation
    n_rows = rows.n_rows - start
    for n_learned in (*(n_rows >> k for k in range(turn.n_looks, 0, -1) if n_rows >> k), n_rows):
        stop = rows.n_validation + n_learned
        learner, start = _after(learner, rows, turn, slice(start, stop)), stop
        models.append(learner.model_since(turn.began))
    return Learned(models[-1], models[-1], tuple(models[-2::-1]))


def learned_coefficients(rows: Rows, learner: Learner, turn: Round) -> tuple[np.ndarray, int]:
    """Coefficients of fixed support vectors, averaged over a pass over the rows of a partition."""
    first = as_made_here(learner).restarted(turn.began).averaging()
    after = _after(first, rows, turn, slice(rows.n_validation, None))
    return averaged_coefficients(after.expansion), rows.n_rows - rows.n_validation


def _after(learner: Learner, rows: Rows, turn: Round, part: slice) -> Learner:
    """The learner after some of the rows. They are in random order; later rounds take them in another one."""
    X, labels, weights = rows.part(part)
    if not len(labels):
        return learner
    rng = np.random.default_rng([rows.number, turn.number])
    with blas_threads(None):
        return learner.learn(X, labels, weights, None if turn.number == 1 else rng.permutation(len(labels)))
