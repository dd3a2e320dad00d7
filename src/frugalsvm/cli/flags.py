"""Flags that several commands share, and what becomes of them."""

from collections.abc import Callable, Iterable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from frugalsvm.cli.catalogue import ALGORITHMS, KERNELS, L1_KERNELS, METRICS
from frugalsvm.cli.errors import Exit, fail
from frugalsvm.cli.flag_rules import flag_named
from frugalsvm.cli.options import DataOptions

__all__ = [
    "READING",
    "SCALES",
    "TASKS",
    "YES_OR_NO",
    "Algorithm",
    "BadLine",
    "Categorical",
    "DataFiles",
    "Decimal",
    "Delimiter",
    "Device",
    "Features",
    "Format",
    "HashFeatures",
    "Header",
    "Ignore",
    "Json",
    "Kernel",
    "Label",
    "Metric",
    "Missing",
    "ModelFile",
    "Quiet",
    "Seed",
    "Shuffle",
    "Task",
    "Thousands",
    "TimeBudget",
    "check_metric_flag",
    "checked_choice",
    "completing",
    "data_options",
    "given_flags",
    "options_from",
    "reading_flags",
    "source_of",
    "wrong",
]


def completing(choices: Iterable[str]) -> Callable[[str], list[str]]:
    """What the shell is told when somebody presses TAB."""
    return lambda incomplete: [choice for choice in choices if choice.startswith(incomplete)]


def _joined(names: list[str] | str | None) -> str | None:
    """Columns of a flag that was given once or several times, or by a file of flags, separated by commas."""
    return (",".join(names) if isinstance(names, list) else names) or None


TASKS = ("auto", "classification", "regression")
YES_OR_NO = ("auto", "yes", "no")
SCALES = (*YES_OR_NO, "robust", "soft", "standard", "following")  # with the names that pipelines know
_MISSING = ("median", "mean", "skip", "fail")
_FORMATS = ("libsvm", "csv", "tsv", "parquet", "arrow", "npz", "npy")

