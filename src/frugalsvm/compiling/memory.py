"""Peak memory of this process."""

import sys
from pathlib import Path


def peak_megabytes() -> float:
    """Largest resident set so far, in megabytes; NaN where the system does not tell."""
    # On Linux `getrusage` begins with the peak of the parent process: ask the kernel about this one.
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 2**10
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
