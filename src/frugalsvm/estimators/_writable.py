"""Arrays that learning may write to.

A model that was loaded with ``joblib.load(..., mmap_mode="r")``, or that came from another process, has arrays that
cannot be written. It predicts with them as they are; before it learns, it gets copies of its own.
"""

from typing import Any

import numpy as np

__all__ = ["own_arrays"]


def own_arrays(estimator: Any) -> None:
    """Replace arrays in the state of an estimator that are read-only or mapped; parameters stay as they are."""
    parameters = estimator._get_param_names()
    for name, value in vars(estimator).items():
        if name not in parameters:
            vars(estimator)[name] = _owned(value)


def _owned(value: Any) -> Any:
    """The value itself if all arrays in it can be written, so that what refers to it stays valid."""
    if isinstance(value, np.ndarray):
        return value if type(value) is np.ndarray and value.flags.writeable else np.array(value)
    if not isinstance(value, list | tuple):
        return value
    parts = [_owned(each) for each in value]
    if all(new is old for new, old in zip(parts, value, strict=True)):
        return value
    if isinstance(value, list):
        return parts
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
