"""Models that meet new classes: the same decision values, with more outputs."""

import numpy as np

from frugalsvm.core.expansion import AVERAGED_FROM, N_SLOTS, RAW_NORM, Expansion, new_expansion

__all__ = ["n_outputs_for", "with_classes"]


def n_outputs_for(n_classes: int) -> int:
    """Two classes share one output; more have one each."""
    return 1 if n_classes == 2 else n_classes


def with_classes(expansion: Expansion, old_classes, new_classes) -> Expansion:
    """The model for a larger sorted set of classes; scores of the new ones are zero.

    A binary model f becomes the pair (-f/2, f/2), whose difference is f again.
    """
    old_outputs, n_outputs = expansion.n_outputs, n_outputs_for(len(new_classes))
    averaged = expansion.coef.shape[0] > old_outputs
    capacity, n_features = expansion.rows.shape
    grown = new_expansion(capacity, n_features, n_outputs, expansion.rows.dtype, 0 if averaged else None)
    if len(old_classes) < 2:  # nothing was learned yet
        grown.scalars[AVERAGED_FROM] = expansion.scalars[AVERAGED_FROM]
        return grown
    grown = grown._replace(
        rows=expansion.rows,
        norms=expansion.norms,
        births=expansion.births,
        counts=expansion.counts,
        scalars=expansion.scalars.copy(),
    )
    places = np.searchsorted(new_classes, old_classes)
    for half in range(2 if averaged else 1):
        old = expansion.coef[half * old_outputs : (half + 1) * old_outputs]
        columns = np.concatenate([-0.5 * old, 0.5 * old]) if old_outputs == 1 else old
        grown.coef[half * n_outputs + places] = columns
    n = int(expansion.counts[N_SLOTS])
    grown.weights[:, :n] = grown.coef[:n_outputs, :n]  # free slots must keep a weight of zero
    # A size is ||a||^2 K(x, x): rescale it by the change of ||a||^2.
    before = np.square(expansion.coef[:old_outputs, :n]).sum(axis=0)
    after = np.square(grown.coef[:n_outputs, :n]).sum(axis=0)
    grown.sizes[:n] = expansion.sizes[:n] * (after / before)
    if old_outputs == 1:
        grown.scalars[RAW_NORM] *= 0.5
    return grown
