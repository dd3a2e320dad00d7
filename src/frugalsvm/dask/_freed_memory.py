"""Workers that keep some of the memory that tasks have freed.

Dask starts workers with MALLOC_TRIM_THRESHOLD_=65536: what is freed goes back to the system at once, so that the memory
of a worker is what it uses. The arrays of every task are new memory then, and a first touch of memory takes longer than
what a pass does with it: a round of ASSET took a third longer. Some megabytes kept are enough for arrays that have
a number for each row of a partition; features and rows, which are larger, go back as before.
"""

import ctypes
import os
from functools import cache

_VARIABLE, _DASKS_OWN = "MALLOC_TRIM_THRESHOLD_", "65536"
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # numbers of these settings in the GNU C library
_KEPT_BYTES, _LARGE_BYTES = 2**24, 2**22  # for each thread; larger arrays never stay


@cache
def keep_freed_memory() -> bool:
    """Let this process keep freed memory, where Dask's own setting says otherwise; returns whether it does from now on.

    A threshold that somebody else has chosen stays as it is, and so do systems without the GNU C library.
    """
    if os.environ.get(_VARIABLE) != _DASKS_OWN:
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)) and bool(mallopt(_TRIM_THRESHOLD, _KEPT_BYTES))
