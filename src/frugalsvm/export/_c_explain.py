"""The C99 function that shares a score out among the inputs: `frugalsvm.core.shapley` for one row, in plain loops."""

import numpy as np

from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.quadrature import Rules, new_rules
from frugalsvm.export import _c_code as code
from frugalsvm.export._c_tables import integers, vector
from frugalsvm.export.shares import check_shares, input_of_features

# Of the integrals, relative to the coefficients: beyond what numbers of the type can tell apart, or like Python's.
_TOLERANCES = {"float32": 1e-8, "float64": 1e-12}


def header_lines(model, names):
    """What the header says of the function."""
    real, prefix, macro = names.real, names.prefix, names.macro
    scores = "values of the pairs of classes" if model.decision == "votes" else "scores"
    yield f"#define {macro}_N_VALUES {len(model.coefficients)}"
    yield ""
    yield f"/* The {scores} when no input is there. */"
    yield f"extern const {real} {prefix}_base_values[{macro}_N_VALUES];"
    yield ""
    yield f"/* The shares of the inputs of a row x in its {scores}: that of input k in score o is"
    yield f"   shares[k * {macro}_N_VALUES + o]. With the base values they add up to the {scores}."
    yield f"   Returns 0; or 1, with NaN for the shares, where {prefix}_decision does. */"
    yield f"int {prefix}_explain(const {real} *x, {real} *shares);"
    yield ""


def explain_parts(model, names):
    """Tables and functions."""
    check_shares(model)
    if model.indicated is not None or model.encoder is not None:
        raise ValueError(
            "explain=True is for models of numbers, and this one has learned columns of text or which values are "
            "missing: leave it out, and explain in Python."
        )
    real, prefix = names.real, names.prefix
    inputs = input_of_features(model)
    values = ", ".join(map(names.literal, _base_values(model)))
    yield f"const {real} {prefix}_base_values[{names.macro}_N_VALUES] = {{{values}}};"
    if model.directions is not None:
        yield integers(names, "inputs", "[N_FEATURES]", inputs)
    if _is_product(model):
        yield from _rule_tables(_rules_for(model, names), names, model.vectors.shape[1])
    yield _term_function(model, names)
    yield _explain_function(model, names)


def _base_values(model):
    """The values when no input is there: all factors are 1, or all terms are 0."""
    return model.intercepts + (model.coefficients.sum(axis=1) if _is_product(model) else 0.0)


def _is_product(model):
    return offers(KERNELS[model.kernel], "multiplicative")


def _rules_for(model, names) -> Rules:
    return new_rules(model.vectors.shape[1], _TOLERANCES[names.dtype.name])


def _rule_tables(rules, names, n_features):
    """Nodes and weights of all rules, where each begins, and up to which sum of gaps it is exact enough."""
    n_rules, n_nodes = len(rules.limits), len(rules.nodes)
    yield f"enum {{ N_RULES = {n_rules} }};"
    yield integers(names, "first_nodes", "[N_RULES + 1]", rules.first)
    yield vector(names, "limits", "[N_RULES]", np.minimum(rules.limits, n_features))
    yield vector(names, "nodes", f"[{n_nodes}]", rules.nodes)
    yield vector(names, "weights", f"[{n_nodes}]", rules.weights)


def _term_function(model, names):
    """What feature k adds to the exponent of the kernel, or to the kernel itself."""
    lines = [
        f"static {names.real} {names.prefix}_term(const {names.real} *x, int j, int k)",
        "{",
        f"    const {names.real} *vector = {names.prefix}_vectors[j];",
        f"    {names.real} sum = 0;",
        *(f"    {line}" for line in code.term_lines(model, names)),
        "    return sum;",
        "}",
    ]
    return "\n".join(lines)


def _explain_function(model, names):
    real, prefix = names.real, names.prefix
    place = "k" if model.directions is None else f"{prefix}_inputs[k]"
    product = _is_product(model)
    share = "-gaps[k] * integrals[k]" if product else f"{prefix}_term(row, j, k)"
    lines = [f"int {prefix}_explain({names.row}, {real} *shares)", "{", f"    {real} row[N_FEATURES];"]
    if product:
        lines.append(f"    {real} gaps[N_FEATURES], before[N_FEATURES], integrals[N_FEATURES];")
    lines += [
        "    int j, k, o;",
        *code.without_scores(names, "shares", f"{names.macro}_N_FEATURES * N_OUTPUTS", "k"),
        f"    for (k = 0; k < {names.macro}_N_FEATURES * N_OUTPUTS; ++k)",
        "        shares[k] = 0;",
        "    for (j = 0; j < N_VECTORS; ++j) {",
        *(_integral_lines(model, names) if product else ()),
        "        for (k = 0; k < N_FEATURES; ++k) {",
        f"            const {real} share = {share};",
        "            for (o = 0; o < N_OUTPUTS; ++o)",
        f"                shares[{place} * N_OUTPUTS + o] += {prefix}_coefficients[j][o] * share;",
        "        }",
        "    }",
    ]
    return "\n".join([*lines, "    return 0;", "}"])


def _integral_lines(model, names):
    """The integrals of the products of all factors but one, between those of vector j and 1."""
    real, prefix, one = names.real, names.prefix, names.literal(1.0)
    exponent = f"-{names.literal(model.gamma)} * {prefix}_term(row, j, k)"
    return [
        f"        {real} sum = 0;",
        "        int rule = 0, m;",
        "        for (k = 0; k < N_FEATURES; ++k) {",
        f"            gaps[k] = -expm1{names.suffix}({exponent});",
        "            sum += gaps[k];",
        "            integrals[k] = 0;",
        "        }",
        f"        while (rule < N_RULES - 1 && sum > {prefix}_limits[rule])",
        "            ++rule;",
        f"        for (m = {prefix}_first_nodes[rule]; m < {prefix}_first_nodes[rule + 1]; ++m) {{",
        f"            const {real} node = {prefix}_nodes[m];",
        f"            {real} product = {one};",
        "            for (k = 0; k < N_FEATURES; ++k) {",
        "                before[k] = product;",
        f"                product *= {one} - node * gaps[k];",
        "            }",
        f"            product = {prefix}_weights[m];",
        "            for (k = N_FEATURES - 1; k >= 0; --k) {",
        "                integrals[k] += before[k] * product;",
        f"                product *= {one} - node * gaps[k];",
        "            }",
        "        }",
    ]
