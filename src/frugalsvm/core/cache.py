"""A cache of kernel rows of bounded size, for learners that come back to their members.

A *row* holds the kernel values of one slot with all slots. Members come and go, so a row that was complete once lacks
the slots that were filled since: an insertion log says which, and ``row_of_slot`` completes a row when it is asked
for. Rows are kept as they come from the newcomer, whose row the learner has at hand, and computed afresh after they
were evicted. Where the members are at hand feature by feature (``columns``), a row that lacks much is computed as a
whole: reading single values out of many rows costs a cache miss each.

When there is no room the row goes that was not used for the longest time. Nothing here allocates; ``resized_rows``
makes room for more slots within the same number of bytes, so that fewer rows fit.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import COUNTED, stored, within
from frugalsvm.compiling.functions import compiled, inlined, larger, separate
from frugalsvm.core.expansion import whole_groups
from frugalsvm.core.kernels import kernel_row, pairing_of, self_value
from frugalsvm.core.pairing import pair
from frugalsvm.core.records import integer_record
from frugalsvm.core.sparse_source import column_products

FEWEST_ROWS = 4  # a step looks at two at the same time
NONE = -1
MUCH = 0.25  # part of a row that is lacking
FREE = -1.0  # when an index without a row was used

ROWS_STATE = integer_record("clock", "n_logged")  # uses of rows; slots that were filled


@stored("kernel-rows")
class KernelRows(NamedTuple):
    buffer: Annotated[np.ndarray, "x n"]  # the memory of the values
    values: Annotated[np.ndarray, "x rs"]  # (n_rows, capacity) kernel values
    place: Annotated[np.ndarray, "i s"]  # (capacity,) the row of a slot, or NONE
    slot: Annotated[np.ndarray, "i r"]  # (n_rows,) the slot of a row, or NONE
    used: Annotated[np.ndarray, "d r"]  # (n_rows,) when a row was used last
    synced: Annotated[np.ndarray, "i r"]  # (n_rows,) insertions that a row knows of
    log: Annotated[np.ndarray, "i l"]  # (a power of two,) a ring of the slots that were filled
    stamp: Annotated[np.ndarray, "i s"]  # (capacity,) the insertion that filled a slot last
    missing: Annotated[np.ndarray, "i s"]  # (capacity,) scratch: slots
    scratch: Annotated[np.ndarray, "x 3s"]  # (3, capacity) scratch: products, norms, values
    columns: Annotated[np.ndarray, "x 00"]  # the slots transposed, or empty: only while there is a source
    state: Annotated[np.ndarray, ROWS_STATE, "1", COUNTED]

    def is_sound(self, sizes) -> bool:
        """Whether slots and rows refer to each other, and the log to slots."""
        capacity, n_rows, log = sizes["s"], sizes["r"], sizes["l"]
        n_logged = int(self.state[0]["n_logged"])
        right = log >= capacity and log & (log - 1) == 0 and n_rows > 0
        right = right and within(self.place, n_rows, NONE) and within(self.slot, capacity, NONE)
        right = right and within(self.stamp, n_logged + 1, NONE) and within(self.synced, n_logged + 1, NONE)
        if not right or not within(self.log, capacity):
            return False
        held, placed = np.flatnonzero(self.slot != NONE), np.flatnonzero(self.place != NONE)
        return len(held) == len(placed) and bool((self.place[self.slot[held]] == held).all())


def new_rows(n_bytes, capacity, dtype, buffer=None, filled=()):
    """An empty cache for ``capacity`` slots, of which some are filled.

    ``buffer`` is the memory of another cache that is not needed any more.
    """
    if buffer is None:  # the system hands out the pages when they are first written to; values of free slots are used
        buffer = np.zeros(max(int(n_bytes) // np.dtype(dtype).itemsize, FEWEST_ROWS * capacity), dtype)
    elif buffer.size < FEWEST_ROWS * capacity:
        buffer = np.resize(buffer, FEWEST_ROWS * capacity)
    n_rows = min(capacity, buffer.size // capacity)
    rows = KernelRows(
        buffer=buffer,
        values=buffer[: n_rows * capacity].reshape(n_rows, capacity),
        place=np.full(capacity, NONE, np.int64),
        slot=np.full(n_rows, NONE, np.int64),
        used=np.full(n_rows, FREE),
        synced=np.zeros(n_rows, np.int64),
        log=np.zeros(2 ** (capacity - 1).bit_length(), np.int64),
        stamp=np.full(capacity, NONE, np.int64),
        missing=np.zeros(capacity, np.int64),
        scratch=np.zeros((3, capacity), dtype),
        columns=np.zeros((0, 0), dtype),
        state=np.zeros(1, ROWS_STATE),
    )
    rows.log[: len(filled)] = filled
    rows.stamp[rows.log[: len(filled)]] = np.arange(len(filled))
    rows.state[0]["n_logged"] = len(filled)
    return rows


def resized_rows(rows, capacity):
    """The cache for a larger capacity, in the same memory, with as many rows as fit there now."""
    old_capacity = rows.place.size
    larger = new_rows(0, capacity, rows.values.dtype, rows.buffer)
    n_kept = min(len(larger.slot), len(rows.slot))
    for r in reversed(range(n_kept)):  # rows move upwards, so the last one first
        if rows.slot[r] != NONE:
            begin, old = r * capacity, r * old_capacity
            larger.buffer[begin : begin + old_capacity] = rows.buffer[old : old + old_capacity]
            larger.place[rows.slot[r]] = r
    for name in ("slot", "used", "synced"):
        getattr(larger, name)[:n_kept] = getattr(rows, name)[:n_kept]
    n_logged, n_old = int(rows.state[0]["n_logged"]), rows.log.size
    recent = np.arange(max(0, n_logged - n_old), n_logged)
    larger.log[recent % larger.log.size] = rows.log[recent % n_old]
    larger.stamp[:old_capacity] = rows.stamp
    larger.state[:] = rows.state
    return larger


@inlined
def note_insertion(rows, slot, row, n, used):
    """A slot was filled, and ``row`` has its values with the first n slots, itself included.

    Other rows lack its value now. ``used`` is when the row is to count as used last: 0 lets it go first.
    """
    drop_row(rows, slot)
    rows.log[rows.state[0]["n_logged"] & (rows.log.size - 1)] = slot
    rows.stamp[slot] = rows.state[0]["n_logged"]
    rows.state[0]["n_logged"] += 1
    r = _place_for(rows, slot)
    rows.used[r] = used
    rows.synced[r] = rows.state[0]["n_logged"]
    _copy(rows.values, r, row, n)


@inlined
def drop_row(rows, slot):
    """Forget the row of a slot."""
    r = rows.place[slot]
    if r != NONE:
        rows.slot[r] = NONE
        rows.used[r] = FREE
        rows.place[slot] = NONE


@inlined
def note_removal(rows, slot):
    """A slot was freed: its row, and its values in other rows, are not needed any more."""
    drop_row(rows, slot)
    rows.stamp[slot] = NONE


@inlined
def _place_for(rows, slot):
    """Give a slot the place of the row that was not used for the longest time."""
    r = _oldest(rows.used)
    if rows.slot[r] != NONE:
        rows.place[rows.slot[r]] = NONE
    rows.slot[r] = slot
    rows.place[slot] = r
    return r


@inlined
def row_of_slot(rows, kernel, expansion, slot):
    """The index in ``rows.values`` of the complete row of a slot."""
    r = rows.place[slot]
    if r == NONE or rows.synced[r] < rows.state[0]["n_logged"]:
        r = _completed(rows, kernel, expansion, slot)
    rows.state[0]["clock"] += 1
    rows.used[r] = rows.state[0]["clock"]
    return r


@separate
def _completed(rows, kernel, expansion, slot):
    """The index of a row that was completed, or brought back."""
    r = rows.place[slot]
    if r == NONE:
        r = _place_for(rows, slot)
        rows.synced[r] = NONE
    _complete(rows, kernel, expansion, slot, r)
    rows.values[r, slot] = self_value(kernel, expansion.norms[slot])  # computed, it could be rounded
    rows.synced[r] = rows.state[0]["n_logged"]
    return r


@compiled
def _oldest(used):
    oldest = 0
    for r in range(1, used.size):
        if used[r] < used[oldest]:
            oldest = r
    return oldest


@compiled
def _copy(values, r, row, n):
    for j in range(n):
        values[r, j] = row[j]


@inlined
def _complete(rows, kernel, expansion, slot, r):
    """Fill in the slots that a row does not know of: from their rows by symmetry, or computed."""
    n, first, last = expansion.counts[0]["n_slots"], rows.synced[r], rows.state[0]["n_logged"]
    values, place, stamp, synced, missing = rows.values, rows.place, rows.stamp, rows.synced, rows.missing
    if rows.columns.size > 0 and (first < 0 or last - first > MUCH * n):
        column_products(rows.columns, expansion.rows, slot, rows.scratch[0], n)
        kernel_row(kernel, rows.scratch[0], expansion.norms, expansion.norms[slot], values[r], whole_groups(n))
        expansion.counts[0]["n_kernel_evals"] += n
        return
    if first >= 0 and last - first <= n:  # the log is longer than that
        n_missing = _copy_logged(values, r, slot, rows.log, stamp, place, first, last, missing)
    else:
        n_missing = _copy_newer(values, r, slot, stamp, place, synced, larger(first, 0), n, missing)
    pairing = pairing_of(kernel)
    for m in range(n_missing):
        j = missing[m]
        rows.scratch[0, m] = pair(pairing, expansion.rows, slot, expansion.rows, j)
        rows.scratch[1, m] = expansion.norms[j]
    kernel_row(
        kernel, rows.scratch[0], rows.scratch[1], expansion.norms[slot], rows.scratch[2], whole_groups(n_missing)
    )
    for m in range(n_missing):
        values[r, missing[m]] = rows.scratch[2, m]
    expansion.counts[0]["n_kernel_evals"] += n_missing


@compiled
def _copy_logged(values, r, slot, log, stamp, place, first, last, missing):
    """Copy what the rows of the slots filled since have; returns how many are missing, which are listed.

    Such a row knows of ``slot``, which was there before.
    """
    n_missing = 0
    mask = log.size - 1
    for k in range(first, last):
        j = log[k & mask]
        if stamp[j] == k:  # not filled again since
            other = place[j]
            if other != NONE:
                values[r, j] = values[other, slot]
            else:
                missing[n_missing] = j
                n_missing += 1
    return n_missing


@compiled
def _copy_newer(values, r, slot, stamp, place, synced, first, n, missing):
    """The same by looking at all slots, for a row that is new or was not used for long."""
    n_missing = 0
    for j in range(n):
        if stamp[j] >= first:
            other = place[j]
            if other != NONE and other != r and synced[other] > stamp[slot]:
                values[r, j] = values[other, slot]
            else:
                missing[n_missing] = j
                n_missing += 1
    return n_missing
