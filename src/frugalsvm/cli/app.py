"""The commands and their flags."""

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from frugalsvm._version import __version__
from frugalsvm.cli.applicable import applies
from frugalsvm.cli.catalogue import CATALOGUE
from frugalsvm.cli.errors import Printer, compiling_shown, reported
from frugalsvm.cli.exporting import DTYPES, FORMATS, exported, refuse_flags
from frugalsvm.cli.flags import (
    YES_OR_NO,
    Algorithm,
    BadLine,
    Categorical,
    DataFiles,
    Decimal,
    Delimiter,
    Device,
    Features,
    Format,
    HashFeatures,
    Header,
    Ignore,
    Json,
    Label,
    Missing,
    ModelFile,
    Quiet,
    Seed,
    Shuffle,
    Thousands,
    checked_choice,
    completing,
    data_options,
    given_flags,
    options_from,
)

app = typer.Typer(
    name="frugalsvm",
    help="Kernel SVMs that learn from streams and very large data inside a fixed budget of memory and time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: boxes leave too little room at 80 columns
    context_settings={"help_option_names": ["-h", "--help"]},
)
_console = Printer(soft_wrap=True)


def _version(shown: bool) -> None:
    if shown:
        print(f"frugalsvm {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command()
def train(
    context: typer.Context,
    data: DataFiles,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")] = Path("model.frugal"),
    algorithm: Algorithm = "bsgd",
    budget: Annotated[int | None, typer.Option(min=2, help="Largest number of vectors, or of features (asset).")] = 500,
    gamma: Annotated[float | None, typer.Option(help="Of the RBF kernel; chosen on the first rows otherwise.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Regularization (bsgd, asset); chosen otherwise.")] = None,
    c: Annotated[
        float | None, typer.Option("--C", help="The same for the others, and for asset with --device or --dask.")
    ] = None,
    scale: Annotated[
        str, typer.Option(help="Standardize the features: auto, yes, no.", autocompletion=completing(YES_OR_NO))
    ] = "auto",
    passes: Annotated[int, typer.Option(min=1, help="Passes over the data.")] = 1,
    shuffle_buffer: Annotated[int, typer.Option(min=0, help="Shuffle rows within a buffer of so many.")] = 0,
    classes: Annotated[str | None, typer.Option(help="All labels, with commas, if the first rows lack some.")] = None,
    calibrate: Annotated[bool, typer.Option("--calibrate", help="Learn probabilities as well.")] = False,
    checkpoint_every: Annotated[
        str | None, typer.Option(help="Save after so many examples (100000) or so much time (30s, 5m).")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Learn all rows at once (asset) there: cpu, cuda, cuda:1 or auto.")
    ] = None,
    dask: Annotated[
        str | None, typer.Option(help="Learn files that match a pattern on a cluster: tcp://host:port or local:N.")
    ] = None,
    dask_tls_ca: Annotated[Path | None, typer.Option(help="Certificate of who signed those of the cluster.")] = None,
    dask_tls_cert: Annotated[Path | None, typer.Option(help="Own certificate, for a cluster with TLS.")] = None,
    dask_tls_key: Annotated[Path | None, typer.Option(help="Key of the own certificate.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the output file, at the exact example.")] = False,
    changed_data: Annotated[
        bool, typer.Option("--changed-data", help="Resume although rows that were learned have changed.")
    ] = False,
    config: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="Flags in a TOML file.")] = None,
    format: Format = None,
    label: Label = None,
    on_bad_line: BadLine = "fail",
    header: Header = "auto",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    categorical: Categorical = None,
    ignore: Ignore = None,
    missing: Missing = "median",
    shuffle: Shuffle = "auto",
    hash_features: HashFeatures = None,
    features: Features = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model on a file or a pipe."""
    values, given = options_from(context, config)
    with reported():
        from frugalsvm.cli.driving import run_training

        run_training(values, given)


@app.command()
def predict(
    model: ModelFile,
    data: DataFiles,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; standard output otherwise.")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Decision values after the label.")] = False,
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
    with reported(of_model=model):
        from frugalsvm.cli.data import as_learned, open_data
        from frugalsvm.cli.fitting import fitting
        from frugalsvm.cli.predicting import predicted_lines, write_lines
        from frugalsvm.cli.showing import tell_skipped
        from frugalsvm.persist import load

        fitted, where = load(model), _where(device)
        opened = open_data(as_learned(data_options(locals()), model, fitted), has_labels=labelled)
        batches = fitting(fitted, opened.batches, opened.stream.name, labelled=False)
        write_lines(predicted_lines(fitted, batches, where, scores=scores), output)
        tell_skipped(opened.stream)


def _where(device: str | None) -> dict[str, str]:
    """Arguments of predictions; a device that is not there is told of before anything is read."""
    if device is None:
        return {}
    from frugalsvm.arrays.namespace import arrays_on

    arrays_on(device)
    return {"device": device}


@app.command()
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
    """Measure a model on labelled rows."""
    with reported(of_model=model):
        from frugalsvm.cli.data import as_learned, open_data
        from frugalsvm.cli.fitting import fitting
        from frugalsvm.cli.measuring import Tally, tell_doubts
        from frugalsvm.cli.running import labels_of, rows_of
        from frugalsvm.cli.showing import as_json as print_json
        from frugalsvm.cli.showing import table_of, tell_skipped
        from frugalsvm.persist import load

        fitted, where = load(model), _where(device)
        tally, curve = Tally(fitted.classes_), []
        opened = open_data(as_learned(data_options(locals()), model, fitted))
        for batch in fitting(fitted, opened.batches, opened.stream.name, labelled=True):
            rows = rows_of(batch)
            predicted, labels = fitted.predict(rows, **where), labels_of(batch)
            tally.add(labels, predicted, fitted.decision_function(rows, **where))
            if prequential:
                curve.append({"examples": batch.end, "accuracy": float(np.mean(predicted == labels))})
                fitted.partial_fit(rows, labels, sample_weight=batch.weights)
        if not tally.n_examples:
            raise ValueError(f"{opened.stream.name} has no rows.")
        results, n_bad = tally.results(), getattr(opened.stream, "n_bad", 0)
        tell_skipped(opened.stream)
        tell_doubts(tally, fitted.classes_, opened.stream)
    if as_json:
        print_json({**results, "bad_lines": n_bad, **({"curve": curve} if prequential else {})})
        return
    figures = {key: value for key, value in results.items() if isinstance(value, int | float)}
    _console.print(table_of("", [{"measure": key, "value": value} for key, value in figures.items()]))
    classes = results["classes"]
    confusion = [
        {"true \\ predicted": str(name), **{str(c): n for c, n in zip(classes, row, strict=True)}}
        for name, row in zip(classes, results["confusion"], strict=True)
    ]
    _console.print(table_of("confusion", confusion))
    if prequential:
        _console.print(table_of("test, then train", curve))


@app.command()
def tune(
    data: DataFiles,
    algorithm: Algorithm = "bsgd",
    budget: Annotated[list[int] | None, typer.Option(help="Budgets to try; repeat the flag.")] = None,
    rows: Annotated[int, typer.Option(min=100, help="Look at so many first rows.")] = 20_000,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the best as TOML, for `train --config`.")
    ] = None,
    format: Format = None,
    label: Label = None,
    on_bad_line: BadLine = "fail",
    header: Header = "auto",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    categorical: Categorical = None,
    ignore: Ignore = None,
    missing: Missing = "median",
    shuffle: Shuffle = "auto",
    hash_features: HashFeatures = None,
    features: Features = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Find gamma, regularization and budget by successive halving on the first rows."""
    checked_choice("--algorithm", algorithm, CATALOGUE)
    if budget and not applies("budget", "stream", algorithm):
        raise typer.BadParameter(f"{algorithm} keeps as many vectors as it needs: leave it out.", param_hint="--budget")
    with reported():
        from frugalsvm.cli.beginning import begin, check_enough, check_size, tell_begun
        from frugalsvm.cli.choosing import grid_for, halved, usual_gamma
        from frugalsvm.cli.data import prepared
        from frugalsvm.cli.showing import Status, table_of
        from frugalsvm.cli.showing import as_json as print_json

        begun = begin(data_options(locals()), rows)
        tell_begun(begun, quiet=as_json)
        for size in budget or (500,):
            check_size(begun, algorithm, size)
        first = prepared(begun.head, impute=begun.data.imputes)
        check_enough(begun, first.y)
        grid = grid_for(algorithm, usual_gamma(first.X), budgets=tuple(budget) if budget else (500,))
        words = f"Trying {len(grid)} candidates on up to {len(first.y):,} rows ..."
        with Status(words, quiet=as_json), compiling_shown(quiet=as_json):
            rounds = halved(algorithm, first.X, first.y, grid, seed)
    strength = CATALOGUE[algorithm].strength
    names = {"gamma": "gamma", **({strength.lower(): "strength"} if strength else {})}
    names |= {"budget": "budget"} if CATALOGUE[algorithm].budgeted else {}
    shown = [
        {"rows": trial.rows, **{flag: trial.settings[name] for flag, name in names.items()}, "accuracy": trial.accuracy}
        for trials in rounds
        for trial in trials
    ]
    best = rounds[-1][0]
    flags = {"algorithm": algorithm, **{flag: best.settings[name] for flag, name in names.items()}}
    if output is not None:
        with reported():
            output.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in flags.items()))
    if as_json:
        print_json({"best": flags, "accuracy": best.accuracy, "trials": shown})
    else:
        _console.print(table_of("Successive halving", shown))
        _console.print(
            "best: " + " ".join(f"--{'C' if k == 'c' else k} {v}" for k, v in flags.items()), highlight=False
        )


