"""Threads: how many ``n_jobs`` stands for, blocks of rows side by side, and matrix products on several.

Compiled code and matrix products release Python's lock, so ordinary threads keep all cores busy. They are preferred to
Numba's parallel loops, whose code takes seconds to compile, and whose threads survive neither a fork (OpenMP) nor two
calls at a time (its own work queue). While blocks run side by side, each matrix product must use one thread only: see
`blas_threads`.
"""

import itertools
import math
import multiprocessing
import numbers
import os
import queue
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from frugalsvm.exceptions import ParameterError

WORTH_A_THREAD = 4e6  # multiplications, about 0.1 ms: a product that waits for several threads takes 0.02 ms longer


def thread_count(n_jobs: Any) -> int:
    """The number of threads, as in joblib: None is one, -1 all cores, -2 all but one.

    All cores are those that are there for this task: where tasks run side by side already, there are fewer.
    """
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        expected = "a number of threads, None for one, or negative (-1 is all cores, -2 all but one)"
        raise ParameterError("n_jobs", n_jobs, expected)
    wanted = int(n_jobs)
    return wanted if wanted > 0 else max(_n_cores() + 1 + wanted, 1)


def all_cores_unless(n_jobs: Any) -> Any:
    """The ``n_jobs`` of estimators of which None is all cores, for those of which it is one.

    It is no number of threads yet: a model that is saved uses the cores of the machine on which it predicts.
    """
    return -1 if n_jobs is None else n_jobs


def _n_cores() -> int:
    """The cores that are there for this task.

    ``OMP_NUM_THREADS`` counts as it does in scikit-learn: joblib gives its worker processes their share by it.
    """
    if _has_one_core():
        return 1
    cores = usable_cores()
    share = _openmp_share().partition(",")[0].strip()  # "4,2" is for nested regions
    return min(cores, int(share)) if share.isdecimal() and int(share) > 0 else cores


def _dask_has_set_threads() -> bool:
    """Whether Dask has started workers from here: then variables that it sets for them are set in this process, too."""
    return "MALLOC_TRIM_THRESHOLD_" in os.environ and "distributed" in sys.modules


def _openmp_share() -> str:
    """``OMP_NUM_THREADS`` as users and joblib set it: what Dask sets for workers is not meant for this process."""
    return _SHARE_AT_FIRST if _dask_has_set_threads() else os.environ.get("OMP_NUM_THREADS", "")


_SHARE_AT_FIRST = "" if _dask_has_set_threads() else os.environ.get("OMP_NUM_THREADS", "")


