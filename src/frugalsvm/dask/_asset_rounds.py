"""Rounds of ASSET: Newton steps on all rows, or epochs of subgradient steps with means between them."""

from copy import copy
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.asset.curvature import SAMPLE
from frugalsvm.asset.losses import SQUARED
from frugalsvm.asset.maps import whitening_of, width_of
from frugalsvm.asset.parted_bound import bounds_of
from frugalsvm.asset.rounds import Moments, lengths_by_sample, newton_step, objective_of, smoothed_objective_of
from frugalsvm.asset.solve import Settings
from frugalsvm.asset.stages import CAREFUL_STEPS, MAX_EXCESS, NARROWER, WIDTHS
from frugalsvm.dask._asset_tasks import (
    LOSSES,
    Place,
    dual_told,
    features_kept,
    mean_of_epochs,
    moments_told,
    one_epoch,
    rule_for,
    sides_told,
    started_on_sample,
    summed_told,
    task_of_sample,
)
from frugalsvm.dask._base import Training, Watch
from frugalsvm.dask._preparing import Rows
from frugalsvm.estimators._base import blas_threads
from frugalsvm.estimators._warnings import warn_if_above

__all__ = ["Epochs", "NewtonRounds", "n_features_of"]

_SEVERAL = 5  # with several outputs, each with a Hessian of its own, this many times fewer rows make the curvature
_CAREFUL = 2  # times as many rows make it in careful steps
_ROUGH = 0.015  # tolerance at the first width: steps at the last one are shorter, and a round is dear
_ROUNDING = 1e-6  # of objectives, relatively
_LITTLE = 0.1  # share of the tolerance below which the promise of a careful step makes it the last
_ROUNDS, _EPOCHS = 30, 20  # unless max_iter says otherwise


def n_features_of(feature_map):
    """Features that a model has a weight for."""
    whitening = whitening_of(feature_map)
    return width_of(feature_map) if whitening is None else whitening.shape[1]


class _Held:
    """Held rows with their features, which stay the same from round to round."""

    def __init__(self, local: Any, held: Rows):
        self._held = held
        self._features = features_kept(held, local) if held.n_rows else None

    @property
    def n_rows(self) -> int:
        return self._held.n_rows

    def accuracy(self, local: Any) -> float:
        """NaN where there are no rows."""
        if self._features is None:
            return float("nan")
        values = self._features @ local._raw_coefficients().astype(np.float32) + local._unknowns[:, -1]
        predicted = values[:, 0] >= 0 if values.shape[1] == 1 else values.argmax(axis=1)
        return float(np.average(predicted == self._held.labels, weights=self._held.weights))


class _Rounds:
    """Rounds of one training: ``local`` always has the unknowns of the last one."""

    def __init__(self, estimator, local, training: Training, shared, sources, penalty):
        self.estimator, self.local, self.training = estimator, local, training
        self.cluster, self.shared, self.sources, self.penalty = training.cluster, shared, sources, penalty
        self.held = _Held(local, training.held)
        # Where rows are read and features computed in every pass, there are no more of them than steps need.
        self.is_costly = any(features is None for _, features in sources)
        self.is_squared = issubclass(LOSSES[estimator.loss], SQUARED)
        # Newton steps may be near the end without a better accuracy; what ends them is the objective.
        self.watch = Watch(estimator.n_iter_no_change, 0.0)

    def tell(self, **figures):
        """The end of a round; returns whether the held rows say that it is time to stop."""
        accuracy = self.held.accuracy(self.local)
        self.training.tell(copy(self.local), accuracy=accuracy, **figures)
        return self.watch(accuracy, self.local._unknowns) if self.held.n_rows else False

    def told(self, function, place: Place):
        """What all partitions tell, as one."""
        return self.cluster.reduced(function, summed_told, self.sources, self.shared, self.cluster.broadcast(place))

    def place(self, width: float, *, last: bool) -> Place:
        """Where the next round is."""
        unknowns = self.local._unknowns
        n_sampled = SAMPLE * unknowns.shape[1] // (1 if len(unknowns) == 1 else _SEVERAL) * (_CAREFUL if last else 1)
        n_rows = int(self.training.overview.n_rows.sum())
        return Place(len(self.estimator.history_), unknowns, None, width, min(n_sampled / n_rows, 1.0), last)

    def newton_step(self, width: float, *, last: bool) -> tuple[Place, Moments, np.ndarray]:
        """Where to go from here, what partitions told of the place, and twice the reduction that a step promises."""
        place = self.place(width, last=last)
        moments = self.told(moments_told, place)
        directions, decrements = newton_step(moments, place.unknowns, self.penalty, self.local.fit_intercept)
        return place._replace(directions=directions), moments, decrements

    def certify(self, place: Place) -> np.ndarray:
        """Publish the objective after a step, and how far above the optimum it is at most; returns the objectives."""
        dual = self.told(dual_told, place._replace(sides=self.told(sides_told, place)))
        reached = objective_of(dual, self.local._unknowns, self.penalty)
        bounds = np.minimum(bounds_of(dual, self.penalty), reached)
        self.local.objective_, self.local.suboptimality_bound_ = float(reached.sum()), float((reached - bounds).sum())
        return reached


class _Step(NamedTuple):
    """A step that was made, and the smoothed objectives before it."""

    place: Place
    objectives: np.ndarray


