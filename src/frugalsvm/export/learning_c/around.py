"""What is around the estimator that learns on a device: rows are filled and scaled, and a promise is kept."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm.conformal import ConformalClassifier, ConformalDetector, ConformalRegressor
from frugalsvm.core.moments import moments_of
from frugalsvm.core.schedules import clock_of
from frugalsvm.core.score_reservoir import Promise, ScoreReservoir
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.pipelines.statistics import Statistics
from frugalsvm.pipelines.watching import watch_of_all

_CONFORMAL = {ConformalClassifier: "class", ConformalRegressor: "number", ConformalDetector: "nothing"}


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
        return found if self.limit is None else {**found, "row_limit": self.limit}


class Following(NamedTuple):
    """How the statistics of the features follow a stream: by blocks of rows, whose moments are known so far."""

    clip: float
    clock: float
    block_rows: int
    n_rows: int  # of the block so far
    n_blocks: np.ndarray  # (n_features,) that the statistics are of
    constant: np.ndarray  # (n_features,)
    mean: np.ndarray  # (n_features,) of the block so far
    squares: np.ndarray  # (n_features,) sums of squared distances from it


class Conformal(NamedTuple):
    """A promise, and the latest scores."""

    promise: Promise
    reservoir: ScoreReservoir

    @property
    def window(self) -> int:
        """How many scores are kept."""
        return len(self.reservoir.ring)


# --- from the outside to the inside -----------------------------------------------------------------------------


def _kind_of_conformal(model: Any) -> str | None:
    """What the estimator in a conformal one learns; None if it is none."""
    return next((kind for cls, kind in _CONFORMAL.items() if isinstance(model, cls)), None)


def pipeline_of(model: Any) -> Any:
    """The estimator that a conformal one is around, or the model itself."""
    if _kind_of_conformal(model) is None:
        return model
    check_is_fitted(model)
    return model.estimator_


def learner_of(model: Any) -> Any:
    """The estimator that learns: without a conformal one around it, and without a `StreamPipeline`."""
    model = pipeline_of(model)
    return model.estimator_ if isinstance(model, StreamPipeline) else model


# --- conformal prediction ---------------------------------------------------------------------------------------


def conformal_of(model: Any, kind: str, n_outputs: int) -> Conformal | None:
    """The promise of a conformal estimator around one that learns classes, numbers or nothing; None without one."""
    wanted = _kind_of_conformal(model)
    if wanted is None:
        return None
    name = type(model).__name__
    if wanted != kind:
        inner = type(learner_of(model)).__name__
        raise TypeError(f"learn=True: a {name} around a {inner} cannot learn in C.")
    if getattr(model, "by_class", False):
        raise ValueError(f"learn=True: a {name} with by_class=True cannot learn in C: use by_class=False.")
    if kind == "number" and n_outputs > 2:
        raise ValueError(f"learn=True: a {name} needs one output or two quantiles, and the model has {n_outputs}.")
    return Conformal(model._promise, model._reservoirs[0])


# --- pipelines --------------------------------------------------------------------------------------------------


def before_estimator(pipeline: Any) -> dict[str, Any]:
    """What comes before the estimator of a pipeline: ``filling``, ``scaling`` and ``following``, where they are."""
    check_is_fitted(pipeline)
    if getattr(pipeline, "_held", None) is not None:
        raise ValueError("The pipeline still holds back its first rows: call flush before it is exported.")
    filler, scaler = pipeline.filler_, pipeline.scaler_
    follows = getattr(scaler, "half_life", None) is not None and scaler.watches
    refused = {
        "an encoder": (pipeline.encoder_ is not None, "leave it out"),
        "a feature map": (pipeline.feature_map_ is not None, "leave it out"),
        "indicators of missing values": (pipeline.indicates, "leave them out"),
        "a drift detector": (pipeline.detector is not None, "leave it out"),
        "calibrate=True": (bool(pipeline.calibrate), "leave it out"),
        "a robust scaler with a half_life": (
            follows and scaler.method != "standard",
            "use scale='following', or StreamingScaler('standard', half_life=...)",
        ),
    }
    for what, (is_there, advice) in refused.items():
        if is_there:
            raise ValueError(f"learn=True: a pipeline with {what} cannot learn in C; {advice}.")
    before = {} if filler is None else {"filling": filler.statistics_}
    if scaler is not None:
        center = scaler.center_ if scaler.centres_ else np.zeros_like(scaler.scale_)
        before["scaling"] = Scaling(center, scaler.scale_, scaler.limit_, bool(scaler.soft_clip))
    if follows:
        before["following"] = _following_of(scaler)
    return before


def _following_of(scaler):
    watch, n_rows = scaler._watch, int(scaler._watch.n_rows[0])
    mean = var = np.zeros(len(scaler.scale_))
    if n_rows:
        _, mean, var = moments_of(watch.values[:n_rows])
    clock = float(clock_of(scaler.half_life))
    own = (watch.block_rows, n_rows, watch.n_blocks, scaler.constant_, mean, n_rows * var)
    return Following(float(scaler.clip), clock, *own)


def follow(scaler: Any, scaling: Scaling, following: Following) -> None:
    """Let a scaler be what a device has made of it.

    Of the rows of a block only mean and variance count, and these alone come from a device: they are put into the
    place of the rows.
    """
    scaler._publish(Statistics(scaling.center, scaling.scale, scaling.limit, following.constant))
    scaler.var_ = scaling.scale**2
    watch = watch_of_all(following.n_blocks, following.block_rows)
    n, n_pairs = following.n_rows, following.n_rows // 2
    watch.n_rows[0] = n
    watch.values[:n] = following.mean
    if n_pairs:
        distance = np.sqrt(following.squares / (2 * n_pairs))
        watch.values[:n_pairs] += distance
        watch.values[n_pairs : 2 * n_pairs] -= distance
    scaler._watch = watch
