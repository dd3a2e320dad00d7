"""Run tasks side by side, first those that others need; keep each result at once; show how far it is."""

import os
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from experiments.store import Store
from experiments.tasks import Task

__all__ = ["Failure", "run_tasks"]

# Two jobs on two cores must not use four threads.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Failure(NamedTuple):
    task: Task
    error: str


def run_tasks(
    tasks: Sequence[Task],
    store: Store,
    *,
    jobs: int = 1,
    console: Console | None = None,
    short_first: bool = False,
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
    how = {"store": store, "jobs": jobs, "console": console, "short_first": short_first}
    failures = _run_stage("choosing", needs, **how, after_each=on_chosen) if needs else []
    ready, orphans = [], []
    for task in tasks:
        chosen = store.get(task.needs) if task.needs is not None else {"chosen": {}}
        if chosen is None:
            orphans.append(Failure(task, "the task it needs has failed"))
        else:
            ready.append(task.resolved(chosen))
    return failures + orphans + _run_stage("measuring", _distinct(ready), **how)


def _distinct(tasks: Sequence[Task]) -> list[Task]:
    return list({task.key: task for task in tasks}.values())


def _run_stage(title, tasks, *, store, jobs, console, short_first, after_each=None) -> list[Failure]:
    missing = [task for task in tasks if store.get(task) is None]
    if len(missing) < len(tasks):
        console.print(f"{title}: {len(tasks) - len(missing)} of {len(tasks)} are in the store")
    # Long ones first: the short ones fill the gaps at the end.
    missing.sort(key=lambda task: task.seconds, reverse=not short_first)
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
                if after_each is not None:
                    after_each()
            else:
                failures.append(Failure(task, error))
                words = f"{_words(task)}: {error.splitlines()[-1]}"
                console.print(f"[red]failed:[/red] {escape(words)}")
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
