"""``frugalsvm tune``: algorithms compared, or the parameters of one; on a pipe, while its rows come."""

import json
from collections.abc import Collection
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frugalsvm.cli.catalogue import AUTO, CATALOGUE, CLASSES, scale_for
from frugalsvm.cli.errors import check_folders, reported
from frugalsvm.cli.flag_rules import applies, driver_of, flag_named, refusal
from frugalsvm.cli.flags import LEARNED_ROWS, Json, check_metric_flag, data_options, given_flags, with_flags, wrong
from frugalsvm.cli.options import TrainOptions

if TYPE_CHECKING:
    from frugalsvm.pipelines.reading import DataOptions


_OF_ONE_MODEL = ("budget", "kernel", "metric")
_BUDGET = 500


@with_flags("algorithm", "kernel", "metric", *LEARNED_ROWS)
def tune(
    context: typer.Context,
    time_budget: Annotated[str | None, typer.Option(help="Time limit: 60s, 5min, 1h. Default: a few minutes.")] = None,
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
    **flags: Any,
) -> None:
    """Compare algorithms on rows of a file, or tune one (-a); on a pipe, candidates learn side by side."""
    values, given = dict(context.params), given_flags(context)
    with reported():
        _tune(values, given)


def _tune(values: dict[str, Any], given: Collection[str]) -> None:
    from frugalsvm.cli.words.outcome import print_tuned

    data = data_options(values)
    read_once = values["once"] or data.is_read_once
    algorithm = _algorithm(values, given, read_once=read_once)
    known = CATALOGUE.get(algorithm)
    instead = f"`frugalsvm train -a {algorithm}`"
    if known is not None and not known.streams:
        raise wrong("algorithm", f"{algorithm} chooses its parameters by itself: {instead}.")
    if known is not None and known.task != CLASSES:
        what = f"{algorithm} learns {known.task}, and `tune` compares classifiers"
        raise wrong("algorithm", f"{what}: {instead} chooses its parameters by itself.")
    check_metric_flag(values["metric"], values["kernel"])
    _refuse(values, given, algorithm, read_once=read_once)
    check_folders(values["output"], values["model"])
    # Budgets are a part of the search.
    kernel, metric = values["kernel"], values["metric"]
    options = TrainOptions(algorithm, None, kernel, scale=scale_for(kernel, "auto"), seed=values["seed"], metric=metric)
    budgets = tuple(values["budget"] or (_BUDGET,))
    if read_once:
        from frugalsvm.cli.commands.tune_stream import tune_stream

        outcome = tune_stream(data, options, budgets, values["model"], quiet=values["as_json"])
    else:
        from frugalsvm.cli.commands.tune_file import tune_file
        from frugalsvm.estimators.constraints import parsed_seconds

        limit, command = parsed_seconds("time_budget", values["time_budget"]), _command(data, values, given, algorithm)
        outcome = tune_file(data, options, budgets, values["rows"], limit, command, quiet=values["as_json"])
    flags = {**outcome.best, **_reading_flags(values, given, outcome.best)}
    if values["output"] is not None:
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in flags.items()]
        values["output"].write_text("".join(lines), encoding="utf-8")
    print_tuned(outcome, flags, data.source, values["output"], as_json=values["as_json"])
    if outcome.interrupted_by is not None:
        raise typer.Exit(128 + outcome.interrupted_by)


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
    why = {}
    if algorithm == AUTO:
        other = "leave it out, or name another algorithm (`frugalsvm algorithms`)"
        why = dict.fromkeys(_OF_ONE_MODEL, f"auto chooses that by itself: {other}.")
        if values["missing"] == "mean":
            why["missing"] = "--algorithm auto imputes medians, not means: choose median, skip or fail."
    else:
        refused = refusal([name for name in ("budget", "metric") if name in given], "stream", algorithm)
        if refused is not None:
            raise typer.BadParameter(refused[1], param_hint=refused[0])
    if read_once:
        why["rows"] = "all rows are learned, once: leave it out."
        why["time_budget"] = "it ends when the rows do: leave it out."
    else:
        instead = "`frugalsvm train --config` trains a model with what -o writes"
        why["model"] = f"candidates learn only part of the rows: {instead}."
    for name, words in why.items():
        if name in given:
            raise wrong(name, words)


def _command(data: "DataOptions", values: dict[str, Any], given: Collection[str], algorithm: str) -> str:
    """The command that trains what would be trained without a comparison."""
    from frugalsvm.cli.words.outcome import flag_words

    plain = {} if algorithm == AUTO else {"algorithm": algorithm}
    plain |= _reading_flags(values, given, {"algorithm": algorithm})
    files = [data.source] if isinstance(data.source, str) else data.source
    return f"frugalsvm train {' '.join(map(quote, files))} {flag_words(plain)}".rstrip()


def _reading_flags(values: dict[str, Any], given: Collection[str], best: dict[str, Any]) -> dict[str, Any]:
    """Flags about reading that were given, and that `train` takes for the best."""
    driver = driver_of({"dask": None, "device": None, **best})
    names = [n for n in LEARNED_ROWS if n in given and n != "data" and applies(n, driver, best["algorithm"])]
    return {flag_named(name).removeprefix("--"): values[name] for name in names}
