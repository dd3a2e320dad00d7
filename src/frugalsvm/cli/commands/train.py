"""``frugalsvm train``: from flags to a way to train: by comparing models, as a stream, on a device, or on a cluster."""

import math
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frugalsvm.cli.catalogue import ALGORITHMS, AUTO, CATALOGUE, FOR_NUMBERS, KERNELS, LOSSES, OF_DISTANCES, scale_for
from frugalsvm.cli.console import compiling_shown, tell
from frugalsvm.cli.errors import check_folder, reported
from frugalsvm.cli.flag_rules import applies, driver_of, flag_named, refusal
from frugalsvm.cli.flags import (
    SCALES,
    TASKS,
    Algorithm,
    Json,
    Kernel,
    Metric,
    Quiet,
    Task,
    TimeBudget,
    check_metric_flag,
    checked_choice,
    completing,
    data_options,
    options_from,
    reading_flags,
    source_of,
    wrong,
)
from frugalsvm.cli.options import DataOptions, TrainOptions

if TYPE_CHECKING:
    from frugalsvm.cli.words.outcome import Outcome

__all__ = ["train"]

_Asked = tuple[DataOptions, TrainOptions, Path]  # what is read, what is trained, and the file to write


@reading_flags(learns=True)
def train(
    context: typer.Context,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")] = Path("model.frugal"),
    algorithm: Algorithm = None,
    time_budget: TimeBudget = None,
    task: Task = "auto",
    budget: Annotated[
        int | None, typer.Option(min=2, help="Maximum number of support vectors, or of landmarks (asset).")
    ] = 500,
    kernel: Kernel = "rbf",
    gamma: Annotated[float | None, typer.Option(help="Kernel coefficient. Default: chosen on the first rows.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Regularization strength (bsgd, asset). Default: chosen.")] = None,
    c: Annotated[
        float | None,
        typer.Option("--C", help="Inverse regularization strength (others; asset with --device or --dask)."),
    ] = None,
    metric: Metric = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help=f"Loss of bsgd-regressor and asset-regressor, or of asset with --dask: {', '.join(LOSSES)}.",
            autocompletion=completing(LOSSES),
        ),
    ] = None,
    quantile: Annotated[
        str | None,
        typer.Option(help="Quantiles to predict (regressors, asset with --dask), comma-separated: 0.05,0.5,0.95."),
    ] = None,
    nu: Annotated[
        float | None,
        typer.Option(help="Share of rows, from the lowest scores up, that one-class learns from. Default: 0.5."),
    ] = None,
    alarm_rate: Annotated[
        float | None, typer.Option(help="Share of rows to flag as anomalies (one-class). Default: 0.01.")
    ] = None,
    half_life: Annotated[
        str | None,
        typer.Option(
            help="For drifting streams (bsgd): halve the weight of the past every N examples, or auto (without --gamma "
            "and --alpha the default of pipes and of --prequential); inf forgets nothing."
        ),
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            help="Scale the features: auto, no, yes or robust (medians; far values clipped), soft (clipped softly), "
            "standard (means and standard deviations), following (standard, of recent rows; auto with --half-life).",
            autocompletion=completing(SCALES),
        ),
    ] = "auto",
    prequential: Annotated[
        bool, typer.Option("--prequential", help="Predict each row just before it is learned, not batch by batch.")
    ] = False,
    passes: Annotated[int, typer.Option(min=1, help="Number of passes over the data.")] = 1,
    shuffle_buffer: Annotated[int, typer.Option(min=0, help="Shuffle within a buffer of this many rows.")] = 0,
    classes: Annotated[
        str | None, typer.Option(help="All class labels, comma-separated, if the first rows lack some.")
    ] = None,
    calibrate: Annotated[bool, typer.Option("--calibrate", help="Also calibrate class probabilities.")] = False,
    checkpoint_every: Annotated[
        str | None, typer.Option(help="Save every N examples (100000), or every so often (30s, 5m).")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Device for batch training (auto, asset): cpu, cuda, cuda:1 or auto.")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(help="Dask cluster to train on: tcp://host:port or local:N; the data is a pattern of files."),
    ] = None,
    dask_tls_ca: Annotated[
        Path | None, typer.Option(help="TLS: certificate of the authority that signed the cluster's.")
    ] = None,
    dask_tls_cert: Annotated[Path | None, typer.Option(help="TLS: certificate of this client.")] = None,
    dask_tls_key: Annotated[Path | None, typer.Option(help="TLS: private key of this client.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume from the output file, at the exact example.")
    ] = False,
    changed_data: Annotated[
        bool, typer.Option("--changed-data", help="Resume even if rows that were learned have changed.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Read flags from a TOML file.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    **reading: Any,
) -> None:
    """Train a model on a file or a pipe."""
    values, given = options_from(context, config)
    with reported():
        _train(values, given)


def _train(values: dict[str, Any], given: Collection[str]) -> None:
    """Train as the flags say, and tell what came of it; ``given`` are the flags that somebody gave."""
    from frugalsvm.cli.io.interruption import ending_cleanly
    from frugalsvm.cli.words.outcome import tell_outcome
    from frugalsvm.persist.atomic import check_writable
    from frugalsvm.persist.locking import locked

    values = {**values, "data": source_of(values["data"])}
    checked_choice("--task", values["task"], TASKS)
    values["decides"] = False
    if values["algorithm"] is None:
        values["algorithm"] = _default_algorithm(values, given)
        values["decides"] = _labels_decide(values, given)
        _tell_algorithm(values, given)
        if values["algorithm"] != AUTO:
            given = [name for name in given if name != "task"]  # it has had its effect
    elif values["task"] == "regression" and values["dask"] is None and values["algorithm"] in FOR_NUMBERS:
        values["algorithm"] = FOR_NUMBERS[values["algorithm"]]
        given = [name for name in given if name != "task"]
    if values["algorithm"] in CATALOGUE and "kernel" not in given:
        values["kernel"] = CATALOGUE[values["algorithm"]].kernel
    for name, choices in (("algorithm", ALGORITHMS), ("loss", LOSSES), ("kernel", KERNELS), ("scale", SCALES)):
        if values[name] is not None:
            checked_choice(flag_named(name), values[name], choices)
    check_metric_flag(values["metric"], values["kernel"])
    driver = driver_of(values)
    _refuse(given, driver, values)
    target, quiet = Path(values["output"]), values["quiet"] or values["as_json"]
    options = _train_options(values)
    check_folder(target)
    check_writable(target)
    with ending_cleanly(), compiling_shown(quiet=quiet), locked(target):
        outcome = _DRIVERS[driver](values, given, (data_options(values), options, target), quiet=quiet)
    tell_outcome(outcome, as_json=values["as_json"])


def _default_algorithm(values: dict[str, Any], given: Collection[str]) -> str:
    """What is trained without --algorithm: models are compared, unless rows come once or flags are about one model."""
    from frugalsvm.streams.pipes import is_read_once

    if not _beyond_auto(values, given) and not is_read_once(values["data"]):
        return AUTO
    of_numbers = values["task"] == "regression" or not {"loss", "quantile"}.isdisjoint(given)
    if not of_numbers:
        return "bsgd"
    return "asset" if "dask" in given else "bsgd-regressor"


def _beyond_auto(values: dict[str, Any], given: Collection[str]) -> list[str]:
    """Flags that say more about one model than a comparison of models can take."""
    names = [name for name in given if not applies(name, "auto", AUTO)]
    odd_values = {"missing": values["missing"] == "mean", "kernel": values["kernel"] not in OF_DISTANCES}
    return names + [name for name, is_odd in odd_values.items() if is_odd]


def _labels_decide(values: dict[str, Any], given: Collection[str]) -> bool:
    """Whether the labels of a stream are to say if classes or numbers are learned: no flag has said it."""
    if values["algorithm"] not in FOR_NUMBERS or values["dask"] is not None or values["task"] != "auto":
        return False
    return all(applies(name, "stream", FOR_NUMBERS[values["algorithm"]]) for name in given if name != "task")


def _tell_algorithm(values: dict[str, Any], given: Collection[str]) -> None:
    """Say which flags have led away from the usual comparison of models."""
    from frugalsvm.streams.pipes import is_read_once

    names = [flag_named(name) for name in _beyond_auto(values, given)]
    if values["algorithm"] == AUTO or values["quiet"] or values["as_json"] or values["resume"]:
        return
    if names and not is_read_once(values["data"]) and values["dask"] is None:
        what = f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} for one algorithm"
        trained = values["algorithm"]
        trained = f"{trained}, or {FOR_NUMBERS[trained]} for numbers," if values["decides"] else trained
        tell(f"note: {what}: {trained} is trained; without, models are compared (-a auto)")


