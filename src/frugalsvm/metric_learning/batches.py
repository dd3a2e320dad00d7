"""Batches of rows that are neighbors.

A few hundred random rows of a large table are far apart: their machines see what is coarse. Those of a leaf of a
balanced tree are as close as rows of the table are, so their machines see what machines of all rows will see.
"""

from typing import Any

import numpy as np

from frugalsvm.arrays.namespace import arrays_of
from frugalsvm.core.metric import mapped

__all__ = ["leaves", "some_leaves"]

_MOST_ROWS = 2**15  # of a tree: each has others
_SAMPLE = 128  # rows of a node that tell in which directions they spread


def some_leaves(X: Any, A: Any, size: int, count: int, rng: np.random.Generator) -> Any:
    """Indices of rows, (n_batches, at most ``size``): ``n_batches`` random leaves of a tree in a metric, or fewer."""
    some = rng.permutation(len(X))[:_MOST_ROWS]
    found = leaves(mapped(X[some], A), size, rng)
    chosen = rng.permutation(len(found))[:count]
    return arrays_of(found).asarray(some)[found[chosen]]


def leaves(U: Any, size: int, rng: np.random.Generator) -> Any:
    """Indices of the rows of each leaf, (n_leaves, at most ``size``), all leaves alike; a few last rows are in none.

    A node is cut at the median of a random direction, more likely one in which its rows spread.
    """
    U = arrays_of(U).single(U)  # where exactly a cut is does not matter
    xp, n_levels = arrays_of(U).xp, max(0, int(np.ceil(np.log2(len(U) / size))))
    n_used = len(U) >> n_levels << n_levels
    order = xp.reshape(xp.arange(n_used, **_place(U)), (1, n_used))
    for _ in range(n_levels):
        ranks = xp.argsort(_projections(U[order], rng), axis=1)
        order = xp.reshape(xp.take_along_axis(order, ranks, axis=1), (2 * len(order), -1))
    return order


def _place(U):
    return {"device": U.device} if arrays_of(U).is_torch else {}


def _projections(nodes, rng):
    """Of the rows of each node, (n_nodes, n), on ``S' (S r)``: r is random, and S are some rows of the node."""
    arrays, (_, n, n_features) = arrays_of(nodes), nodes.shape
    sample = nodes[:, rng.integers(n, size=_SAMPLE)]
    sample = sample - arrays.xp.mean(sample, axis=1, keepdims=True)
    r = arrays.asarray(rng.normal(size=(n_features, 1)), "float32")
    # NumPy now and then warns of invalid values in this product, where rows and results are all finite.
    with np.errstate(invalid="ignore"):
        return (nodes @ (sample.mT @ (sample @ r)))[..., 0]
