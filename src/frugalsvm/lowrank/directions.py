"""Conjugate gradients of the compiled back end: all steps in one call, whose products a crew of threads shares.

The method is that of `frugalsvm.lowrank.hessian.conjugate_gradients`, where each product is a call from Python.
"""

from typing import NamedTuple

import numpy as np

from frugalsvm.compiling.functions import entry, separate
from frugalsvm.lowrank.row_products import LOWER, UPPER, WHOLE, Sums, add_up_together, write_scores_together

_TINY, _FLAT = 1e-300, 1e-6  # as there
_ZERO = np.float32(0.0)


class Codes(NamedTuple):
    """Machine code of products, which has been compiled for others, too: see `frugalsvm.compiling.crew.code_of`."""

    parts_of_sums: int
    totals_of_sums: int
    double_scores: int  # 0 where there is no whitening
    single_scores: int


class System(NamedTuple):
    """A Hessian of the objective: of the risk, in terms of raw rows, and of the penalty."""

    sums: Sums
    whitening: np.ndarray  # (width, d) float64; without numbers where raw rows are features
    transposed: np.ndarray  # (d, width)
    edges: np.ndarray  # of both, for threads
    transposed_edges: np.ndarray
    penalty: float
    intercept: bool


class Inverse(NamedTuple):
    """The preconditioner, ``lower' lower``, in float32."""

    lower: np.ndarray
    upper: np.ndarray  # the same, transposed
    edges: np.ndarray


class Vectors(NamedTuple):
    """Memory for an output's vector in each row: of all d + 1 numbers, of features alone, and of raw rows."""

    directions: np.ndarray
    residuals: np.ndarray
    search: np.ndarray
    products: np.ndarray
    single: np.ndarray  # float32
    middle: np.ndarray  # float32
    solved: np.ndarray  # float32
    features: np.ndarray  # (n_outputs, d)
    raw: np.ndarray  # (n_outputs, width)
    sizes: np.ndarray  # (n_outputs,) squared lengths of the residuals
    first_sizes: np.ndarray


def new_vectors(n_outputs, width, d):
    """With new memory."""
    arrays = [np.empty((n_outputs, d + 1), dtype) for dtype in 4 * [np.float64] + 3 * [np.float32]]
    arrays += [np.empty((n_outputs, d)), np.empty((n_outputs, width)), np.empty(n_outputs), np.empty(n_outputs)]
    return Vectors(*arrays)


@separate
def _times(crew, codes, system, vectors, out):
    """The Hessian times ``vectors.search``."""
    sums, features, raw, search = system.sums, vectors.features, vectors.raw, vectors.search
    d = features.shape[1]
    for o in range(search.shape[0]):
        for j in range(d):
            features[o, j] = search[o, j]
        sums.shifts[o] = np.float32(search[o, d]) if system.intercept else _ZERO
    is_whitened = system.whitening.size > 0
    if is_whitened:
        write_scores_together(crew, codes.double_scores, system.whitening, WHOLE, features, system.edges, raw)
    for o in range(search.shape[0]):
        for j in range(sums.vectors.shape[1]):
            sums.vectors[o, j] = np.float32(raw[o, j] if is_whitened else features[o, j])
    add_up_together(crew, codes.parts_of_sums, codes.totals_of_sums, sums)
    if is_whitened:
        write_scores_together(
            crew, codes.double_scores, system.transposed, WHOLE, sums.sums, system.transposed_edges, features
        )
    for o in range(search.shape[0]):
        for j in range(d):
            out[o, j] = (features[o, j] if is_whitened else sums.sums[o, j]) + system.penalty * search[o, j]
        out[o, d] = sums.weight_sums[o] if system.intercept else 0.0


@separate
def _solve(crew, codes, inverse, vectors):
    """The preconditioner for ``vectors.residuals``."""
    residuals, single = vectors.residuals, vectors.single
    for o in range(residuals.shape[0]):
        for j in range(residuals.shape[1]):
            single[o, j] = np.float32(residuals[o, j])
    write_scores_together(crew, codes.single_scores, inverse.lower, LOWER, single, inverse.edges, vectors.middle)
    write_scores_together(
        crew, codes.single_scores, inverse.upper, UPPER, vectors.middle, inverse.edges, vectors.solved
    )


@separate
def _product(a, b):
    total = 0.0
    for j in range(a.size):
        total += a[j] * np.float64(b[j])
    return total


@separate
def _move(vectors, o, products, is_first):
    """A step of one output along its search direction: changes the residuals."""
    directions, residuals, search, own = vectors.directions[o], vectors.residuals[o], vectors.search[o], products[o]
    curvature, size = _product(search, own), vectors.sizes[o]
    # Where no row is near a margin, the intercept has no curvature: the first direction is as good as any.
    length = 1.0 if is_first else 0.0
    if curvature > _FLAT * size:
        length = size / curvature
    for j in range(own.size):
        directions[j] += length * search[j]
        residuals[j] -= length * own[j]


@entry
def find_directions(crew, codes, system, inverse, vectors, gradients, forcing, max_steps):
    """Directions that solve ``Hessian direction = -gradient`` for each output; returns the number of steps taken."""
    n_outputs, n = gradients.shape
    for o in range(n_outputs):
        for j in range(n):
            vectors.directions[o, j], vectors.residuals[o, j] = 0.0, -gradients[o, j]
    _solve(crew, codes, inverse, vectors)
    for o in range(n_outputs):
        vectors.first_sizes[o] = vectors.sizes[o] = _product(vectors.residuals[o], vectors.solved[o])
        for j in range(n):
            vectors.search[o, j] = np.float64(vectors.solved[o, j])
    for step in range(max_steps):
        _times(crew, codes, system, vectors, vectors.products)
        for o in range(n_outputs):
            _move(vectors, o, vectors.products, step == 0)
        _solve(crew, codes, inverse, vectors)
        n_done = 0
        for o in range(n_outputs):
            before, size = vectors.sizes[o], _product(vectors.residuals[o], vectors.solved[o])
            n_done += 1 if size <= forcing * forcing * vectors.first_sizes[o] else 0
            share_of_last = size / max(before, _TINY)
            for j in range(n):
                vectors.search[o, j] = np.float64(vectors.solved[o, j]) + share_of_last * vectors.search[o, j]
            vectors.sizes[o] = size
        if n_done == n_outputs:
            return step + 1
    return max_steps
