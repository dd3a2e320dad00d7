"""Run tasks side by side, first those that others need; keep each result at once; show how far it is."""

import os
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from math import inf
from multiprocessing import active_children, get_context
from typing import Any, NamedTuple

from experiments.screen import Console, advancing, escape
from experiments.store import Store
from experiments.tasks import Task
from frugalsvm.datasets import DatasetUnavailableError

__all__ = ["Failure", "run_tasks"]

# Two jobs on two cores must not use four threads.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Failure(NamedTuple):
    task: Task
    error: str
    missing: str | None = None  # the data set that is not there


def run_tasks(
    tasks: Sequence[Task],
    store: Store,
    *,
    jobs: int = 1,
    console: Console | None = None,
    short_first: bool = False,
    minutes: float | None = None,
    on_chosen: Callable[[], Any] | None = None,
) -> list[Failure]:
    """Run what the store does not hold; a task that fails is reported and stops no other.

    Parameters
    ----------
    tasks : sequence of Task
        Equal ones are run once.
    store : Store
        Where results are looked for and kept.
    jobs : int, default=1
        Processes.
    console : rich.console.Console, default=None
        Where progress is shown.
    short_first : bool, default=False
        Begin with the short tasks: more of them are done if the run is stopped. Otherwise the long ones come first,
        and all ends sooner.
    minutes : float, default=None
        Stop after so many. In the second half of the time a task that would take longer than what is left, by its
        ``seconds``, is not begun; one that is still running at the end is lost. All others are kept.
    on_chosen : callable, default=None
        Called after each task that others need, so that choices are recorded even if the run is stopped.

    Returns
    -------
    list of Failure
        Tasks that raised, and those that needed them.
    """
    console = console or Console()
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    needs = _distinct([task.needs for task in tasks if task.needs is not None])
    deadline = _Deadline(minutes)
    how = {"store": store, "jobs": jobs, "console": console, "short_first": short_first, "deadline": deadline}
    failures = _run_stage("choosing", needs, **how, after_each=on_chosen) if needs else []
    missing = {failure.task.key: failure.missing for failure in failures}
    ready, orphans = [], []
    for task in tasks:
        chosen = store.get(task.needs) if task.needs is not None else {"chosen": {}}
        if chosen is None:
            if time.monotonic() < deadline.end:
                orphans.append(Failure(task, "the task it needs has failed", missing.get(task.needs.key)))
        else:
            ready.append(task.resolved(chosen))
    return failures + orphans + _run_stage("measuring", _distinct(ready), **how)


def _distinct(tasks: Sequence[Task]) -> list[Task]:
    return list({task.key: task for task in tasks}.values())


def _run_stage(title, tasks, *, store, jobs, console, short_first, deadline, after_each=None) -> list[Failure]:
    missing = [task for task in tasks if store.get(task) is None]
    if len(missing) < len(tasks):
        console.print(f"{title}: {len(tasks) - len(missing)} of {len(tasks)} are in the store")
    # Long ones first: the short ones fill the gaps at the end.
    missing.sort(key=lambda task: task.seconds, reverse=not short_first)
    failures, n_ended = [], 0
    with advancing(console, title, len(missing)) as advance:
        for task, result, seconds, error in _finished(missing, jobs, deadline):
            n_ended += 1
            if error is None:
                store.put(task, result, seconds)
                if after_each is not None:
                    after_each()
            elif isinstance(error, _Missing):
                failures.append(Failure(task, error.why, error.name))
                advance(f"{_words(task)} (no data)")
                continue
            else:
                failures.append(Failure(task, error))
                words = f"{_words(task)}: {error.splitlines()[-1]}"
                console.print(f"[red]failed:[/red] {escape(words)}")
            advance(f"{_words(task)} ({seconds:.1f} s)")
            if not console.is_terminal:
                console.print(f"{title}: {_words(task)} ({seconds:.1f} s)")
    if n_ended < len(missing):
        left = len(missing) - n_ended
        console.print(f"{title}: the time is over, {left} are left. The same command goes on from here.")
    return failures


def _words(task: Task) -> str:
    return " ".join(str(value) for value in task.names.values()) or task.work


class _Missing(NamedTuple):
    """A data set that is not there, in the place of an error."""

    name: str
    why: str


class _Deadline:
    """When to stop, and what there is still time for."""

    def __init__(self, minutes: float | None):
        now = time.monotonic()
        self._half = inf if minutes is None else now + 30 * minutes
        self.end = inf if minutes is None else now + 60 * minutes

    def leaves_time_for(self, task: Task) -> bool:
        # Estimates may be far too long: in the first half a task gets its chance.
        now = time.monotonic()
        return now < self._half or now + task.seconds < self.end

    @property
    def seconds_left(self) -> float | None:
        return None if self.end == inf else max(self.end - time.monotonic(), 0.0)


def _finished(tasks, jobs, deadline):
    """Each task with its result, as they end; those that the deadline leaves no time for do not come."""
    if jobs == 1:
        for task in tasks:
            if deadline.leaves_time_for(task):
                yield task, *_timed(task)
        return
    # A forked child would share the state of threads and of compiled code with its parent.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        rest, waiting = list(tasks), {}
        while rest or waiting:
            rest = [task for task in rest if deadline.leaves_time_for(task)]
            while rest and len(waiting) < jobs:
                task = rest.pop(0)
                waiting[pool.submit(_timed, task)] = task
            done, _ = wait(waiting, timeout=deadline.seconds_left, return_when=FIRST_COMPLETED)
            if waiting and not done:
                for process in active_children():
                    process.terminate()
                return
            for future in done:
                yield waiting.pop(future), *future.result()


def _timed(task: Task):
    start = time.process_time()  # what it takes, whoever else is at work
    try:
        result, error = task.run(), None
    except DatasetUnavailableError as missing:
        result, error = None, _Missing(missing.dataset or task.work, str(missing))
    except Exception:
        result, error = None, traceback.format_exc()
    return result, time.process_time() - start, error
