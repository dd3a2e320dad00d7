"""How many threads ``n_jobs`` stands for."""

import numbers
import os
from typing import Any

from frugalsvm.exceptions import ParameterError

__all__ = ["thread_count"]


def thread_count(n_jobs: Any) -> int:
    """The number of threads, as in joblib: None is one, -1 all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        expected = "a number of threads, None for one, or negative (-1 is all cores, -2 all but one)"
        raise ParameterError("n_jobs", n_jobs, expected)
    wanted = int(n_jobs)
    return wanted if wanted > 0 else max(_n_cores() + 1 + wanted, 1)


def _n_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
