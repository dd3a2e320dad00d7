"""Where the inner products of an example with all support vectors come from: exact, yet at block speed.

An online learner looks at example t with the model that examples 1 .. t-1 made. Computing its products with the
support vectors one example at a time is a matrix-vector product, limited by memory. The model changes little
from one example to the next, though: so take the next T examples, multiply them with the support vectors *as
they stand* in one matrix product, and walk through the block in order; when a slot changes, its products with the
examples that are left are recomputed. The result is that of the one-by-one algorithm.

For kernels that are not made of inner products, these are another number of a pair (``pairing.py``).

Here is the protocol of all sources (``load``, ``products_row``, ``example_norm``, ``write_example``, ``touch``, ...).
``dense_sources.py`` and ``sparse_source.py`` have those for rows in memory, ``scored.py`` one for devices;
``sources.py`` chooses.
"""

from frugalsvm.compiling.functions import generic, inlined
from frugalsvm.core.fastmath import ADJACENT
from frugalsvm.core.kernels import kernel_row
from frugalsvm.core.pairing import row_pairs
from frugalsvm.core.records import integer_record

# 32 to 128 are alike, see also `block_rows_for`; results are bit-identical for batches that are multiples of it
BLOCK_ROWS = 64
SHORT_BLOCK_ROWS = 32  # where products with thousands of vectors should stay in the cache, or many of them change
LONG_BLOCK_ROWS = 256  # for the sources that work column by column

# What sources remember: where the loaded block starts, how many examples it has and which is at hand, how many slots it
# has room for (`at_start` were in use when it began) and from one row of products to the next; changed slots; packed
# features, whether they were packed, and whether all are, once, and kept current; whether the block was turned.
SOURCE_STATE = integer_record(
    "start", "count", "row", "room", "stride", "at_start", "n_dirty", "n_packed", "is_filled", "is_whole", "is_turned"
)


@generic
def load(source, start, count, expansion):
    """Get ready for the ``count`` examples from position ``start``; returns how many were taken.

    The caller loads again when they are used up, or when the model has more than ``source.state[0]["room"]`` slots.
    """


@generic
def products_row(source, i, expansion):
    """Inner products of example ``i`` of the block with all slots: they begin at ``source.products[result]``.

    Examples are taken in order: what changes from now on need not be right for those before i.
    """


@generic
def slot_products(source, slot, expansion, out):
    """``out[j] = <x_slot, x_j>`` for all slots j in use."""


@generic
def example_norm(source, i):
    """Squared norm of example ``i`` of the block."""


@generic
def write_example(source, i, rows, slot):
    """Copy example ``i`` of the block to ``rows[slot]``."""


@generic
def touch(source, slot, expansion):
    """Note that ``slot`` has another vector now."""


@generic
def place_example(source, i, expansion, slot):
    """Write example ``i`` of the block to a slot of the store."""


@generic
def rescale(source, factor):
    """All raw coefficients are about to be multiplied."""


@slot_products.implement()
def _row_by_row(source, slot, expansion, out):
    n = expansion.counts[0]["n_slots"]
    row_pairs(source.pairing, expansion.rows, slot, expansion.rows, n, out, ADJACENT)


@inlined
def slot_row(kernel, source, slot, expansion, work):
    """Kernel values of the vector in a slot with all slots in use, left in the workspace."""
    n = expansion.counts[0]["n_slots"]
    slot_products(source, slot, expansion, work.products)
    kernel_row(kernel, work.products, expansion.norms, expansion.norms[slot], work.kernel_row, n)
    expansion.counts[0]["n_kernel_evals"] += n


@rescale.implement()
def _rescale_nothing(source, factor):
    pass


@place_example.implement()
def _place_example(source, i, expansion, slot):
    write_example(source, i, expansion.rows, slot)
    touch(source, slot, expansion)
