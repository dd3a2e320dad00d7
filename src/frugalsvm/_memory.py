"""Peak memory of this process."""

import sys

__all__ = ["peak_megabytes"]


def peak_megabytes() -> float:
    """Largest resident set so far, in megabytes; NaN where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
