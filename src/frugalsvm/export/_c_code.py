"""Pieces of C99 of which a model is made."""

import numpy as np

from frugalsvm._version import __version__
from frugalsvm.export._c_cells import cell_sizes, cell_tables
from frugalsvm.export._c_rows import row_tables
from frugalsvm.export._c_tables import c_string, matrix, vector
from frugalsvm.export.models import ANGLES, FARTHEST_EXPONENT, MATERN, labels_of, matern_factor

# What C promises of its types: a label has the smallest that holds all of them on every machine.
_INTEGERS = {"int": 2**15 - 1, "long": 2**31 - 1, "long long": 2**63 - 1}
_OF_A_CLASS = "The index of the predicted class in {prefix}_labels, or {macro}_NO_CLASS if {prefix}_decision returns 1."
WHAT_PREDICT_RETURNS = {
    "sign": _OF_A_CLASS,
    "argmax": _OF_A_CLASS,
    "votes": _OF_A_CLASS,
    "inlier": "1, or -1 for an outlier, whose score is below zero, or {macro}_NO_CLASS if {prefix}_decision returns 1.",
    "value": "The predicted number, of several outputs the first; NaN if {prefix}_decision returns 1.",
}
# What is predicted for rows without scores
NO_CLASS = {"sign": -1, "argmax": -1, "votes": -1, "inlier": 0}
_KINDS = {"value": "regression", "inlier": "one-class model"}


def comment(model):
    """What a file is; nothing in it comes from the user."""
    kind = _KINDS.get(model.decision, "classifier")
    n, d = len(model.vectors), model.n_features
    return [f"/* Made by frugalsvm {__version__}: {kind}, kernel {model.kernel}, {n} vectors of {d} features. */"]


# --- tables ---------------------------------------------------------------------------------------------------


def tables(model, names):
    """Definitions of all constant arrays."""
    if model.classes is not None:
        yield f"const {label_declaration(model, names)} = {{{', '.join(label_literals(model))}}};"
    yield matrix(names, "vectors", "[N_VECTORS][N_FEATURES]", model.vectors)
    if model.cells is None:
        yield matrix(names, "coefficients", "[N_VECTORS][N_OUTPUTS]", model.coefficients.T)
    else:
        yield from cell_tables(model, names)
    yield vector(names, "intercepts", "[N_OUTPUTS]", model.intercepts)
    if model.offsets is not None:
        yield vector(names, "offsets", "[N_VECTORS]", model.offsets)
    yield from row_tables(model, names)


def sizes(model):
    """The constants that these arrays are declared with; those of rows are beside them."""
    yield f"N_VECTORS = {len(model.vectors)}"
    yield f"N_OUTPUTS = {len(model.coefficients)}"
    if model.cells is not None:
        yield from cell_sizes(model)


def label_declaration(model, names):
    """The table of labels, without a const for itself."""
    kind, labels = labels_of(model)
    if kind == "str":
        kind = "char *const"
    elif kind == "float":
        kind = "double"
    else:
        largest = max(abs(label) for label in labels)
        kind = next((name for name, limit in _INTEGERS.items() if largest <= limit), "")
        if not kind:
            raise ValueError(f"The label {largest} is too large for C.")
    return f"{kind} {names.prefix}_labels[{names.macro}_N_CLASSES]"


def label_literals(model):
    """The values of this table."""
    kind, labels = labels_of(model)
    if kind == "str":
        return [c_string(label) for label in labels]
    if kind == "float":
        return [repr(label) for label in labels]
    suffix = "LL" if max(abs(label) for label in labels) > _INTEGERS["long"] else ""
    return [f"{int(label)}{suffix}" for label in labels]


# --- functions ------------------------------------------------------------------------------------------------


def kernel_function(model, names):
    """The kernel value of a scaled row with vector j."""
    real, suffix, literal = names.real, names.suffix, names.literal
    farthest = literal(FARTHEST_EXPONENT)  # also where a distance has overflowed, or is NaN for that
    term = "\n        ".join(term_lines(model, names))
    if model.kernel in ANGLES:
        term += "\n        norm_x += x[k] * x[k];\n        norm_v += vector[k] * vector[k];"
    if model.kernel in ("rbf", "laplacian", "chi2"):
        end = f"sum *= {literal(model.gamma)};\n    return sum < {farthest} ? exp{suffix}(-sum) : 0;"
    elif model.kernel in MATERN:
        # By Horner's rule
        *lower, polynomial = map(literal, MATERN[model.kernel])
        for factor in reversed(lower):
            polynomial = f"({polynomial} * sum + {factor})"
        end = (
            f"sum = sqrt{suffix}({literal(matern_factor(model))} * sum);\n"
            f"    return sum < {farthest} ? {polynomial} * exp{suffix}(-sum) : 0;"
        )
    elif model.kernel == "poly":
        end = (
            f"sum = {literal(model.gamma)} * sum + {literal(model.coef0)};\n"
            f"    power = sum;\n"
            f"    for (k = 1; k < {model.degree}; ++k)\n        power *= sum;\n"
            f"    return power;"
        )
    elif model.kernel == "fourier":
        # Whole turns go before the cosine: they would cost digits.
        end = (
            f"sum += {names.prefix}_offsets[j];\n"
            f"    sum -= floor{suffix}(sum + {literal(0.5)});\n"
            f"    return cos{suffix}({literal(2 * np.pi)} * sum);"
        )
    elif model.kernel in ANGLES:
        beneath = f"sqrt{suffix}(norm_x * norm_v)" if model.kernel == "cosine" else "norm_x + norm_v - sum"
        end = f"norm_x = {beneath};\n    return norm_x > 0 ? sum / norm_x : 0;"
    else:
        end = "return sum;"
    more = f"    {real} power;\n" if model.kernel == "poly" else ""
    more += f"    {real} norm_x = 0, norm_v = 0;\n" if model.kernel in ANGLES else ""
    return (
        f"static {real} {names.prefix}_kernel(const {real} *x, int j)\n{{\n"
        f"    const {real} *vector = {names.prefix}_vectors[j];\n"
        f"    {real} sum = 0;\n{more}    int k;\n"
        f"    for (k = 0; k < N_FEATURES; ++k) {{\n        {term}\n    }}\n    {end}\n}}"
    )