def _refuse(given: Collection[str], driver: str, values: dict[str, Any]) -> None:
    """Flags that have no effect, and values that cannot be meant."""
    from frugalsvm.streams.pipes import is_read_once

    refused = refusal(given, driver, values["algorithm"])
    if refused is not None:
        raise typer.BadParameter(refused[1], param_hint=refused[0])
    if values["algorithm"] == AUTO and values["missing"] == "mean":
        raise wrong("missing", "--algorithm auto imputes medians, not means: choose median, skip or fail.")
    for name, most in (("gamma", math.inf), ("alpha", math.inf), ("c", math.inf), ("nu", 1.0), ("alarm_rate", 1.0)):
        number = values[name]
        if number is not None and (not 0 < number <= most or number == math.inf):
            raise wrong(name, f"{number:g} is not {'a number above 0' if most > 1 else 'above 0 and at most 1'}.")
    if values["quantile"] is not None and values["loss"] not in (None, "pinball"):
        raise wrong("quantile", f"it is for --loss pinball, not for {values['loss']}: leave one of them out.")
    if values["changed_data"] and not values["resume"]:
        raise wrong("changed_data", "it needs --resume.")
    if values["passes"] > 1 and is_read_once(values["data"]):
        name = "standard input" if values["data"] == "-" else values["data"]
        advice = "save the rows to a file and train on that, or leave --passes out"
        raise wrong("passes", f"{name} can be read only once: {advice}.")


