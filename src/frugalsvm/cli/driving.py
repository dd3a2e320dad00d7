"""From the flags of `frugalsvm train` to a way to train: as a stream, on a device, or on a cluster."""

import math
import signal
from collections.abc import Collection
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from frugalsvm.cli.applicable import driver_of, flag_named, refusal
from frugalsvm.cli.catalogue import CATALOGUE
from frugalsvm.cli.errors import Printer, compiling_shown
from frugalsvm.cli.flags import YES_OR_NO, checked_choice, data_options, source_of
from frugalsvm.cli.options import TrainOptions
from frugalsvm.cli.outcome import tell_outcome
from frugalsvm.cli.pipes import is_read_once
from frugalsvm.persist.atomic import check_writable
from frugalsvm.persist.locking import locked

__all__ = ["run_training"]


def run_training(values: dict[str, Any], given: Collection[str]) -> None:
    """Train as the flags say, and tell what came of it; ``given`` are the flags that somebody gave."""
    checked_choice("--algorithm", values["algorithm"], CATALOGUE)
    checked_choice("--scale", values["scale"], YES_OR_NO)
    values = {**values, "data": source_of(values["data"])}
    driver = driver_of(values)
    _refuse(given, driver, values)
    target, quiet = Path(values["output"]), values["quiet"] or values["as_json"]
    options = _train_options(values)
    if not target.parent.is_dir():
        raise OSError(f"There is no folder {target.parent} to write {target.name} to.")
    check_writable(target)
    with _cleaning_up(), compiling_shown(quiet=quiet), locked(target):
        if driver == "dask":
            _on_dask(values, target, quiet=quiet)
            return
        if driver == "device":
            from frugalsvm.cli.whole import train_whole

            outcome = train_whole(data_options(values), options, target, values["device"], values["c"], quiet=quiet)
        else:
            outcome = _as_stream(values, given, options, target, quiet=quiet)
    tell_outcome(outcome, target, values["as_json"])


def _refuse(given: Collection[str], driver: str, values: dict[str, Any]) -> None:
    """Flags that have no effect, and values that cannot be meant."""
    refused = refusal(given, driver, values["algorithm"])
    if refused is not None:
        flag, reason = refused
        raise typer.BadParameter(reason, param_hint=flag)
    for name in ("gamma", "alpha", "c"):
        number = values[name]
        if number is not None and not 0 < number < math.inf:
            raise typer.BadParameter(f"{number:g} is not a number above 0.", param_hint=flag_named(name))
    if values["changed_data"] and not values["resume"]:
        raise typer.BadParameter("it says how to go on with --resume, which is not there.", param_hint="--changed-data")
    if values["passes"] > 1 and is_read_once(values["data"]):
        name = "standard input" if values["data"] == "-" else values["data"]
        raise typer.BadParameter(
            f"{name} can be read once only: save the rows to a file and train on that, or leave --passes out.",
            param_hint="--passes",
        )


def _train_options(values: dict[str, Any]) -> TrainOptions:
    labels = values["classes"]
    return TrainOptions(
        algorithm=values["algorithm"],
        budget=values["budget"],
        gamma=values["gamma"],
        strength=values["alpha"] if CATALOGUE[values["algorithm"]].strength == "alpha" else values["c"],
        scale=values["scale"],
        passes=values["passes"],
        classes=None if labels is None else tuple(_label(text.strip()) for text in labels.split(",")),
        calibrate=values["calibrate"],
        seed=values["seed"],
    )


def _label(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        return text


def _as_stream(values: dict[str, Any], given: Collection[str], options: TrainOptions, target: Path, *, quiet: bool):
    from frugalsvm.cli.running import Every
    from frugalsvm.cli.train import train

    return train(
        data_options(values),
        options,
        target,
        Every.parsed(values["checkpoint_every"]),
        resume=values["resume"],
        quiet=quiet,
        given=given,
        changed_data=values["changed_data"],
    )


def _on_dask(values: dict[str, Any], target: Path, *, quiet: bool) -> None:
    from frugalsvm.cli.dask_training import TlsFiles, train_on_dask
    from frugalsvm.cli.showing import as_json as print_json

    if not isinstance(values["data"], str):
        raise typer.BadParameter("give one file or one pattern in quotes, such as 'part-*.csv'.", param_hint="--dask")
    settings = {name: values[name] for name in ("budget", "gamma", "alpha")} | {"random_state": values["seed"]}
    if values["algorithm"] == "asset":
        settings["C"] = values["c"]
    told = train_on_dask(
        values["dask"],
        values["data"],
        values["label"],
        values["algorithm"],
        settings,
        target,
        delimiter=values["delimiter"],
        tls=TlsFiles(values["dask_tls_ca"], values["dask_tls_cert"], values["dask_tls_key"]),
        quiet=quiet,
    )
    if values["as_json"]:
        print_json(told)
    else:
        words = f"{target}: {told['bytes']:,} bytes, {told['rounds']} rounds"
        Printer(soft_wrap=True).print(words, highlight=False, markup=False)


@contextmanager
def _cleaning_up():
    """End by SIGTERM and SIGHUP as by an error, so that nothing is left behind; training has handlers of its own."""

    def leave(number, frame):
        raise SystemExit(128 + number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names if signal.getsignal(getattr(signal, name)) == signal.SIG_DFL]
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
