"""What reading has decided, filled and left out, and what came of training or tuning, in words for people."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import typer

from frugalsvm.cli.catalogue import AUTO, CATALOGUE, CLASSES, WITHOUT_GAMMA
from frugalsvm.cli.console import Page, Printer, print_json, tell
from frugalsvm.cli.errors import in_flags
from frugalsvm.pipelines.first_rows import Examined
from frugalsvm.pipelines.label_task import Task, many_classes, task_of, task_words
from frugalsvm.pipelines.reading import FIRST_ROWS, DataOptions, Opened
from frugalsvm.streams.columns import LABEL_NAMES
from frugalsvm.words import counted, coverage_words, short

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


# --- what came of it -------------------------------------------------------------------------------------------------

_SCALED = {
    False: "features as they are",
    "soft": "features scaled and softly clipped",
    "symmetric": "features scaled, long tails drawn in",
    "standard": "features standardized",
    "following": "features scaled as the stream goes",
}


class Outcome(NamedTuple):
    output: Path
    examples: int
    chosen: dict[str, Any]  # parameters
    figures: dict[str, Any]  # what this way of training measures
    n_bad: int = 0
    bad_lines: tuple[str, ...] = ()  # the first ones
    counts: dict[str, int] | None = None  # of rows that were left out, and of missing values
    interrupted_by: int | None = None  # a signal
    was_saved: bool = True
    was_finished: bool = False  # there was nothing to resume
    sentences: tuple[str, ...] = ()  # of `auto`, about what it has chosen

    def having_read(self, stream: Any) -> "Outcome":
        """The same with what a stream has left out."""
        bad_lines = tuple(stream.bad_examples[:SHOWN_BAD_LINES])
        return self._replace(n_bad=stream.n_bad, bad_lines=bad_lines, counts=counts_of(stream))

    def results(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "output": str(self.output),
            "examples": self.examples,
            **self.figures,
            "bad_lines": self.n_bad,
            **(self.counts or {}),
            "was_finished": self.was_finished,
            "chosen": self.chosen,
            "interrupted": self.interrupted_by is not None,
            "bytes": self.output.stat().st_size,
        }


def tell_outcome(outcome: Outcome, *, as_json: bool) -> None:
    """Print the results; a run that was interrupted ends with the exit code for that."""
    if not outcome.was_saved:  # a pipe that brought nothing before the run was to end
        tell("Interrupted before the first row came; nothing was saved.")
        raise typer.Exit(128 + (outcome.interrupted_by or 0))
    if as_json:
        print_json(outcome.results())
    else:
        printer = Printer()
        if outcome.sentences:
            _print_choice(outcome)
        if "quantiles" in outcome.figures:
            printer.print(coverage_words(outcome.figures))
        printer.print(f"{outcome.output}: {outcome.output.stat().st_size:,} bytes; {_parameters(outcome)}")
        if outcome.was_finished:
            tell(f"{outcome.output} is already finished; to learn from more data, use another output file.")
        if outcome.n_bad:
            printer.print(skipped_words(outcome.n_bad, outcome.bad_lines))
    if outcome.interrupted_by is not None:
        tell(f"Interrupted; `--resume` continues at example {outcome.examples:,}.")
        raise typer.Exit(128 + outcome.interrupted_by)


def _print_choice(outcome: Outcome) -> None:
    """What `auto` has tried and chosen."""
    page = Page("What was tried")
    page.table(outcome.figures["tried"])
    page.sentence(
        "  Figures are of rows left out: compare those of one round, as other rounds have other rows and machines."
    )
    page.heading("What was chosen")
    page.lines(outcome.sentences)
    page.sentence(f"{outcome.examples:,} rows, {outcome.figures['seconds']:.1f} s in all.")


def _parameters(outcome: Outcome) -> str:
    """What was chosen, in the words of the flags."""
    chosen = outcome.chosen
    if chosen["algorithm"] == AUTO:
        return f"`frugalsvm evaluate {outcome.output} TEST` measures it, `predict` uses it, `inspect` describes it"
    algorithm = CATALOGUE[chosen["algorithm"]]
    kernel = chosen.get("kernel", "rbf")
    gamma = None if kernel in WITHOUT_GAMMA else chosen["gamma"]
    values = {"gamma": gamma, algorithm.strength or "-": chosen["strength"]}
    values["budget"] = chosen["budget"] if algorithm.budgeted else None
    values.setdefault("C", chosen.get("C"))  # of asset, on a device or a cluster
    parts = [] if kernel == "rbf" else [f"kernel {kernel}"]  # unless it is the usual one
    if chosen.get("metric") is not None:
        parts.append(f"metric {chosen['metric']}")
    parts += [f"{key} {value:.4g}" for key, value in values.items() if value is not None]
    parts += [f"{name.replace('_', ' ')} {_shown(chosen[name])}" for name in algorithm.own if name in chosen]
    if "rounds" in outcome.figures:
        parts.append(f"{outcome.figures['rounds']} rounds")
    return ", ".join([*parts, _SCALED.get(chosen["scale"], "features scaled")])


def _shown(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(f"{each:g}" for each in value)
    return short(value)


class TuneOutcome(NamedTuple):
    best: dict[str, Any]  # flags of `frugalsvm train`
    title: str
    table: list[dict[str, str]]  # what was compared
    sentences: tuple[str, ...]
    figures: dict[str, Any]  # for scripts
    interrupted_by: int | None = None  # a signal


def print_tuned(
    outcome: TuneOutcome, flags: dict[str, Any], source: str | list[str], output: Path | None, *, as_json: bool
) -> None:
    """Print what was found; ``flags`` are those that make the best model, and ``output`` is the file that has them."""
    if as_json:
        print_json({"best": flags, **outcome.figures})
        return
    page = Page(outcome.title)
    page.table(outcome.table)
    page.lines(("", *outcome.sentences))
    page.sentence(f"best: {flag_words(flags)}")
    if output is not None and isinstance(source, str) and source != "-":
        page.sentence(f"`frugalsvm train {quote(source)} --config {quote(str(output))}` makes the model.")


def flag_words(flags: dict[str, Any]) -> str:
    """Flags as they are typed."""
    values = {name: ",".join(value) if isinstance(value, list) else str(value) for name, value in flags.items()}
    return " ".join(f"--{name} {quote(value)}" for name, value in values.items())