def term_lines(model, names):
    """Lines that add what feature k of a row and of a vector have in common to ``sum``."""
    real = names.real
    if model.kernel == "rbf" or model.kernel in MATERN:
        return [f"const {real} difference = x[k] - vector[k];", "sum += difference * difference;"]
    if model.kernel == "laplacian":
        return [f"sum += fabs{names.suffix}(x[k] - vector[k]);"]
    if model.kernel == "intersection":
        return ["sum += x[k] < vector[k] ? x[k] : vector[k];"]
    if model.kernel == "chi2":
        return [
            f"const {real} both = x[k] + vector[k], difference = x[k] - vector[k];",
            "if (both > 0)",
            "    sum += difference * difference / both;",
        ]
    return ["sum += x[k] * vector[k];"]


def votes_function(model, names):
    """Scores of the classes from the values of their pairs."""
    real, one, three = names.real, names.literal(1.0), names.literal(3.0)
    n = f"{names.macro}_N_CLASSES"
    return (
        f"static void {names.prefix}_votes(const {real} *values, {real} *scores)\n{{\n"
        f"    {real} sums[{n}];\n    int i, j;\n"
        f"    for (i = 0; i < {n}; ++i)\n        scores[i] = sums[i] = 0;\n"
        f"    for (i = 0; i < {n}; ++i) {{\n"
        f"        for (j = i + 1; j < {n}; ++j, ++values) {{\n"
        f"            scores[*values < 0 ? i : j] += {one};\n"
        f"            sums[i] -= *values;\n            sums[j] += *values;\n        }}\n    }}\n"
        f"    for (i = 0; i < {n}; ++i)\n"
        f"        scores[i] += sums[i] / ({three} * (fabs{names.suffix}(sums[i]) + {one}));\n}}"
    )


def decision_function(model, names):
    real, prefix = names.real, names.prefix
    votes = model.decision == "votes"
    target = "values" if votes else "scores"
    lines = [f"int {prefix}_decision({names.row}, {real} *scores)", "{", f"    {real} row[N_FEATURES];"]
    if votes:
        lines.append(f"    {real} values[N_OUTPUTS];")
    lines += [
        "    int j, o;" if model.cells is None else "    int o;",
        *without_scores(names, "scores", f"{names.macro}_N_SCORES", "o"),
        "    for (o = 0; o < N_OUTPUTS; ++o)",
        f"        {target}[o] = 0;",
        *(_sum_lines(names, target) if model.cells is None else [f"    {prefix}_add_cells(row, {target});"]),
        "    for (o = 0; o < N_OUTPUTS; ++o)",  # last: a large one would take the digits of all that is added to it
        f"        {target}[o] += {prefix}_intercepts[o];",
    ]
    if votes:
        lines.append(f"    {prefix}_votes(values, scores);")
    lines += [f"    for (o = 0; o < {names.macro}_N_SCORES; ++o) {{", "        if (scores[o] != scores[o])"]
    return "\n".join([*lines, "            return 1;", "    }", "    return 0;", "}"])


def _sum_lines(names, target):
    """Lines that add what all vectors have to say."""
    yield "    for (j = 0; j < N_VECTORS; ++j) {"
    yield f"        const {names.real} value = {names.prefix}_kernel(row, j);"
    yield "        for (o = 0; o < N_OUTPUTS; ++o)"
    yield f"            {target}[o] += {names.prefix}_coefficients[j][o] * value;"
    yield "    }"


def without_scores(names, what, size, index):
    """Lines that prepare a row, and end with NaN in ``what`` if it has a number that is not finite."""
    yield f"    if ({names.prefix}_row({names.passed}, row)) {{"
    yield f"        for ({index} = 0; {index} < {size}; ++{index})"
    yield f"            {what}[{index}] = NAN;"
    yield "        return 1;"
    yield "    }"


def predict_function(model, names):
    real, n = names.real, f"{names.macro}_N_SCORES"
    decided = f"{names.prefix}_decision({names.passed}, scores)"
    lines = [f"{names.predicted} {names.prefix}_predict({names.row})", "{", f"    {real} scores[{n}];"]
    if model.decision == "value":
        return "\n".join([*lines, f"    {decided};", "    return scores[0];", "}"])
    by_largest = model.decision in ("argmax", "votes")
    lines += ["    int best = 0, i;"] if by_largest else []
    lines += [f"    if ({decided})", f"        return {names.macro}_NO_CLASS;"]
    if by_largest:
        lines += [
            f"    for (i = 1; i < {n}; ++i) {{",
            "        if (scores[i] > scores[best])",
            "            best = i;",
            "    }",
            "    return best;",
        ]
    else:
        lines += ["    return scores[0] >= 0 ? 1 : -1;" if model.decision == "inlier" else "    return scores[0] >= 0;"]
    return "\n".join([*lines, "}"])
