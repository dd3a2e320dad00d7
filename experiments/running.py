"""Run tasks side by side, first those that others need; keep each result at once; show how far it is."""

import os
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from experiments.store import Store
from experiments.tasks import Task

__all__ = ["Failure", "run_tasks"]

# Two jobs on two cores must not use four threads.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Failure(NamedTuple):
    task: Task
    error: str


def run_tasks(tasks: Sequence[Task], store: Store, *, jobs: int = 1, console: Console | None = None) -> list[Failure]:
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

    Returns
    -------
    list of Failure
        Tasks that raised, and those that needed them.
    """
    console = console or Console()
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    needs = _distinct([task.needs for task in tasks if task.needs is not None])
    failures = _run_stage("choosing", needs, store, jobs, console) if needs else []
    ready, orphans = [], []
    for task in tasks:
        chosen = store.get(task.needs) if task.needs is not None else {"chosen": {}}
        if chosen is None:
            orphans.append(Failure(task, "the task it needs has failed"))
        else:
            ready.append(task.resolved(chosen))
    return failures + orphans + _run_stage("measuring", _distinct(ready), store, jobs, console)


def _distinct(tasks: Sequence[Task]) -> list[Task]:
    return list({task.key: task for task in tasks}.values())


def _run_stage(title, tasks, store, jobs, console) -> list[Failure]:
    missing = [task for task in tasks if store.get(task) is None]
    if len(missing) < len(tasks):
        console.print(f"{title}: {len(tasks) - len(missing)} of {len(tasks)} are in the store")
    # Long ones first: the short ones fill the gaps at the end.
    missing.sort(key=lambda task: -task.seconds)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[latest]}"),
    )
    failures = []
    with Progress(*columns, console=console, disable=not missing) as progress:
        bar = progress.add_task(title, total=len(missing), latest="")
        for task, result, seconds, error in _finished(missing, jobs):
            if error is None:
                store.put(task, result, seconds)
            else:
                failures.append(Failure(task, error))
                console.print(f"[red]failed:[/red] {_words(task)}: {error.splitlines()[-1]}")
            progress.update(bar, advance=1, latest=f"{_words(task)} ({seconds:.1f} s)")
            if not console.is_terminal:
                console.print(f"{title}: {_words(task)} ({seconds:.1f} s)")
    return failures


def _words(task: Task) -> str:
    return " ".join(str(value) for value in task.names.values()) or task.work


def _finished(tasks, jobs):
    """Each task with its result, as they end."""
    if jobs == 1:
        for task in tasks:
            yield task, *_timed(task)
        return
    # A forked child would share the state of threads and of compiled code with its parent.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(_timed, task): task for task in tasks}
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield waiting.pop(future), *future.result()


def _timed(task: Task):
    start = time.perf_counter()
    try:
        result, error = task.run(), None
    except Exception:
        result, error = None, traceback.format_exc()
    return result, time.perf_counter() - start, error
