"""What `frugalsvm tune` has found, and how it tells people and scripts."""

from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from frugalsvm.cli.console import print_json
from frugalsvm.cli.words.page import Page

__all__ = ["TuneOutcome", "flag_words", "print_tuned"]


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
