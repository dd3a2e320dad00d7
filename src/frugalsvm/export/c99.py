"""Models in C99: a header and a source file, constant arrays, no memory taken, nothing needed but C's own library."""

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from frugalsvm.exceptions import ParameterError
from frugalsvm.export import _c_code as code
from frugalsvm.export._c_cells import cell_function
from frugalsvm.export._c_explain import explain_parts, header_lines
from frugalsvm.export._c_rows import needs_strings, row_function, row_sizes, row_words, text_names
from frugalsvm.export._c_tables import Names
from frugalsvm.export._files import write_file
from frugalsvm.export.extraction import plain_model
from frugalsvm.export.fixed_c.model import check_precision
from frugalsvm.export.fixed_c.writing import fixed_texts
from frugalsvm.export.learning_c.plan import plan_of
from frugalsvm.export.learning_c.writing import learner_texts
from frugalsvm.export.models import PlainModel, checked_dtype, refuse_cells, warn_of_rounding

__all__ = ["to_c"]

_LARGEST = 32 * 2**20  # bytes of tables
_STARTS = ("model", "empty")
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
    learn: bool = False,
    start: str = "model",
    precision: str | None = None,
    judge: tuple[Any, Any] | None = None,
) -> tuple[Path, Path]:
    """Write the model as C99: ``<name>.h`` and ``<name>.c``.

    They define ``int <name>_predict(const float *x)``, the index of the predicted class in the table ``<name>_labels``,
    and ``int <name>_decision(const float *x, float *scores)``, which writes what `decision_function` returns. For a
    regressor ``<name>_predict`` returns the predicted number, and ``<name>_decision`` all of them where outputs are
    several; for an outlier detector it returns 1, or -1 for outliers. Probabilities are left out. The functions take no
    memory but two rows on the stack, and may be called from several threads.

    A model that has learned columns of text takes them after the numbers: ``const char *const *text`` has a string for
    each, in the order of the table ``<name>_text_names``. NULL is a missing one, and a category that training did not
    have counts as one, as it does in Python. Missing numbers are NaN, where the model fills them.

    For a row with a number that is NaN, where the model does not fill it, or infinite, ``<name>_decision`` returns 1
    instead of 0 and writes NaN, and ``<name>_predict`` returns ``<NAME>_NO_CLASS``, which is -1 (0 for an outlier
    detector), or NaN. Rows far from all support vectors have the scores of Python, see :ref:`far-rows`.

    Parameters
    ----------
    estimator : estimator, Pipeline or PlainModel
        A fitted model, see `plain_model`.
    folder : path-like, default="."
        Where to write; made if it does not exist.
    name : str, default="model"
        Name of the files, and how all that they define begins.
    dtype : {"float32", "float64"}, default="float32"
        Type of all numbers, ``float`` or ``double``, rows included: a warning tells where that rounds too much. Models
        with large coefficients that cancel, such as those of `LASVMClassifier` with a large C, need float64 for the
        scores that Python gives.
    explain : bool, default=False
        Also define ``int <name>_explain(const float *x, float *shares)``, what `frugalsvm.explain.shapley_values`
        returns without background rows: the share of each input in each score. ``<name>_base_values`` and the shares
        add up to the scores, or to the values of the pairs of classes where these vote. It takes three numbers of the
        stack for each feature. For the kernels "rbf", "laplacian", "chi2", "linear" and "intersection", and rows of
        numbers.
    learn : bool, default=False
        Whether the model goes on learning in C: `BSGDClassifier`, `BSGDRegressor`, `BSGDOneClassSVM` and
        `BudgetedPerceptron`, alone or in a `StreamPipeline`, whose scaling stays as it is. All of the learner is in one
        struct, ``<name>_context``; there are ``<name>_init``, ``_learn``, ``_predict``, ``_scores``, ``_save`` and
        ``_load``, and `read_state` takes what was learned back to Python. See :ref:`learn-on-the-chip`.
    start : {"model", "empty"}, default="model"
        What a learner begins with: the model as it was trained, or none, with its kernel, classes and scaling.
    precision : {"int8", "int16"}, default=None
        For chips without an FPU: a model of the kernel "rbf" in whole numbers of this size, whose scores are computed
        without floats. ``<name>_quantize`` makes whole numbers of a row. See :ref:`fixed-point`.
    judge : pair of arrays, default=None
        Rows and their targets, with which the header says how accurate a model in whole numbers is.

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
    ...     print([line for line in header.read_text().splitlines() if line.startswith("int ")])
    ['int board_decision(const float *x, float *scores);', 'int board_predict(const float *x);']
    """
    dtype = checked_dtype(dtype)
    _check_name(name)
    if start not in _STARTS:
        raise ParameterError("start", start, "'model' or 'empty'")
    if precision is not None:
        check_precision(precision)
        if learn or explain:
            raise ValueError("precision is for models that predict: leave out precision, or learn and explain.")
        model = plain_model(estimator)
        _check_size(model, dtype)
        header, source = fixed_texts(model, name, precision, judge)
    elif learn:
        if explain:
            raise ValueError("explain=True is for models that do not learn in C: leave one of explain and learn out.")
        header, source = _learner(estimator, name, dtype, start)
    else:
        header, source = _predictor(estimator, name, dtype, explain)
    return _written(Path(folder), name, header, source)


