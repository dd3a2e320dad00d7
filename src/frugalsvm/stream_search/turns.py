"""Tasks that several threads work on in turns: a step of one, then a step of the next."""

from collections import deque
from collections.abc import Generator, Sequence
from threading import Condition
from typing import Any

from frugalsvm.compiling.threads import Threads


class _Turns:
    """Generators, each advanced by one thread at a time."""

    def __init__(self, tasks: Sequence[Generator]):
        self.results: list[Any] = [None] * len(tasks)
        self._tasks, self._waiting = tasks, deque(range(len(tasks)))
        self._n_left, self._has_failed = len(tasks), False
        self._changed = Condition()

    def work(self, _: Any) -> None:
        """Advance tasks until all have ended, or one has failed.

        A thread without a task waits here, so that Ctrl-C in the first one ends the others after their step.
        """
        try:
            while (task := self._next()) is not None:
                self._advance(task)
        except BaseException:
            self._has_failed = True
            with self._changed:
                self._changed.notify_all()
            raise

    def _next(self) -> int | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._n_left == 0 or self._has_failed)
            return self._waiting.popleft() if self._waiting and not self._has_failed else None

    def _advance(self, task: int) -> None:
        has_ended = False
        try:
            next(self._tasks[task])
        except StopIteration as end:
            self.results[task], has_ended = end.value, True
        with self._changed:
            if has_ended:
                self._n_left -= 1
            else:
                self._waiting.append(task)
            if self._n_left == 0:
                self._changed.notify_all()
            elif not has_ended:
                self._changed.notify()


def in_turns(tasks: Sequence[Generator], threads: Threads) -> list[Any]:
    """Run generators to their ends, side by side; returns what each returns.

    With more tasks than threads none waits for the end of another, so that all threads are busy until the last steps.
    Which thread takes which step is left to chance: results must not depend on it.
    """
    turns = _Turns(tasks)
    threads.run(turns.work, range(max(min(threads.count, len(tasks)), 1)))
    return turns.results
