"""``frugalsvm inspect``: what a model file holds."""

from pathlib import Path
from typing import Annotated

import typer

from frugalsvm.cli.errors import check_folders, reported
from frugalsvm.cli.flags import Json, ModelFile


def inspect(
    model: ModelFile,
    html: Annotated[Path | None, typer.Option(help="Write a model card (HTML) to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Show what is in a model file."""
    from frugalsvm.cli.console import Page, print_json

    with reported(of_model=model):
        from frugalsvm.explain.model_card import card_of
        from frugalsvm.explain.model_contents import model_contents
        from frugalsvm.explain.model_facts import contents_sections

        contents = model_contents(model)
        check_folders(html)
        if html is not None:
            html.write_text(card_of(contents, model), encoding="utf-8")
    if as_json:
        print_json(contents)
        return
    page = Page(str(model))
    page.sections(contents_sections(contents))
    page.written(html)
