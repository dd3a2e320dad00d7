"""Random numbers for compiled loops: a state of one word that is kept with the model, so that it can be resumed."""

import numpy as np

from frugalsvm.compiling.functions import compiled

_LEFT, _RIGHT, _AGAIN = np.uint64(13), np.uint64(7), np.uint64(17)  # Marsaglia (2003), period 2^64 - 1
_HALF = np.uint64(32)


def new_rng(seed):
    """The state for a seed; it must not be zero."""
    return np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1)


@compiled
def below(state, n):
    """A random integer from 0 to n - 1, n below 2^32; every value within 2^-32 of equally likely."""
    x = state[0]
    x ^= x << _LEFT
    x ^= x >> _RIGHT
    x ^= x << _AGAIN
    state[0] = x
    return np.int64(((x >> _HALF) * np.uint64(n)) >> _HALF)
