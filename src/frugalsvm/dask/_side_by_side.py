"""Several problems on the same rows, solved side by side: a pass over the partitions serves all of them.

A problem is solved by code that asks the partitions something and waits. Here each is on a thread of its own, of which
one runs at a time; when all wait, what they ask goes to the partitions at once. An answer depends on the question
alone, and not on what is asked along with it.
"""

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Any

__all__ = ["solved_side_by_side"]

Ask = Callable[[Any], Any]


class _EndedError(BaseException):
    """Another problem has failed: there will be no answer."""


class _Job(Thread):
    """A function on a thread of its own, which asks now and then: it has a question, or a result."""

    def __init__(self, function: Callable[[Ask], Any]):
        super().__init__(daemon=True)
        self._function = function
        self._said: SimpleQueue = SimpleQueue()
        self._answers: SimpleQueue = SimpleQueue()
        self.question: Any = None
        self.result: Any = None

    def wait(self) -> None:
        """Let it continue until its next question or its end."""
        self.question, self.result, error = self._said.get()
        if error is not None:
            raise error

    def answer(self, *answer: Any) -> None:
        """Go on with an answer, or end without one."""
        self._answers.put(answer)
        self.wait() if answer else self.join()

    def _ask(self, question: Any) -> Any:
        self._said.put((question, None, None))
        answer = self._answers.get()
        if not answer:
            raise _EndedError
        return answer[0]

    def run(self) -> None:
        try:
            self._said.put((None, self._function(self._ask), None))
        except _EndedError:
            pass
        except BaseException as error:
            self._said.put((None, None, error))


def solved_side_by_side(functions: Sequence[Callable[[Ask], Any]], answered: Callable[[list], list]) -> list[Any]:
    """What functions return that get answers by ``ask(question)``; ``answered`` has those to several questions."""
    jobs = [_Job(function) for function in functions]
    try:
        for job in jobs:
            job.start()
            job.wait()
        while waiting := [job for job in jobs if job.question is not None]:
            for job, answer in zip(waiting, answered([job.question for job in waiting]), strict=True):
                job.answer(answer)
    finally:
        for job in jobs:
            if job.is_alive():
                job.answer()
    return [job.result for job in jobs]