@app.command()
def inspect(model: ModelFile, as_json: Json = False) -> None:
    """Tell what is in a model file."""
    with reported(of_model=model):
        from frugalsvm.cli.inspecting import contents_of
        from frugalsvm.cli.showing import as_json as print_json
        from frugalsvm.cli.showing import table_of

        contents = contents_of(model)
    if as_json:
        print_json(contents)
        return
    digest = contents.pop("sha256")
    rows = [
        {"what": key, "value": json.dumps(value, default=str) if isinstance(value, dict | list) else str(value)}
        for key, value in contents.items()
    ]
    _console.print(table_of(str(model), rows))
    _console.print(f"sha256 {digest}", soft_wrap=True, highlight=False)  # in one line, to be copied


@app.command()
def export(
    context: typer.Context,
    model: ModelFile,
    to: Annotated[str, typer.Option(help="onnx, c or libsvm.", autocompletion=completing(FORMATS))],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; for c, the folder.")],
    name: Annotated[str, typer.Option(help="Prefix of the C functions and files.")] = "model",
    dtype: Annotated[
        str,
        typer.Option(help="Type of all numbers in onnx and c: float32 or float64.", autocompletion=completing(DTYPES)),
    ] = "float32",
) -> None:
    """Write a model for other programs."""
    refuse_flags(to, dtype, given_flags(context))
    with reported(of_model=model):
        told = exported(model, to, output, name=name, dtype=dtype)
    _console.print(told, highlight=False, markup=False)


