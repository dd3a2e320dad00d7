"""What reading has decided, filled and left out, in words for people."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from frugalsvm.cli.console import tell
from frugalsvm.cli.words.wording import in_flags
from frugalsvm.pipelines.reading import FIRST_ROWS, DataOptions, Opened

__all__ = ["SHOWN_BAD_LINES", "counts_of", "skipped_words", "tell_end", "tell_skipped"]

SHOWN_BAD_LINES = 3


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


def counts_of(stream: Any) -> dict[str, int]:
    """Rows that reading has left out, and values that were missing."""
    found = {"unlabeled_rows": stream.n_unlabeled, "incomplete_rows": stream.n_incomplete}
    return {**found, "missing_values": stream.n_missing}


def tell_end(data: DataOptions, opened: Opened, model: Any, *, quiet: bool) -> None:
    """What reading has left out or filled, and what may be wrong with the model because of its data."""
    counts = counts_of(opened.stream)
    sentences = {
        "unlabeled_rows": "{} without a label: left out",
        "incomplete_rows": "{} with missing values: left out",
        "missing_values": f"{{}}: filled with the {data.missing} of the first rows in their column (--missing)",
    }
    for key, n in counts.items():
        if n and not quiet:
            what = "missing value" if key == "missing_values" else "row"
            tell("note: " + sentences[key].format(f"{n:,} {what}{'' if n == 1 else 's'}"))
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
