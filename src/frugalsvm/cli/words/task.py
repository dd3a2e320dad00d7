"""What there is to predict: classes or numbers, by the labels; and how that is told."""

from typing import NamedTuple

import numpy as np

from frugalsvm.auto.tables import looks_continuous

__all__ = ["Task", "many_classes", "task_of", "task_words"]

_SEVERAL = 20  # classes, beyond which whole numbers may be meant as numbers


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
    if wanted == "auto" and looks_continuous(y):
        return Task(False, y.astype(np.float64), is_whole)
    if not is_whole:
        wrong = y[y != np.floor(y)][0]
        raise ValueError(
            f"The label {wrong:g} is not a class: classes are whole numbers or text; see --label and --task."
        )
    return Task(True, y.astype(np.int64), wanted == "auto" and len(np.unique(y)) > _SEVERAL)


def task_words(task: Task, label: str | None, where: str = "") -> str:
    """What is predicted, ``where`` that is known from, and how to have the other thing if it is a guess."""
    what = "the labels" if label is None else repr(label)
    if task.classifies:
        words, other = f"{len(np.unique(task.y)):,} classes{where}", "--task regression takes them as numbers"
    else:
        words = f"numbers from {task.y.min():g} to {task.y.max():g}{where}"
        other = "--task classification takes them as classes"
    return f"predicting {what}: {words}" + (f" ({other})" if task.is_guess else "")


def many_classes(y: np.ndarray, label: str | None, algorithm: str) -> str | None:
    """What to say where an algorithm for classes was asked for, and labels look like numbers; None if they do not."""
    if not looks_continuous(y):
        return None
    what = "the labels are" if label is None else f"{label!r} has"
    return (
        f"{what} {len(np.unique(y)):,} different numbers in {len(y):,} rows, and {algorithm} takes each for a class: "
        "--task regression predicts numbers"
    )
