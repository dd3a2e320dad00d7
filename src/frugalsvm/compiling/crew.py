"""A crew: threads that stay in compiled code and share its loops, without Python's lock.

Sixteen threads that each take Python's lock once for a product wait longer for it than the product takes. The members
of a crew take it once: they enter compiled code, where they wait for tasks. A *task* is a compiled function of numbered
parts. The thread that leads, which runs an `entry`, posts one by `share` and takes parts itself; members take others,
each the next that is left. It is over when all parts are done. None waits for a member that has not come, and which
member takes which part changes nothing: what parts compute must depend on their number alone.

Who has nothing to do looks for a task again and again for a while, and then sleeps, in a lock of Python's, until it is
woken. After a longer while it leaves, and returns to Python.
"""

import atexit
import ctypes
import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from frugalsvm.compiling.crew_instructions import (
    acquire,
    add,
    address_of_arguments,
    exchange,
    load,
    pause,
    release,
    run_part,
)
from frugalsvm.compiling.crew_instructions import code_of as compiled_code_of
from frugalsvm.compiling.functions import INTERPRETED, entry, generic, separate
from frugalsvm.compiling.threads import is_at_work, usable_cores

# What the members of a crew know of each other: numbers in memory, on cache lines of their own where many write.
_LINE = 16
_TICKET = 0  # which task it is, how many parts it has, and the next that is left
_DONE = 1 * _LINE  # parts that are done
_TASK = 2 * _LINE  # the address of its code,
_ARGUMENTS = _TASK + 1  # and of its arguments
_LEAD = _TASK + 2  # the address of the code that has a task done: copied into each entry, it would be compiled there
_ACQUIRE, _RELEASE, _SPINS = _TASK + 3, _TASK + 4, _TASK + 5  # addresses of routines, and how often to look for a task
_PRESENT = 3 * _LINE  # members that were called and have not left
_IS_CLOSED = 4 * _LINE
_PLACES = 5 * _LINE  # a cache line for each thread, of which the first leads
_IS_TAKEN, _SLEEPS, _LOCK = 0, 1, 2  # in its line

_PART_BITS, _TASK_BITS = 16, 32
_MOST_PARTS = 2 ** (_PART_BITS - 1)
_PARTS = 2**_PART_BITS - 1
_IDLE = 100_000  # microseconds after which a member leaves
_FOREVER, _ACQUIRED = -1, 1  # of Python's locks
_SPIN_SECONDS = 2e-4  # waking a thread, and waiting until it is awake, takes about as long
_WORTH_SHARING, _WORTH_CALLING = 2**15, 2**18  # numbers that are read in 10 microseconds, and while a call is made
ALONE = np.zeros(0, np.int64)  # a crew of one


def task(function: Callable) -> Any:
    """Compile a function for `share`: it takes arguments, and the number of a part.

    Machine code that has the address of a dispatcher, as that of a `compiled` function, is not kept on disk.
    """
    declared = generic(function)
    declared.implement(inline=False)(function)
    return declared


@separate
def _wake(words, place):
    """Wake a thread if it sleeps."""
    if load(words, place + _SLEEPS) == 1 and exchange(words, place + _SLEEPS, 0) == 1:
        release(words[_RELEASE], words[place + _LOCK])


@separate
def _is_left(ticket):
    """Whether a task has parts that are not taken."""
    return ticket & _PARTS < (ticket >> _PART_BITS) & _PARTS


@separate
def _take_parts(words):
    while _is_left(load(words, _TICKET)):
        ticket = add(words, _TICKET, 1)
        if not _is_left(ticket):
            return
        run_part(words[_TASK], words[_ARGUMENTS], ticket & _PARTS)
        if add(words, _DONE, 1) + 1 == (ticket >> _PART_BITS) & _PARTS:
            _wake(words, _PLACES)


@separate
def _wait_until_done(words, n_parts):
    while True:
        for _ in range(words[_SPINS]):
            if load(words, _DONE) == n_parts:
                return
            pause()
        exchange(words, _PLACES + _SLEEPS, 1)
        if load(words, _DONE) < n_parts:
            acquire(words[_ACQUIRE], words[_PLACES + _LOCK], _FOREVER)
        elif exchange(words, _PLACES + _SLEEPS, 0) == 1:
            return
        else:  # a member is about to wake this thread
            acquire(words[_ACQUIRE], words[_PLACES + _LOCK], _FOREVER)
            return


