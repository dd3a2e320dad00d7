"""Pieces of C99 of which a model is made."""

from typing import NamedTuple

import numpy as np

from frugalsvm._version import __version__
from frugalsvm.export.models import ANGLES, MATERN, PlainModel, as_type, labels_of, matern_factor, mean_parts

__all__ = [
    "WHAT_PREDICT_RETURNS",
    "Names",
    "comment",
    "decision_function",
    "kernel_function",
    "label_declaration",
    "n_inputs",
    "predict_function",
    "preparation",
    "sizes",
    "tables",
    "term_lines",
    "vector",
    "votes_function",
]

NUMBERS_IN_A_LINE = 8
# What C promises of its types: a label has the smallest that holds all of them on every machine.
_INTEGERS = {"int": 2**15 - 1, "long": 2**31 - 1, "long long": 2**63 - 1}
_MEANS = ("mean", "rest_of_mean")  # see `mean_parts`
_OF_A_CLASS = "The index of the predicted class in {prefix}_labels."
WHAT_PREDICT_RETURNS = {
    "sign": _OF_A_CLASS,
    "argmax": _OF_A_CLASS,
    "votes": _OF_A_CLASS,
    "value": "The predicted number; of several outputs, the first.",
}


class Names(NamedTuple):
    """What things are called in the code."""

    prefix: str
    macro: str
    real: str  # the type of numbers
    suffix: str  # of literals and of functions of <math.h>
    predicted: str  # the type of predictions
    n_scores: int
    dtype: np.dtype

    @classmethod
    def of(cls, model: PlainModel, name: str, dtype: np.dtype) -> "Names":
        real, suffix = ("float", "f") if dtype == np.float32 else ("double", "")
        predicted = real if model.decision == "value" else "int"
        n_scores = len(model.coefficients)
        if model.decision == "votes" and model.classes is not None:
            n_scores = len(model.classes)
        return cls(name, name.upper(), real, suffix, predicted, n_scores, dtype)

    def literal(self, value) -> str:
        """The shortest decimals that give the same number back."""
        return f"{as_type(value, self.dtype)[()]}{self.suffix}"


def comment(model):
    """What a file is; nothing in it comes from the user."""
    kind = "regression" if model.decision == "value" else "classifier"
    n, d = len(model.vectors), model.n_features
    return [f"/* Made by frugalsvm {__version__}: {kind}, kernel {model.kernel}, {n} vectors of {d} features. */"]


# --- tables ---------------------------------------------------------------------------------------------------


def tables(model, names):
    """Definitions of all constant arrays."""
    if model.classes is not None:
        yield f"const {label_declaration(model, names)} = {{{', '.join(_label_literals(model))}}};"
    yield _matrix(names, "vectors", "[N_VECTORS][N_FEATURES]", model.vectors)
    yield _matrix(names, "coefficients", "[N_VECTORS][N_OUTPUTS]", model.coefficients.T)
    yield vector(names, "intercepts", "[N_OUTPUTS]", model.intercepts)
    if model.offsets is not None:
        yield vector(names, "offsets", "[N_VECTORS]", model.offsets)
    size = f"[{n_inputs(model)}]"
    for what, values in zip(_MEANS, _means(model, names), strict=False):
        yield vector(names, what, size, values)
    if model.scale is not None:
        yield vector(names, "scale", size, model.scale)
    if model.filling is not None:
        yield vector(names, "filling", size, model.filling)
    if model.bounds is not None:
        for what, values in zip(("least", "most"), model.bounds, strict=True):
            yield vector(names, what, size, values)
    if model.room is not None:
        yield vector(names, "room", size, model.room)
    if model.directions is not None:
        yield _matrix(names, "directions", f"[N_FEATURES]{size}", model.directions)


def sizes(model):
    """The constants that arrays are declared with; the kernel sees N_FEATURES numbers of a row."""
    yield f"N_FEATURES = {model.vectors.shape[1]}"
    if model.directions is not None:
        yield f"N_INPUTS = {model.n_features}"
    yield f"N_VECTORS = {len(model.vectors)}"
    yield f"N_OUTPUTS = {len(model.coefficients)}"


def n_inputs(model):
    """What the number of inputs is called."""
    return "N_FEATURES" if model.directions is None else "N_INPUTS"


def _means(model, names):
    return [] if model.mean is None else mean_parts(model.mean, names.dtype)


def vector(names, what, size, values):
    return f"static const {names.real} {names.prefix}_{what}{size} = {_braced(values, names)};"


def _matrix(names, what, size, values):
    rows = ",\n".join(_braced(row, names) for row in values)
    return f"static const {names.real} {names.prefix}_{what}{size} = {{\n{rows}\n}};"


def _braced(values, names):
    literals = [f"{value}{names.suffix}" for value in as_type(values, names.dtype)]
    lines = (", ".join(literals[k : k + NUMBERS_IN_A_LINE]) for k in range(0, len(literals), NUMBERS_IN_A_LINE))
    return "{" + ",\n".join(lines) + "}"


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


