"""Flags that several commands share, and what becomes of them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from frugalsvm.cli.errors import Exit, fail

__all__ = [
    "BadLine",
    "DataFile",
    "Delimiter",
    "Device",
    "Features",
    "Format",
    "Header",
    "Json",
    "Label",
    "ModelFile",
    "Quiet",
    "Seed",
    "checked_choice",
    "data_options",
    "options_from",
]

DataFile = Annotated[str, typer.Argument(help="File, folder (Parquet), or - for standard input.")]
ModelFile = Annotated[Path, typer.Argument(help="Model file (.frugal).")]
Format = Annotated[str | None, typer.Option(help="libsvm, csv, tsv, parquet, arrow, npz, npy; guessed otherwise.")]
Label = Annotated[str | None, typer.Option(help="Column of the labels, by name or number (CSV, Parquet).")]
BadLine = Annotated[str, typer.Option(help="What to do with a line that cannot be read: fail or skip.")]
Header = Annotated[str, typer.Option(help="Whether CSV has a header: auto, yes, no.")]
Delimiter = Annotated[str | None, typer.Option(help="Between the fields of CSV.")]
Features = Annotated[int | None, typer.Option(help="Number of features, if later rows are wider than the first.")]
Json = Annotated[bool, typer.Option("--json", help="Results as one line of JSON, for scripts.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Seed = Annotated[int, typer.Option(help="For everything random.")]
Device = Annotated[str | None, typer.Option(help="Where scores are computed: cpu, cuda, cuda:1 or auto.")]


def options_from(context: typer.Context, config: Path | None) -> dict[str, Any]:
    """Flags, with those of a TOML file for all that were not given on the command line."""
    values = {key: value for key, value in context.params.items() if key != "config"}
    if config is None:
        return values
    import tomllib

    try:
        given = tomllib.loads(config.read_text())
    except tomllib.TOMLDecodeError as error:
        raise fail(Exit.DATA, f"{config} is not TOML: {error}.") from error
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in values:
            raise fail(Exit.DATA, f"{config}: {key!r} is not a flag of this command.")
        source = context.get_parameter_source(name)
        if source is not None and source.name == "DEFAULT":
            values[name] = value
    return values


def checked_choice(flag: str, value: str, choices) -> str:
    if value not in choices:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(choices)}.", param_hint=flag)
    return value


def data_options(values: dict[str, Any]):
    from frugalsvm.cli.data import DataOptions

    checked_choice("--on-bad-line", values["on_bad_line"], ("fail", "skip"))
    checked_choice("--header", values["header"], ("auto", "yes", "no"))
    return DataOptions(
        source=values["data"],
        format=values["format"],
        label=values["label"],
        on_bad_line=values["on_bad_line"],
        header=values["header"],
        delimiter=values["delimiter"],
        n_features=values.get("features"),
        shuffle_buffer=values.get("shuffle_buffer", 0),
        seed=values.get("seed", 0),
    )
