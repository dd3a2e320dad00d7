"""What came of training or tuning, by whichever way, and what is said at its end."""

from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import typer

from frugalsvm.cli.catalogue import AUTO, CATALOGUE, WITHOUT_GAMMA
from frugalsvm.cli.console import Page, Printer, print_json, tell
from frugalsvm.cli.words.data_report import SHOWN_BAD_LINES, counts_of, skipped_words
from frugalsvm.words import coverage_words

__all__ = ["Outcome", "TuneOutcome", "flag_words", "print_tuned", "tell_outcome"]

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
    page = Page()
    page.heading("What was tried")
    page.table(outcome.figures["tried"])
    page.sentence(
        "  Figures are of rows left out: compare those of one round, as other rounds have other rows and machines."
    )
    page.heading("What was chosen")
    for sentence in outcome.sentences:
        page.sentence(sentence)
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
    return f"{value:.4g}" if isinstance(value, float) else str(value)


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
    page = Page()
    page.heading(outcome.title)
    page.table(outcome.table)
    page.sentence("")
    for sentence in outcome.sentences:
        page.sentence(sentence)
    page.sentence(f"best: {flag_words(flags)}")
    if output is not None and isinstance(source, str) and source != "-":
        page.sentence(f"`frugalsvm train {quote(source)} --config {quote(str(output))}` makes the model.")


def flag_words(flags: dict[str, Any]) -> str:
    """Flags as they are typed."""
    values = {name: ",".join(value) if isinstance(value, list) else str(value) for name, value in flags.items()}
    return " ".join(f"--{name} {quote(value)}" for name, value in values.items())