def _predictor(estimator, name, dtype, explain):
    """The texts of a model that predicts."""
    model = plain_model(estimator)
    _check_size(model, dtype)
    if explain:
        refuse_cells(model, "explain=True is", "leave it out")
    warn_of_rounding(model, dtype)
    return c_texts(model, name, dtype, explain=explain)


def _learner(estimator, name, dtype, start):
    """The texts of a model that learns."""
    plan = plan_of(estimator)
    return learner_texts(plan, plan if start == "model" else plan.emptied(), name, dtype)


def _written(folder, name, header, source):
    """Write the two files into a folder, which is made if it does not exist."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OSError(
            error.errno, f"The model could not be saved to {os.fspath(folder)!r}: {error.strerror}."
        ) from error
    return write_file(folder / f"{name}.h", header), write_file(folder / f"{name}.c", source)


def _check_size(model, dtype):
    """Compilers take about a gigabyte of memory for tables of this size."""
    n_bytes = (model.vectors.size + model.coefficients.size) * dtype.itemsize
    if n_bytes > _LARGEST:
        raise ValueError(
            f"The model has {len(model.vectors):,} vectors of {model.n_features} features: tables of "
            f"{n_bytes / 2**20:,.0f} MB, and C is for up to {_LARGEST // 2**20} MB. Train it with a budget or on fewer "
            "rows, or use frugalsvm.save."
        )


def _check_name(name):
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ParameterError("name", name, "a C identifier of letters, digits and _ that begins with a letter")
    if name.lower() in _HEADERS:
        raise ValueError(f"name must not be that of a header of C, such as {name!r}.")
    if name.lower() == "main":
        raise ValueError("name must not be 'main': a program has its own main.c.")


def c_texts(model: PlainModel, name: str, dtype: np.dtype, *, explain: bool = False) -> tuple[str, str]:
    """The text of the header and of the source."""
    names = Names.of(model, name, dtype)
    source = _source(model, names, list(explain_parts(model, names)) if explain else [])
    return _header(model, names, list(header_lines(model, names)) if explain else []), source


def _header(model, names, more):
    prefix, real, macro = names.prefix, names.real, names.macro
    not_finite = "infinite" if model.filling is not None else "NaN or infinite"
    lines = [
        *code.comment(model),
        f"#ifndef {macro}_H",
        f"#define {macro}_H",
        "",
        f"#define {macro}_N_FEATURES {model.n_numbers}",
        f"#define {macro}_N_SCORES {names.n_scores}",
    ]
    if model.encoder is not None:
        lines.append(f"#define {macro}_N_TEXTS {len(model.encoder.names_)}")
    if model.classes is not None:
        lines.append(f"#define {macro}_N_CLASSES {len(model.classes)}")
    if model.decision in code.NO_CLASS:
        lines.append(f"#define {macro}_NO_CLASS ({code.NO_CLASS[model.decision]})")
    lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    if model.classes is not None:
        lines += [f"extern const {code.label_declaration(model, names)};", ""]
    if model.encoder is not None:
        lines += [f"extern const {text_names(model, names)};", ""]
    lines += [
        f"/* The scores of a row, {macro}_N_SCORES of them: {row_words(model, names)}.",
        f"   Returns 0; or 1 if a score is NaN: all of them are if a number of x is {not_finite}.",
        "   (Not so with -ffast-math, which takes every number for a finite one.) */",
        f"int {prefix}_decision({names.row}, {real} *scores);",
        "",
        f"/* {code.WHAT_PREDICT_RETURNS[model.decision].format(prefix=prefix, macro=macro)} */",
        f"{names.predicted} {prefix}_predict({names.row});",
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
    includes = ["#include <math.h>", *(["#include <string.h>"] if needs_strings(model) else [])]
    parts = [
        "\n".join([*code.comment(model), f'#include "{names.prefix}.h"', "", *includes]),
        f"enum {{ {', '.join([*row_sizes(model), *code.sizes(model)])} }};",
        *code.tables(model, names),
        row_function(model, names),
        code.kernel_function(model, names),
        *([cell_function(names)] if model.cells is not None else []),
        *([code.votes_function(model, names)] if model.decision == "votes" else []),
        code.decision_function(model, names),
        code.predict_function(model, names),
        *more,
    ]
    return "\n\n".join(parts) + "\n"
