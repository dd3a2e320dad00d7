"""The scaler of a pipeline: what the parameter ``scale`` can be, and what is said when features leave their range."""

from typing import Any

import numpy as np
from sklearn.base import clone

from frugalsvm.exceptions import ParameterError
from frugalsvm.pipelines.scaler import StreamingScaler

__all__ = ["SCALERS", "check_scale", "left_range", "new_scaler"]

SCALERS = {
    "robust": StreamingScaler(),
    "soft": StreamingScaler(soft_clip=True),
    "standard": StreamingScaler("standard", clip=None),
    "following": StreamingScaler("standard", half_life=20_000),
}
NAMED = 5  # features in a warning, at most


def check_scale(scale: Any) -> None:
    """Refuse what is neither yes nor no, nor a scaler or the name of one."""
    if isinstance(scale, str) and scale in SCALERS:
        return
    if not isinstance(scale, bool | np.bool_ | StreamingScaler):
        names = ", ".join(map(repr, SCALERS))
        raise ParameterError("scale", scale, f"True, False, {names} or a StreamingScaler")


def new_scaler(scale: bool | str | StreamingScaler) -> StreamingScaler:
    """A scaler that has seen nothing; True is a robust one."""
    if isinstance(scale, str):
        scale = SCALERS[scale]
    return clone(scale) if isinstance(scale, StreamingScaler) else StreamingScaler()


def left_range(features: np.ndarray, scaler: StreamingScaler, names: Any = None) -> str:
    """What to say of features that have left their range for long, by their names or else their numbers."""
    first = [str(k) if names is None else repr(names[k]) for k in features[:NAMED].tolist()]
    listed = ", ".join(first) + (", ..." if features.size > NAMED else "")
    what, whose, them = ("Feature", "its", "it") if features.size == 1 else ("Features", "their", "them")
    has = "has" if features.size == 1 else "have"
    n_rows = 2 * scaler._watch.block_rows  # type: ignore[union-attr]
    what = (
        f"{what} {listed} {has} left the range of the rows that the scaler took its statistics from, for {n_rows} rows"
    )
    if scaler.renew:
        return (
            f"{what} or more: {whose} center and scale were taken again from the last rows. If this happens again and "
            f"again, leave {them} out or learn differences instead."
        )
    return f"{what} or more: {whose} values are clipped. StreamingScaler(renew=True) takes new statistics then."
