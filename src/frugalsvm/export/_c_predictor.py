"""The header and the source file of a model that predicts: its tables, and the C files of ``predictor_c``."""

import numpy as np

from frugalsvm._version import __version__
from frugalsvm.export._c_explain import explain_parts, explain_places, term_text
from frugalsvm.export._c_files import label_table, written
from frugalsvm.export._c_rows import needs_strings, row_function, row_sizes, row_tables, row_words, text_names
from frugalsvm.export._c_tables import Names, integers, matrix, vector
from frugalsvm.export.models import ANGLES, FARTHEST_EXPONENT, MATERN, PlainModel, matern_factor

_OF_A_CLASS = "The index of the predicted class in name_labels, or NAME_NO_CLASS if name_decision returns 1."
_WHAT_PREDICT_RETURNS = {
    "sign": _OF_A_CLASS,
    "argmax": _OF_A_CLASS,
    "votes": _OF_A_CLASS,
    "inlier": "1, or -1 for an outlier, whose score is below zero, or NAME_NO_CLASS if name_decision returns 1.",
    "value": "The predicted number, of several outputs the first; NaN if name_decision returns 1.",
}
_NO_CLASS = {"sign": -1, "argmax": -1, "votes": -1, "inlier": 0}  # what is predicted for rows without scores
_KINDS = {"value": "regression", "inlier": "one-class model"}


def c_texts(model: PlainModel, name: str, dtype: np.dtype, *, explain: bool = False) -> tuple[str, str]:
    """The text of the header and of the source."""
    names = Names.of(model, name, dtype)
    more = list(explain_parts(model, names)) if explain else []
    kind, n, d = _KINDS.get(model.decision, "classifier"), len(model.vectors), model.n_features
    comment = f"/* Made by frugalsvm {__version__}: {kind}, kernel {model.kernel}, {n} vectors of {d} features. */\n"
    return f"{comment}{_header(model, names, explain)}\n", f"{comment}{_source(model, names, more)}\n"


def _header(model, names, explain):
    more = written(names, "explain.h", **explain_places(model)) + "\n" if explain else ""
    return written(
        names,
        "header.h",
        n_numbers=str(model.n_numbers),
        n_scores=names.n_scores,
        n_texts=None if model.encoder is None else len(model.encoder.names_),
        n_classes=None if model.classes is None else len(model.classes),
        no_class=str(_NO_CLASS.get(model.decision, "")),
        labels=label_table(model, names.prefix, is_defined=False),
        texts=text_names(names),
        words=row_words(model),
        not_finite="infinite" if model.filling is not None else "NaN or infinite",
        returns=_WHAT_PREDICT_RETURNS[model.decision],
        predicted=names.predicted,
        explain=more,
    )


def _source(model, names, more):
    votes, has_cells = model.decision == "votes", model.cells is not None
    flags = {"votes": votes, "cells": has_cells, "target": "values" if votes else "scores"}
    kinds = {
        "value": model.decision == "value", "largest": model.decision in ("argmax", "votes"),
        "inlier": model.decision == "inlier", "sign": model.decision == "sign",
    }  # fmt: skip
    includes = ["#include <math.h>", *(["#include <string.h>"] if needs_strings(model) else [])]
    parts = [
        "\n".join([f'#include "{names.prefix}.h"', "", *includes]),
        f"enum {{ {', '.join([*row_sizes(model), *_sizes(model)])} }};",
        *_tables(model, names),
        row_function(model, names),
        _kernel_function(model, names),
        *([written(names, "cells.c")] if has_cells else []),
        *([written(names, "votes.c", three=names.literal(3.0))] if votes else []),
        written(names, "decision.c", **flags),
        written(names, "predict.c", predicted=names.predicted, **kinds),
        *more,
    ]
    return "\n\n".join(parts)


def _kernel_function(model, names):
    """The kernel value of a scaled row with vector j."""
    *lower, polynomial = map(names.literal, MATERN.get(model.kernel, (1.0,)))
    for factor in reversed(lower):  # Horner's rule
        polynomial = f"({polynomial} * sum + {factor})"
    beneath = f"sqrt{names.suffix}(norm_x * norm_v)" if model.kernel == "cosine" else "norm_x + norm_v - sum"
    return written(
        names,
        "kernel.c",
        term=term_text(model, names, " " * 8),
        poly=model.kernel == "poly",
        angle=model.kernel in ANGLES,
        decay=model.kernel in ("rbf", "laplacian", "chi2"),
        matern=model.kernel in MATERN,
        fourier=model.kernel == "fourier",
        sum=model.kernel in ("linear", "intersection"),
        gamma=names.literal(model.gamma),
        farthest=names.literal(FARTHEST_EXPONENT),  # also where a distance has overflowed, or is NaN for that
        factor=names.literal(matern_factor(model)) if model.kernel in MATERN else "",
        polynomial=polynomial,
        coef0=names.literal(model.coef0),
        degree=model.degree,
        half=names.literal(0.5),
        turn=names.literal(2 * np.pi),
        beneath=beneath,
    )


def _tables(model, names):
    """Definitions of all constant arrays."""
    if model.classes is not None:
        yield label_table(model, names.prefix, is_defined=True)
    yield matrix(names, "vectors", "[N_VECTORS][N_FEATURES]", model.vectors)
    if model.cells is None:
        yield matrix(names, "coefficients", "[N_VECTORS][N_OUTPUTS]", model.coefficients.T)
    else:
        yield from _cell_tables(model, names)
    yield vector(names, "intercepts", "[N_OUTPUTS]", model.intercepts)
    if model.offsets is not None:
        yield vector(names, "offsets", "[N_VECTORS]", model.offsets)
    yield from row_tables(model, names)


def _sizes(model):
    """The constants that these arrays are declared with; those of rows are beside them. C has no empty arrays."""
    yield f"N_VECTORS = {len(model.vectors)}"
    yield f"N_OUTPUTS = {len(model.coefficients)}"
    if model.cells is not None:
        yield f"N_NODES = {max(len(model.cells.cuts), 1)}"
        yield f"N_TREES = {len(model.cells.roots)}"
        yield f"N_CELLS = {len(model.cells.intercepts)}"
        yield f"N_MEMBERS = {max(len(model.cells.members), 1)}"


def _cell_tables(model, names):
    """Definitions of the constant arrays of the trees, and of what their cells have."""
    cells = model.cells
    yield matrix(names, "nodes", "[N_NODES][N_FEATURES]", _not_empty(cells.directions))
    yield vector(names, "cuts", "[N_NODES]", _not_empty(cells.cuts))
    yield integers(names, "children", "[2 * N_NODES]", _not_empty(cells.children).ravel())
    yield integers(names, "roots", "[N_TREES]", cells.roots)
    yield integers(names, "starts", "[N_CELLS + 1]", cells.starts)
    yield integers(names, "members", "[N_MEMBERS]", _not_empty(cells.members))
    yield matrix(names, "coefficients", "[N_MEMBERS][N_OUTPUTS]", _not_empty(model.coefficients.T))
    yield matrix(names, "cell_intercepts", "[N_CELLS][N_OUTPUTS]", cells.intercepts)


def _not_empty(values):
    return values if len(values) else np.zeros((1, *values.shape[1:]), values.dtype)
