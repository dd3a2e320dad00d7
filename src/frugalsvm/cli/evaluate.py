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
    anomaly: Annotated[
        str | None, typer.Option(help="Label of unusual rows (one-class); -1, or 1 beside 0, otherwise.")
    ] = None,
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
        from frugalsvm.cli.catalogue import CLASSES, NOVELTIES
        from frugalsvm.cli.data import labels_of, rows_of
        from frugalsvm.cli.data_report import tell_skipped
        from frugalsvm.cli.model_input import device_arguments, open_for, task_of_model
        from frugalsvm.cli.scores import Scores, scores_for, tell_doubts
        from frugalsvm.persist import load
        from frugalsvm.persist.savable import FOR_PREDICTION

        fitted = load(model)
        where, task, curve = device_arguments(fitted, device), task_of_model(fitted), []
        scores = scores_for(task, fitted, anomaly)
        if prequential and getattr(getattr(fitted, "estimator_", fitted), FOR_PREDICTION, False):
            raise ValueError("the model cannot learn on: leave --prequential out, or train it with -a bsgd, for one.")
        if task != CLASSES and picture is not None:
            raise ValueError(f"{model} predicts {task}, which have no confusion matrix: leave --picture out.")
        if task != NOVELTIES and anomaly is not None:
            raise ValueError(f"{model} predicts {task}: --anomaly is for models of `train -a one-class`.")
        opened = open_for(fitted, model, options)
        for batch in opened.batches:
            rows, labels = rows_of(batch), labels_of(batch)
            predicted = fitted.predict(rows, **where)
            values = fitted.decision_function(rows, **where) if hasattr(fitted, "decision_function") else predicted
            scores.add(labels, predicted, values)
            if prequential:
                curve.append({"examples": batch.end, **scores.of_batch(labels, predicted)})
                fitted.partial_fit(rows, labels, sample_weight=batch.weights)
        if not scores.n_examples:
            raise ValueError(f"{opened.stream.name} has no rows.")
        results, n_bad = scores.results(), getattr(opened.stream, "n_bad", 0)
        tell_skipped(opened.stream, of_model=True)
        if isinstance(scores, Scores):
            tell_doubts(scores.labels, fitted.classes_, opened.stream)
    if picture is not None:
        with reported():
            draw_confusion(results, picture)
    if as_json:
        print_json({**results, "bad_lines": n_bad, **({"curve": curve} if curve else {})})
    else:
        print_evaluation(results, curve, f"{model.name} on {options.name}")
