"""``frugalsvm tune``: algorithms compared, or the parameters of one; on a pipe, while its rows come."""

import json
from collections.abc import Collection
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from frugalsvm.cli.catalogue import ALGORITHMS, AUTO, CATALOGUE, CLASSES, KERNELS, scale_for
from frugalsvm.cli.errors import check_folder, reported
from frugalsvm.cli.flag_rules import applies, driver_of, flag_named, refusal
from frugalsvm.cli.flags import (
    READING,
    Algorithm,
    Json,
    Kernel,
    Metric,
    check_metric_flag,
    checked_choice,
    data_options,
    given_flags,
    reading_flags,
    source_of,
    wrong,
)
from frugalsvm.cli.options import TrainOptions

__all__ = ["tune"]

_OF_ONE_MODEL = ("budget", "kernel", "metric")
_BUDGET = 500


@reading_flags(learns=True)
def tune(
    context: typer.Context,
    algorithm: Algorithm = None,
    time_budget: Annotated[str | None, typer.Option(help="Time limit: 60s, 5min, 1h. Default: a few minutes.")] = None,
    kernel: Kernel = "rbf",
    metric: Metric = None,
    budget: Annotated[list[int] | None, typer.Option(min=2, help="Budgets to try; repeat the flag.")] = None,
    rows: Annotated[
        int, typer.Option(min=100, help="Number of rows to compare on, drawn from the whole file.")
    ] = 20_000,
    once: Annotated[
        bool, typer.Option("--once", help="Read a file once, like a pipe; candidates learn side by side.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the best parameters as TOML, for `train --config`.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Also write the winning model, if rows are read once (- or --once).")
    ] = None,
    as_json: Json = False,
    **reading: Any,
) -> None:
    """Compare algorithms on rows of a file, or tune one (-a); on a pipe, candidates learn side by side."""
    values, given = dict(context.params), given_flags(context)
    with reported():
        _tune(values, given)


def _tune(values: dict[str, Any], given: Collection[str]) -> None:
    from frugalsvm.cli.words.tune_outcome import flag_words, print_tuned
    from frugalsvm.streams.pipes import is_read_once

    source = source_of(values["data"])
    read_once = values["once"] or is_read_once(source)
    algorithm = _algorithm(values, given, read_once=read_once)
    if algorithm in CATALOGUE and not CATALOGUE[algorithm].streams:
        raise wrong("algorithm", f"{algorithm} chooses its parameters by itself: `frugalsvm train -a {algorithm}`.")
    if algorithm in CATALOGUE and CATALOGUE[algorithm].task != CLASSES:
        instead = f"`frugalsvm train -a {algorithm}` chooses its parameters by itself"
        what = f"{algorithm} learns {CATALOGUE[algorithm].task}, and `tune` compares classifiers"
        raise wrong("algorithm", f"{what}: {instead}.")
    checked_choice("--algorithm", algorithm, ALGORITHMS)
    checked_choice("--kernel", values["kernel"], KERNELS)
    check_metric_flag(values["metric"], values["kernel"])
    _refuse(values, given, algorithm, read_once=read_once)
    for path in (values["output"], values["model"]):
        if path is not None:
            check_folder(path)
    # Budgets are a part of the search.
    kernel, metric = values["kernel"], values["metric"]
    options = TrainOptions(algorithm, None, kernel, scale=scale_for(kernel, "auto"), seed=values["seed"], metric=metric)
    budgets = tuple(values["budget"] or (_BUDGET,))
    data = data_options({**values, "data": source})
    if read_once:
        from frugalsvm.cli.commands.tune_stream import tune_stream

        told = tune_stream(data, options, budgets, values["model"], quiet=values["as_json"])
    else:
        from frugalsvm.cli.commands.tune_file import tune_file
        from frugalsvm.durations import parsed_seconds

        limit = parsed_seconds("time_budget", values["time_budget"])
        plain = {} if algorithm == AUTO else {"algorithm": algorithm}
        plain |= _reading_flags(values, given, {"algorithm": algorithm})
        files = " ".join(quote(each) for each in ([source] if isinstance(source, str) else source))
        command = f"frugalsvm train {files} {flag_words(plain)}".rstrip()
        told = tune_file(data, options, budgets, values["rows"], limit, command, quiet=values["as_json"])
    flags = {**told.best, **_reading_flags(values, given, told.best)}
    if values["output"] is not None:
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in flags.items()]
        values["output"].write_text("".join(lines), encoding="utf-8")
    print_tuned(told, flags, source, values["output"], as_json=values["as_json"])
    if told.interrupted_by is not None:
        raise typer.Exit(128 + told.interrupted_by)


def _algorithm(values: dict[str, Any], given: Collection[str], *, read_once: bool) -> str:
    """What is tuned: all algorithms (auto), unless rows come once or flags are about one model, as for `train`."""
    wanted = values["algorithm"]
    if read_once and wanted == AUTO:
        return "bsgd"
    if wanted is not None:
        return wanted
    says_more = values["missing"] == "mean" or any(name in given for name in _OF_ONE_MODEL)
    return "bsgd" if read_once or says_more else AUTO


def _refuse(values: dict[str, Any], given: Collection[str], algorithm: str, *, read_once: bool) -> None:
    """Flags that have no effect."""
    if algorithm == AUTO:
        for name in _OF_ONE_MODEL:
            if name in given:
                other = "leave it out, or name another algorithm (`frugalsvm algorithms`)"
                raise wrong(name, f"auto chooses that by itself: {other}.")
        if values["missing"] == "mean":
            raise wrong("missing", "--algorithm auto imputes medians, not means: choose median, skip or fail.")
    else:
        refused = refusal([name for name in ("budget", "metric") if name in given], "stream", algorithm)
        if refused is not None:
            raise typer.BadParameter(refused[1], param_hint=refused[0])
    if read_once:
        for name, why in (("rows", "all rows are learned, once"), ("time_budget", "it ends when the rows do")):
            if name in given:
                raise wrong(name, f"{why}: leave it out.")
    elif values["model"] is not None:
        instead = "`frugalsvm train --config` trains a model with what -o writes"
        raise wrong("model", f"candidates learn only part of the rows: {instead}.")


def _reading_flags(values: dict[str, Any], given: Collection[str], best: dict[str, Any]) -> dict[str, Any]:
    """Flags about reading that were given, and that `train` takes for the best."""
    driver = driver_of({"dask": None, "device": None, **best})
    names = [name for name in READING if name in given and applies(name, driver, best["algorithm"])]
    return {flag_named(name).removeprefix("--"): values[name] for name in names}
