"""``frugalsvm evaluate``: how good the predictions of a model are."""

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
    as_json: Json = False,
) -> None:
    """Measure a model on labeled rows."""
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
    _print(results, n_bad, curve, as_json=as_json)


def _print(results: dict[str, Any], n_bad: int, curve: list[dict[str, Any]], *, as_json: bool) -> None:
    from frugalsvm.cli.console import Printer, print_json, table_of

    if as_json:
        print_json({**results, "bad_lines": n_bad, **({"curve": curve} if curve else {})})
        return
    printer = Printer()
    figures = {key: value for key, value in results.items() if isinstance(value, int | float)}
    printer.print(table_of("", [{"measure": key, "value": value} for key, value in figures.items()]))
    classes = results["classes"]
    confusion = [
        {"true \\ predicted": str(name), **{str(c): n for c, n in zip(classes, row, strict=True)}}
        for name, row in zip(classes, results["confusion"], strict=True)
    ]
    printer.print(table_of("confusion", confusion))
    if curve:
        printer.print(table_of("test, then train", curve))