@task
def _lead(words, n_parts):
    words[_DONE] = 0
    exchange(words, _TICKET, (((load(words, _TICKET) >> _TASK_BITS) + 1) << _TASK_BITS) + (n_parts << _PART_BITS))
    n_asleep = min(words.size // _LINE - _PLACES // _LINE, n_parts)
    for k in range(1, n_asleep):
        _wake(words, _PLACES + k * _LINE)
    _take_parts(words)
    _wait_until_done(words, n_parts)


@separate
def _share(crew, code, n_parts, arguments):
    """``task(*arguments, part)`` for all parts, on the threads of a crew; returns when all are done.

    ``code`` is what `code_of` says for the task and such arguments.
    """
    place = address_of_arguments(arguments)
    if crew.size == 0 or n_parts < 2 or n_parts > _MOST_PARTS:
        for part in range(n_parts):
            run_part(code, place, part)
        return
    crew[_TASK], crew[_ARGUMENTS] = code, place
    run_part(crew[_LEAD], address_of_arguments((crew,)), n_parts)


def _share_interpreted(crew, function, n_parts, arguments):
    for part in range(n_parts):
        function(*arguments, part)


share = _share_interpreted if INTERPRETED else _share
code_of = (lambda function, arguments: function) if INTERPRETED else compiled_code_of


@separate
def _has_news(words):
    return load(words, _IS_CLOSED) == 1 or _is_left(load(words, _TICKET))


@separate
def _stays(words, place):
    """Wait for a task; returns whether there may be one."""
    for _ in range(words[_SPINS]):
        if _has_news(words):
            return True
        pause()
    exchange(words, place + _SLEEPS, 1)
    if not _has_news(words) and acquire(words[_ACQUIRE], words[place + _LOCK], _IDLE) == _ACQUIRED:
        return True
    if exchange(words, place + _SLEEPS, 0) == 1:
        return _has_news(words)
    acquire(words[_ACQUIRE], words[place + _LOCK], _FOREVER)  # who leads is about to wake this thread
    return True


@entry
def _serve(words):
    """Take parts of tasks until there have been none for a while."""
    place = _PLACES + _LINE
    while place < words.size and exchange(words, place + _IS_TAKEN, 1) == 1:
        place += _LINE
    if place < words.size:
        while load(words, _IS_CLOSED) == 0 and _stays(words, place):
            _take_parts(words)
        exchange(words, place + _IS_TAKEN, 0)
    add(words, _PRESENT, -1)


@entry
def _prepare(words):
    """Note where the code is that leads."""
    words[_LEAD] = compiled_code_of(_lead, (words,))


@entry
def _expect(words, count):
    """Count members that are called."""
    add(words, _PRESENT, count)


@entry
def _close(words):
    """Have all members leave."""
    exchange(words, _IS_CLOSED, 1)
    for place in range(_PLACES + _LINE, words.size, _LINE):
        _wake(words, place)


@entry
def _look(words, times):
    """Look for a task that never comes."""
    for _ in range(times):
        if _has_news(words):
            return
        pause()


class _Locks:
    """Locks of Python's that compiled code can use: each is acquired to begin with."""

    def __init__(self, count: int):
        python = ctypes.pythonapi
        allocate, self._free = python.PyThread_allocate_lock, python.PyThread_free_lock
        allocate.restype, allocate.argtypes, self._free.argtypes = ctypes.c_void_p, [], [ctypes.c_void_p]
        self._free.restype = None
        python.PyThread_acquire_lock.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self.addresses = [allocate() for _ in range(count)]
        for each in self.addresses:
            python.PyThread_acquire_lock(each, 1)

    def __del__(self) -> None:
        for each in self.addresses:
            self._free(each)

    @staticmethod
    def routines() -> list[int]:
        """Addresses of what acquires a lock within a time, and of what releases it."""
        names = ("PyThread_acquire_lock_timed", "PyThread_release_lock")
        return [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in names]


class _Quarters:
    """Where a crew meets: its numbers in memory, and its locks, as long as somebody is there."""

    def __init__(self, count: int):
        self.locks = _Locks(count)
        self.words = _lines(_PLACES // _LINE + count)
        self.words[_ACQUIRE], self.words[_RELEASE] = self.locks.routines()
        _prepare(self.words)
        for k, lock in enumerate(self.locks.addresses):
            self.words[_PLACES + k * _LINE + _LOCK] = lock
        # Where there are too few cores, who looks for a task keeps it from being done.
        self.words[_SPINS] = int(_SPIN_SECONDS / _seconds_of_a_look()) if count <= usable_cores() else 1

    def serve(self) -> None:
        _serve(self.words)

    def close(self) -> None:
        _close(self.words)

    def is_empty(self) -> bool:
        return bool(self.words[_PRESENT] == 0)


def _lines(count: int) -> np.ndarray:
    """Zeros, cache line by cache line."""
    words = np.zeros((count + 1) * _LINE, np.int64)
    first = -words.ctypes.data // words.itemsize % _LINE
    return words[first : first + count * _LINE]


@cache
def _seconds_of_a_look() -> float:
    words, times = _lines(_PLACES // _LINE), 2000
    _look(words, 1)
    start = time.perf_counter()
    _look(words, times)
    return max((time.perf_counter() - start) / times, 1e-9)


class _Members:
    """Threads that serve crews; more of them are made when all are busy."""

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)
        atexit.register(self._end)

    def _begin(self) -> None:
        self._calls: queue.SimpleQueue[_Quarters] = queue.SimpleQueue()
        self._n_free, self._lock = 0, threading.Lock()
        self.open: weakref.WeakSet[_Quarters] = weakref.WeakSet()

    def call(self, quarters: _Quarters, count: int) -> None:
        """Have some threads serve."""
        self.open.add(quarters)
        with self._lock:
            n_new = max(0, count - self._n_free)
            self._n_free -= count - n_new
        for _ in range(n_new):
            threading.Thread(target=self._live, args=(self._calls,), daemon=True, name="frugalsvm").start()
        for _ in range(count):
            self._calls.put(quarters)

    def _live(self, calls: "queue.SimpleQueue[_Quarters]") -> None:
        while True:
            calls.get().serve()
            with self._lock:
                self._n_free += 1

    def _end(self) -> None:
        """Have all leave compiled code before it goes away with the process."""
        left, until = list(self.open), time.monotonic() + 1.0
        for each in left:
            each.close()
        while not all(each.is_empty() for each in left) and time.monotonic() < until:
            time.sleep(1e-3)


_members = _Members()


class Crew:
    """Up to ``count`` threads that share loops of compiled code, the calling one among them."""

    def __init__(self, count: int = 1):
        self.count = 1 if INTERPRETED else count
        self._leads = threading.Lock()
        self._quarters: _Quarters | None = None
        self._process = os.getpid()

    def run(self, function: Callable, numbers: float, *arguments: Any) -> Any:
        """``function(crew, *arguments)``, an `entry` that reads this many numbers, or takes as long.

        It runs alone where that is too little to share, on threads that work for others, and while the crew is led
        from elsewhere.
        """
        if self.count == 1 or numbers < _WORTH_SHARING or is_at_work() or not self._is_mine():
            return function(ALONE, *arguments)
        try:
            return function(self._gathered(numbers), *arguments)
        finally:
            self._leads.release()

    def _is_mine(self) -> bool:
        if self._process != os.getpid():  # a forked process has no other threads that could release a lock
            self._leads, self._quarters, self._process = threading.Lock(), None, os.getpid()
        return self._leads.acquire(blocking=False)

    def _gathered(self, numbers: float) -> np.ndarray:
        if self._quarters is None:
            if numbers < _WORTH_CALLING:
                return ALONE
            self._quarters = _Quarters(self.count)
            weakref.finalize(self, self._quarters.close)
        words = self._quarters.words
        missing = self.count - 1 - int(words[_PRESENT])
        if missing > 0 and numbers >= _WORTH_CALLING:
            _expect(words, missing)
            _members.call(self._quarters, missing)
        return words


class Crews:
    """Crews for work that many threads may want at the same time, each of which borrows one."""

    def __init__(self) -> None:
        self._free: dict[int, list[Crew]] = {}

    @contextmanager
    def one_of(self, count: int) -> Iterator[Crew]:
        """A crew of a number of threads, as far as there are cores."""
        free = self._free.setdefault(min(count, usable_cores()), [])
        try:
            crew = free.pop()  # in one step, whatever other threads do
        except IndexError:
            crew = Crew(min(count, usable_cores()))
        try:
            yield crew
        finally:
            free.append(crew)


CREWS = Crews()
