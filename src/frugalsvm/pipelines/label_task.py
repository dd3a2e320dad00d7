"""What there is to predict: classes or numbers, by the labels; and how that is said."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_outlier_detector

from frugalsvm.estimators.labels import looks_continuous
from frugalsvm.exceptions import Sentence, TaskError
from frugalsvm.pipelines.coded import tells_rows_apart
from frugalsvm.words import CLASSES, NOVELTIES, NUMBERS

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
            words = f"Labels such as {y[:1].tolist()[0]!r} are not numbers"
            raise TaskError(Sentence(words, ": leave {task} out.", task="regression"))
        return Task(True, y if y.dtype.kind == "b" else y.astype(str), False)
    is_whole = bool((y == np.floor(y)).all())
    if wanted == "regression":
        return Task(False, y.astype(np.float64), False)
    if wanted == "auto" and looks_continuous(y):
        return Task(False, y.astype(np.float64), is_whole)
    if not is_whole:
        wrong = y[y != np.floor(y)][0]
        raise TaskError(
            Sentence(
                f"The label {wrong:g} is not a class: classes are whole numbers or text", "; see {label} and {task}."
            )
        )
    with np.errstate(invalid="ignore"):  # beyond integers: refused where their row and column are known
        y = y.astype(np.int64)
    return Task(True, y, wanted == "auto" and len(np.unique(y)) > _SEVERAL)


def task_words(task: Task, label: str | None, where: str = "") -> Sentence:
    """What is predicted, ``where`` that is known from, and how to have the other thing if it is a guess."""
    what = "the labels" if label is None else repr(label)
    if task.classifies:
        words, other, instead = f"{len(np.unique(task.y)):,} classes{where}", "numbers", "regression"
    else:
        words, other = f"numbers from {task.y.min():g} to {task.y.max():g}{where}", "classes"
        instead = "classification"
    about = f" ({{task}} takes them as {other})" if task.is_guess else ""
    return Sentence(f"predicting {what}: {words}", about, task=instead)


def many_classes(y: np.ndarray, label: str | None, algorithm: str) -> Sentence | None:
    """What to say where labels of classes look like numbers, or like names of rows; None if they do not."""
    are_names = y.dtype.kind in "OU" and tells_rows_apart(y)
    if not (are_names or looks_continuous(y)):
        return None
    what, kind = "the labels are" if label is None else f"{label!r} has", "texts" if are_names else "numbers"
    words = f"{what} {len(np.unique(y)):,} different {kind} in {len(y):,} rows, and {algorithm} takes each for a class"
    return Sentence(
        words, ": is {label} the right column?" if are_names else ": {task} predicts numbers", task="regression"
    )


def task_of_model(model: Any) -> str:
    """What a model predicts."""
    if is_outlier_detector(model):
        return NOVELTIES
    return CLASSES if hasattr(model, "classes_") else NUMBERS
