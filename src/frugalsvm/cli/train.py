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
)
from frugalsvm.cli.options import TrainOptions

if TYPE_CHECKING:
    from frugalsvm.cli.outcome import Outcome

__all__ = ["train"]


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
    from frugalsvm.cli.interruption import ending_cleanly, leaving_as_it_was
    from frugalsvm.cli.outcome import tell_outcome
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
    checked_choice("--algorithm", values["algorithm"], ALGORITHMS)
    if values["loss"] is not None:
        checked_choice("--loss", values["loss"], LOSSES)
    if values["algorithm"] in CATALOGUE and "kernel" not in given:
        values["kernel"] = CATALOGUE[values["algorithm"]].kernel
    checked_choice("--kernel", values["kernel"], KERNELS)
    checked_choice("--scale", values["scale"], SCALES)
    check_metric_flag(values["metric"], values["kernel"])
    driver = driver_of(values)
    _refuse(given, driver, values)
    target, quiet = Path(values["output"]), values["quiet"] or values["as_json"]
    options = _train_options(values)
    check_folder(target)
    check_writable(target)
    with ending_cleanly(), compiling_shown(quiet=quiet), locked(target):
        if driver == "dask":
            with leaving_as_it_was(target):
                outcome = _on_dask(values, options, target, quiet=quiet)
        elif driver == "auto":
            outcome = _by_comparison(values, given, options, target, quiet=quiet)
        elif driver == "device":
            with leaving_as_it_was(target):
                outcome = _in_memory(values, options, target, quiet=quiet)
        else:
            outcome = _as_stream(values, given, options, target, quiet=quiet)
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
        flag, reason = refused
        raise typer.BadParameter(reason, param_hint=flag)
    if values["algorithm"] == AUTO and values["missing"] == "mean":
        raise typer.BadParameter(
            "--algorithm auto imputes medians, not means: choose median, skip or fail.", param_hint="--missing"
        )
    for name in ("gamma", "alpha", "c"):
        number = values[name]
        if number is not None and not 0 < number < math.inf:
            raise typer.BadParameter(f"{number:g} is not a number above 0.", param_hint=flag_named(name))
    for name in ("nu", "alarm_rate"):
        share = values[name]
        if share is not None and not 0 < share <= 1:
            raise typer.BadParameter(f"{share:g} is not above 0 and at most 1.", param_hint=flag_named(name))
    if values["quantile"] is not None and values["loss"] not in (None, "pinball"):
        raise typer.BadParameter(
            f"it is for --loss pinball, not for {values['loss']}: leave one of them out.", param_hint="--quantile"
        )
    if values["changed_data"] and not values["resume"]:
        raise typer.BadParameter("it needs --resume.", param_hint="--changed-data")
    if values["passes"] > 1 and is_read_once(values["data"]):
        name = "standard input" if values["data"] == "-" else values["data"]
        raise typer.BadParameter(
            f"{name} can be read only once: save the rows to a file and train on that, or leave --passes out.",
            param_hint="--passes",
        )


def _train_options(values: dict[str, Any]) -> TrainOptions:
    labels, quantiles = values["classes"], values["quantile"]
    return TrainOptions(
        algorithm=values["algorithm"],
        budget=values["budget"],
        kernel=values["kernel"],
        gamma=values["gamma"],
        strength=values["alpha"] if _has_alpha(values["algorithm"]) else values["c"],
        scale=scale_for(values["kernel"], values["scale"]),
        passes=values["passes"],
        classes=None if labels is None else tuple(_label(text.strip()) for text in labels.split(",")),
        calibrate=values["calibrate"],
        seed=values["seed"],
        metric=values["metric"],
        loss=values["loss"] if quantiles is None else "pinball",
        quantile=None if quantiles is None else tuple(map(_quantile, quantiles.split(","))),
        nu=values["nu"],
        alarm_rate=values["alarm_rate"],
        half_life=None if values["half_life"] is None else _half_life(values["half_life"]),
        prequential=values["prequential"],
    )


def _half_life(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not found >= 1:
        raise typer.BadParameter(
            f"{text.strip()!r} is neither auto nor a number of examples of at least 1 (inf forgets nothing).",
            param_hint="--half-life",
        )
    return found


def _quantile(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found < 1:
        raise typer.BadParameter(f"{text.strip()!r} is not a number between 0 and 1.", param_hint="--quantile")
    return found


def _has_alpha(algorithm: str) -> bool:
    return algorithm in CATALOGUE and CATALOGUE[algorithm].strength == "alpha"


def _label(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        return text


def _as_stream(
    values: dict[str, Any], given: Collection[str], options: TrainOptions, target: Path, *, quiet: bool
) -> "Outcome":
    from frugalsvm.cli.train_stream import train_stream
    from frugalsvm.cli.training_loop import CheckpointSchedule

    data = data_options(values)
    if options.forgets and data.shuffle == "auto":
        data = data._replace(shuffle="no")  # the order of rows is what a model that forgets learns from
    return train_stream(
        data,
        options,
        target,
        CheckpointSchedule.parsed(values["checkpoint_every"]),
        resume=values["resume"],
        quiet=quiet,
        given=given,
        changed_data=values["changed_data"],
        decides=values["decides"],
    )


def _by_comparison(
    values: dict[str, Any], given: Collection[str], options: TrainOptions, target: Path, *, quiet: bool
) -> "Outcome":
    from frugalsvm.cli.train_auto import AutoFlags, train_auto
    from frugalsvm.durations import parsed_seconds
    from frugalsvm.streams.pipes import is_read_once

    kernel = values["kernel"] if "kernel" in given else None
    flags = AutoFlags(parsed_seconds("time_budget", values["time_budget"]), values["task"], values["device"], kernel)

    def as_stream(algorithm: str) -> "Outcome":
        return _as_stream(values, given, options._replace(algorithm=algorithm), target, quiet=quiet)

    again = None if is_read_once(values["data"]) else as_stream
    return train_auto(data_options(values), options, target, flags, again, quiet=quiet)


def _in_memory(values: dict[str, Any], options: TrainOptions, target: Path, *, quiet: bool) -> "Outcome":
    from frugalsvm.cli.train_in_memory import train_in_memory

    device = values["device"] or "cpu"  # that of algorithms which learn all rows at once anyway
    return train_in_memory(data_options(values), options, target, device, values["c"], quiet=quiet)


def _on_dask(values: dict[str, Any], options: TrainOptions, target: Path, *, quiet: bool) -> "Outcome":
    from frugalsvm.cli.train_dask import DaskFlags, TlsFiles, train_dask

    tls = TlsFiles(values["dask_tls_ca"], values["dask_tls_cert"], values["dask_tls_key"])
    flags = DaskFlags(values["dask"], values["c"], values["task"], tls)
    return train_dask(data_options(values), options, target, flags, quiet=quiet)