@app.command()
def algorithms(as_json: Json = False) -> None:
    """List the algorithms: what each is for, and what it costs."""
    from frugalsvm.cli.showing import as_json as print_json
    from frugalsvm.cli.showing import table_of

    rows = [
        {"algorithm": name, "for": a.purpose, "cost per example": a.cost, "memory": a.memory}
        for name, a in CATALOGUE.items()
    ]
    if as_json:
        print_json(rows)
    else:
        Printer().print(table_of("", rows))


@app.command()
def info(as_json: Json = False) -> None:
    """Tell what is installed: versions, extras, devices, threads."""
    from frugalsvm.cli.about import facts, rows_of_facts
    from frugalsvm.cli.showing import as_json as print_json
    from frugalsvm.cli.showing import table_of

    told = facts()
    if as_json:
        print_json(told)
    else:
        _console.print(table_of("", rows_of_facts(told)), markup=False)


@app.command()
def demo(
    examples: Annotated[int, typer.Option(min=1000, help="How many to stream.")] = 1_000_000,
    budget: Annotated[int, typer.Option(min=2, help="Support vectors.")] = 100,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the picture.")] = Path("output"),
) -> None:
    """Stream a million noisy examples through a small model, and draw it."""
    with reported():
        from frugalsvm.demo import main

        # A list, also where nothing was given: otherwise the demo would read the words of this command line.
        main(["--examples", str(examples), "--budget", str(budget), "--output", str(output)])
