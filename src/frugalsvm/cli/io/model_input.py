"""Rows for a model that is trained: where it predicts them, and what is said of them at the end."""

from inspect import signature
from typing import Any

from frugalsvm.cli.console import tell
from frugalsvm.cli.words.data_report import tell_skipped
from frugalsvm.pipelines.reading import Opened

__all__ = ["device_arguments", "tell_left_out"]


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


def tell_left_out(opened: Opened) -> None:
    """Tell which lines were left out, and warn of unknown categories and missing values, a line for each column."""
    tell_skipped(opened.stream, of_model=True)
    for sentence in opened.surprises.sentences():
        tell(f"warning: {sentence}")
