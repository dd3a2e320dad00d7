"""How many threads ``n_jobs`` stands for, and matrix products with so many."""

import numbers
import os
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from frugalsvm.exceptions import ParameterError

__all__ = ["blas_threads", "thread_count"]


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


@cache
def _thread_controller() -> ThreadpoolController:
    return ThreadpoolController()


def blas_threads(n_jobs):
    """Context in which matrix products use ``n_jobs`` threads, counted as in joblib; None is one.

    Blocks are small: a second thread gains little on an idle machine and loses much on a busy one.
    """
    return _thread_controller().limit(limits=thread_count(n_jobs), user_api="blas")
