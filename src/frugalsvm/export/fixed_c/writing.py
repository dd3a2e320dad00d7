"""The header and the source file of a model in whole numbers."""

from typing import Any

import numpy as np

from frugalsvm._version import __version__
from frugalsvm.export._c_files import LABELS, c_file, filled, label_table, named, table
from frugalsvm.export.fixed_c.model import POWERS, PRECISIONS, FixedModel, fixed_model
from frugalsvm.export.models import PlainModel

_PREDICTED = {
    "sign": ("int", "The index of the predicted class in name_labels."),
    "argmax": ("int", "The index of the predicted class in name_labels."),
    "inlier": ("int", "1, or -1 for an outlier."),
    "value": ("int64_t", "The predicted number, of several outputs the first, in units of NAME_SCORE_UNIT."),
}


def fixed_texts(model: PlainModel, name: str, precision: str, judged: tuple[Any, Any] | None = None) -> tuple[str, str]:
    """The text of the header and of the source; with ``judged``, rows and targets, the header says what is lost."""
    fixed = fixed_model(model, precision)
    lost = "What is lost was not measured: see to_c(judge=)." if judged is None else _loss(model, fixed, *judged)
    made = f"Made by frugalsvm {__version__}: {precision}, {len(fixed.vectors)} vectors of {model.n_features} features."
    words = f"/* {made}\n   {lost} */\n"
    header, source = named(_header(model, fixed), name), named(_source(model, fixed, precision), name)
    header = filled(header, labels=label_table(model, name, is_defined=False))
    return words + header, words + filled(source, labels=label_table(model, name, is_defined=True))


def _loss(model: PlainModel, fixed: FixedModel, X: Any, y: Any) -> str:
    """What is lost on some rows."""
    y, scores = np.asarray(y), fixed.scores(X)
    if model.decision == "value":
        both = (each.reshape(len(y), -1) - y.reshape(len(y), -1) for each in (scores * fixed.unit, model.predict(X)))
        errors = [np.sqrt(np.mean(np.square(each))) for each in both]
        return f"Root mean square error on {len(y)} rows: {errors[0]:.4g}, in float {errors[1]:.4g}."
    known = scores[:, 0] if scores.shape[1] == 1 else scores
    right = [100 * np.mean(predicted == y) for predicted in (model.predicted(known), model.predict(X))]
    return f"Accuracy on {len(y)} rows: {right[0]:.2f} %, in float {right[1]:.2f} %."


def _header(model, fixed):
    sizes = {
        "N_FEATURES": model.n_features,
        "N_OUTPUTS": len(fixed.coefficients),
        "SCORE_UNIT": repr(float(fixed.unit)),
    }
    if model.classes is not None:
        sizes["N_CLASSES"] = len(model.classes)
    result, predicted = _PREDICTED[model.decision]
    lines = "\n".join(f"#define NAME_{key} {value}" for key, value in sizes.items())
    return filled(
        c_file("fixed_c", "header.h"), sizes=lines, result=result, predicted=predicted
    ) + "\n"  # fmt: skip


def _source(model, fixed, precision):
    kind = f"{PRECISIONS[precision].dtype.__name__}_t"
    n = len(fixed.vectors)
    texts = [
        '#include "name.h"\n\n#include <float.h>',
        f"typedef {kind} vector_number;\n\nenum {{ N_VECTORS = {n}, STEEPNESS_SHIFT = {fixed.shift} }};",
        f"#define FAR UINT64_C({fixed.far})\n#define STEEPNESS UINT64_C({fixed.steepness})",
    ]
    if model.classes is not None:
        texts.append(LABELS)
    texts += [
        _matrix(kind, f"vectors[{n}][NAME_N_FEATURES]", fixed.vectors),
        _matrix(kind, f"coefficients[{n}][NAME_N_OUTPUTS]", fixed.coefficients.T),
        table("int64_t", "intercepts", (f"INT64_C({each})" for each in fixed.intercepts)),
        table("uint32_t", "powers", (f"{each}u" for each in POWERS)),
        table("float", "row_offset", map(_float, fixed.offset)),
        table("float", "row_steps", map(_float, fixed.steps)),
        table("int16_t", "row_least", map(str, fixed.least)),
        table("int16_t", "row_most", map(str, fixed.most)),
    ]
    filling = ""
    if fixed.filling is not None:
        texts.append(table("float", "row_filling", map(_float, fixed.filling)))
        filling = "        value = value != value ? row_filling[f] : value; /* NaN */"
    texts += [filled(c_file("fixed_c", "model.c"), filling=filling), c_file("fixed_c", f"{model.decision}.c")]
    return "\n\n".join(texts) + "\n"


def _float(value):
    return f"{value!s}f"


def _matrix(kind, declared, values):
    rows = ",\n".join(f"    {{{', '.join(map(str, row))}}}" for row in values)
    return f"static const {kind} {declared} = {{\n{rows}\n}};"
