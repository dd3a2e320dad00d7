"""``frugalsvm export``: a model for other programs."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from frugalsvm.cli.console import Printer, tell
from frugalsvm.cli.errors import reported
from frugalsvm.cli.flags import ModelFile, check_choices, completing, given_flags, wrong

_FORMATS, _DTYPES = ("onnx", "c", "libsvm"), ("float32", "float64")


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
    learn: Annotated[
        bool, typer.Option("--learn", help="Write C that continues to learn: budgeted models (bsgd, perceptron).")
    ] = False,
) -> None:
    """Export a model to ONNX, C or LIBSVM."""
    _refuse_flags(to, dtype, given_flags(context))
    with reported(of_model=model, may_refuse=True):
        written, notes = _exported(model, to, output, name=name, dtype=dtype, explain=explain, learn=learn)
    for note in notes:
        tell(f"note: {note}")
    Printer().print(written)


def _refuse_flags(to: str, dtype: str, given: Collection[str]) -> None:
    """Values that there are not, and flags that would have no effect."""
    check_choices({"to": to, "dtype": dtype}, to=_FORMATS, dtype=_DTYPES)
    for flag in ("name", "explain", "learn"):
        if flag in given and to != "c":
            raise wrong(flag, "it is for `--to c`: leave it out.")
    if "dtype" in given and to == "libsvm":
        raise wrong("dtype", "LIBSVM's text has all digits of its numbers: leave it out.")


def _exported(
    model: Path, to: str, output: Path, *, name: str, dtype: str, explain: bool, learn: bool
) -> tuple[str, list[str]]:
    """Write the model; returns what to tell, and notes about its rows."""
    from frugalsvm.export import plain_model, to_c, to_libsvm, to_onnx
    from frugalsvm.export.libsvm import scaling_file_of
    from frugalsvm.export.row_notes import row_notes
    from frugalsvm.persist import load

    fitted = load(model)
    if learn:
        return "\n".join(map(str, to_c(fitted, output, name=name, dtype=dtype, explain=explain, learn=True))), []
    plain, written = plain_model(fitted), str(output)
    if plain.cells is not None and (to != "c" or explain):
        flag, instead = ("--explain", "leave it out") if to == "c" else (f"--to {to}", "take --to c")
        raise ValueError(
            f"{model} has a machine in each of its cells, and {flag} is for a single machine: "
            f"{instead}, or train with -a asset, for example."
        )
    if to == "c":
        written = "\n".join(map(str, to_c(plain, output, name=name, dtype=dtype, explain=explain)))
    elif to == "onnx":
        to_onnx(plain, output, dtype=dtype)
    else:
        to_libsvm(plain, output)
        if plain.mean is not None or plain.scale is not None:
            scaling = scaling_file_of(output)
            written += f"\n{scaling}: scale rows with `svm-scale -r {scaling} rows > scaled` before svm-predict"
    return written, row_notes(model, plain)