def _label_literals(model):
    kind, labels = labels_of(model)
    if kind == "str":
        return [_string(label) for label in labels]
    if kind == "float":
        return [repr(label) for label in labels]
    suffix = "LL" if max(abs(label) for label in labels) > _INTEGERS["long"] else ""
    return [f"{int(label)}{suffix}" for label in labels]


def _string(text):
    """A C string of UTF-8; all but letters, digits and the like are octal, which also keeps trigraphs out."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+.,:;/()[]<>=*#@!&%"
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode()) + '"'


# --- functions ------------------------------------------------------------------------------------------------


def kernel_function(model, names):
    """The kernel value of a scaled row with vector j."""
    real, suffix, literal = names.real, names.suffix, names.literal
    term = "\n        ".join(term_lines(model, names))
    if model.kernel in ANGLES:
        term += "\n        norm_x += x[k] * x[k];\n        norm_v += vector[k] * vector[k];"
    if model.kernel in ("rbf", "laplacian", "chi2"):
        end = f"return exp{suffix}(-{literal(model.gamma)} * sum);"
    elif model.kernel in MATERN:
        # By Horner's rule
        *lower, polynomial = map(literal, MATERN[model.kernel])
        for factor in reversed(lower):
            polynomial = f"({polynomial} * sum + {factor})"
        end = (
            f"sum = sqrt{suffix}({literal(matern_factor(model))} * sum);\n    return {polynomial} * exp{suffix}(-sum);"
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
    declared, prepared, seen = preparation(model, names)
    lines = [f"void {prefix}_decision(const {real} *x, {real} *scores)", "{", *declared]
    if votes:
        lines.append(f"    {real} values[N_OUTPUTS];")
    lines += [
        "    int j, o;",
        *prepared,
        "    for (o = 0; o < N_OUTPUTS; ++o)",
        f"        {target}[o] = {prefix}_intercepts[o];",
        "    for (j = 0; j < N_VECTORS; ++j) {",
        f"        const {real} value = {prefix}_kernel({seen}, j);",
        "        for (o = 0; o < N_OUTPUTS; ++o)",
        f"            {target}[o] += {prefix}_coefficients[j][o] * value;",
        "    }",
    ]
    if votes:
        lines.append(f"    {prefix}_votes(values, scores);")
    return "\n".join([*lines, "}"])


def preparation(model, names):
    """Declarations and statements that make of ``x`` what the kernel sees, and what that is called."""
    real, declared, prepared, seen = names.real, [], [], "x"
    if any(each is not None for each in (model.mean, model.scale, model.bounds, model.filling)):
        declared.append(f"    {real} row[{n_inputs(model)}];")
        prepared += _scaling(model, names)
        seen = "row"
    if model.directions is not None:
        declared.append(f"    {real} seen[N_FEATURES];")
        prepared += _mapping(names, seen)
        seen = "seen"
    return declared, prepared, seen


def _scaling(model, names):
    """Lines that write the scaled inputs to ``row``."""
    real, prefix = names.real, names.prefix
    yield f"    for (j = 0; j < {n_inputs(model)}; ++j) {{"
    filled = f"x[j] != x[j] ? {prefix}_filling[j] : x[j]" if model.filling is not None else "x[j]"
    yield f"        {real} value = {filled};"
    if model.bounds is not None:
        least, most, room = f"{prefix}_least[j]", f"{prefix}_most[j]", f"{prefix}_room[j]"
        yield f"        const {real} clipped = value > {most} ? {most} : value < {least} ? {least} : value;"
        if model.room is not None:
            size = f"{names.literal(1.0)} + fabs{names.suffix}(value - clipped) / {room}"
            yield f"        const {real} more = {room} - {room} / ({size});"
            yield "        value = value < clipped ? clipped - more : clipped + more;"
        else:
            yield "        value = clipped;"
    means = _MEANS[: len(_means(model, names))]
    shifted = " - ".join(["value", *(f"{prefix}_{what}[j]" for what in means)])
    shifted = f"({shifted})" if means else shifted
    yield f"        row[j] = {shifted}{f' / {prefix}_scale[j]' if model.scale is not None else ''};"
    yield "    }"


def _mapping(names, row):
    """Lines that write what the kernel sees of a row to ``seen``."""
    yield "    for (j = 0; j < N_FEATURES; ++j) {"
    yield "        seen[j] = 0;"
    yield "        for (o = 0; o < N_INPUTS; ++o)"
    yield f"            seen[j] += {names.prefix}_directions[j][o] * {row}[o];"
    yield "    }"


def predict_function(model, names):
    real, n = names.real, f"{names.macro}_N_SCORES"
    if model.decision == "value":
        rest = "    return scores[0];"
    elif model.decision == "sign":
        rest = "    return scores[0] >= 0;"
    else:
        rest = (
            f"    for (i = 1; i < {n}; ++i) {{\n"
            "        if (scores[i] > scores[best])\n            best = i;\n    }\n    return best;"
        )
    local = "    int best = 0, i;\n" if model.decision in ("argmax", "votes") else ""
    return (
        f"{names.predicted} {names.prefix}_predict(const {real} *x)\n{{\n"
        f"    {real} scores[{n}];\n{local}    {names.prefix}_decision(x, scores);\n{rest}\n}}"
    )
