"""``frugalsvm inspect``: what a model file holds."""

from pathlib import Path
from typing import Annotated, Any

import typer

from frugalsvm.cli.errors import check_folder, reported
from frugalsvm.cli.flags import Json, ModelFile

__all__ = ["inspect"]


def inspect(
    model: ModelFile,
    html: Annotated[Path | None, typer.Option(help="Write a model card (HTML) to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Show what is in a model file."""
    from frugalsvm.cli.console import print_json
    from frugalsvm.cli.words.page import print_written

    with reported(of_model=model):
        from frugalsvm.explain.model_card import card_of
        from frugalsvm.explain.model_contents import model_contents

        contents = model_contents(model)
        if html is not None:
            check_folder(html)
            html.write_text(card_of(contents, model), encoding="utf-8")
    if as_json:
        print_json(contents)
        return
    _print(contents, str(model))
    if html is not None:
        print_written(html)


def _print(contents: dict[str, Any], title: str) -> None:
    """Print what a model file holds, for people."""
    from frugalsvm.cli.words.page import Page
    from frugalsvm.explain.model_facts import data_facts, file_facts, kind_of, model_facts

    page = Page()
    page.heading(title)
    page.sentence(f"{kind_of(contents)} ({contents['estimator']}).")
    page.heading("Data")
    page.facts(data_facts(contents))
    page.heading("Model")
    page.facts(model_facts(contents))
    if "metric" in contents:
        _metric(page, contents["metric"])
    _choice(page, contents["training"])
    page.heading("File")
    page.facts(file_facts(contents))


def _metric(page: Any, metric: dict[str, Any]) -> None:
    from frugalsvm.words import counted, percent

    page.heading("Learned metric")
    kind = "a factor for each feature" if metric["kind"] == "factors" else counted(metric["directions"], "direction")
    page.sentence(f"{kind.capitalize()}. What counts most, with its share:")
    page.facts([(name, percent(share)) for name, share in metric["most important"].items()])


def _choice(page: Any, training: dict[str, Any]) -> None:
    """How `auto` came to its choice."""
    if not training.get("told"):
        return
    page.heading("How it was chosen")
    for sentence in training["told"]:
        page.sentence(sentence)
    if training.get("tried"):
        page.table(training["tried"])
        page.sentence("  A round has its own rows and sizes: compare figures of the same round.")
