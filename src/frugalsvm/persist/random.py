"""Random number generators of NumPy as plain values: they continue with the very next number."""

from typing import Any

import numpy as np

from frugalsvm.persist.errors import ModelFileError, file_errors

__all__ = ["generator_from", "state_of_generator"]

_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
# NumPy does not check how far a generator has come in its buffer, and would read behind its end.
_LAST_PLACE = {"MT19937": 624, "Philox": 4}


def state_of_generator(generator: Any) -> dict[str, Any]:
    """The state of a ``Generator`` or ``RandomState``; seeds of generators spawned from it are not part of it."""
    legacy = isinstance(generator, np.random.RandomState)
    state = generator.get_state(legacy=False) if legacy else generator.bit_generator.state
    if state["bit_generator"] not in _BIT_GENERATORS:
        raise ModelFileError(f"A random generator {state['bit_generator']!r} cannot be saved.")
    return {"legacy": legacy, "state": state}


def generator_from(saved: Any) -> Any:
    """The generator that was saved."""
    with file_errors("the state of a random generator is wrong"):
        state = saved["state"]
        name = state["bit_generator"]
        if name not in _BIT_GENERATORS:
            raise ModelFileError("The model file is malformed: it names an unknown random generator.")
        place = state["state"].get("pos", 0) if name == "MT19937" else state.get("buffer_pos", 0)
        if not 0 <= place <= _LAST_PLACE.get(name, 0):
            raise ModelFileError("The model file is malformed: a random generator is beyond its end.")
        bits = getattr(np.random, name)(0)
        if saved["legacy"]:
            generator = np.random.RandomState(bits)
            generator.set_state(state)
            return generator
        bits.state = state
        return np.random.Generator(bits)
