"""``frugalsvm evaluate``: how good the predictions of a model are."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from frugalsvm.cli.errors import check_folders, reported
from frugalsvm.cli.flags import READ_ROWS, Device, Json, ModelFile, data_options, with_flags, wrong

_WINDOW_ROWS = 1000


@with_flags(*READ_ROWS)
def evaluate(
    model: ModelFile,
    prequential: Annotated[
        bool, typer.Option(help="Learn each row after predicting it, and report scores per window of rows.")
    ] = False,
    curve: Annotated[
        Path | None, typer.Option(help="Write the scores of all windows to this CSV file (with --prequential).")
    ] = None,
    window: Annotated[
        int | None, typer.Option(min=1, help=f"Rows per window (with --prequential). Default: {_WINDOW_ROWS}.")
    ] = None,
    anomaly: Annotated[
        str | None, typer.Option(help="Label of anomalies (one-class). Default: -1, or 1 if the labels are 0 and 1.")
    ] = None,
    device: Device = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the confusion matrix to this file, such as confusion.png.")
    ] = None,
    as_json: Json = False,
    **reading: Any,
) -> None:
    """Measure a model on labeled rows."""
    from frugalsvm.cli.console import Page, print_json
    from frugalsvm.metrics.in_words import evaluation_sections

    options = data_options(reading)
    for flag, value in (("curve", curve), ("window", window)):
        if value is not None and not prequential:
            raise wrong(flag, "it needs --prequential.")
    with reported(of_model=model):
        from frugalsvm.cli.options import device_arguments
        from frugalsvm.cli.words.outcome import tell_left_out
        from frugalsvm.metrics.collected import scores_for
        from frugalsvm.metrics.windows import Curve
        from frugalsvm.persist import load
        from frugalsvm.persist.savable import FOR_PREDICTION
        from frugalsvm.pipelines.label_task import task_of_model
        from frugalsvm.pipelines.model_rows import open_for
        from frugalsvm.pipelines.prequential import learned_in_turn
        from frugalsvm.streams.batch import labels_of, rows_of
        from frugalsvm.words import CLASSES, NOVELTIES

        check_folders(curve)
        fitted = load(model)
        where, task = device_arguments(fitted, device), task_of_model(fitted)
        scores = scores_for(fitted, partial(_label_of_anomalies, wanted=anomaly))
        windows = Curve(window or _WINDOW_ROWS, scores.of_batch)
        # A device is for many rows at once. Scores of unusual rows are needed as well, and come in batches.
        in_turn = prequential and task != NOVELTIES and device is None
        if prequential and getattr(getattr(fitted, "estimator_", fitted), FOR_PREDICTION, False):
            raise ValueError(
                "the model cannot learn more rows: leave --prequential out, or train it with -a bsgd, for example."
            )
        if task != CLASSES and picture is not None:
            raise ValueError(f"{model} predicts {task}, which have no confusion matrix: leave --picture out.")
        if task != NOVELTIES and anomaly is not None:
            raise ValueError(f"{model} predicts {task}: --anomaly is for models of `train -a one-class`.")
        opened = open_for(fitted, model, options)
        for batch in opened.batches:
            rows, labels, more = rows_of(batch), labels_of(batch), []
            if in_turn:
                predicted = learned_in_turn(fitted, batch)
            else:
                predicted = fitted.predict(rows, **where)
                if hasattr(fitted, "decision_function"):
                    more.append(fitted.decision_function(rows, **where))
                if task == CLASSES and hasattr(fitted, "predict_proba"):
                    more.append(fitted.predict_proba(rows))
            scores.add(labels, predicted, *more)
            if prequential:
                windows.add(labels, predicted)
                if not in_turn:
                    fitted.partial_fit(rows, labels, sample_weight=batch.weights)
        if not scores.n_examples:
            raise ValueError(f"{opened.stream.name} has no rows.")
        results, curve_rows = scores.results(), windows.rows()
        tell_left_out(opened)
        if task == CLASSES:
            _tell_doubts(scores.labels, fitted.classes_, opened.stream)
    with reported():
        if picture is not None:
            from frugalsvm.plots.confusion import draw_confusion

            draw_confusion(results, picture)
        if curve is not None:
            windows.write_csv(curve)
    if as_json:
        counts = {"bad_lines": opened.stream.n_bad, **opened.surprises.counts()}
        print_json({**results, **counts, **({"curve": curve_rows} if prequential else {})})
        return
    page = Page(f"{model.name} on {options.name}")
    elsewhere = {"all_classes": "; --json has all", "all_windows": "; --curve and --json have all"}
    page.sections(evaluation_sections(results, curve_rows, **elsewhere))


def _label_of_anomalies(known: list[str], wanted: str | None) -> str:
    """The label of unusual rows: the one that was named, or -1, or 1 beside 0, as collections of anomalies have it."""
    if wanted is not None:
        if wanted not in known:
            from frugalsvm.words import few

            raise ValueError(f"--anomaly {wanted}: no row has this label; labels are {few(known)}.")
        return wanted
    if "-1" in known:
        return "-1"
    if set(known) <= {"0", "1"}:
        return "1"
    raise ValueError(f"Labels are {', '.join(map(repr, known[:3]))}: --anomaly says which is that of unusual rows.")


def _tell_doubts(labels: Any, classes: Any, stream: Any) -> None:
    """Refuse labels that the model does not know; tell why the figures may not mean what they say."""
    import numpy as np

    from frugalsvm.cli.console import tell
    from frugalsvm.words import few

    if not np.isin(labels.astype(str), classes.astype(str)).any():
        found = f"{stream.name} has labels like {labels.tolist()[0]!r}"
        raise ValueError(f"{found}, and the model knows {few(classes.tolist())}: is --label the right column?")
    if len(labels) == 1:
        tell(f"warning: all rows of {stream.name} have the label {labels.tolist()[0]!r}: accuracy says little")
