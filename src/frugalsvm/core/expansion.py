"""The support-vector store: a model ``f_o(x) = scale * sum_j coef[o, j] K(rows[j], x)``.

Slots ``0 .. n-1`` are in use; arrays have room for ``capacity`` slots, a multiple of 16 so that loops over
slots end on a full vector. Coefficients are *raw*: the common factor ``scale`` is lazy (``schedules.py``).
Where the model is averaged, the coefficient matrix has a second half of rows, one per output: every linear
operation on slots (removing, projecting, merging) treats all rows alike, so the average follows for free.
With ``S`` the sum of the scales since averaging began and ``c`` the second half, the sum of the iterates is
``S * coef - c``.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import COUNTED, are_norms, stored
from frugalsvm.compiling.functions import compiled, inlined
from frugalsvm.core.fastmath import ADJACENT, copy_row
from frugalsvm.core.kernels import kernel_row, kernel_value, pairing_of, self_value
from frugalsvm.core.pairing import exact_pair, row_pairs
from frugalsvm.core.records import float_record, integer_record

# Slots in use; examples seen, learned, and maintained for; kernel values computed; updates since the norm was computed
COUNTS = integer_record("n_slots", "n_seen", "n_updates", "n_maintenance", "n_kernel_evals", "n_since_norm")
# The lazy scale; its sum while averaging; the sum of gradient errors; ||w||^2 in raw units; when averaging began
SCALARS = float_record("scale", "scale_sum", "error_sum", "raw_norm", "averaged_from")

SLOT_MULTIPLE = 16
NEGLIGIBLE = 1e-30  # of coefficients, beside those of new examples


@stored("expansion")
class Expansion(NamedTuple):
    """Arrays of the store; all are mutated in place."""

    rows: Annotated[np.ndarray, "x sf"]  # (capacity, n_features) support vectors, float32 or float64
    norms: Annotated[np.ndarray, "x s"]  # (capacity,) norms of the rows, see `row_norm`, same type
    coef: Annotated[np.ndarray, "d cs"]  # (n_outputs or twice that, capacity) raw coefficients, float64
    weights: Annotated[np.ndarray, "x os"]  # copy of the coefficients in the type of the rows, for scoring
    sizes: Annotated[np.ndarray, "d s"]  # (capacity,) ||coef_j||^2 K(x_j, x_j) over the outputs, float64
    births: Annotated[np.ndarray, "i s"]  # (capacity,) the example number at which a slot got its vector
    counts: Annotated[np.ndarray, COUNTS, "1", COUNTED]
    scalars: Annotated[np.ndarray, SCALARS, "1"]

    @property
    def n_outputs(self) -> int:
        return self.weights.shape[0]

    def is_sound(self, sizes) -> bool:
        """Whether the counts, and the norms of the slots in use, are right."""
        n, n_slots, n_outputs = int(self.counts[0]["n_slots"]), sizes["s"], sizes["o"]
        if n > n_slots or n_slots % SLOT_MULTIPLE or n_outputs == 0:
            return False
        norms, rows = self.norms[:n], self.rows[:n]  # of which kind is for the model, which knows the kernel
        right = are_norms(norms, rows) or are_norms(norms, rows, are_sums=True)
        return sizes["c"] in (n_outputs, 2 * n_outputs) and right


def padded(n_slots):
    """The capacity for a number of slots."""
    return (n_slots + SLOT_MULTIPLE - 1) // SLOT_MULTIPLE * SLOT_MULTIPLE


# In compiled code: loops over multiples of this have no rest, whose values could be rounded otherwise.
whole_groups = inlined(padded)


def new_expansion(n_slots, n_features, n_outputs, dtype, average_from=None):
    """An empty model with room for ``n_slots`` support vectors, averaged after example ``average_from``."""
    capacity = padded(n_slots)
    averaged = average_from is not None
    scalars = np.zeros(1, SCALARS)
    scalars[0]["scale"] = 1.0
    scalars[0]["averaged_from"] = average_from if averaged else 1e300
    return Expansion(
        rows=np.zeros((capacity, n_features), dtype),
        norms=np.zeros(capacity, dtype),
        coef=np.zeros((n_outputs * (2 if averaged else 1), capacity)),
        weights=np.zeros((n_outputs, capacity), dtype),
        sizes=np.zeros(capacity),
        births=np.zeros(capacity, np.int64),
        counts=np.zeros(1, COUNTS),
        scalars=scalars,
    )


def resized(expansion, n_slots):
    """A copy with room for ``n_slots`` slots (at least those in use)."""
    n = int(expansion.counts[0]["n_slots"])
    capacity = padded(max(n_slots, n))

    def along(array, axis):
        shape = list(array.shape)
        shape[axis] = capacity
        out = np.zeros(shape, array.dtype)
        index = (slice(None),) * axis + (slice(n),)
        out[index] = array[index]
        return out

    return Expansion(
        rows=along(expansion.rows, 0),
        norms=along(expansion.norms, 0),
        coef=along(expansion.coef, 1),
        weights=along(expansion.weights, 1),
        sizes=along(expansion.sizes, 0),
        births=along(expansion.births, 0),
        counts=expansion.counts.copy(),
        scalars=expansion.scalars.copy(),
    )


def moved_rows(expansion, shift):
    """The same model with its rows relative to another point, in new arrays: for kernels of differences."""
    n = int(expansion.counts[0]["n_slots"])
    rows, norms = expansion.rows.copy(), expansion.norms.copy()
    rows[:n] = rows[:n] - shift
    norms[:n] = np.einsum("ij,ij->i", rows[:n], rows[:n])
    return expansion._replace(rows=rows, norms=norms)


@compiled
def exact_kernel(kernel, rows, i, j):
    """K of two rows with every sum in float64, whatever the type of the rows."""
    product, norm_x, norm_z = exact_pair(pairing_of(kernel), rows, i, j)
    return kernel_value(kernel, product, norm_x, norm_z)


@compiled
def row_kernel_row(kernel, matrix, i, norm, rows, norms, n, products, out):
    """Kernel values of ``matrix[i]``, of squared norm ``norm``, with the first ``n`` of ``rows``."""
    row_pairs(pairing_of(kernel), matrix, i, rows, n, products, ADJACENT)
    kernel_row(kernel, products, norms, norm, out, n)


@inlined
def slot_kernel_row(kernel, expansion, slot, products, out):
    """Kernel values of the vector in ``slot`` with all slots in use."""
    n = expansion.counts[0]["n_slots"]
    norm = expansion.norms[slot]
    row_kernel_row(kernel, expansion.rows, slot, norm, expansion.rows, expansion.norms, n, products, out)
    expansion.counts[0]["n_kernel_evals"] += n


@inlined
def refresh_slot(expansion, kernel, j):
    """Bring everything derived from the coefficients of slot ``j`` up to date."""
    total = 0.0
    for o in range(expansion.weights.shape[0]):
        a = expansion.coef[o, j]
        expansion.weights[o, j] = a
        total += a * a
    expansion.sizes[j] = total * self_value(kernel, expansion.norms[j])


@inlined
def free_slot(expansion, slot):
    """Empty a slot; the last slot moves into the gap. Returns whether ``slot`` now holds another vector."""
    last = expansion.counts[0]["n_slots"] - 1
    moved = slot != last
    if moved:
        copy_row(expansion.rows, slot, expansion.rows, last)
        expansion.norms[slot] = expansion.norms[last]
        expansion.sizes[slot] = expansion.sizes[last]
        expansion.births[slot] = expansion.births[last]
        for o in range(expansion.coef.shape[0]):
            expansion.coef[o, slot] = expansion.coef[o, last]
        for o in range(expansion.weights.shape[0]):
            expansion.weights[o, slot] = expansion.weights[o, last]
    for o in range(expansion.weights.shape[0]):
        expansion.weights[o, last] = 0.0  # scoring runs over empty slots too, up to a full vector
    expansion.counts[0]["n_slots"] = last
    return moved


@inlined
def _unless_negligible(value, least):
    """What shrinks for ever ends at zero, not among the subnormal numbers, which are slow."""
    return value if abs(value) >= least else 0.0


@compiled
def fold_scale(coef, weights, sizes, n, scalars):
    """Multiply the scale into the raw coefficients, before one of them under- or overflows."""
    scale = scalars[0]["scale"]
    n_outputs = weights.shape[0]
    averaged = coef.shape[0] > n_outputs
    for j in range(n):
        for o in range(n_outputs):
            if averaged:  # the second half takes over the whole sum, so that S can start again
                coef[n_outputs + o, j] -= scalars[0]["scale_sum"] * coef[o, j]
            coef[o, j] = _unless_negligible(coef[o, j] * scale, NEGLIGIBLE)
            weights[o, j] = coef[o, j]
        sizes[j] = _unless_negligible(sizes[j] * scale * scale, NEGLIGIBLE * NEGLIGIBLE)
    scalars[0]["scale"] = 1.0
    scalars[0]["scale_sum"] = 0.0
    scalars[0]["raw_norm"] *= scale * scale


@compiled
def raw_squared_norm(kernel, rows, weights, coef, n):
    """``||w||^2 / scale^2`` by definition, O(n^2) kernel values."""
    total = 0.0
    for i in range(n):
        for j in range(i + 1):
            overlap = 0.0
            for o in range(weights.shape[0]):
                overlap += coef[o, i] * coef[o, j]
            value = overlap * exact_kernel(kernel, rows, i, j)
            total += value if i == j else 2.0 * value
    return total


def coefficients(expansion):
    """True coefficients of the slots in use, ``(n, n_outputs)``: the last iterate."""
    n = int(expansion.counts[0]["n_slots"])
    return expansion.scalars[0]["scale"] * expansion.coef[: expansion.n_outputs, :n].T


def averaged_coefficients(expansion):
    """True coefficients of the mean of the iterates since averaging began; of the last one before that."""
    n = int(expansion.counts[0]["n_slots"])
    n_iterates = expansion.counts[0]["n_seen"] - expansion.scalars[0]["averaged_from"]
    if n_iterates <= 0:
        return coefficients(expansion)
    n_outputs = expansion.n_outputs
    total = expansion.scalars[0]["scale_sum"] * expansion.coef[:n_outputs, :n] - expansion.coef[n_outputs:, :n]
    return total.T / n_iterates


def averaging(expansion):
    """A copy of an expansion without averages whose iterates are averaged from now on."""
    copy = resized(expansion, len(expansion.rows))
    copy = copy._replace(coef=np.concatenate([copy.coef, np.zeros_like(copy.coef)]))
    restart_average(copy)
    return copy


def restart_average(expansion):
    """Average over the iterates from now on only."""
    n_outputs = expansion.n_outputs
    expansion.coef[n_outputs:] = 0.0
    expansion.scalars[0]["scale_sum"] = 0.0
    expansion.scalars[0]["averaged_from"] = expansion.counts[0]["n_seen"]
