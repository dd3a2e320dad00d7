"""What of a fitted model a device needs to learn more, as plain numbers; what it cannot have is refused."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm.budgeted.learner import Learner
from frugalsvm.budgeted.one_class import new_window
from frugalsvm.budgeted.perceptrons import Forget
from frugalsvm.budgeted.projection import new_span
from frugalsvm.core.expansion import new_expansion
from frugalsvm.estimators.bsgd import BSGDClassifier
from frugalsvm.estimators.bsgd_one_class import BSGDOneClassSVM
from frugalsvm.estimators.bsgd_regressor import BSGDRegressor
from frugalsvm.estimators.perceptron import BudgetedPerceptron
from frugalsvm.export.learning_c.parts import supported
from frugalsvm.persist.savable import FOR_PREDICTION
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.pipelines.clipping import KNEE

__all__ = ["Plan", "Scaling", "learner_of", "plan_of"]

_LEARN = (BSGDClassifier, BSGDRegressor, BSGDOneClassSVM, BudgetedPerceptron)
_KINDS = {BSGDRegressor: "number", BSGDOneClassSVM: "nothing"}


class Scaling(NamedTuple):
    """How features are scaled: ``(x - center) / scale``, where ``x - center`` is clipped to ``limit``."""

    center: np.ndarray
    scale: np.ndarray
    limit: np.ndarray | None
    is_soft: bool

    @property
    def tables(self) -> dict[str, np.ndarray]:
        """What the C code of rows reads."""
        found = {"row_center": self.center, "row_scale": self.scale}
        if self.limit is not None and self.is_soft:
            found |= {"row_knee": KNEE * self.limit, "row_room": self.limit - KNEE * self.limit}
        elif self.limit is not None:
            found["row_limit"] = self.limit
        return found


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
    origin: np.ndarray | None = None

    def known_classes(self) -> Any:
        return self.classes

    def emptied(self) -> "Plan":
        """The same model before it has learned anything."""
        policy, before = self.learner.parts.policy, self.expansion
        if hasattr(policy, "span"):
            policy = policy._replace(span=new_span(len(before.rows)))
        if isinstance(policy, Forget):
            policy = policy._replace(spoiled=np.zeros(1))
        learner = Learner(
            self.learner.parts._replace(policy=policy),
            new_expansion(self.budget + 1, self.n_features, self.n_outputs, before.rows.dtype),
        )
        window = None if self.window is None else new_window(len(self.window.scores))
        return self._replace(learner=learner, window=window)

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


def learner_of(model: Any) -> Any:
    """The estimator that learns: the last step of a `StreamPipeline`, or the model itself."""
    return model.estimator_ if isinstance(model, StreamPipeline) else model


def plan_of(model: Any) -> Plan:
    """What a device needs of a fitted model.

    Raises
    ------
    TypeError
        If it is none that learns in C.
    ValueError
        If it has something that does not learn in C.
    """
    before: dict[str, Any] = {}
    if isinstance(model, StreamPipeline):
        before = _before(model)
    estimator = learner_of(model)
    if not isinstance(estimator, _LEARN):
        names = ", ".join(cls.__name__ for cls in _LEARN)
        raise TypeError(f"learn=True is for {names}, alone or in a StreamPipeline, not for {type(estimator).__name__}.")
    check_is_fitted(estimator)
    _refuse(estimator)
    (learner,) = estimator.learners
    origin = estimator.origin_
    kind = next((kind for cls, kind in _KINDS.items() if isinstance(estimator, cls)), "class")
    return Plan(
        kind,
        learner,
        origin=None if origin is None or origin.is_zero else origin.point,
        **{"class": _of_classes, "number": _of_numbers, "nothing": _of_nothing}[kind](estimator),
        **before,
    )


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


def _before(pipeline):
    """What comes before the estimator of a pipeline."""
    check_is_fitted(pipeline)
    if getattr(pipeline, "_held", None) is not None:
        raise ValueError("The pipeline still holds back its first rows: call flush before it is exported.")
    refused = {
        "an encoder": pipeline.encoder_ is not None,
        "a feature map": pipeline.feature_map is not None,
        "indicators of missing values": pipeline.indicates,
        "a drift detector": pipeline.detector is not None,
        "calibrate=True": bool(pipeline.calibrate),
        "a scaler with a half_life": getattr(pipeline.scaler_, "half_life", None) is not None,
    }
    for what, is_there in refused.items():
        if is_there:
            raise ValueError(f"learn=True: a pipeline with {what} cannot learn in C; leave it out.")
    filler, scaler = pipeline.filler_, pipeline.scaler_
    before = {} if filler is None else {"filling": filler.statistics_}
    if scaler is not None:
        center = scaler.center_ if scaler.centres_ else np.zeros_like(scaler.scale_)
        before["scaling"] = Scaling(center, scaler.scale_, scaler.limit_, bool(scaler.soft_clip))
    return before


def _refuse(estimator):
    """Refuse what does not learn in C, in a sentence."""
    name = type(estimator).__name__
    if hasattr(estimator, FOR_PREDICTION):
        raise ValueError(f"This {name} was saved for prediction, and cannot learn: pass the model that it was made of.")
    class_weight = getattr(estimator, "class_weight", None)
    refused = {
        "budget=None": (estimator.budget_ is None, "set a budget"),
        "a metric": (estimator.metric_part_ is not None, "use metric=None"),
        "half_life='auto'": (
            getattr(estimator, "experts", None) is not None,
            "set half_life to a number of examples, or to np.inf (a StreamPipeline takes 'auto' for None)",
        ),
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
