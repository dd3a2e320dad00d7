"""Several models of parts of the data as one: the mean of their functions, inside one budget.

Parts that were learned apart, with the same kernel, are averaged by the examples that each has learned from,
``f = sum_k (n_k / n) f_k``: their support vectors are put together and the coefficients weighted. Vectors that several
parts have, because they began from the same model, are one vector again, at no loss. Then there may be too many, and
the policy of the learner makes room as it does while learning, except that nobody is a newcomer:

* merging takes the smallest and its best partner, again and again (section 6.3 of the BSGD paper), and then projects
  what was lost on the merged vectors: hundreds of merges in a row lose much, a good part of which can be had back (on
  covtype, with eight parts, 3 points of accuracy). That is damped: an exact projection makes large coefficients of
  opposite signs, which the next merges cannot handle;
* projection keeps the largest ones and projects all others on their span, at once (6.2);
* removal keeps the largest ones.

What that takes from the model, ``||Delta||``, is measured exactly, and counts in the sum of gradient errors, in units
of the step size, like any other maintenance.

Vectors are sorted first, by their bytes: the order of the parts makes no difference, not even to the last bit.
"""

import numpy as np

from frugalsvm.arrays.decay import decayed
from frugalsvm.budgeted.maintenance import Merge, Remove, partner_of, write_merged
from frugalsvm.budgeted.projection import Project
from frugalsvm.compiling.functions import entry
from frugalsvm.core.blocks import kernel_matrix, row_norms
from frugalsvm.core.expansion import (
    coefficients,
    free_slot,
    new_expansion,
    slot_kernel_row,
)
from frugalsvm.core.fastmath import first_argmin
from frugalsvm.core.kernels import RBF, self_value
from frugalsvm.core.merge import log_kernel_value
from frugalsvm.core.schedules import advance, scale_at
from frugalsvm.core.workspace import new_workspace

_RIDGE = 1e-6  # share of the diagonal that is added for projections
_ADDED = ("n_updates", "n_maintenance", "n_kernel_evals", "n_since_norm")  # over restarts
_SUMMED = ("n_seen", "n_updates", "n_maintenance", "n_kernel_evals")
_DAMPING = 0.1  # added to the diagonal for what merging lost


@entry
def _merge_down(loss, kernel, expansion, work, budget):
    """Merge the smallest support vector with its best partner until there are ``budget``."""
    while expansion.counts[0]["n_slots"] > budget:
        m = first_argmin(expansion.sizes, expansion.counts[0]["n_slots"])
        if expansion.sizes[m] == 0.0:  # what canceled out is not missed
            free_slot(expansion, m)
            continue
        slot_kernel_row(kernel, expansion, m, work.products, work.kernel_row)
        partner, h, _ = partner_of(loss, expansion, work, m)
        write_merged(kernel, expansion, m, partner, h, log_kernel_value(work.kernel_row, partner))
        free_slot(expansion, m)
        expansion.counts[0]["n_maintenance"] += 1


def at_clock(expansion, schedule, t):
    """The same function, as if it had been learned from ``t`` examples: the next step is that of example ``t + 1``."""
    t = int(t)
    moved = with_coefficients(expansion, coefficients(expansion), scale_at(schedule, t))
    moved.counts[0]["n_seen"] = t
    return moved


def with_coefficients(expansion, true_coefficients, scale=None):
    """A copy without averages that has other coefficients ``(n, n_outputs)``, in true units."""
    n, n_outputs = int(expansion.counts[0]["n_slots"]), expansion.n_outputs
    scale = expansion.scalars[0]["scale"] if scale is None else scale
    copy = new_expansion(len(expansion.rows), expansion.rows.shape[1], n_outputs, expansion.rows.dtype)
    for name in ("rows", "norms", "births", "counts"):
        getattr(copy, name)[:] = getattr(expansion, name)
    before = np.square(coefficients(expansion)).sum(axis=1)
    copy.coef[:, :n] = true_coefficients.T / scale
    copy.weights[:, :n] = copy.coef[:, :n]
    # A size is ||a||^2 K(x, x)
    true_sizes = expansion.sizes[:n] * expansion.scalars[0]["scale"] ** 2
    own_values = np.divide(true_sizes, before, where=before > 0, out=before)
    copy.sizes[:n] = np.square(copy.coef[:, :n]).sum(axis=0) * own_values
    copy.scalars[0]["scale"] = scale
    copy.scalars[0]["error_sum"] = expansion.scalars[0]["error_sum"]
    copy.scalars[0]["raw_norm"] = expansion.scalars[0]["raw_norm"] * (expansion.scalars[0]["scale"] / scale) ** 2
    return copy


