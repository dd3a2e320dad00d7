"""``frugalsvm export``: a model for other programs."""

from collections.abc import Collection
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from frugalsvm.cli.console import Printer, tell
from frugalsvm.cli.errors import reported
from frugalsvm.cli.flags import ModelFile, checked_choice, completing, given_flags

__all__ = ["export"]

_FORMATS, _DTYPES = ("onnx", "c", "libsvm"), ("float32", "float64")
_NAMED = 40  # columns, at most


def export(
    context: typer.Context,
    model: ModelFile,
    to: Annotated[str, typer.Option(help="Format: onnx, c or libsvm.", autocompletion=completing(_FORMATS))],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; with --to c, a folder.")],
    name: Annotated[str, typer.Option(help="Prefix of the C functions and files.")] = "model",
    dtype: Annotated[
        str,
        typer.Option(help="Type of numbers in onnx and c: float32 or float64.", autocompletion=completing(_DTYPES)),
    ] = "float32",
    explain: Annotated[
        bool, typer.Option("--explain", help="Also write a C function that explains scores (exact Shapley values).")
    ] = False,
) -> None:
    """Export a model to ONNX, C or LIBSVM."""
    _refuse_flags(to, dtype, given_flags(context))
    with reported(of_model=model):
        told = _exported(model, to, output, name=name, dtype=dtype, explain=explain)
        names = _columns_of(model)
    if 0 < len(names) <= _NAMED:
        tell(f"note: the numbers of a row, in this order: {', '.join(names)}")
    Printer().print(told)


def _refuse_flags(to: str, dtype: str, given: Collection[str]) -> None:
    """Values that there are not, and flags that would have no effect."""
    checked_choice("--to", to, _FORMATS)
    checked_choice("--dtype", dtype, _DTYPES)
    for flag in ("name", "explain"):
        if flag in given and to != "c":
            raise typer.BadParameter("it is for `--to c`: leave it out.", param_hint=f"--{flag}")
    if "dtype" in given and to == "libsvm":
        raise typer.BadParameter("LIBSVM's text has all digits of its numbers: leave it out.", param_hint="--dtype")


def _refuse_text(model: Any) -> None:
    """Exports take numbers, all of which are there."""
    encoder, learned = getattr(model, "encoder_", None), {}
    if encoder is not None:
        learned["text"] = f"--ignore {quote(','.join(encoder.names_))}"
    if getattr(model, "indicates", False):
        learned["which values are missing"] = "--missing skip"
    if learned:
        raise ValueError(
            f"exports take complete rows of numbers, and this model has learned {' and '.join(learned)}: "
            f"train with {' '.join(learned.values())}."
        )


def _columns_of(model: Path) -> list[str]:
    """The columns that a row has, where the model file knows them."""
    from frugalsvm.cli.data import schema_of
    from frugalsvm.persist import describe

    schema = schema_of(describe(model).metadata.get("training", {}).get("data", {}).get("columns"))
    return [] if schema is None else list(schema.numbers)


def _exported(model: Path, to: str, output: Path, *, name: str, dtype: str, explain: bool) -> str:
    """Write the model; returns what to tell."""
    from frugalsvm.export import plain_model, to_c, to_libsvm, to_onnx
    from frugalsvm.export.libsvm import scaling_file_of
    from frugalsvm.persist import load

    loaded = load(model)
    _refuse_text(loaded)
    plain = plain_model(loaded)
    if to == "c":
        return "\n".join(map(str, to_c(plain, output, name=name, dtype=dtype, explain=explain)))
    if to == "onnx":
        to_onnx(plain, output, dtype=dtype)
        return str(output)
    to_libsvm(plain, output)
    if plain.mean is None and plain.scale is None:
        return str(output)
    scaling = scaling_file_of(output)
    return f"{output}\n{scaling}: scale rows with `svm-scale -r {scaling} rows > scaled` before svm-predict"
