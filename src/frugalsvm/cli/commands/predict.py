"""``frugalsvm predict``: a line for every row."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from frugalsvm.cli.errors import reported
from frugalsvm.cli.flags import READ_ROWS, Device, ModelFile, data_options, with_flags, wrong

_WOULD_SHIFT = re.compile('^"|[\t\n\r]')  # what begins or ends a field for readers of tab-separated text


@with_flags(*READ_ROWS)
def predict(
    model: ModelFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write. Default: standard output.")
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Also print decision values (one-class: scores and p-values).")
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Also print class probabilities, in the order of `inspect` (of auto, or with --calibrate).",
        ),
    ] = False,
    alarm_rate: Annotated[
        float | None,
        typer.Option(help="Share of normal rows to flag as anomalies (one-class). Default: that of training."),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            help="Numbers (auto): the ends of an interval after each prediction, which hold so often, such as 0.9."
        ),
    ] = None,
    device: Device = None,
    labeled: Annotated[bool, typer.Option(help="Whether the data has a label column, which is ignored.")] = True,
    **reading: Any,
) -> None:
    """Predict the label of every row, one line each; or a number, or -1 for anomalies and 1 for other rows.

    Columns are separated by tabs. A label with a tab or a line break, or that begins with a quote, is quoted as in CSV.
    """
    options = data_options(reading)
    with reported(of_model=model):
        import numpy as np
        from sklearn.base import is_outlier_detector

        from frugalsvm.cli.options import device_arguments
        from frugalsvm.cli.words.outcome import tell_left_out
        from frugalsvm.persist import load
        from frugalsvm.pipelines.model_rows import open_for

        fitted = load(model)
        where = device_arguments(fitted, device)
        _refuse_columns(fitted, model, scores=scores, probabilities=probabilities)
        _refuse_rate(fitted, model, alarm_rate)
        width = None if interval is None else _half_width(fitted, model, interval)
        opened = open_for(fitted, model, options, has_labels=labeled)
        predicted: Callable[[Any], Any] = partial(fitted.predict, **where)
        columns: list[Callable[[Any], Any]] = []
        if is_outlier_detector(fitted):
            names = [name for name in ("score_samples", "p_values") if scores and hasattr(fitted, name)]
            columns = [getattr(fitted, name) for name in names]
            if alarm_rate is not None:
                predicted = lambda rows: np.where(fitted.p_values(rows) <= alarm_rate, -1, 1)  # noqa: E731
        elif scores or probabilities:
            columns = [fitted.predict_proba if probabilities else partial(fitted.decision_function, **where)]
        _write(_lines(opened.batches, predicted, columns, [] if width is None else [-width, width]), output)
        tell_left_out(opened)


def _refuse_columns(fitted: Any, model: Path, *, scores: bool, probabilities: bool) -> None:
    """Refuse what a model does not have beside its predictions."""
    from frugalsvm.pipelines.label_task import task_of_model
    from frugalsvm.words import CLASSES, NUMBERS

    if scores and probabilities:
        raise wrong("scores", "give --scores or --probabilities, not both.")
    task = task_of_model(fitted)
    if scores and task == NUMBERS:
        raise ValueError(f"{model} predicts {task}: --scores is for classes and novelties.")
    if probabilities and task != CLASSES:
        raise ValueError(f"{model} predicts {task}: --probabilities is for classes.")
    if probabilities and not hasattr(fitted, "predict_proba"):
        raise ValueError(f"{model} has no probabilities: train it with --calibrate, or with -a auto.")


def _half_width(fitted: Any, model: Path, coverage: float) -> float:
    """Half of the width of intervals."""
    from frugalsvm.auto.regressor import half_width

    if not 0 < coverage < 1:
        raise wrong("interval", f"{coverage:g} is not between 0 and 1.")
    if not hasattr(fitted, "out_of_fold_errors_"):
        raise ValueError(f"{model} has no intervals: --interval is for numbers, and models of `train` without -a.")
    return half_width(fitted, coverage)


def _refuse_rate(fitted: Any, model: Path, rate: float | None) -> None:
    """Refuse an alarm rate that a model cannot keep."""
    if rate is None:
        return
    if not 0 < rate <= 1:
        raise wrong("alarm_rate", f"{rate:g} is not above 0 and at most 1.")
    if not hasattr(fitted, "p_values"):
        raise ValueError(f"{model} has no p-values: --alarm-rate is for models of `train -a one-class`.")
    estimator = getattr(fitted, "estimator_", fitted)
    least = 1.0 / (1 + estimator.window)  # the smallest p-value
    if rate < least:
        raise ValueError(
            f"--alarm-rate {rate:g}: {model} knows its latest {estimator.window:,} scores, which resolve rates of "
            f"{least:.2g} and more."
        )


def _lines(
    batches: Iterable, predicted: Callable[[Any], Any], columns: list[Callable[[Any], Any]], ends: list[float]
) -> Iterator[str]:
    """A line for each row: what is predicted, which may be several quantiles, and further values if wanted.

    ``ends`` are those of an interval around a number.
    """
    from frugalsvm.streams.batch import rows_of

    for batch in batches:
        rows = rows_of(batch)
        labels = predicted(rows).tolist()
        values = [[f"{label + end:.9g}" for end in ends] for label in labels]
        for column in columns:
            found = column(rows).reshape(len(labels), -1)
            values = [line + [f"{value:.9g}" for value in row] for line, row in zip(values, found, strict=True)]
        for label, more in zip(labels, values, strict=True):
            yield "\t".join([*map(_field, label if isinstance(label, list) else [label]), *more]) + "\n"


def _field(value: Any) -> str:
    """A value as text, quoted where a line or a column would not end where it should."""
    text = str(value)
    if not _WOULD_SHIFT.search(text):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


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
