"""The C99 function that shares a score out among the inputs: `frugalsvm.core.shapley` for one row, in plain loops."""

import numpy as np

from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.quadrature import new_rules
from frugalsvm.export._c_files import written
from frugalsvm.export._c_tables import integers, vector
from frugalsvm.export.models import MATERN
from frugalsvm.export.shares import check_shares, input_of_features

# Of the integrals, relative to the coefficients: beyond what numbers of the type can tell apart, or like Python's.
_TOLERANCES = {"float32": 1e-8, "float64": 1e-12}
_TERMS = ("distance", "laplacian", "intersection", "chi2", "product")  # of kernels


def explain_places(model):
    """What is filled in where the header tells of the function."""
    scores = "values of the pairs of classes" if model.decision == "votes" else "scores"
    return {"n_values": len(model.coefficients), "scores": scores}


def explain_parts(model, names):
    """Tables and functions."""
    check_shares(model)
    if model.indicated is not None or model.encoder is not None:
        raise ValueError(
            "explain=True is for models of numbers, and this one has learned columns of text or which values are "
            "missing: leave it out, and explain in Python."
        )
    product, integrals = offers(KERNELS[model.kernel], "multiplicative"), ""
    # Where no input is there, all factors are 1, or all terms are 0.
    base = model.intercepts + (model.coefficients.sum(axis=1) if product else 0.0)
    values = ", ".join(map(names.literal, base))
    yield f"const {names.real} {names.prefix}_base_values[{names.macro}_N_VALUES] = {{{values}}};"
    if model.directions is not None:
        yield integers(names, "inputs", "[N_FEATURES]", input_of_features(model))
    if product:
        n_features = model.vectors.shape[1]
        yield from _rule_tables(new_rules(n_features, _TOLERANCES[names.dtype.name]), names, n_features)
        integrals = written(names, "integrals.c", gamma=names.literal(model.gamma))
    yield written(names, "term_function.c", term=term_text(model, names, " " * 4))
    yield written(
        names,
        "explain.c",
        place="k" if model.directions is None else "name_inputs[k]",
        share="-gaps[k] * integrals[k]" if product else "name_term(row, j, k)",
        integrals=integrals,
    )


def term_text(model, names, indent: str) -> str:
    """Lines that add what feature k of a row and of a vector have in common to ``sum``."""
    kind = "distance" if model.kernel in ("rbf", *MATERN) else model.kernel
    kind = kind if kind in _TERMS else "product"
    return written(names, "term.c", **{each: each == kind for each in _TERMS}).replace("\n", f"\n{indent}")


def _rule_tables(rules, names, n_features):
    """Nodes and weights of all rules, where each begins, and up to which sum of gaps it is exact enough."""
    n_rules, n_nodes = len(rules.limits), len(rules.nodes)
    yield f"enum {{ N_RULES = {n_rules} }};"
    yield integers(names, "first_nodes", "[N_RULES + 1]", rules.first)
    yield vector(names, "limits", "[N_RULES]", np.minimum(rules.limits, n_features))
    yield vector(names, "nodes", f"[{n_nodes}]", rules.nodes)
    yield vector(names, "weights", f"[{n_nodes}]", rules.weights)
