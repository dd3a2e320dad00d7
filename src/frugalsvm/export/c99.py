"""Models in C99: a header and a source file, constant arrays, no memory taken, nothing needed but C's own library."""

import os
import re
from pathlib import Path
from typing import Any

from frugalsvm.exceptions import ParameterError
from frugalsvm.export._c_predictor import c_texts
from frugalsvm.export._files import write_file
from frugalsvm.export.arduino import write_library
from frugalsvm.export.extraction import plain_model
from frugalsvm.export.fixed_c.model import check_precision
from frugalsvm.export.fixed_c.writing import fixed_texts
from frugalsvm.export.learning_c.around import pipeline_of
from frugalsvm.export.learning_c.plan import plan_of
from frugalsvm.export.learning_c.state import state_bytes
from frugalsvm.export.learning_c.writing import learner_texts
from frugalsvm.export.models import checked_dtype, refuse_cells, warn_of_rounding

_LARGEST = 32 * 2**20  # bytes of tables
_STARTS, _LAYOUTS = ("model", "empty"), ("files", "arduino")
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
    layout: str = "files",
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
        Whether the model continues to learn in C: `BSGDClassifier`, `BSGDRegressor`, `BSGDOneClassSVM` and
        `BudgetedPerceptron`, alone or in a `StreamPipeline`, and in a `ConformalClassifier`, `ConformalRegressor` or
        `ConformalDetector`. Scaling stays as it is, but for ``scale="following"``. All of the learner is in one struct,
        ``<name>_context``; there are ``<name>_init``, ``_learn``, ``_predict``, ``_scores``, ``_save`` and ``_load``
        (conformal models also have ``_predict_set`` or ``_predict_interval``), and `read_state` takes what was learned
        back to Python. See :ref:`learn-on-the-chip`.
    start : {"model", "empty"}, default="model"
        What a learner begins with: the model as it was trained, or none, with its kernel, classes and scaling.
    precision : {"int8", "int16"}, default=None
        For chips without an FPU: a model of the kernel "rbf" in whole numbers of this size, whose scores are computed
        without floats. ``<name>_quantize`` makes whole numbers of a row. See :ref:`fixed-point`.
    judge : pair of arrays, default=None
        Rows and their targets, with which the header says how accurate a model in whole numbers is.
    layout : {"files", "arduino"}, default="files"
        "arduino" makes a library of Arduino, which PlatformIO takes as well, of the folder ``<name>`` within: with the
        two files in ``src``, and an example.

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
    _check_options(explain, learn, start, precision, layout)
    if learn:
        plan = plan_of(estimator, dtype)
        _check_size(plan.budget, plan.n_features, state_bytes(plan, dtype))
        if plan.quantile_order is None:
            warn_of_rounding(plain_model(pipeline_of(estimator)), dtype)
        header, source = learner_texts(plan, plan if start == "model" else plan.emptied(), name, dtype)
        sketch = plan.kind
    else:
        model, sketch = plain_model(estimator), "predictor"
        model.refuse_words("C")
        n_bytes = (model.vectors.size + model.coefficients.size) * dtype.itemsize
        _check_size(len(model.vectors), model.n_features, n_bytes)
        if precision is not None:
            header, source = fixed_texts(model, name, precision, judge)
        else:
            if explain:
                refuse_cells(model, "explain=True is", "leave it out")
            warn_of_rounding(model, dtype)
            header, source = c_texts(model, name, dtype, explain=explain)
    target = _made(Path(folder))
    if layout == "arduino":
        real = "float" if dtype == "float32" else "double"
        return write_library(target, name, header, source, sketch, real)
    return write_file(target / f"{name}.h", header), write_file(target / f"{name}.c", source)


def _check_options(explain, learn, start, precision, layout):
    """Refuse what there is not, and what does not go together."""
    if start not in _STARTS:
        raise ParameterError("start", start, "'model' or 'empty'")
    if layout not in _LAYOUTS:
        raise ParameterError("layout", layout, "'files' or 'arduino'")
    if learn and explain:
        raise ValueError("explain=True is for models that do not learn in C: leave out explain or learn.")
    if precision is None:
        return
    check_precision(precision)
    if learn or explain:
        raise ValueError("precision is for models that predict: leave out precision, or learn and explain.")
    if layout == "arduino":
        raise ValueError("precision is for layout='files': leave out one of them.")


def _made(folder):
    """The folder, made if it does not exist."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OSError(
            error.errno, f"The model could not be saved to {os.fspath(folder)!r}: {error.strerror}."
        ) from error
    return folder


def _check_size(n_vectors, n_features, n_bytes):
    """Compilers take about a gigabyte of memory for tables of the largest size."""
    if n_bytes > _LARGEST:
        raise ValueError(
            f"The model has {n_vectors:,} vectors of {n_features} features: tables of "
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
