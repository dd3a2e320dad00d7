"""``frugalsvm forget``: take rows out of a model file, and write a report."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from frugalsvm.cli.errors import check_folder, reported
from frugalsvm.cli.flags import Json, ModelFile

__all__ = ["forget"]

_SHOWN = 10  # ids


def forget(
    model: ModelFile,
    ids: Annotated[
        Path, typer.Argument(help="File with the ids of rows, one in each line: 0 is the first row of the training.")
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
    from frugalsvm.cli.console import print_json

    target = model if output is None else output
    with reported(of_model=model):
        for path in filter(None, (target, report)):
            check_folder(path)
        key = None if key_file is None else key_file.read_bytes().strip()
        found = _forgotten(model, _ids_in(ids), target, certify=certify, key=key)
        if report is not None:
            report.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if as_json:
        print_json(found)
        return
    _print(found, model, target, report)


def _ids_in(path: Path) -> list[int]:
    """The ids in the first column of a file; a header is skipped."""
    lines = [line.split(",")[0].split(";")[0].strip().strip('"') for line in path.read_text("utf-8-sig").splitlines()]
    lines = [line for line in lines if line]
    if lines and not _is_id(lines[0]):
        lines = lines[1:]
    for number, line in enumerate(lines, 1):
        if not _is_id(line):
            raise ValueError(f"{path.name} has {line!r} as id {number}: expected whole numbers, one in each line.")
    if not lines:
        raise ValueError(f"{path.name} has no ids.")
    return list(dict.fromkeys(map(int, lines)))


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _forgotten(model: Path, ids: list[int], target: Path, *, certify: bool, key: bytes | None) -> dict[str, Any]:
    """Forget rows of a model file; returns the report."""
    from frugalsvm.estimators.forget_reports import signed
    from frugalsvm.persist import describe, digest_of, load, save
    from frugalsvm.pipelines.forgetting import forgetting_model, kept_around

    before, metadata = digest_of(model), describe(model).metadata
    fitted = load(model, expected_digest=before)
    inner = forgetting_model(fitted)
    inner.unlearn(ids, certify=certify)
    around = kept_around(fitted)
    save(fitted, target, metadata=metadata)
    found = inner.forget_report()
    if metadata:
        around.append("metadata of the training")
    found["aggregates that stay"] = found["aggregates that stay"] + around
    found["files"] = {"before": before, "after": digest_of(target)}
    return signed(found, key)


def _print(found: dict[str, Any], model: Path, target: Path, report: Path | None) -> None:
    """Print the report for people."""
    from frugalsvm.cli.words.page import Page
    from frugalsvm.words import counted

    page, last = Page(), found["forgotten"][-1]
    page.heading(f"{model.name}: {counted(len(last['ids']), 'row')} forgotten")
    facts = [("ids", ", ".join(map(str, last["ids"][:_SHOWN])) + (", ..." if len(last["ids"]) > _SHOWN else ""))]
    facts.append(("rows left", f"{found['rows']:,}"))
    if "cells" in last:
        facts.append(("cells solved again", ", ".join(map(str, last["cells"]))))
        facts.append(("structure", found["structure"]))
    if "residual" in last:
        facts.append(("difference to a fresh factorization", f"{last['residual']:.1e}"))
    facts.append(("file before", found["files"]["before"]))
    facts.append(("file after", found["files"]["after"]))
    facts.append(("aggregates that stay", ", ".join(found["aggregates that stay"]) or "none"))
    page.facts(facts)
    previous = target.with_name(target.name + ".previous")
    for other in [model] * (target != model) + [previous] * previous.exists():
        page.sentence(f"{other} is older and still has these rows: delete it.")
    page.sentence(f"The model without these rows is in {target}.")
    if report is not None:
        page.sentence(f"The report is in {report}.")
