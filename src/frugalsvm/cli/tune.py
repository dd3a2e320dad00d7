"""``frugalsvm tune``: parameters by successive halving."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from frugalsvm.cli.catalogue import CATALOGUE, KERNELS
from frugalsvm.cli.errors import reported
from frugalsvm.cli.flag_rules import applies, flag_named
from frugalsvm.cli.flags import (
    Algorithm,
    BadLine,
    Categorical,
    DataFiles,
    Decimal,
    Delimiter,
    Features,
    Format,
    HashFeatures,
    Header,
    Ignore,
    Json,
    Kernel,
    Label,
    Metric,
    Missing,
    Seed,
    Shuffle,
    Thousands,
    check_metric_flag,
    checked_choice,
    data_options,
)
from frugalsvm.cli.options import DataOptions

__all__ = ["tune"]


def tune(
    data: DataFiles,
    algorithm: Algorithm = "bsgd",
    kernel: Kernel = "rbf",
    metric: Metric = None,
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
    algorithm = checked_choice("--algorithm", algorithm or "bsgd", CATALOGUE)
    checked_choice("--kernel", kernel, KERNELS)
    check_metric_flag(metric, algorithm)
    if budget and not applies("budget", "stream", algorithm):
        raise typer.BadParameter(f"{algorithm} keeps as many vectors as it needs: leave it out.", param_hint="--budget")
    options, budgets = data_options(locals()), tuple(budget) if budget else (500,)
    with reported():
        rounds = _search(options, algorithm, kernel, metric, budgets, rows, seed, quiet=as_json)
        strength = CATALOGUE[algorithm].strength
        names = {"gamma": "gamma", **({strength.lower(): "strength"} if strength else {})}
        names |= {"budget": "budget"} if CATALOGUE[algorithm].budgeted else {}
        best = rounds[-1][0]
        flags = {
            "algorithm": algorithm,
            "kernel": kernel,
            **({} if metric is None else {"metric": metric}),
            **{flag: best.settings[name] for flag, name in names.items()},
        }
        if output is not None:
            output.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in flags.items()))
    trials = [
        {"rows": trial.rows, **{flag: trial.settings[name] for flag, name in names.items()}, "accuracy": trial.accuracy}
        for trials in rounds
        for trial in trials
    ]
    _print(flags, best.accuracy, trials, as_json=as_json)


def _search(
    options: DataOptions,
    algorithm: str,
    kernel: str,
    metric: str | None,
    budgets: tuple[int, ...],
    n_rows: int,
    seed: int,
    *,
    quiet: bool,
):
    """Rounds of successive halving, each with the best trial first."""
    from frugalsvm.cli.console import Status, compiling_shown
    from frugalsvm.cli.first_rows import check_enough, check_size, examine, prepared
    from frugalsvm.cli.parameter_search import grid_for, halved, usual_gamma

    examined = examine(options, n_rows)
    examined.tell(quiet=quiet)
    for size in budgets:
        check_size(examined, algorithm, size)
    first = prepared(examined.first, impute=examined.data.imputes)
    check_enough(examined, first.y)
    grid = grid_for(algorithm, usual_gamma(first.X, kernel), kernel=kernel, budgets=budgets)
    words = f"Trying {len(grid)} candidates on up to {len(first.y):,} rows ..."
    with Status(words, quiet=quiet), compiling_shown(quiet=quiet):
        return halved(algorithm, first.X, first.y, grid, seed, metric)


def _print(best: dict[str, Any], accuracy: float, trials: list[dict[str, Any]], *, as_json: bool) -> None:
    from frugalsvm.cli.console import Printer, print_json, table_of

    if as_json:
        print_json({"best": best, "accuracy": accuracy, "trials": trials})
        return
    printer = Printer()
    printer.print(table_of("Successive halving", trials))
    printer.print("best: " + " ".join(f"{flag_named(name)} {value}" for name, value in best.items()))
