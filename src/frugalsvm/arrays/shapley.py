"""Shapley values of product kernels on a device: what `frugalsvm.core.shapley` does, in operations on whole arrays.

Products of all factors but one are those of all factors, divided by that one. No factor is zero; where a product
underflows, so does what is left of it without one factor, up to the smallest of numbers.
"""

from typing import Any

import numpy as np

from frugalsvm.arrays.namespace import Arrays
from frugalsvm.core.fastmath import LOG2E
from frugalsvm.core.quadrature import Rules

_BLOCK_VALUES = 2**24  # factors at a time
_LOWEST = -500.0 / LOG2E  # of an exponent, as in compiled code


def array_shapley_values(
    arrays: Arrays, kernel: Any, rows: Any, background: Any, vectors: Any, coefficients: Any, first: Any, rules: Rules
) -> np.ndarray:
    """Values (n_rows, n_outputs, n_players), in float64; features are in the order of their players."""
    xp = arrays.xp
    vectors, weights = arrays.asarray(vectors, "float64"), arrays.asarray(coefficients, "float64")
    others = [None] if len(background) == 0 else [arrays.asarray(row[None], "float64") for row in background]
    n_together = max(1, _BLOCK_VALUES // max(1, vectors.shape[0] * vectors.shape[1]))
    out = np.empty((len(rows), len(coefficients), len(first) - 1))
    for start in range(0, len(rows), n_together):
        part = arrays.asarray(rows[start : start + n_together], "float64")
        own = _exponents(xp, kernel, part, vectors, first)
        total: Any = 0.0
        for other in others:
            before = xp.zeros_like(own[:1]) if other is None else _exponents(xp, kernel, other, vectors, first)
            shares = _shares(xp, own, before, rules)
            total = total + xp.matmul(weights, shares)
        out[start : start + n_together] = arrays.host(total) / len(others)
    return out


def _exponents(xp, kernel, rows, vectors, first):
    """``log k`` of all rows, vectors and players."""
    terms = _terms(xp, kernel, rows[:, None, :], vectors[None, :, :])
    if terms.shape[2] != len(first) - 1:
        parts = [xp.sum(terms[:, :, a:b], axis=2) for a, b in zip(first[:-1], first[1:], strict=True)]
        terms = xp.stack(parts, axis=2)
    return xp.clip(-kernel.gamma * terms, _LOWEST, 0.0)


def _terms(xp, kernel, x, v):
    difference = x - v
    if getattr(kernel, "gaussian", False):
        return difference * difference
    if getattr(kernel, "l1", False):
        return xp.abs(difference)
    return difference * difference / xp.clip(x + v, float(np.finfo(np.float64).tiny), None)


def _shares(xp, own, before, rules: Rules):
    """``(k - b)`` times the integrals, for all rows, vectors and players."""
    start, step = xp.exp(before), xp.expm1(own) - xp.expm1(before)
    far = own + before < -1.4  # there, differences of factors are more exact than those of their gaps to 1
    step = xp.where(far, xp.exp(own) - start, step)
    gaps = xp.abs(step) / xp.exp(xp.maximum(own, before))
    most = float(xp.max(xp.sum(gaps, axis=2)))
    rule = min(int(np.searchsorted(rules.limits, most)), len(rules.limits) - 1)
    integrals: Any = 0.0
    for m in range(int(rules.first[rule]), int(rules.first[rule + 1])):
        factors = start + float(rules.nodes[m]) * step
        integrals = integrals + float(rules.weights[m]) * xp.prod(factors, axis=2)[:, :, None] / factors
    return step * integrals
