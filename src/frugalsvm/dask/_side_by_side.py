"""Several problems on the same rows, solved side by side: a pass over the partitions serves all of them.

A problem is solved by code that asks the partitions something and waits. Here each is on a thread of its own, of which
one runs at a time; when all wait, what they ask goes to the partitions at once. An answer depends on the question
alone, and not on what is asked along with it.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from operator import itemgetter
from queue import SimpleQueue
from threading import Lock
from typing import Any

Ask = Callable[[Any], Any]


def solved_side_by_side(functions: Sequence[Callable[[Ask], Any]], answered: Callable[[list], list]) -> list[Any]:
    """What functions return that get answers by ``ask(question)``; ``answered`` has those to several questions."""
    said: SimpleQueue = SimpleQueue()  # the number of a problem, with a question and its answer to come, or its end
    running = Lock()

    def run(number: int) -> Any:
        def ask(question: Any) -> Any:
            answer: Future = Future()
            said.put((number, question, answer))
            running.release()
            try:
                return answer.result()
            finally:
                running.acquire()

        try:
            with running:
                return functions[number](ask)
        finally:
            said.put((number, None, None))

    with ThreadPoolExecutor(len(functions)) as pool:
        solving = [pool.submit(run, number) for number in range(len(functions))]
        waiting: list[tuple[Any, Future]] = []
        n_open = len(solving)
        try:
            while n_open:
                heard = sorted((said.get() for _ in range(n_open)), key=itemgetter(0))
                waiting = [(question, to_come) for _, question, to_come in heard if to_come is not None]
                for number in (number for number, _, to_come in heard if to_come is None):
                    solving[number].result()  # or its error
                answers = answered([question for question, _ in waiting]) if waiting else []
                for (_, to_come), answer in zip(waiting, answers, strict=True):
                    to_come.set_result(answer)
                n_open = len(waiting)
        except BaseException:
            for _, to_come in waiting:
                to_come.cancel()  # who waits for it ends
            raise
        return [each.result() for each in solving]
