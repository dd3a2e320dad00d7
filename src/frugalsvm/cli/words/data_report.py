"""What reading has decided, filled and left out, in words for people."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from frugalsvm.cli.catalogue import CATALOGUE, CLASSES
from frugalsvm.cli.console import tell
from frugalsvm.cli.words.wording import in_flags
from frugalsvm.pipelines.first_rows import Examined
from frugalsvm.pipelines.label_task import Task, many_classes, task_of, task_words
from frugalsvm.pipelines.reading import FIRST_ROWS, DataOptions, Opened
from frugalsvm.streams.columns import LABEL_NAMES
from frugalsvm.words import counted

__all__ = [
    "SHOWN_BAD_LINES",
    "counts_of",
    "left_out_words",
    "skipped_words",
    "tell_end",
    "tell_examined",
    "tell_first_labels",
    "tell_labels",
    "tell_left_out",
    "tell_rows_left_out",
    "tell_skipped",
    "tell_task",
]

SHOWN_BAD_LINES = 3


def tell_examined(examined: Examined, *, quiet: bool) -> None:
    """Tell what was decided by the first rows, and what may be wrong."""
    for note in () if quiet else (*examined.opened.stream.notes, *examined.notes):
        tell(f"note: {in_flags(note)}")
    for warning in examined.warnings:
        tell(f"warning: {in_flags(warning)}")


def tell_first_labels(examined: Examined, algorithm: str, *, is_guess: bool = False, quiet: bool) -> None:
    """Tell what an algorithm for classes or for numbers is to predict, by the first rows.

    With ``is_guess`` the labels have decided which of these it is.
    """
    y, where = examined.labels, examined.where and f" in the{examined.where}"
    wanted = "auto" if is_guess else "classification" if CATALOGUE[algorithm].task == CLASSES else "regression"
    if len(y):
        tell_task(task_of(y, wanted), examined.label, algorithm, where, quiet=quiet)


def tell_task(task: Task, label: str | None, algorithm: str, where: str = "", *, quiet: bool) -> None:
    """Tell what is predicted, and warn of classes that look like numbers."""
    if not quiet:
        tell(f"note: {in_flags(task_words(task, label, where))}")
    if task.classifies and (doubt := many_classes(task.y, label, algorithm)):
        tell(f"warning: {in_flags(doubt)}")


def tell_labels(examined: Examined) -> None:
    """Warn of a column of labels, by its name, among the features of rows that are learned without labels."""
    schema = examined.schema
    for name in () if schema is None else (*schema.numbers, *schema.strings):
        if name.lower() in LABEL_NAMES:
            tell(f"warning: column {name!r} is used as a feature; --label {name} leaves it out")


def skipped_words(n_bad: int, examples: Iterable[str], *, of_model: bool = False) -> str:
    """How many lines were left out, with the first of them; they may have had to fit a model."""
    shown = list(islice(examples, SHOWN_BAD_LINES))
    what = "1 bad line was" if n_bad == 1 else f"{n_bad:,} bad lines were"
    more = "" if n_bad <= len(shown) else ", the first ones"
    return "\n  ".join([f"{what} skipped{more}:", *(in_flags(sentence, of_model=of_model) for sentence in shown)])


def tell_skipped(stream: Any, *, of_model: bool = False) -> None:
    """On standard error, what reading has left out, if anything."""
    if stream.n_bad:
        tell(skipped_words(stream.n_bad, stream.bad_examples, of_model=of_model))


def tell_left_out(opened: Opened) -> None:
    """Tell which rows were left out, and warn of unknown categories and missing values, a line for each column."""
    tell_skipped(opened.stream, of_model=True)
    tell_rows_left_out(opened.stream)
    for sentence in opened.surprises.sentences():
        tell(f"warning: {sentence}")


def counts_of(stream: Any) -> dict[str, int]:
    """Rows that reading has left out, and values that were missing."""
    found = {"unlabeled_rows": stream.n_unlabeled, "incomplete_rows": stream.n_incomplete}
    return {**found, "missing_values": stream.n_missing}


def left_out_words(n_unlabeled: int, n_incomplete: int, word: tuple[str, int] = ("", 0)) -> list[str]:
    """Sentences about rows that reading has left out because they lack a label, or a value.

    ``word`` is the one that most often stands for a missing label, and how often: it may be the name of a class.
    """
    sentences = []
    if n_unlabeled:
        name, n = word
        doubt = f" ({name!r} in {n:,} of them; if that is a class, write it in another way)"
        is_most = 2 * n > n_unlabeled
        sentences.append(f"{counted(n_unlabeled, 'row')} without a label: left out{doubt if is_most else ''}")
    if n_incomplete:
        sentences.append(f"{counted(n_incomplete, 'row')} with missing values: left out")
    return sentences


def tell_rows_left_out(stream: Any, *, quiet: bool = False) -> None:
    """Tell how many rows a stream has left out because they lack a label or a value."""
    for sentence in () if quiet else left_out_words(stream.n_unlabeled, stream.n_incomplete, stream.unlabeled_word):
        tell(f"note: {sentence}")


def tell_end(data: DataOptions, opened: Opened, model: Any, *, quiet: bool) -> None:
    """What reading has left out or filled, and what may be wrong with the model because of its data."""
    tell_rows_left_out(opened.stream, quiet=quiet)
    if (n := opened.stream.n_missing) and not quiet:
        what = f"filled with the {data.missing} of the first rows in their column (--missing)"
        tell(f"note: {counted(n, 'missing value')}: {what}")
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) == 1:
        tell(
            f"warning: all rows have the label {classes.tolist()[0]!r}: the model knows no other and always predicts it"
        )
    order = opened.order.order
    is_mixed = data.is_shuffled or opened.order.is_reported
    if not is_mixed and order.is_sorted and order.n_rows > FIRST_ROWS:
        tell(
            f"warning: rows were learned in label order ({order.words}), and the model favors the last ones; --shuffle "
            "yes shuffles them"
        )
