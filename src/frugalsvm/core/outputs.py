"""Outputs of models: how many there are for some classes, more of them for new classes, several models as one."""

from typing import Any

import numpy as np

from frugalsvm.compiling.functions import inlined
from frugalsvm.core.expansion import Expansion, coefficients, new_expansion
from frugalsvm.core.records import as_numbers


def n_outputs_for(n_classes: int) -> int:
    """Two classes share one output; more have one each."""
    return 1 if n_classes == 2 else n_classes


@inlined
def sign_of(label, output, n_outputs):
    """+1 where a class is the positive one of an output (of two classes, the second), otherwise -1."""
    return 1.0 if label == (1 if n_outputs == 1 else output) else -1.0


def signs(labels: np.ndarray, n_outputs: int, dtype: Any = np.float64) -> np.ndarray:
    """The same for all outputs and labels, ``(n_outputs, n_labels)``."""
    positive = np.ones(1) if n_outputs == 1 else np.arange(n_outputs)
    return np.where(labels[None] == positive[:, None], np.ones((), dtype), -np.ones((), dtype))


def binary_labels(labels: np.ndarray, output: int, n_outputs: int) -> np.ndarray:
    """Labels 0 and 1 of one of several models, each of which tells a class from the rest."""
    return labels if n_outputs == 1 else (labels == output).astype(np.int64)


def joined(expansions: list[Expansion]) -> Expansion:
    """One expansion with the support vectors of all, each of one output, and an output for each of them."""
    if len(expansions) == 1:
        return expansions[0]
    sizes = [int(expansion.counts[0]["n_slots"]) for expansion in expansions]
    rows = expansions[0].rows
    whole = new_expansion(sum(sizes), rows.shape[1], len(expansions), rows.dtype)
    start = 0
    for output, (expansion, n) in enumerate(zip(expansions, sizes, strict=True)):
        for target, source in ((whole.rows, expansion.rows), (whole.norms, expansion.norms)):
            target[start : start + n] = source[:n]
        whole.coef[output, start : start + n] = coefficients(expansion)[:, 0]
        start += n
    as_numbers(whole.counts)[0] = np.sum([as_numbers(expansion.counts)[0] for expansion in expansions], axis=0)
    whole.counts[0]["n_seen"] = expansions[0].counts[0]["n_seen"]
    return whole


def with_classes(expansion: Expansion, old_classes, new_classes) -> Expansion:
    """The model for a larger sorted set of classes; scores of the new ones are zero.

    A binary model f becomes the pair (-f/2, f/2), whose difference is f again.
    """
    old_outputs, n_outputs = expansion.n_outputs, n_outputs_for(len(new_classes))
    averaged = expansion.coef.shape[0] > old_outputs
    capacity, n_features = expansion.rows.shape
    grown = new_expansion(capacity, n_features, n_outputs, expansion.rows.dtype, 0 if averaged else None)
    if len(old_classes) < 2:  # nothing was learned yet
        grown.scalars[0]["averaged_from"] = expansion.scalars[0]["averaged_from"]
        return grown
    grown = grown._replace(
        rows=expansion.rows,
        norms=expansion.norms,
        births=expansion.births,
        counts=expansion.counts,
        scalars=expansion.scalars.copy(),
    )
    indices = np.searchsorted(new_classes, old_classes)
    for half in range(2 if averaged else 1):
        old = expansion.coef[half * old_outputs : (half + 1) * old_outputs]
        columns = np.concatenate([-0.5 * old, 0.5 * old]) if old_outputs == 1 else old
        grown.coef[half * n_outputs + indices] = columns
    n = int(expansion.counts[0]["n_slots"])
    grown.weights[:, :n] = grown.coef[:n_outputs, :n]  # free slots must keep a weight of zero
    # A size is ||a||^2 K(x, x): rescale it by the change of ||a||^2.
    before = np.square(expansion.coef[:old_outputs, :n]).sum(axis=0)
    after = np.square(grown.coef[:n_outputs, :n]).sum(axis=0)
    grown.sizes[:n] = expansion.sizes[:n] * (after / before)
    if old_outputs == 1:
        grown.scalars[0]["raw_norm"] *= 0.5
    return grown
