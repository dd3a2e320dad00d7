"""``frugalsvm evaluate``: how good the predictions of a model are."""

from pathlib import Path
from typing import Annotated

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
    Json,
    Label,
    ModelFile,
    Thousands,
    data_options,
)

__all__ = ["evaluate"]


def evaluate(
    model: ModelFile,
    data: DataFiles,
    prequential: Annotated[
        bool, typer.Option(help="Learn each batch after predicting it, and show the curve.")
    ] = False,
    device: Device = None,
    format: Format = None,
    label: Label = None,
    on_bad_line: BadLine = "fail",
    header: Header = "auto",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the confusion matrix to this file, such as confusion.png.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure a model on labeled rows."""
    from frugalsvm.cli.console import print_json
    from frugalsvm.cli.evaluation_page import draw_confusion, print_evaluation

    options = data_options(locals())
    with reported(of_model=model):
        from frugalsvm.cli.data import labels_of, rows_of
        from frugalsvm.cli.data_report import tell_skipped
        from frugalsvm.cli.model_input import device_arguments, open_for
        from frugalsvm.cli.scores import Scores, tell_doubts
        from frugalsvm.persist import load

        fitted, where = load(model), device_arguments(device)
        scores, curve = Scores(fitted.classes_), []
        opened = open_for(fitted, model, options)
        for batch in opened.batches:
            rows, labels = rows_of(batch), labels_of(batch)
            predicted = fitted.predict(rows, **where)
            scores.add(labels, predicted, fitted.decision_function(rows, **where))
            if prequential:
                curve.append({"examples": batch.end, "accuracy": float((predicted == labels).mean())})
                fitted.partial_fit(rows, labels, sample_weight=batch.weights)
        if not scores.n_examples:
            raise ValueError(f"{opened.stream.name} has no rows.")
        results, n_bad = scores.results(), getattr(opened.stream, "n_bad", 0)
        tell_skipped(opened.stream, of_model=True)
        tell_doubts(scores.labels, fitted.classes_, opened.stream)
    if picture is not None:
        with reported():
            draw_confusion(results, picture)
    if as_json:
        print_json({**results, "bad_lines": n_bad, **({"curve": curve} if curve else {})})
    else:
        print_evaluation(results, curve, f"{model.name} on {options.name}")