def restarted(expansion, schedule, n_seen):
    """A copy after ``n_seen`` examples with all other counters at zero, which learns on by itself."""
    copy = at_clock(expansion, schedule, n_seen)
    for name in _ADDED:
        copy.counts[0][name] = 0
    copy.scalars[0]["error_sum"] = 0.0
    return copy


def with_history(expansion, before, schedule):
    """A copy of what was learned after a restart, with the counters of what was there before added to its own."""
    n_seen = int(before.counts[0]["n_seen"] + expansion.counts[0]["n_seen"])
    copy = at_clock(expansion, schedule, n_seen)
    for name in _ADDED:
        copy.counts[0][name] += before.counts[0][name]
    copy.scalars[0]["error_sum"] += before.scalars[0]["error_sum"]
    return copy


def mean_coefficients(parts, weights):
    """Mean of coefficients ``(n, n_outputs)`` of the same support vectors; nothing is lost by it."""
    return _weighted_sum(parts, np.asarray(weights, np.float64))


def combined(kernel, loss, schedule, parts, budget, policy=Merge, clock=None):
    """The mean of several models by the examples that they have learned from, inside a budget.

    Parameters
    ----------
    kernel, loss, schedule : NamedTuple
        Parts of the learner.
    parts : list of Expansion
        Models without averages; ``n_seen`` of each is what it weighs.
    budget : int or None
    policy : type
        The class of the learner's policy; ``SHRINK`` says how it makes room. One that is not there does so by removal.
    clock : int, default=None
        The example whose step size measures what is lost. By default that is the sum of what the parts have seen.

    Returns
    -------
    Expansion
        A new one. Its counters are sums of those of the parts.
    """
    _check_parts(parts)
    if len(parts) == 1 and (budget is None or parts[0].counts[0]["n_slots"] <= budget):
        return with_coefficients(parts[0], coefficients(parts[0]))
    seen = np.array([part.counts[0]["n_seen"] for part in parts], np.int64)
    rows, coef, births = _united(parts, seen / max(int(seen.sum()), 1))
    whole = _expansion_of(kernel, rows, coef, births, budget)
    _sum_counters(whole, parts)
    model = whole
    lost, norm = 0.0, None
    if budget is not None and len(rows) > budget:
        model = SHRINK.get(policy, removed_down)(kernel, loss, whole, budget)
        lost, norm = _distance(kernel, rows, coef, model)
    model = at_clock(model, schedule, int(seen.sum()))
    scale = model.scalars[0]["scale"]
    model.scalars[0]["raw_norm"] = (
        _squared_norm(kernel, *_rows_and_coefficients(model)) if norm is None else norm
    ) / scale**2
    if lost:
        model.scalars[0]["error_sum"] += lost / advance(schedule, clock or max(int(seen.sum()), 1), 1.0)[0]
    return model


def _check_parts(parts):
    if not parts:
        raise ValueError("There are no parts to combine.")
    first = parts[0]
    for number, part in enumerate(parts):
        if part.coef.shape[0] != part.n_outputs:
            raise ValueError(f"Part {number} is an average of iterates: combine models that were learned without.")
        if (part.rows.shape[1], part.n_outputs, part.rows.dtype) != (
            first.rows.shape[1],
            first.n_outputs,
            first.rows.dtype,
        ):
            raise ValueError(f"Part {number} differs from the first in the number or type of features or outputs.")


def _weighted_sum(parts, weights):
    total = weights[0] * parts[0]
    for part, weight in zip(parts[1:], weights[1:], strict=True):
        total = total + weight * part
    return total / weights.sum()


def _united(parts, shares):
    """Distinct support vectors in an order of their own, their weighted coefficients and their births."""
    used = [slice(int(part.counts[0]["n_slots"])) for part in parts]
    rows = np.concatenate([part.rows[n] for part, n in zip(parts, used, strict=True)]) + 0.0  # no negative zeros
    coef = np.concatenate([share * coefficients(part) for part, share in zip(parts, shares, strict=True)]) + 0.0
    births = np.concatenate([part.births[n] for part, n in zip(parts, used, strict=True)])
    if not len(rows):
        return rows, coef, births
    coef = np.ascontiguousarray(coef)
    order = np.argsort(_bytes_of(np.column_stack([rows.view(np.uint8), coef.view(np.uint8)])), kind="stable")
    rows, coef, births = rows[order], coef[order], births[order]
    is_first = np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)])
    firsts = np.flatnonzero(is_first)
    coef, births = np.add.reduceat(coef, firsts, axis=0), np.minimum.reduceat(births, firsts)
    present = coef.any(axis=1)
    return rows[firsts[present]], coef[present], births[present]


def _bytes_of(table):
    """Each row as one value that can be sorted."""
    return np.ascontiguousarray(table).view(np.dtype((np.void, table.shape[1]))).ravel()