class NewtonRounds(_Rounds):
    """Newton steps on all rows, from a start on a sample."""

    def run(self):
        """Make ``local`` a trained estimator."""
        estimator, local, training = self.estimator, self.local, self.training
        n_rows = int(training.overview.n_rows.sum())
        settings = Settings(estimator.tol, _ROUNDS)
        self.sample = task_of_sample(local, training.sample)
        local._unknowns = started_on_sample(self.sample, self.penalty, n_rows, settings, training.rng)
        self.before = None  # the step before
        self.left = (estimator.max_iter or _ROUNDS) - 1  # the last one is made with more care
        stopped, width = False, WIDTHS[-1]
        for width, tolerance in self.stages():
            stopped = self.until(width, tolerance)
            if stopped or not self.left:
                break
        if stopped:
            local._unknowns, self.before = self.watch.value, None
        converged = stopped or self.left > 0
        self.finish(width, self.left + 1)
        warn_if_above(local, converged, estimator.max_iter or _ROUNDS)

    def stages(self):
        """Widths of the loss with the tolerance at each; narrower ones while smoothing makes much of the objective."""
        tol = self.estimator.tol
        for width in WIDTHS[-1:] if self.is_squared else WIDTHS:
            yield width, tol if width == WIDTHS[-1] else max(_ROUGH, tol)
        for _ in range(NARROWER):
            if (self.excess <= MAX_EXCESS * tol * self.objectives).all():
                return
            width /= 3
            yield width, tol

    def until(self, width, tolerance):
        """Steps until one promises little; returns whether the held rows ended it."""
        while self.left:
            self.left -= 1
            promised, stop = self.step(width)
            if stop:
                return True
            if (promised <= tolerance * self.objectives).all():
                return False
        return False

    def step(self, width):
        """A Newton step on all rows but the held; returns the reduction it promised, and whether to stop."""
        place, moments, decrements = self.newton_step(width, last=False)
        self.go(place, moments, decrements)
        self.objectives = objective_of(moments, place.unknowns, self.penalty)
        self.excess = moments.excess / moments.n_rows
        self.local.objective_ = float(self.objectives.sum())  # before the step: it is a little less after
        stop = self.tell(objective=self.local.objective_, promised=float(0.5 * decrements.sum()), width=width)
        return 0.5 * decrements, stop

    def newton_step(self, width, *, last):
        """As for all rounds; but a step before that made the objective larger went too far, and is halved first."""
        while True:
            place, moments, decrements = super().newton_step(width, last=last)
            before = self.before
            if before is None or (before.place.width, before.place.whole) != (width, last):
                break  # another objective
            reached = smoothed_objective_of(moments, place.unknowns, self.penalty)
            too_far = reached > before.objectives * (1 + _ROUNDING)
            if not too_far.any():
                break
            self.move(before, np.where(too_far, 0.5, 1.0) * before.place.lengths)
        return place, moments, decrements

    def go(self, place, moments, decrements):
        """Make a step; how far, the sample of the client tells."""
        with blas_threads(None):
            lengths = lengths_by_sample(
                self.sample, place.width, place.unknowns, place.directions, decrements, self.penalty
            )
        return self.move(_Step(place, smoothed_objective_of(moments, place.unknowns, self.penalty)), lengths)

    def move(self, step, lengths):
        """Be at the end of a step of these lengths; returns its place."""
        place = step.place._replace(lengths=lengths)
        self.before = step._replace(place=place)
        self.local._unknowns = place.unknowns + lengths[:, None] * place.directions
        return place

    def finish(self, width: float, most: int) -> None:
        """Steps with more care, on held rows too, until one promises very little; the last of them gives a bound.

        They are made with the Hessian of more rows: pulls after a step make a good bound only if it is right. Where
        passes are costly there is one such step.
        """
        most = min(most, CAREFUL_STEPS if len(self.local._unknowns) == 1 and not self.is_costly else 1)
        for number in range(most):
            place, moments, decrements = self.newton_step(width, last=True)
            objectives, promised = objective_of(moments, place.unknowns, self.penalty), 0.5 * decrements
            is_last = number == most - 1 or bool((promised <= _LITTLE * self.estimator.tol * objectives).all())
            place = self.go(place, moments, decrements)
            if is_last:
                too_far = self.certify(place) > objectives * (1 + _ROUNDING)
                if too_far.any():
                    self.certify(self.move(self.before, np.where(too_far, 0.0, place.lengths)))
            else:
                self.local.objective_ = float(objectives.sum())
            self.tell(objective=self.local.objective_, promised=float(promised.sum()), width=width)
            if is_last:
                return


class Epochs(_Rounds):
    """Subgradient steps in every partition by itself, and their mean."""

    def run(self):
        """Make ``local`` a trained estimator."""
        local, training = self.local, self.training
        rule = rule_for(local, training.sample, self.penalty)
        n_steps, mean_rows = 0, int(np.average(training.n_train, weights=training.n_train))
        for number in range(self.estimator.max_iter or _EPOCHS):
            unknowns = self.cluster.broadcast(local._unknowns)
            local._unknowns, _ = self.cluster.reduced(
                one_epoch, mean_of_epochs, self.sources, self.shared, rule, unknowns, n_steps, number
            )
            n_steps += mean_rows
            if self.tell():
                break
        if self.watch.value is not None:
            local._unknowns = self.watch.value
        place, *_ = self.newton_step(WIDTHS[-1], last=True)
        self.certify(place._replace(lengths=np.zeros(len(place.unknowns))))  # without a step
