"""Where the inner products of an example with all support vectors come from: exact, yet at block speed.

An online learner looks at example t with the model that examples 1 .. t-1 made. Computing its products with the
support vectors one example at a time is a matrix-vector product, limited by memory. The model changes little
from one example to the next, though: so take the next T examples, multiply them with the support vectors *as
they stand* in one matrix product, and walk through the block in order, recomputing for example t only the
products with slots that changed since the block began. The result is that of the one-by-one algorithm.

Here is the protocol of all sources (``load``, ``products_row``, ``example_norm``, ``write_example``, ``touch``, ...).
``dense_sources.py`` and ``sparse_source.py`` have those for rows in memory, ``scored.py`` one for devices;
``sources.py`` chooses.
"""

from frugalsvm._compile import generic

__all__ = [
    "BLOCK_ROWS",
    "IS_FILLED",
    "IS_WHOLE",
    "LONG_BLOCK_ROWS",
    "N_DIRTY",
    "N_PACKED",
    "N_STATE",
    "ROOM",
    "SHORT_BLOCK_ROWS",
    "START",
    "example_norm",
    "load",
    "place_example",
    "products_row",
    "rescale",
    "touch",
    "write_example",
]

BLOCK_ROWS = 64  # 32 to 128 are alike; results are bit-identical for batches that are multiples of it
SHORT_BLOCK_ROWS = 32  # for learners with thousands of vectors: the products with them should stay in the cache
LONG_BLOCK_ROWS = 256  # for the sources that work column by column

# Places in the `state` arrays. ROOM is the number of slots that the loaded block has room for, IS_WHOLE whether all
# features are packed once and kept current.
START, ROOM, N_DIRTY, N_PACKED, IS_FILLED, IS_WHOLE = range(6)
N_STATE = 6


@generic
def load(source, start, count, expansion):
    """Get ready for the ``count`` examples from position ``start``; returns how many were taken.

    The caller loads again when they are used up, or when the model has more than ``source.state[ROOM]`` slots.
    """


@generic
def products_row(source, i, expansion):
    """Inner products of example ``i`` of the block with all slots: they begin at ``source.products[result]``."""


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


@rescale.implement()
def _rescale_nothing(source, factor):
    pass


@place_example.implement()
def _place_example(source, i, expansion, slot):
    write_example(source, i, expansion.rows, slot)
    touch(source, slot, expansion)
