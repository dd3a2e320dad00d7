"""Flags: the table of those of `train`, which other commands share; and what becomes of values."""

from collections.abc import Callable, Iterable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from frugalsvm.cli.catalogue import ALGORITHMS, KERNELS, L1_KERNELS, LOSSES, METRICS
from frugalsvm.cli.errors import Exit, fail
from frugalsvm.cli.flag_rules import flag_named
from frugalsvm.cli.options import YES_OR_NO

if TYPE_CHECKING:
    from frugalsvm.pipelines.reading import DataOptions


def completing(choices: Iterable[str]) -> Callable[[str], list[str]]:
    """What the shell shows when somebody presses TAB."""
    return lambda incomplete: [choice for choice in choices if choice.startswith(incomplete)]


# Types of flags in the signatures of commands
ModelFile = Annotated[Path, typer.Argument(help="Model file (.frugal).")]
Json = Annotated[bool, typer.Option("--json", help="Print the results as one line of JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Device = Annotated[str | None, typer.Option(help="Device that computes scores: cpu, cuda, cuda:1 or auto.")]


class Flag(NamedTuple):
    annotation: Any  # type, and what `--help` says
    default: Any
    choices: tuple[str, ...] = ()  # values that it may have; none: any


def _flag(kind: Any, default: Any, words: str, *names: str, choices: tuple[str, ...] = (), **more: Any) -> Flag:
    more.setdefault("autocompletion", completing(choices) if choices else None)
    return Flag(Annotated[kind, typer.Option(*names, help=words, **more)], default, choices)


_SCALES = (*YES_OR_NO, "robust", "soft", "symmetric", "standard", "following")  # with the names that pipelines know
_FORMATS = ("libsvm", "csv", "tsv", "parquet", "arrow", "npz", "npy")
_TEXT, _NUMBER, _COUNT, _FILE, _TEXTS = str | None, float | None, int | None, Path | None, list[str] | None
_DATA = typer.Argument(help="Files, folders, patterns such as 'part-*.csv', or - for standard input.")

# fmt: off
FLAGS = {
    # of training
    "output": _flag(Path, Path("model.frugal"), "Model file to write.", "--output", "-o"),
    "algorithm": _flag(
        _TEXT, None,
        "Algorithm, see `frugalsvm algorithms`. Default: auto (compares models) for files, bsgd for pipes.",
        "--algorithm", "-a", choices=ALGORITHMS),
    "time_budget": _flag(
        _TEXT, None, "Time limit for comparing models (auto), and for the last fit: 60s, 5min, 1h. Default: none."),
    "task": _flag(
        str, "auto",
        "Task: classification, regression, or auto (regression if labels have fractions or very many values).",
        choices=("auto", "classification", "regression")),
    "budget": _flag(_COUNT, 500, "Maximum number of support vectors, or of landmarks (asset).", min=2),
    "kernel": _flag(str, "rbf", f"Kernel: {', '.join(KERNELS)}.", choices=KERNELS),
    "gamma": _flag(_NUMBER, None, "Kernel coefficient. Default: chosen on the first rows."),
    "alpha": _flag(_NUMBER, None, "Regularization strength (bsgd, asset). Default: chosen."),
    "c": _flag(_NUMBER, None, "Inverse regularization strength (others; asset with --device or --dask).", "--C"),
    "metric": _flag(
        _TEXT, None, "Learn a weight for each feature (diag), a full matrix (full), or what validation prefers (auto).",
        choices=METRICS),
    "loss": _flag(
        _TEXT, None, f"Loss of bsgd-regressor and asset-regressor, or of asset with --dask: {', '.join(LOSSES)}.",
        choices=LOSSES),
    "quantile": _flag(
        _TEXT, None, "Quantiles to predict (regressors, asset with --dask), comma-separated: 0.05,0.5,0.95."),
    "nu": _flag(_NUMBER, None, "Share of rows, from the lowest scores up, that one-class learns from. Default: 0.5."),
    "alarm_rate": _flag(_NUMBER, None, "Share of rows to flag as anomalies (one-class). Default: 0.01."),
    "half_life": _flag(
        _TEXT, None,
        "For drifting streams (bsgd): halve the weight of the past every N examples, or auto (without --gamma and "
        "--alpha the default of pipes and of --prequential); inf forgets nothing."),
    "scale": _flag(
        str, "auto",
        "Scale the features: auto, no, yes or robust (medians; far values clipped), soft (clipped softly), standard "
        "(means and standard deviations), following (standard, of recent rows; auto with --half-life).",
        choices=_SCALES),
    "prequential": _flag(
        bool, False, "Predict each row just before it is learned, not batch by batch.", "--prequential"),
    "passes": _flag(int, 1, "Number of passes over the data.", min=1),
    "shuffle_buffer": _flag(int, 0, "Shuffle within a buffer of this many rows.", min=0),
    "classes": _flag(_TEXT, None, "All class labels, comma-separated, if the first rows lack some."),
    "calibrate": _flag(bool, False, "Also calibrate class probabilities.", "--calibrate"),
    "checkpoint_every": _flag(_TEXT, None, "Save every N examples (100000), or every so often (30s, 5m)."),
    "device": _flag(_TEXT, None, "Device for batch training (auto, asset): cpu, cuda, cuda:1 or auto."),
    "dask": _flag(
        _TEXT, None, "Dask cluster to train on: tcp://host:port or local:N; the data is a pattern of files."),
    "dask_tls_ca": _flag(_FILE, None, "TLS: certificate of the authority that signed the cluster's."),
    "dask_tls_cert": _flag(_FILE, None, "TLS: certificate of this client."),
    "dask_tls_key": _flag(_FILE, None, "TLS: private key of this client."),
    "resume": _flag(bool, False, "Resume from the output file, at the exact example.", "--resume"),
    "changed_data": _flag(bool, False, "Resume even if rows that were learned have changed.", "--changed-data"),
    "config": _flag(_FILE, None, "Read flags from a TOML file.", exists=True, dir_okay=False),
    "as_json": Flag(Json, False),
    "quiet": Flag(Quiet, False),
    # of reading rows
    "data": Flag(Annotated[list[str], _DATA], Parameter.empty),
    "format": _flag(  # others are refused by those who know the file
        _TEXT, None, f"{', '.join(_FORMATS)}. Default: detected.", autocompletion=completing(_FORMATS)),
    "label": _flag(_TEXT, None, "Label column, by name or index (CSV, Parquet)."),
    "on_bad_line": _flag(
        str, "fail", "What to do with a line that cannot be read: fail or skip.", choices=("fail", "skip")),
    "header": _flag(str, "auto", "Whether CSV has a header: auto, yes, no.", choices=YES_OR_NO),
    "delimiter": _flag(_TEXT, None, "Delimiter of CSV fields. Default: detected."),
    "decimal": _flag(_TEXT, None, "Decimal mark of CSV numbers: . or , (default: detected).", choices=(".", ",")),
    "thousands": _flag(
        _TEXT, None, "Thousands separator of CSV numbers (default: detected).", choices=(",", ".", " ", "'", "_")),
    # of reading rows to be learned
    "categorical": _flag(_TEXTS, None, "Categorical columns, by name or index, comma-separated; may be repeated."),
    "ignore": _flag(_TEXTS, None, "Columns to ignore, by name or index, comma-separated; may be repeated."),
    "missing": _flag(
        str, "median", "Missing values: impute the median or mean, skip the rows, or fail.",
        choices=("median", "mean", "skip", "fail")),
    "shuffle": _flag(
        str, "auto", "Shuffle all rows: yes, no, or auto (if they are sorted by label).", choices=YES_OR_NO),
    "hash_features": _flag(
        _COUNT, None, "Hash the feature indices of LIBSVM text to this many features.", min=1),
    "features": _flag(_COUNT, None, "Number of features, if later rows are wider than the first.", min=1),
    "seed": _flag(int, 0, "Random seed.", min=0),
}
# fmt: on
READ_ROWS = ("data", "format", "label", "on_bad_line", "header", "delimiter", "decimal", "thousands", "ignore")
LEARNED_ROWS = (*READ_ROWS, "categorical", "missing", "shuffle", "hash_features", "features", "seed")


def with_flags(*names: str) -> Callable[[Callable], Callable]:
    """A command whose ``**keywords`` are flags of the table."""

    def declared(command: Callable) -> Callable:
        own = [each for each in signature(command).parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        table = [(name, FLAGS[name]) for name in names]
        flags = [Parameter(n, Parameter.KEYWORD_ONLY, default=f.default, annotation=f.annotation) for n, f in table]
        command.__signature__ = Signature([*own, *flags])  # type: ignore[attr-defined]
        return command

    return declared


def options_from(context: typer.Context) -> tuple[dict[str, Any], list[str]]:
    """Flags, with those of a TOML file for all that were not given on the command line; and which were given."""
    given = given_flags(context)
    values: dict[str, Any] = {key: value for key, value in context.params.items() if key != "config"}
    config = context.params.get("config")
    parameters = {name: each for each in context.command.params for name in _names_of(each)}
    for key, value in ({} if config is None else _read_toml(config)).items():
        parameter = parameters.get(key.replace("_", "-"))
        if parameter is None or parameter.name not in values:
            raise fail(Exit.DATA, f"{config}: {key!r} is not a flag of this command.")
        if parameter.name not in given:
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


def _checked_value(context: typer.Context, parameter: Any, config: Any, key: str, value: Any) -> Any:
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


def check_choices(values: dict[str, Any], **choices: tuple[str, ...]) -> None:
    """Refuse values that flags do not have, by the table or by ``choices``."""
    known = {name: flag.choices for name, flag in FLAGS.items() if flag.choices} | choices
    for name, value in values.items():
        if name in known and value is not None and value not in known[name]:
            raise wrong(name, f"{value!r} is not one of {', '.join(known[name])}.")


def check_metric_flag(metric: str | None, kernel: str) -> None:
    """Refuse a metric that a kernel cannot have."""
    if metric == "full" and kernel in L1_KERNELS:
        raise typer.BadParameter(
            f"--kernel {kernel} adds up the distances of single features, and full learns directions across them: "
            "choose diag or auto, or another --kernel.",
            param_hint="--metric full",
        )


def data_options(values: dict[str, Any]) -> "DataOptions":
    """How rows are read, from those flags of a command that are about that."""
    from frugalsvm.pipelines.reading import DataOptions

    check_choices(values)
    if values.get("hash_features") is not None and values.get("features") is not None:
        raise wrong("hash_features", "it says how many features there are; leave --features out.")
    given = {name: values[name] for name in DataOptions._fields if name in values}
    given |= {name: _joined(given[name]) for name in ("categorical", "ignore") if name in given}
    sources = values["data"]  # one, or several
    return DataOptions(sources[0] if len(sources) == 1 else sources, n_features=values.get("features"), **given)


def _joined(names: list[str] | str | None) -> str | None:
    """Columns of a flag that was given once or several times, or by a file of flags, separated by commas."""
    return (",".join(names) if isinstance(names, list) else names) or None