def usable_cores() -> int:
    """The cores on which threads of this process may run."""
    cores = _usable_cores(os.environ.get("LOKY_MAX_CPU_COUNT"))
    return min(cores, len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else cores


@cache  # joblib reads files of the system for it
def _usable_cores(limit: str | None) -> int:
    """The cores that this process may use by affinity, the limits of its container and ``LOKY_MAX_CPU_COUNT``."""
    import joblib

    return joblib.cpu_count()


def _has_one_core() -> bool:
    """Whether this is one of the tasks that take a core each: of a process pool, joblib's threads, or Dask."""
    if multiprocessing.current_process().daemon:
        return True
    return _is_thread_of_joblib() or _is_task_of_dask()


def _is_thread_of_joblib() -> bool:
    joblib = sys.modules.get("joblib.parallel")
    if joblib is None or threading.current_thread() is threading.main_thread():
        return False  # worker processes of joblib run their tasks in the main thread
    return (joblib.get_active_backend()[0].nesting_level or 0) > 0


def _is_task_of_dask() -> bool:
    distributed = sys.modules.get("distributed.worker")
    if distributed is None:
        return False
    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True


@cache
def _blas_libraries() -> list[Any]:
    return ThreadpoolController().select(user_api="blas").lib_controllers


class _LimitedTo:
    """Context in which matrix products use a number of threads; `threadpoolctl` takes as long as some rows to learn."""

    def __init__(self, count: int):
        self._count = count
        self._changed: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        before = [(library, library.get_num_threads()) for library in _blas_libraries()]
        self._changed = [(library, n) for library, n in before if n != self._count]
        for library, _ in self._changed:
            library.set_num_threads(self._count)

    def __exit__(self, *_: Any) -> None:
        for library, n in self._changed:
            library.set_num_threads(n)


def blas_threads(n_jobs, work: float = math.inf):
    """Context in which matrix products use ``n_jobs`` threads, counted as in joblib; None is one.

    With ``work``, the number of multiplications in a product, they use as many as pay and no more.
    """
    count = max(1, min(thread_count(n_jobs), work // WORTH_A_THREAD))
    return _LimitedTo(int(count))


def row_blocks(n_rows: int, n_threads: int, least: int = 1, most: int | None = None, step: int = 1) -> list[slice]:
    """Slices of about the same size that cover all rows: one for each thread, but of at least ``least`` rows.

    With ``most``, blocks have no more rows than that, so there may be more blocks than threads. All begin at multiples
    of ``step``.
    """
    count = max(1, min(n_threads, n_rows // max(least, step)))
    if most is not None:
        count = max(count, -(-n_rows // most))
    n_steps = -(-n_rows // step)
    edges = [min(n_steps * i // count * step, n_rows) for i in range(count + 1)]
    return [slice(start, stop) for start, stop in itertools.pairwise(edges)]


class _Job:
    """Calls of a function for many items, each taken by whichever thread is free."""

    def __init__(self, function: Callable, items: Sequence, shares: bool = False):
        self._function, self._items, self._shares = function, items, shares
        self.results: list[Any] = [None] * len(items)
        self.error: BaseException | None = None
        self._next = itertools.count()  # taking from it is atomic
        self._changed = threading.Condition()
        self._n_working, self._is_over = 0, False

    def work(self) -> None:
        """Take items until there are none."""
        with self._changed:
            if self._is_over:
                return
            self._n_working += 1
        before = getattr(_here, "is_working", False)
        _here.is_working = not self._shares
        try:
            self._take_items()
        finally:
            _here.is_working = before
            with self._changed:
                self._n_working -= 1
                if self._n_working == 0:  # not each time: who waits would wake up for nothing
                    self._changed.notify_all()

    def _take_items(self) -> None:
        while self.error is None and (i := next(self._next)) < len(self._items):
            try:
                self.results[i] = self._function(self._items[i])
            except BaseException as error:
                self.error = error

    def end(self) -> None:
        """Wait for those that work; no other begins."""
        with self._changed:
            self._is_over = True
            self._changed.wait_for(lambda: self._n_working == 0)


class _Pool:
    """Threads that wait for jobs; made when first needed, and again in a forked process."""

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._n_threads, self._lock = 0, threading.Lock()

    def offer(self, job: _Job, n_helpers: int) -> None:
        """Have ``n`` threads help with a job."""
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


def is_at_work() -> bool:
    """Whether this thread works for another one: what it does should not be divided once more."""
    return getattr(_here, "is_working", False)


class Threads:
    """A number of threads to run blocks on, the calling one among them."""

    def __init__(self, count: int = 1):
        self.count = count

    def run(self, function: Callable, items: Sequence, *, shares: bool = False) -> list:
        """``[function(item) for item in items]``, side by side; a block that runs blocks runs them one after another.

        With ``shares``, for a few long items, blocks of an item may take threads that no other item needs. Which thread
        takes which item is left to chance: results must not depend on it.
        """
        n_helpers = min(self.count, len(items)) - 1
        if n_helpers < 1 or is_at_work():
            return [function(item) for item in items]
        job = _Job(function, items, shares)
        _pool.offer(job, n_helpers)
        try:
            job.work()
            job.end()
        except BaseException as error:  # Ctrl-C: what other threads change must not change any more after this
            job.error = job.error or error
            job.end()
        if job.error is not None:
            raise job.error
        return job.results


ONE_THREAD = Threads(1)
