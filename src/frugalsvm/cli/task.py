"""What there is to predict: classes or numbers, by the labels."""

from typing import NamedTuple

import numpy as np

__all__ = ["Task", "task_of"]

_MANY_VALUES = 100  # different whole numbers, beyond which they are no classes
_SEVERAL_VALUES, _ROWS_OF_EACH = 20, 4  # nor if there are several, with fewer rows of each


class Task(NamedTuple):
    classifies: bool
    y: np.ndarray  # text, integers, or numbers
    is_guess: bool  # numbers that could be the other thing as well


def task_of(y: np.ndarray, wanted: str = "auto") -> Task:
    """The task for labels: text and few whole numbers are classes, others are numbers; unless it is said.

    Examples
    --------
    >>> import numpy as np
    >>> task_of(np.array([1.0, 2.0, 1.0])).classifies, task_of(np.array([1.5, 2.0, 1.0])).classifies
    (True, False)
    """
    if y.dtype.kind not in "iuf":
        if wanted == "regression":
            raise ValueError(f"Labels such as {y[:1].tolist()[0]!r} are not numbers: leave --task regression out.")
        return Task(True, y if y.dtype.kind == "b" else y.astype(str), False)
    is_whole = bool((y == np.floor(y)).all())
    if wanted == "regression":
        return Task(False, y.astype(np.float64), False)
    if not is_whole:
        if wanted == "classification":
            wrong = y[y != np.floor(y)][0]
            raise ValueError(
                f"The label {wrong:g} is not a class: classes are whole numbers or text; see --label and --task."
            )
        return Task(False, y.astype(np.float64), False)
    n_values = len(np.unique(y))
    many = n_values > _MANY_VALUES or (n_values > _SEVERAL_VALUES and _ROWS_OF_EACH * n_values > len(y))
    if many and wanted == "auto":
        return Task(False, y.astype(np.float64), True)
    return Task(True, y.astype(np.int64), wanted == "auto" and n_values > _SEVERAL_VALUES)
