"""An estimator that fails to learn stays as it was: after wrong input, Ctrl-C, or where memory runs out.

It gets back all its attributes. Arrays that learning changes in place (support vectors, coefficients, counters) are
protected by learning on copies of them, where that takes little time compared with the learning:

- ``fit`` and the first ``partial_fit`` make new arrays anyway.
- ``fit`` with ``warm_start`` and ``partial_fit`` of more than `LONG_BATCH` rows learn on copies. So do batches with new
  classes, batches that move the origin, and those that a pipeline learns in several parts.
- Shorter batches are learned in place: a copy of the model for every row would cost more than the row. Compiled code
  cannot be interrupted, and such a batch is one call of it for each learner, so that Ctrl-C leaves a model that has
  learned all of it. (With several learners the last ones may lack it, and where there was no memory for a store without
  a budget to grow, the model has learned the rows until then.)

Kernel values that are kept may take hundreds of megabytes and are never copied: after an error their cache is empty.
`IncrementalSVC` saves what it needs to undo any change, however small.

A model that was loaded with ``joblib.load(..., mmap_mode="r")``, or that came from another process, has arrays that
cannot be written. It predicts with them as they are; before it learns, it gets copies of its own. A model that was
saved for prediction has no state to learn with.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from frugalsvm._locks import exclusively
from frugalsvm.core.cache import KernelRows
from frugalsvm.persist.savable import FOR_PREDICTION

# The longest block of any learner. To learn a row is to multiply it with all support vectors, to copy these takes as
# long as a few rows: a small part of that.
LONG_BATCH = 256


class Attempt:
    """What an estimator was before it tried to learn."""

    def __init__(self, estimator: Any):
        self._estimator, self._attributes, self._has_begun = estimator, dict(vars(estimator)), False

    def begin(self, n_rows: int | None = None) -> None:
        """From now on arrays may change: by a batch of ``n_rows`` rows, or by several (None)."""
        self._has_begun = True
        if n_rows is None or n_rows > LONG_BATCH:
            learn_on_copies(self._estimator)

    def undo(self) -> None:
        """Give the estimator back what it had."""
        vars(self._estimator).clear()
        vars(self._estimator).update(self._attributes)
        if self._has_begun and hasattr(self._estimator, "_empty_caches"):
            self._estimator._empty_caches()


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[Attempt]:
    """Context in which an estimator learns, and other threads wait.

    If that fails, it is as before (see above for arrays of short batches).
    """
    with exclusively(estimator), undone_on_error(estimator) as attempt:
        yield attempt


@contextmanager
def undone_on_error(estimator: Any) -> Iterator[Attempt]:
    """The same for an estimator that no other thread knows, or that other threads teach."""
    attempt = Attempt(estimator)
    try:
        yield attempt
    except BaseException:
        attempt.undo()
        raise


def learn_on_copies(estimator: Any) -> None:
    """Exchange arrays that learning changes, those in ``_changed_in_place``, for copies; the old ones stay as is."""
    for name in vars(estimator).keys() & set(getattr(estimator, "_changed_in_place", ())):
        vars(estimator)[name] = _copied(vars(estimator)[name])


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.array(value)
    if isinstance(value, np.random.Generator):
        return copy.deepcopy(value)
    if isinstance(value, KernelRows) or not isinstance(value, list | tuple):
        return value
    parts = [_copied(each) for each in value]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


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
