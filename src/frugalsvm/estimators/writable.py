"""Whether a model can learn more rows, and arrays that learning may write to.

A model that was loaded with ``joblib.load(..., mmap_mode="r")``, or that came from another process, has arrays that
cannot be written. It predicts with them as they are; before it learns, it gets copies of its own. A model that was
saved for prediction has no state to learn with.
"""

from typing import Any

import numpy as np

from frugalsvm.persist.savable import FOR_PREDICTION

__all__ = ["forget_learned", "prepare_to_learn"]


def prepare_to_learn(estimator: Any) -> None:
    """Replace arrays in the state of an estimator that are read-only or mapped; parameters stay as they are.

    Raises
    ------
    ValueError
        If the model was saved for prediction.
    """
    if hasattr(estimator, FOR_PREDICTION):
        raise ValueError(
            f"This {type(estimator).__name__} was saved with for_prediction=True and cannot learn "
            "more rows: save it without, or call fit to train from the beginning."
        )
    for name, value in vars(estimator).items():
        if name.startswith("_") or name.endswith("_"):  # all but parameters
            vars(estimator)[name] = _owned(value)


def forget_learned(estimator: Any) -> None:
    """Make an estimator that was saved for prediction one that can learn, from the beginning."""
    for name in (FOR_PREDICTION, "_predictor"):
        vars(estimator).pop(name, None)


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
