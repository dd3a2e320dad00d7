"""Models in C99: a header and a source file, constant arrays, no memory taken, nothing needed but <math.h>."""

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from frugalsvm.exceptions import ParameterError
from frugalsvm.export import _c_code as code
from frugalsvm.export._c_explain import explain_parts, header_lines
from frugalsvm.export._files import write_file
from frugalsvm.export.extraction import plain_model
from frugalsvm.export.models import PlainModel, checked_dtype

__all__ = ["to_c"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
# A header of the model with one of these names could be taken for the one of C.
_HEADERS = {
    *("assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits", "locale", "math"),
    *("setjmp", "signal", "stdarg", "stdbool", "stddef", "stdint", "stdio", "stdlib", "string", "tgmath", "time"),
    *("wchar", "wctype"),
}


def to_c(
    estimator: Any,
    folder: str | os.PathLike[str] = ".",
    *,
    name: str = "model",
    dtype="float32",
    explain: bool = False,
) -> tuple[Path, Path]:
    """Write the model as C99: ``<name>.h`` and ``<name>.c``.

    They define ``int <name>_predict(const float *x)``, the index of the predicted class in the table ``<name>_labels``,
    and ``void <name>_decision(const float *x, float *scores)``, what `decision_function` returns. For a regressor
    ``<name>_predict`` returns the predicted number, and ``<name>_decision`` all of them where outputs are several.
    Probabilities are left out. The functions take no memory but a few numbers of the stack, and may be called from
    several threads.

    Parameters
    ----------
    estimator : estimator, Pipeline or PlainModel
        A fitted model, see `plain_model`.
    folder : path-like, default="."
        Where to write; made if it does not exist.
    name : str, default="model"
        Name of the files, and how all that they define begins.
    dtype : {"float32", "float64"}, default="float32"
        Type of all numbers, ``float`` or ``double``. Models with large coefficients that cancel, such as those of
        `LASVMClassifier` with a large C, need float64 for the scores that Python gives.
    explain : bool, default=False
        Also define ``void <name>_explain(const float *x, float *shares)``, what `frugalsvm.explain.shapley_values`
        returns without background rows: the share of each input in each score. ``<name>_base_values`` and the shares
        add up to the scores, or to the values of the pairs of classes where these vote. It takes three numbers of the
        stack for each feature. For the kernels "rbf", "laplacian", "chi2", "linear" and "intersection".

    Returns
    -------
    header, source : pathlib.Path

    Examples
    --------
    >>> import tempfile
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> from frugalsvm.export import to_c
    >>> X, y = make_checkerboard(1000, random_state=0)
    >>> model = BSGDClassifier(budget=20, gamma=8.0, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     header, source = to_c(model, folder, name="board")
    ...     print([line for line in header.read_text().splitlines() if "(" in line])
    ['void board_decision(const float *x, float *scores);', 'int board_predict(const float *x);']
    """
    dtype = checked_dtype(dtype)
    _check_name(name)
    model = plain_model(estimator)
    header, source = c_texts(model, name, dtype, explain=explain)
    folder = Path(folder)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OSError(
            error.errno, f"The model could not be saved to {os.fspath(folder)!r}: {error.strerror}."
        ) from error
    return write_file(folder / f"{name}.h", header), write_file(folder / f"{name}.c", source)


def _check_name(name):
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ParameterError("name", name, "a C identifier of letters, digits and _ that begins with a letter")
    if name.lower() in _HEADERS:
        raise ValueError(f"name must not be that of a header of C, such as {name!r}.")


def c_texts(model: PlainModel, name: str, dtype: np.dtype, *, explain: bool = False) -> tuple[str, str]:
    """The text of the header and of the source."""
    names = code.Names.of(model, name, dtype)
    source = _source(model, names, list(explain_parts(model, names)) if explain else [])
    return _header(model, names, list(header_lines(model, names)) if explain else []), source


def _header(model, names, more):
    prefix, real = names.prefix, names.real
    lines = [
        *code.comment(model),
        f"#ifndef {names.macro}_H",
        f"#define {names.macro}_H",
        "",
        f"#define {names.macro}_N_FEATURES {model.n_features}",
        f"#define {names.macro}_N_SCORES {names.n_scores}",
    ]
    if model.classes is not None:
        lines.append(f"#define {names.macro}_N_CLASSES {len(model.classes)}")
    lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    if model.classes is not None:
        lines += [f"extern const {code.label_declaration(model, names)};", ""]
    lines += [
        f"/* The scores of a row x of {names.macro}_N_FEATURES numbers, {names.macro}_N_SCORES of them. */",
        f"void {prefix}_decision(const {real} *x, {real} *scores);",
        "",
        f"/* {code.WHAT_PREDICT_RETURNS[model.decision].format(prefix=prefix)} */",
        f"{names.predicted} {prefix}_predict(const {real} *x);",
        "",
        *more,
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif",
    ]
    return "\n".join([*lines, ""])


def _source(model, names, more):
    parts = [
        "\n".join([*code.comment(model), f'#include "{names.prefix}.h"', "", "#include <math.h>"]),
        f"enum {{ {', '.join(code.sizes(model))} }};",
        *code.tables(model, names),
        code.kernel_function(model, names),
        *([code.votes_function(model, names)] if model.decision == "votes" else []),
        code.decision_function(model, names),
        code.predict_function(model, names),
        *more,
    ]
    return "\n\n".join(parts) + "\n"
