"""``frugalsvm forget``: take rows out of a model file, and write a report."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from frugalsvm.cli.errors import check_folders, reported
from frugalsvm.cli.flags import Json, ModelFile


def forget(
    model: ModelFile,
    ids: Annotated[
        Path,
        typer.Argument(
            help="File with the ids of rows, one in each line: 0 is the first row of the training. Rows that training "
            "left out have none."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Model file to write. Default: the model file itself.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write the report (JSON) to this file.")] = None,
    key_file: Annotated[Path | None, typer.Option(help="File with a key that the report is signed with.")] = None,
    certify: Annotated[
        bool, typer.Option(help="Whether to compare with a fresh factorization, and to take digests of the model.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Forget rows: the model becomes that of the other rows."""
    from frugalsvm.cli.console import print_json, tell

    target = model if output is None else output
    with reported(of_model=model):
        from frugalsvm.persist import describe
        from frugalsvm.pipelines.forgetting import forget_in_file, ids_in
        from frugalsvm.words import counted

        check_folders(target, report)
        training = describe(model).training
        algorithm = training.get("options", {}).get("algorithm")
        if algorithm is not None and not algorithm.startswith("local"):
            raise ValueError(f"{model} was trained by {algorithm}, which cannot forget rows: `train -a local` can.")
        if n := training.get("left_out"):
            what = f"training left out {counted(n, 'row')} of its data, and ids count those that were learned"
            tell(f"note: {what}")
        key = None if key_file is None else key_file.read_bytes().strip()
        found = forget_in_file(model, ids_in(ids), target, certify=certify, key=key)
        if report is not None:
            report.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if as_json:
        print_json(found)
        return
    _print(found, model, target, report)


def _print(found: dict[str, Any], model: Path, target: Path, report: Path | None) -> None:
    """Print the report for people."""
    from frugalsvm.cli.console import Page
    from frugalsvm.pipelines.forgetting import forgotten_facts
    from frugalsvm.words import counted

    page = Page(f"{model.name}: {counted(len(found['forgotten'][-1]['ids']), 'row')} forgotten")
    page.facts(forgotten_facts(found))
    previous = target.with_name(target.name + ".previous")
    for other in [model] * (target != model) + [previous] * previous.exists():
        page.sentence(f"{other} is older and still has these rows: delete it.")
    page.sentence(f"The model without these rows is in {target}.")
    if report is not None:
        page.sentence(f"The report is in {report}.")
