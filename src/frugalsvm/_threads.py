"""Threads: how many ``n_jobs`` stands for, blocks of rows side by side, and matrix products with so many.

Compiled code and matrix products release Python's lock, so ordinary threads keep all cores busy. They are preferred to
Numba's parallel loops, whose code takes seconds to compile, and whose threads survive neither a fork (OpenMP) nor two
calls at a time (its own work queue). While blocks run side by side, each matrix product must use one thread only: see
`blas_threads`.
"""

import itertools
import numbers
import os
import queue
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from frugalsvm.exceptions import ParameterError

__all__ = ["ONE_THREAD", "Threads", "blas_threads", "row_blocks", "thread_count"]


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
    """Context in which matrix products use ``n_jobs`` threads, counted as in joblib; None is one."""
    return _thread_controller().limit(limits=thread_count(n_jobs), user_api="blas")


def row_blocks(n_rows: int, n_threads: int, least: int = 1, most: int | None = None) -> list[slice]:
    """Slices of about the same size that cover all rows: one for each thread, but of at least ``least`` rows.

    With ``most``, blocks have no more rows than that, so there may be more blocks than threads.
    """
    count = max(1, min(n_threads, n_rows // max(least, 1)))
    if most is not None:
        count = max(count, -(-n_rows // most))
    edges = [n_rows * i // count for i in range(count + 1)]
    return [slice(start, stop) for start, stop in itertools.pairwise(edges)]


class _Job:
    """Calls of a function for many items, each taken by whichever thread is free."""

    def __init__(self, function: Callable, items: Sequence):
        self._function, self._items = function, items
        self.results: list[Any] = [None] * len(items)
        self._next = itertools.count()  # taking from it is atomic
        self._left, self._lock = len(items), threading.Lock()
        self._done = threading.Event()
        self.error: BaseException | None = None

    def work(self) -> None:
        """Take items until there are none."""
        _here.is_working = True
        try:
            self._work()
        finally:
            _here.is_working = False

    def _work(self) -> None:
        while (i := next(self._next)) < len(self._items):
            try:
                if self.error is None:
                    self.results[i] = self._function(self._items[i])
            except BaseException as error:
                self.error = error
            with self._lock:
                self._left -= 1
                if not self._left:
                    self._done.set()

    def wait(self) -> list:
        self._done.wait()
        if self.error is not None:
            raise self.error
        return self.results


class _Pool:
    """Threads that wait for jobs; made when first needed, and anew in a forked process."""

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._n_threads, self._lock = 0, threading.Lock()

    def offer(self, job: _Job, n_helpers: int) -> None:
        """Have so many threads help with a job."""
        with self._lock:
            for _ in range(n_helpers - self._n_threads):
                threading.Thread(target=self._serve, args=(self._jobs,), daemon=True, name="frugalsvm").start()
            self._n_threads = max(self._n_threads, n_helpers)
        for _ in range(n_helpers):
            self._jobs.put(job)

    @staticmethod
    def _serve(jobs: "queue.SimpleQueue[_Job]") -> None:
        while True:
            jobs.get().work()


_pool, _here = _Pool(), threading.local()


class Threads:
    """So many threads to run blocks on, the calling one among them."""

    def __init__(self, count: int = 1):
        self.count = count

    def run(self, function: Callable, items: Sequence) -> list:
        """``[function(item) for item in items]``, side by side; a block that runs blocks runs them one after another.

        Which thread takes which item is left to chance: results must not depend on it.
        """
        n_helpers = min(self.count, len(items)) - 1
        if n_helpers < 1 or getattr(_here, "is_working", False):
            return [function(item) for item in items]
        job = _Job(function, items)
        _pool.offer(job, n_helpers)
        job.work()
        return job.wait()


ONE_THREAD = Threads(1)