DataFiles = Annotated[
    list[str], typer.Argument(help="Files, folders, patterns such as 'part-*.csv', or - for standard input.")
]
ModelFile = Annotated[Path, typer.Argument(help="Model file (.frugal).")]
Format = Annotated[
    str | None,
    typer.Option(
        help="libsvm, csv, tsv, parquet, arrow, npz, npy. Default: detected.", autocompletion=completing(_FORMATS)
    ),
]
Label = Annotated[str | None, typer.Option(help="Label column, by name or index (CSV, Parquet).")]
BadLine = Annotated[
    str,
    typer.Option(
        help="What to do with a line that cannot be read: fail or skip.", autocompletion=completing(("fail", "skip"))
    ),
]
Header = Annotated[
    str, typer.Option(help="Whether CSV has a header: auto, yes, no.", autocompletion=completing(YES_OR_NO))
]
Delimiter = Annotated[str | None, typer.Option(help="Delimiter of CSV fields. Default: detected.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal mark of CSV numbers: . or , (default: detected).")]
Thousands = Annotated[str | None, typer.Option(help="Thousands separator of CSV numbers (default: detected).")]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Categorical columns, by name or index, comma-separated; may be repeated."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(help="Columns to ignore, by name or index, comma-separated; may be repeated."),
]
Missing = Annotated[
    str,
    typer.Option(
        help="Missing values: impute the median or mean, skip the rows, or fail.",
        autocompletion=completing(_MISSING),
    ),
]
Shuffle = Annotated[
    str,
    typer.Option(
        help="Shuffle all rows: yes, no, or auto (if they are sorted by label).",
        autocompletion=completing(YES_OR_NO),
    ),
]
HashFeatures = Annotated[
    int | None, typer.Option(min=1, help="Hash the feature indices of LIBSVM text to this many features.")
]
Features = Annotated[
    int | None, typer.Option(min=1, help="Number of features, if later rows are wider than the first.")
]
Algorithm = Annotated[
    str | None,
    typer.Option(
        "--algorithm",
        "-a",
        help="Algorithm, see `frugalsvm algorithms`. Default: auto (compares models) for files, bsgd for pipes.",
        autocompletion=completing(ALGORITHMS),
    ),
]
TimeBudget = Annotated[
    str | None,
    typer.Option(help="Time limit for comparing models (auto), and for the last fit: 60s, 5min, 1h. Default: none."),
]
Task = Annotated[
    str,
    typer.Option(
        help="Task: classification, regression, or auto (regression if labels have fractions or very many values).",
        autocompletion=completing(TASKS),
    ),
]
Kernel = Annotated[str, typer.Option(help=f"Kernel: {', '.join(KERNELS)}.", autocompletion=completing(KERNELS))]
Metric = Annotated[
    str | None,
    typer.Option(
        help="Learn a weight for each feature (diag), a full matrix (full), or what validation prefers (auto).",
        autocompletion=completing(METRICS),
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the results as one line of JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Device = Annotated[str | None, typer.Option(help="Device that computes scores: cpu, cuda, cuda:1 or auto.")]


# The flags of reading rows, with their defaults
_READING: dict[str, tuple[Any, Any]] = {
    "data": (DataFiles, Parameter.empty),
    "format": (Format, None),
    "label": (Label, None),
    "on_bad_line": (BadLine, "fail"),
    "header": (Header, "auto"),
    "delimiter": (Delimiter, None),
    "decimal": (Decimal, None),
    "thousands": (Thousands, None),
    "categorical": (Categorical, None),
    "ignore": (Ignore, None),
    "missing": (Missing, "median"),
    "shuffle": (Shuffle, "auto"),
    "hash_features": (HashFeatures, None),
    "features": (Features, None),
    "seed": (Seed, 0),
}
_LEARNING = ("categorical", "missing", "shuffle", "hash_features", "features", "seed")  # of rows to be learned only
READING = tuple(name for name in _READING if name != "data")


def reading_flags(*, learns: bool = False) -> Callable[[Callable], Callable]:
    """A command whose ``**keywords`` are the data, and the flags that say how rows are read, or are to be learned."""

    def declared(command: Callable) -> Callable:
        own = [each for each in signature(command).parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        more = {name: each for name, each in _READING.items() if learns or name not in _LEARNING}
        made = [Parameter(name, Parameter.KEYWORD_ONLY, default=d, annotation=a) for name, (a, d) in more.items()]
        command.__signature__ = Signature([*own, *made])  # type: ignore[attr-defined]
        return command

    return declared


def options_from(context: typer.Context, config: Path | None) -> tuple[dict[str, Any], list[str]]:
    """Flags, with those of a TOML file for all that were not given on the command line; and which were given."""
    values = {key: value for key, value in context.params.items() if key != "config"}
    given = given_flags(context)
    if config is None:
        return values, given
    parameters = {name: each for each in context.command.params for name in _names_of(each)}
    for key, value in _read_toml(config).items():
        parameter = parameters.get(key.replace("_", "-"))
        if parameter is None or parameter.name not in values:
            raise fail(Exit.DATA, f"{config}: {key!r} is not a flag of this command.")
        if parameter.name in given:
            continue
        values[parameter.name] = _checked_value(context, parameter, config, key, value)
        given.append(parameter.name)
    return values, given


def given_flags(context: typer.Context) -> list[str]:
    """The flags that somebody gave, by the names of their parameters."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return [name for name, source in sources.items() if source is not None and not source.name.startswith("DEFAULT")]


def _names_of(parameter: Any) -> list[str]:
    """What a flag may be called in a file: as on the command line, or as the parameter, with - for _."""
    long = [option.removeprefix("--") for option in parameter.opts if option.startswith("--")]
    return [*long, (parameter.name or "").replace("_", "-")]


def _read_toml(config: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(config.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise fail(Exit.DATA, f"{config} is not TOML: {error}.") from error
    except OSError as error:
        raise fail(Exit.SYSTEM, f"{config} cannot be read: {error.strerror}.") from error


def _checked_value(context: typer.Context, parameter: Any, config: Path, key: str, value: Any) -> Any:
    """A value of a file, of the type that the flag has."""
    is_flag = bool(getattr(parameter, "is_flag", False))
    if isinstance(value, dict | list) or is_flag != isinstance(value, bool):
        wanted = "true or false" if is_flag else "one value"
        raise fail(Exit.DATA, f"{config}: {key} = {value!r} should be {wanted}.")
    try:
        text = [str(value)] if parameter.multiple else str(value)
        return parameter.process_value(context, value if is_flag else text)
    except typer.BadParameter as error:
        raise fail(Exit.DATA, f"{config}: {key} = {value!r}: {error.message}") from error


def wrong(name: str, words: str) -> typer.BadParameter:
    """What to raise about a flag, by the name of its parameter."""
    return typer.BadParameter(words, param_hint=flag_named(name))


def checked_choice(flag: str, value: str, choices) -> str:
    if value not in choices:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(choices)}.", param_hint=flag)
    return value


def check_metric_flag(metric: str | None, kernel: str) -> None:
    """Refuse a metric that there is not, or that a kernel cannot have."""
    if metric is None:
        return
    checked_choice("--metric", metric, METRICS)
    if metric == "full" and kernel in L1_KERNELS:
        raise typer.BadParameter(
            f"--kernel {kernel} adds up the distances of single features, and full learns directions across them: "
            "choose diag or auto, or another --kernel.",
            param_hint="--metric full",
        )


def source_of(data: Any) -> str | list[str]:
    """What the arguments of a command name: one source, or several."""
    sources = [data] if isinstance(data, str) else [str(source) for source in data]
    return sources[0] if len(sources) == 1 else sources


_CHOICES = {
    "on_bad_line": ("fail", "skip"),
    "header": YES_OR_NO,
    "missing": _MISSING,
    "shuffle": YES_OR_NO,
    "decimal": (".", ","),
    "thousands": (",", ".", " ", "'", "_"),
}


def data_options(values: dict[str, Any]) -> DataOptions:
    """How rows are read, from those flags of a command that are about that."""
    for name, choices in _CHOICES.items():
        if values.get(name) is not None:
            checked_choice(flag_named(name), values[name], choices)
    if values.get("hash_features") is not None and values.get("features") is not None:
        raise wrong("hash_features", "it says how many features there are; leave --features out.")
    given = {name: values[name] for name in DataOptions._fields if name in values}
    given.update({name: _joined(given[name]) for name in ("categorical", "ignore") if name in given})
    return DataOptions(source=source_of(values["data"]), n_features=values.get("features"), **given)
