"""Processes that compile, one task after another; a task and its outcome are a line of JSON each.

Threads would not do, since Numba compiles one function at a time in a process; and processes of `multiprocessing`
import the program that started them, which may be a script whose first line asks for all this.
"""

import json
import os
import queue
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

_SERVE = "from frugalsvm.warming.workers import serve; serve()"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class Task(NamedTuple):
    """A recipe and a kind of rows."""

    name: str
    kind: tuple


class Outcome(NamedTuple):
    name: str
    n_compiled: int
    seconds: float
    folder: str | None  # where the machine code is; None if it is not kept
    error: str | None


def outcome_of(task: Task) -> Outcome:
    """Run a task in this process."""
    from frugalsvm.compiling.events import compile_notice
    from frugalsvm.warming.origin import kept_in
    from frugalsvm.warming.recipes import Kind, run

    n_before, start, error = compile_notice.n_compiled, time.perf_counter(), None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # models of so few rows are poor
        try:
            run(task.name, Kind(*task.kind))
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    return Outcome(task.name, compile_notice.n_compiled - n_before, time.perf_counter() - start, kept_in(), error)


def serve() -> None:
    """Run the tasks that come as lines, until there are none."""
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        outcome = outcome_of(Task(*json.loads(line)))
        print(json.dumps(outcome), file=answers, flush=True)


class _Worker:
    def __init__(self) -> None:
        environment = {**os.environ, **_ONE_THREAD, "FRUGALSVM_QUIET": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SERVE], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, task: Task) -> Outcome:
        to_process: Any = self.process.stdin
        from_process: Any = self.process.stdout
        try:
            print(json.dumps(task), file=to_process, flush=True)
            return Outcome(*json.loads(from_process.readline()))
        except (OSError, ValueError):  # it did not take the task, or gave no answer
            return Outcome(task.name, 0, 0.0, None, f"the process ended with code {self.process.wait()}")

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


class Workers:
    """A number of processes; a context that ends them."""

    def __init__(self, count: int):
        self._workers = [_Worker() for _ in range(count)]

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: Any) -> None:
        for worker in self._workers:
            worker.end()

    def outcomes_of(self, groups: Sequence[Sequence[Task]]) -> Iterator[Outcome]:
        """Outcomes as they come; the tasks of a group are done by one process, in their order."""
        left: queue.SimpleQueue[Sequence[Task]] = queue.SimpleQueue()
        done: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        for group in groups:
            left.put(group)

        def keep_busy(worker: _Worker) -> None:
            with suppress(queue.Empty):
                while True:
                    for task in left.get_nowait():
                        done.put(worker.ask(task))

        for worker in self._workers:
            threading.Thread(target=keep_busy, args=(worker,), daemon=True).start()
        for _ in range(sum(map(len, groups))):
            yield done.get()
