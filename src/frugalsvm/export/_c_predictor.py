"""The header and the source file of a model that predicts."""

import numpy as np

from frugalsvm.export import _c_code as code
from frugalsvm.export._c_cells import cell_function
from frugalsvm.export._c_explain import explain_parts, header_lines
from frugalsvm.export._c_rows import needs_strings, row_function, row_sizes, row_words, text_names
from frugalsvm.export._c_tables import Names
from frugalsvm.export.models import PlainModel


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
