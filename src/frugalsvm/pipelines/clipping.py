"""Values that are far from the center of their feature: they are kept within a limit, in one of two ways.

Hard clipping moves what is beyond the limit to it. Soft clipping leaves distances up to two thirds of the limit as they
are. Beyond this *knee* they approach the limit: a distance that exceeds the knee by ``e`` becomes
``knee + r - r / (1 + e / r)``, where the room ``r`` is the third of the limit that is left. The slope at the knee is 1,
larger values stay larger, and an infinite one is at the limit.
"""

import numpy as np

__all__ = ["KNEE", "clip", "softened"]

KNEE = 2.0 / 3.0  # of the limit


def clip(distance: np.ndarray, limit: np.ndarray, *, is_soft: bool = False) -> None:
    """Bring distances from the center, of any sign, within their limits, in place."""
    knee = KNEE * limit if is_soft else limit
    clipped = np.clip(distance, -knee, knee, out=None if is_soft else distance)
    if is_soft:
        softened(distance, clipped, limit - knee, out=distance)


def softened(values, clipped, room, out=None) -> np.ndarray:
    """Values that were clipped at the knee, with a part of what was cut off, which is less than ``room``."""
    rest = values - clipped
    with np.errstate(over="ignore"):
        more = room - room / (1.0 + np.abs(rest) / room)
    return np.add(clipped, np.copysign(more, rest), out=out)