def _train_options(values: dict[str, Any]) -> TrainOptions:
    labels, quantiles, half_life = values["classes"], values["quantile"], values["half_life"]
    algorithm = CATALOGUE.get(values["algorithm"])
    made = {
        "strength": values["alpha" if algorithm is not None and algorithm.strength == "alpha" else "c"],
        "scale": scale_for(values["kernel"], values["scale"]),
        "classes": None if labels is None else tuple(_label(text.strip()) for text in labels.split(",")),
        "loss": values["loss"] if quantiles is None else "pinball",
        "quantile": None if quantiles is None else tuple(map(_quantile, quantiles.split(","))),
        "half_life": None if half_life is None else _half_life(half_life),
    }
    return TrainOptions(**{name: values[name] for name in TrainOptions._fields if name in values} | made)


def _number(text: str) -> float:
    """A number; NaN, of which no comparison is true, if it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _half_life(text: str) -> float | str:
    if text == "auto":
        return text
    if not _number(text) >= 1:
        expected = "neither auto nor a number of examples of at least 1 (inf forgets nothing)"
        raise wrong("half_life", f"{text.strip()!r} is {expected}.")
    return _number(text)


def _quantile(text: str) -> float:
    if not 0 < _number(text) < 1:
        raise wrong("quantile", f"{text.strip()!r} is not a number between 0 and 1.")
    return _number(text)


def _label(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        return text


def _as_stream(values: dict[str, Any], given: Collection[str], asked: _Asked, *, quiet: bool) -> "Outcome":
    from frugalsvm.cli.commands.train_stream import checkpoint_schedule, train_stream

    data, options, target = asked
    if options.forgets and data.shuffle == "auto":
        data = data._replace(shuffle="no")  # the order of rows is what a model that forgets learns from
    how = {name: values[name] for name in ("resume", "changed_data", "decides")}
    every = checkpoint_schedule(values["checkpoint_every"])
    return train_stream(data, options, target, every, quiet=quiet, given=given, **how)


def _by_comparison(values: dict[str, Any], given: Collection[str], asked: _Asked, *, quiet: bool) -> "Outcome":
    from frugalsvm.cli.commands.train_auto import AutoFlags, train_auto
    from frugalsvm.durations import parsed_seconds
    from frugalsvm.streams.pipes import is_read_once

    data, options, target = asked
    kernel = values["kernel"] if "kernel" in given else None
    flags = AutoFlags(parsed_seconds("time_budget", values["time_budget"]), values["task"], values["device"], kernel)

    def as_stream(algorithm: str) -> "Outcome":
        return _as_stream(values, given, (data, options._replace(algorithm=algorithm), target), quiet=quiet)

    return train_auto(*asked, flags, None if is_read_once(values["data"]) else as_stream, quiet=quiet)


def _in_memory(values: dict[str, Any], given: Collection[str], asked: _Asked, *, quiet: bool) -> "Outcome":
    from frugalsvm.cli.commands.train_in_memory import train_in_memory
    from frugalsvm.cli.io.interruption import leaving_as_it_was

    with leaving_as_it_was(asked[-1]):  # the CPU is the device of algorithms which learn all rows at once anyway
        return train_in_memory(*asked, values["device"] or "cpu", values["c"], quiet=quiet)


def _on_dask(values: dict[str, Any], given: Collection[str], asked: _Asked, *, quiet: bool) -> "Outcome":
    from frugalsvm.cli.commands.train_dask import DaskFlags, TlsFiles, train_dask
    from frugalsvm.cli.io.interruption import leaving_as_it_was

    tls = TlsFiles(values["dask_tls_ca"], values["dask_tls_cert"], values["dask_tls_key"])
    with leaving_as_it_was(asked[-1]):
        return train_dask(*asked, DaskFlags(values["dask"], values["c"], values["task"], tls), quiet=quiet)


_DRIVERS = {"dask": _on_dask, "auto": _by_comparison, "device": _in_memory, "stream": _as_stream}
