"""``frugalsvm train``: from flags to a way to train: by comparing models, as a stream, on a device, or on a cluster."""

import math
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from frugalsvm.cli.catalogue import AUTO, CATALOGUE, FOR_NUMBERS, OF_DISTANCES, scale_for
from frugalsvm.cli.console import compiling_shown, tell
from frugalsvm.cli.errors import check_folders, reported
from frugalsvm.cli.flag_rules import applies, driver_of, flag_named, refusal
from frugalsvm.cli.flags import FLAGS, check_metric_flag, data_options, options_from, with_flags, wrong
from frugalsvm.cli.options import Request, TrainOptions

if TYPE_CHECKING:
    from frugalsvm.pipelines.reading import DataOptions


# The function of each driver, in the module of its name
_DRIVERS = {"dask": "train_dask", "auto": "train_auto", "device": "train_in_memory", "stream": "train_stream"}


@with_flags(*FLAGS)
def train(context: typer.Context, **flags: Any) -> None:
    """Train a model on a file or a pipe."""
    values, given = options_from(context)
    with reported():
        _train(values, given)


def _train(values: dict[str, Any], given: Collection[str]) -> None:
    """Train as the flags say, and tell what came of it; ``given`` are the flags that somebody gave."""
    from frugalsvm.cli.errors import ending_cleanly
    from frugalsvm.cli.words.outcome import tell_outcome
    from frugalsvm.persist.atomic import check_writable, locked

    data, output, quiet = data_options(values), Path(values["output"]), values["quiet"] or values["as_json"]
    decides = False
    if values["algorithm"] is None:
        values["algorithm"] = _default_algorithm(values, given, data)
        decides = _labels_decide(values, given)
        if values["algorithm"] != AUTO:
            _tell_algorithm(values, given, data, decides=decides, quiet=quiet)
            given = [name for name in given if name != "task"]  # it has had its effect
    elif values["task"] == "regression" and values["dask"] is None and values["algorithm"] in FOR_NUMBERS:
        values["algorithm"] = FOR_NUMBERS[values["algorithm"]]
        given = [name for name in given if name != "task"]
    if values["algorithm"] in CATALOGUE and "kernel" not in given:
        values["kernel"] = CATALOGUE[values["algorithm"]].kernel
    check_metric_flag(values["metric"], values["kernel"])
    driver = driver_of(values)
    _refuse(given, driver, values, data)
    request = Request(data, _train_options(values), output, values, given, decides, quiet)
    check_folders(output)
    check_writable(output)
    with ending_cleanly(), compiling_shown(quiet=quiet), locked(output):
        module = import_module(f"frugalsvm.cli.commands.{_DRIVERS[driver]}")
        outcome = getattr(module, _DRIVERS[driver])(request)
    tell_outcome(outcome, as_json=values["as_json"])


def _default_algorithm(values: dict[str, Any], given: Collection[str], data: "DataOptions") -> str:
    """What is trained without --algorithm: models are compared, unless rows come once or flags are about one model."""
    if not _beyond_auto(values, given) and not data.is_read_once:
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


def _tell_algorithm(
    values: dict[str, Any], given: Collection[str], data: "DataOptions", *, decides: bool, quiet: bool
) -> None:
    """Say which flags have led away from the usual comparison of models."""
    names = [flag_named(name) for name in _beyond_auto(values, given)]
    if names and not (quiet or values["resume"] or data.is_read_once or values["dask"] is not None):
        what = f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} for one algorithm"
        trained = values["algorithm"]
        trained = f"{trained}, or {FOR_NUMBERS[trained]} for numbers," if decides else trained
        tell(f"note: {what}: {trained} is trained; without, models are compared (-a auto)")


def _refuse(given: Collection[str], driver: str, values: dict[str, Any], data: "DataOptions") -> None:
    """Flags that have no effect, and values that cannot be meant."""
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
    if values["passes"] > 1 and data.is_read_once:
        name = "standard input" if data.source == "-" else data.name
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