def _expansion_of(kernel, rows, coef, births, budget):
    """A store for given vectors and true coefficients, with room for one more than the budget."""
    n, n_outputs = coef.shape
    model = new_expansion(max(n, 0 if budget is None else budget + 1), rows.shape[1], n_outputs, rows.dtype)
    exact = rows.astype(np.float64)
    norms = row_norms(kernel, exact)
    model.rows[:n], model.norms[:n], model.births[:n] = rows, norms, births
    model.coef[:, :n] = model.weights[:, :n] = coef.T
    model.sizes[:n] = np.square(coef).sum(axis=1) * np.array([self_value(kernel, x) for x in norms.tolist()])
    model.counts[0]["n_slots"] = n
    return model


def _sum_counters(model, parts):
    for name in _SUMMED:
        model.counts[0][name] = sum(int(part.counts[0][name]) for part in parts)
    model.scalars[0]["error_sum"] = sum(sorted(float(part.scalars[0]["error_sum"]) for part in parts))


# --- making room --------------------------------------------------------------------------------------------


def merged_down(kernel, loss, whole, budget):
    """Merging, and what it lost projected on what is left."""
    rows, coef = _rows_and_coefficients(whole)
    _merge_down(loss, kernel, whole, new_workspace(whole), budget)
    merged, found = _rows_and_coefficients(whole)
    gram = kernel_values(kernel, merged, merged)
    missing = kernel_values(kernel, merged, rows) @ coef - gram @ found
    gram[np.diag_indices_from(gram)] += _DAMPING
    return _cut(kernel, whole, np.arange(len(merged)), found + np.linalg.solve(gram, missing), budget)


def _largest(whole, budget):
    """The largest support vectors, in their order."""
    n = int(whole.counts[0]["n_slots"])
    return np.sort(np.argsort(-whole.sizes[:n], kind="stable")[:budget])


def projected_down(kernel, loss, whole, budget):
    """The largest stay, and the others are projected on them."""
    rows, coef = _rows_and_coefficients(whole)
    kept = _largest(whole, budget)
    solved = _projection(kernel, rows[kept], rows, coef)
    whole.counts[0]["n_maintenance"] += len(rows) - budget
    return _cut(kernel, whole, kept, solved, budget)


def _projection(kernel, basis, rows, coef):
    """Coefficients of the function in the span of ``basis`` that is nearest to an expansion (6.3)."""
    gram = kernel_values(kernel, basis, basis)
    gram[np.diag_indices_from(gram)] *= 1.0 + _RIDGE
    return np.linalg.solve(gram, kernel_values(kernel, basis, rows) @ coef)


def removed_down(kernel, loss, whole, budget):
    """The largest stay."""
    kept = _largest(whole, budget)
    whole.counts[0]["n_maintenance"] += int(whole.counts[0]["n_slots"]) - budget
    return _cut(kernel, whole, kept, coefficients(whole)[kept], budget)


def _cut(kernel, whole, kept, coef, budget):
    """A store of the usual size with some of the vectors."""
    model = _expansion_of(kernel, whole.rows[kept], coef, whole.births[kept], budget)
    for name in _SUMMED:
        model.counts[0][name] = whole.counts[0][name]
    model.scalars[0]["error_sum"] = whole.scalars[0]["error_sum"]
    return model


# How many support vectors at once become few, by the class of a policy
SHRINK = {Merge: merged_down, Project: projected_down, Remove: removed_down}


# --- norms --------------------------------------------------------------------------------------------------


def _rows_and_coefficients(model):
    return model.rows[: int(model.counts[0]["n_slots"])].astype(np.float64), coefficients(model)


def kernel_values(kernel, A, B):
    """Kernel values in float64."""
    if not isinstance(kernel, RBF):
        return kernel_matrix(kernel, A, B)
    # The usual kernel without compiled code, which would take longer to make than to run.
    A, B = A.astype(np.float64), B.astype(np.float64)
    squares = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B)
    return decayed(np, -kernel.gamma * np.maximum(squares - 2.0 * (A @ B.T), 0.0))


def _squared_norm(kernel, rows, coef):
    return float(np.einsum("io,io->", coef, kernel_values(kernel, rows, rows) @ coef))


def _distance(kernel, rows, coef, model):
    """Norm of the difference between an expansion and a model, and the squared norm of the model."""
    own_rows, own_coef = _rows_and_coefficients(model)
    inside = _squared_norm(kernel, own_rows, own_coef)
    mixed = float(np.einsum("io,io->", own_coef, kernel_values(kernel, own_rows, rows) @ coef))
    squared = _squared_norm(kernel, rows, coef) - 2.0 * mixed + inside
    return float(np.sqrt(max(squared, 0.0))), inside
