"""``frugalsvm export``: a model for other programs."""

from collections.abc import Collection
from pathlib import Path

import typer

from frugalsvm.cli.flags import checked_choice

__all__ = ["DTYPES", "FORMATS", "exported", "refuse_flags"]

FORMATS, DTYPES = ("onnx", "c", "libsvm"), ("float32", "float64")


def refuse_flags(to: str, dtype: str, given: Collection[str]) -> None:
    """Values that there are not, and flags that would have no effect."""
    checked_choice("--to", to, FORMATS)
    checked_choice("--dtype", dtype, DTYPES)
    if "name" in given and to != "c":
        raise typer.BadParameter("it is for `--to c`: leave it out.", param_hint="--name")
    if "dtype" in given and to == "libsvm":
        raise typer.BadParameter("LIBSVM's text has all digits of its numbers: leave it out.", param_hint="--dtype")


def exported(model: Path, to: str, output: Path, *, name: str, dtype: str) -> str:
    """Write the model; returns what to tell."""
    from frugalsvm.export import plain_model, to_c, to_libsvm, to_onnx
    from frugalsvm.export.libsvm import scaling_file_of
    from frugalsvm.persist import load

    plain = plain_model(load(model))
    if to == "c":
        return "\n".join(map(str, to_c(plain, output, name=name, dtype=dtype)))
    if to == "onnx":
        to_onnx(plain, output, dtype=dtype)
        return str(output)
    to_libsvm(plain, output)
    if plain.mean is None and plain.scale is None:
        return str(output)
    scaling = scaling_file_of(output)
    return f"{output}\n{scaling}: scale rows with `svm-scale -r {scaling} rows > scaled` before svm-predict"
