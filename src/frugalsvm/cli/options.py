"""What a run was asked for. Model files hold it, so that a run can be resumed as it was begun."""

from collections.abc import Collection
from inspect import signature
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from frugalsvm.pipelines.reading import DataOptions


YES_OR_NO = ("auto", "yes", "no")  # values of flags


class TrainOptions(NamedTuple):
    """What is trained; None leaves a choice to the algorithm, or to the first rows."""

    algorithm: str = "bsgd"
    budget: int | None = 500
    kernel: str = "rbf"
    gamma: float | None = None
    strength: float | None = None
    scale: str = "auto"
    passes: int = 1
    classes: tuple | None = None
    calibrate: bool = False
    seed: int = 0
    metric: str | None = None
    loss: str | None = None
    quantile: tuple[float, ...] | None = None
    nu: float | None = None
    alarm_rate: float | None = None
    half_life: float | str | None = None
    prequential: bool = False

    @property
    def forgets(self) -> bool:
        """Whether somebody has asked for a model that forgets; a half-life without end is none."""
        return self.half_life is not None and self.half_life != inf


class Request(NamedTuple):
    """All that `frugalsvm train` was asked for."""

    data: "DataOptions"
    options: TrainOptions
    output: Path  # the file to write
    flags: dict[str, Any]  # of which only some ways to train know
    given: Collection[str] = ()  # flags that somebody gave
    decides: bool = False  # no flag says what is learned: the first labels decide between classes and numbers
    quiet: bool = False


def scale_flag(scale: bool | str) -> str:
    """The value of ``--scale`` for the ``scale`` of a pipeline."""
    return scale if isinstance(scale, str) else "yes" if scale else "no"


def device_arguments(model: Any, device: str | None) -> dict[str, str]:
    """Arguments of predictions; a device that is not there is refused before anything is read."""
    if device is None:
        return {}
    from frugalsvm.arrays.namespace import arrays_on

    arrays_on(device)
    estimator = getattr(model, "estimator_", model)
    if "device" not in signature(estimator.predict).parameters:
        raise ValueError(f"{type(estimator).__name__} predicts on the CPU: leave --device out.")
    return {"device": device}
