"""``frugalsvm audit-forget``: whether a model still knows rows that it has forgotten."""

from pathlib import Path
from typing import Annotated, Any

import typer

from frugalsvm.cli.errors import check_folders, reported
from frugalsvm.cli.flags import READ_ROWS, Json, ModelFile, data_options, with_flags


@with_flags(*READ_ROWS)
def audit_forget(
    model: ModelFile,
    never: Annotated[
        str, typer.Option(help="File with labeled rows from the same source that the model has never seen.")
    ],
    html: Annotated[Path | None, typer.Option(help="Write an HTML page to this file.")] = None,
    as_json: Json = False,
    **reading: Any,
) -> None:
    """Test whether a model still knows forgotten rows, which are the data: labeled rows that it has forgotten."""
    from frugalsvm.cli.console import Page, print_json

    options = data_options(reading)
    with reported(of_model=model):
        check_folders(html)
        from frugalsvm.explain.forget_audit import audit_forgetting
        from frugalsvm.persist import load

        fitted = load(model)
        sources = (options, options._replace(source=never))
        forgotten, others = (_labeled_rows(fitted, model, each) for each in sources)
        found = audit_forgetting(fitted, forgotten, others)
        title = f"{model.name}: rows of {options.name}"
        if html is not None:
            html.write_text(found.to_html(title), encoding="utf-8")
    if as_json:
        print_json(found.as_dict())
        return
    page = Page(title)
    page.sentence(found.verdict())
    page.facts(found.facts())
    page.written(html)


def _labeled_rows(fitted: Any, model: Path, options: Any) -> tuple[Any, Any]:
    """All rows of a file, as the model takes them, and their labels."""
    from frugalsvm.pipelines.model_rows import open_for
    from frugalsvm.streams.batch import labels_of, rows_of, stacked

    opened = open_for(fitted, model, options)
    parts = list(opened.batches)
    if not parts:
        raise ValueError(f"{opened.stream.name} has no rows.")
    rows = stacked(parts)
    return rows_of(rows), labels_of(rows)
