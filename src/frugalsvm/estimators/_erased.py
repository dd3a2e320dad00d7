"""What is left of examples in the memory of `IncrementalSVC` when they are unlearned: it is overwritten."""

from typing import NamedTuple

__all__ = ["Freed", "erase"]


class Freed(NamedTuple):
    """A slot that an example was in."""

    solver: int
    slot: int
    place: int  # of its kernel values in the cache, or -1


def erase(solvers, freed):
    """Overwrite rows, and kernel values with others, of slots that are free now."""
    for m, slot, place in freed:
        state, cache = solvers[m]
        if slot not in state.free_slots[: state.counts[0]["n_free"]]:
            continue
        state.points.rows[slot], state.points.norms[slot] = 0.0, 0.0
        cache.values[cache.slot >= 0, slot] = 0.0
        if 0 <= place < len(cache.slot) and cache.slot[place] < 0:
            cache.values[place] = 0.0
        cache.scratch[:] = 0.0
