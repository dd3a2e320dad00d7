"""``frugalsvm predict``: a line for every row."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from frugalsvm.cli.errors import reported
from frugalsvm.cli.flags import (
    BadLine,
    DataFiles,
    Decimal,
    Delimiter,
    Device,
    Format,
    Header,
    Label,
    ModelFile,
    Thousands,
    data_options,
)

__all__ = ["predict"]


def predict(
    model: ModelFile,
    data: DataFiles,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; standard output otherwise.")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Decision values after the label.")] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Probabilities of the classes after the label (auto, --calibrate).")
    ] = False,
    device: Device = None,
    labelled: Annotated[bool, typer.Option(help="Whether the data has labels, which are ignored.")] = True,
    format: Format = None,
    label: Label = None,
    on_bad_line: BadLine = "fail",
    header: Header = "auto",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
) -> None:
    """Predict the label of every row, one line each."""
    options = data_options(locals())
    with reported(of_model=model):
        from frugalsvm.cli.data_report import tell_skipped
        from frugalsvm.cli.model_input import device_arguments, open_for
        from frugalsvm.persist import load

        fitted, where = load(model), device_arguments(device)
        _refuse_columns(fitted, model, scores=scores, probabilities=probabilities)
        opened = open_for(fitted, model, options, has_labels=labelled)
        _write(_lines(fitted, opened.batches, where, scores=scores, probabilities=probabilities), output)
        tell_skipped(opened.stream, of_model=True)


def _refuse_columns(fitted: Any, model: Path, *, scores: bool, probabilities: bool) -> None:
    """Refuse what a model does not have beside its predictions."""
    if scores and probabilities:
        raise typer.BadParameter("give --scores or --probabilities, not both.", param_hint="--scores")
    if (scores or probabilities) and not hasattr(fitted, "classes_"):
        flag = "--scores" if scores else "--probabilities"
        raise ValueError(f"{model} predicts numbers: {flag} is for classes.")
    if probabilities and not hasattr(fitted, "predict_proba"):
        raise ValueError(f"{model} has no probabilities: train it with --calibrate, or with -a auto.")


def _lines(
    fitted: Any, batches: Iterable, where: dict[str, str], *, scores: bool, probabilities: bool
) -> Iterator[str]:
    """The predicted label of each row, with its values if wanted; ``where`` names a device."""
    import numpy as np

    from frugalsvm.cli.data import rows_of

    for batch in batches:
        rows = rows_of(batch)
        labels = fitted.predict(rows, **where).tolist()
        if not scores and not probabilities:
            yield from (f"{label}\n" for label in labels)
            continue
        found = fitted.predict_proba(rows) if probabilities else fitted.decision_function(rows, **where)
        values = np.reshape(found, (len(labels), -1))
        for label, row in zip(labels, values, strict=True):
            yield "\t".join([str(label), *(f"{value:.9g}" for value in row)]) + "\n"


def _write(lines: Iterable[str], output: Path | None) -> None:
    """To standard output as they come; to a file only when all of them are there."""
    if output is None:
        sys.stdout.writelines(lines)
    elif output.exists() and not output.is_file():  # a device, or a pipe
        with output.open("w") as file:
            file.writelines(lines)
    else:
        from frugalsvm.persist.atomic import write_atomically

        write_atomically(output, lambda file: file.writelines(line.encode() for line in lines), what="The predictions")
