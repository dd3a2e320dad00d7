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


class _Job:
    """A function on a thread of its own, which asks now and then."""

    def __init__(self, function: Callable[[Ask], Any]):
        self._function = function
        self._told: SimpleQueue = SimpleQueue()  # what the thread says: a question, or its end
        self._answers: SimpleQueue = SimpleQueue()
        self.question: Any = None
        self.result: Any = None
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._wait()

    def answer(self, answer: Any) -> None:
        """Go on with an answer, until the next question or the end."""
        self._answers.put((True, answer))
        self._wait()

    def end(self) -> None:
        """Give up."""
        if self._thread.is_alive():
            self._answers.put((False, None))
            self._thread.join()

    def _wait(self) -> None:
        kind, value = self._told.get()
        self.question = value if kind == "question" else None
        if kind == "error":
            raise value
        if kind == "result":
            self.result = value

    def _ask(self, question: Any) -> Any:
        self._told.put(("question", question))
        goes_on, answer = self._answers.get()
        if not goes_on:
            raise _EndedError
        return answer

    def _run(self) -> None:
        try:
            self._told.put(("result", self._function(self._ask)))
        except _EndedError:
            pass
        except BaseException as error:
            self._told.put(("error", error))


def solved_side_by_side(functions: Sequence[Callable[[Ask], Any]], answered: Callable[[list], list]) -> list[Any]:
    """What functions return that get answers by ``ask(question)``; ``answered`` has those to several questions."""
    jobs = [_Job(function) for function in functions]
    try:
        for job in jobs:
            job.start()
        while waiting := [job for job in jobs if job.question is not None]:
            for job, answer in zip(waiting, answered([job.question for job in waiting]), strict=True):
                job.answer(answer)
    finally:
        for job in jobs:
            job.end()
    return [job.result for job in jobs]
