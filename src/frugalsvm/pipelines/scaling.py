"""The scaler of a pipeline: what the parameter ``scale`` can be, and what is said when features leave their range."""

from typing import Any

import numpy as np
from sklearn.base import clone

from frugalsvm.pipelines.scaler import StreamingScaler

__all__ = ["check_scale", "left_range", "new_scaler"]

NAMED = 5  # features in a warning, at most


def check_scale(scale: Any) -> None:
    """Refuse what is neither yes nor no nor a scaler."""
    if not isinstance(scale, bool | np.bool_ | StreamingScaler):
        raise ValueError(f"scale must be True, False or a StreamingScaler, not {scale!r}.")


def new_scaler(scale: bool | StreamingScaler) -> StreamingScaler:
    """A scaler that has seen nothing."""
    return clone(scale) if isinstance(scale, StreamingScaler) else StreamingScaler()


def left_range(features: np.ndarray, scaler: StreamingScaler) -> str:
    """What to say of features that have left their range for long."""
    names = ", ".join(map(str, features[:NAMED].tolist())) + (", ..." if features.size > NAMED else "")
    one = features.size == 1
    what = f"Feature {names} has" if one else f"Features {names} have"
    what = f"{what} left the range of the rows that the scaler took its statistics from, for thousands of rows"
    whose = "its" if one else "their"
    if scaler.renew:
        return (
            f"{what}: {whose} center and scale were taken anew from the last rows. If this goes on, leave "
            f"{'it' if one else 'them'} out, learn differences, or make warmup_rows larger."
        )
    return f"{what}: {whose} values are clipped. Set renew=True in StreamingScaler, or make warmup_rows larger."
