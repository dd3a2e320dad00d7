"""What of a fitted model a device needs to learn more, as plain numbers; what it cannot have is refused."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm.budgeted.learner import Learner
from frugalsvm.budgeted.one_class import new_window
from frugalsvm.budgeted.perceptrons import Forget
from frugalsvm.budgeted.projection import new_span
from frugalsvm.core.capabilities import offers
from frugalsvm.core.expansion import new_expansion
from frugalsvm.core.experts import STANDING, Experts
from frugalsvm.core.score_reservoir import new_reservoir
from frugalsvm.core.seen_rows import new_origin
from frugalsvm.estimators.bsgd import BSGDClassifier
from frugalsvm.estimators.bsgd_one_class import BSGDOneClassSVM
from frugalsvm.estimators.bsgd_regressor import BSGDRegressor
from frugalsvm.estimators.perceptron import BudgetedPerceptron
from frugalsvm.export.learning_c.around import (
    Conformal,
    Following,
    Scaling,
    before_estimator,
    conformal_of,
    learner_of,
    pipeline_of,
)
from frugalsvm.export.learning_c.parts import supported
from frugalsvm.persist.savable import FOR_PREDICTION
from frugalsvm.pipelines import StreamPipeline

_LEARN = (BSGDClassifier, BSGDRegressor, BSGDOneClassSVM, BudgetedPerceptron)
_KINDS = {BSGDRegressor: "number", BSGDOneClassSVM: "nothing"}


class Plan(NamedTuple):
    """A model that learns on a device."""

    kind: str  # what is learned beside a row: "class", "number" or "nothing"
    learner: Learner
    classes: np.ndarray | None = None
    class_weights: np.ndarray | None = None
    targets: Any = None  # TargetScale of a regressor
    n_targets: int = 0
    quantile_order: np.ndarray | None = None  # the outputs in the order of their quantiles, if they are sorted
    window: Any = None  # ScoreWindow of a one-class machine, its nu and its alarm rate
    nu: float = 1.0
    rate: float = 1.0
    filling: np.ndarray | None = None
    scaling: Scaling | None = None
    following: Following | None = None
    origin: np.ndarray | None = None
    shift: Any = 0.0  # from the origin of the model to that of the device, whose type may be coarser
    conformal: Conformal | None = None

    def known_classes(self) -> Any:
        return self.classes

    def emptied(self) -> "Plan":
        """The same model before it has learned anything."""
        policy, loss, before = self.learner.parts.policy, self.learner.parts.loss, self.expansion
        if hasattr(policy, "span"):
            policy = policy._replace(span=new_span(len(before.rows)))
        if isinstance(policy, Forget):
            policy = policy._replace(spoiled=np.zeros(1))
        if isinstance(loss, Experts):
            loss = _beginners(loss)
        learner = Learner(
            self.learner.parts._replace(policy=policy, loss=loss),
            new_expansion(self.budget + 1, self.n_features, self.n_outputs, before.rows.dtype),
        )
        window = None if self.window is None else new_window(len(self.window.scores))
        conformal = self.conformal
        if conformal is not None:
            conformal = conformal._replace(reservoir=new_reservoir(conformal.window))
        return self._replace(learner=learner, window=window, conformal=conformal)

    @property
    def expansion(self) -> Any:
        return self.learner.expansion

    @property
    def budget(self) -> int:
        return int(self.learner.budget or 0)

    @property
    def n_features(self) -> int:
        return self.expansion.rows.shape[1]

    @property
    def n_outputs(self) -> int:
        return self.expansion.n_outputs

    @property
    def experts(self) -> Experts | None:
        """Those of half_life="auto"."""
        loss = self.learner.parts.loss
        return loss if isinstance(loss, Experts) else None

    @property
    def n_scores(self) -> int:
        """The decision values of a row: the outputs, of one expert if there are several."""
        return self.n_outputs if self.experts is None else len(self.experts.values)


def plan_of(model: Any, dtype: Any = np.float64) -> Plan:
    """What a device needs of a fitted model, to compute in a type.

    Raises
    ------
    TypeError
        If it is none that learns in C.
    ValueError
        If it has something that does not learn in C.
    """
    pipeline = pipeline_of(model)
    before = before_estimator(pipeline) if isinstance(pipeline, StreamPipeline) else {}
    estimator = learner_of(model)
    if not isinstance(estimator, _LEARN):
        names = ", ".join(cls.__name__ for cls in _LEARN)
        raise TypeError(
            f"learn=True is for {names}, alone or in a StreamPipeline or a conformal estimator, not for "
            f"{type(estimator).__name__}."
        )
    check_is_fitted(estimator)
    _refuse(estimator)
    (learner,) = estimator.learners
    origin, shift = _origin_in(estimator, learner, dtype)
    kind = next((kind for cls, kind in _KINDS.items() if isinstance(estimator, cls)), "class")
    return Plan(
        kind,
        learner,
        origin=origin,
        shift=shift,
        conformal=conformal_of(model, kind, learner.expansion.n_outputs),
        **{"class": _of_classes, "number": _of_numbers, "nothing": _of_nothing}[kind](estimator),
        **before,
    )


def _origin_in(estimator, learner, dtype):
    """The origin of rows, None if it is zero, and how far it is from that of the model: see `core.origin`."""
    before, expansion = estimator.origin_, learner.expansion
    point = None if before is None or before.is_zero else before.point
    n_slots = int(expansion.counts[0]["n_slots"])
    if not n_slots or not offers(learner.parts.kernel, "shift_invariant"):
        return point, 0.0
    moved = new_origin(expansion.rows[:n_slots], dtype)
    if moved.is_zero:
        return point, 0.0
    return moved.point if point is None else point + moved.point, moved.point


def _beginners(experts):
    """Experts that have seen nothing."""
    standing = np.zeros(len(experts.standing), STANDING)
    standing["share"], standing["fade"] = 1.0 / len(standing), 1.0
    return experts._replace(standing=standing, counts=np.zeros_like(experts.counts))


def _of_classes(estimator):
    classes, weights = estimator.classes_, None
    if estimator.class_weight is not None:
        weights = np.array([float(estimator.class_weight.get(each, 1.0)) for each in classes.tolist()])
    return {"classes": classes, "class_weights": weights}


def _of_numbers(estimator):
    order = estimator.quantile_order if estimator.sorts_predictions else None
    return {"targets": estimator.target_scale, "n_targets": estimator.n_targets, "quantile_order": order}


def _of_nothing(estimator):
    rate = estimator.nu if estimator.alarm_rate is None else estimator.alarm_rate
    return {"window": estimator.score_window, "nu": float(estimator.nu), "rate": float(rate)}


def _refuse(estimator):
    """Refuse what does not learn in C, in a sentence."""
    name = type(estimator).__name__
    if hasattr(estimator, FOR_PREDICTION):
        raise ValueError(f"This {name} was saved for prediction, and cannot learn: pass the model that it was made of.")
    class_weight = getattr(estimator, "class_weight", None)
    refused = {
        "budget=None": (estimator.budget_ is None, "set a budget"),
        "a metric": (estimator.metric_part_ is not None, "use metric=None"),
        "average": (getattr(estimator, "average", False) is not False, "use average=False"),
        "radius": (getattr(estimator, "radius", None) is not None, "use radius=None"),
        "class_weight='balanced'": (isinstance(class_weight, str), "use a dict of weights"),
        "calibrate": (getattr(estimator, "calibrate", None) is not None, "use calibrate=None"),
    }
    for what, (is_there, advice) in refused.items():
        if is_there:
            raise ValueError(f"learn=True: a {name} with {what} cannot learn in C: {advice}, and fit it again.")
    learners = estimator.learners
    if len(learners) > 1:
        raise ValueError(
            f"learn=True: strategy={estimator.strategy!r} learns each of several classes against the rest, which is "
            "not there in C; 'stop', 'random', 'projectron' and 'projectron++' learn them together."
        )
    parts = learners[0].parts
    for what in ("kernel", "policy", "loss", "schedule"):
        part, able = getattr(parts, what), supported(what)
        if not isinstance(part, able):
            names = ", ".join(cls.__name__ for cls in able)
            raise ValueError(f"learn=True: the {what} {type(part).__name__} cannot learn in C; these can: {names}.")
