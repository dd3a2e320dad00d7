"""What `frugalsvm train` says at its end."""

from pathlib import Path
from typing import Any

import typer

from frugalsvm.cli.catalogue import CATALOGUE
from frugalsvm.cli.errors import Printer

__all__ = ["tell_outcome"]

_console = Printer(soft_wrap=True)


def tell_outcome(outcome, target: Path, as_json: bool) -> None:
    from frugalsvm.cli.showing import as_json as print_json
    from frugalsvm.cli.showing import skipped_words, tell

    if outcome.model is None:  # a pipe that brought nothing before the run was to end
        tell("Interrupted before the first row came; nothing was saved.")
        raise typer.Exit(128 + outcome.interrupted_by)
    result = {
        "output": str(target),
        "examples": outcome.progress.rows,
        "accuracy_before_learning": outcome.progress.accuracy if outcome.progress.tested else None,
        "bad_lines": outcome.n_bad,
        **(outcome.counts or {}),
        "was_finished": outcome.was_finished,
        "chosen": outcome.chosen,
        "interrupted": outcome.interrupted_by is not None,
        "bytes": target.stat().st_size,
    }
    if as_json:
        print_json(result)
    else:
        _console.print(f"{target}: {result['bytes']:,} bytes; {_told(outcome.chosen)}", highlight=False)
        if outcome.was_finished:
            tell(f"{target} is finished already; to go on learning from more data, use another output file.")
        if outcome.n_bad:
            _console.print(skipped_words(outcome.n_bad, outcome.bad_lines), highlight=False, markup=False)
    if outcome.interrupted_by is not None:
        tell(f"Interrupted; `--resume` goes on at example {outcome.progress.rows:,}.")
        raise typer.Exit(128 + outcome.interrupted_by)


def _told(chosen: dict[str, Any]) -> str:
    """What was chosen, in the words of the flags."""
    strength = CATALOGUE[chosen["algorithm"]].strength
    values = {"gamma": chosen["gamma"], strength or "-": chosen["strength"], "budget": chosen["budget"]}
    values.setdefault("C", chosen.get("C"))  # on a device
    parts = [f"{key} {value:.4g}" for key, value in values.items() if value is not None]
    return ", ".join([*parts, "features standardized" if chosen["scale"] else "features as they are"])
