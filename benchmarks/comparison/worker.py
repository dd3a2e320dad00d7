"""A process of its own for measurements: it can be stopped, and what it leaves in memory goes with it."""

import os
import traceback
from contextlib import suppress
from multiprocessing import get_context

__all__ = ["Failed", "Stopped", "Worker"]


PATIENCE = 10.0  # seconds for a process to end by itself


class Stopped(Exception):
    """Something took longer than it may."""


class Failed(Exception):
    """Something did not work; what it says is why."""


class Worker:
    """Calls functions in another process, on certain cores.

    It is no daemon: a daemon has one core in the eyes of joblib and others.
    """

    def __init__(self, cores=None):
        context = get_context("spawn")
        self._end, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, cores))
        self._process.start()
        other.close()

    def call(self, function, *arguments, limit=None):
        """What a function returns. The process is of no use after `Stopped`, nor after it ended by itself."""
        self._end.send((function, arguments))
        try:
            if not self._end.poll(limit):
                self._process.kill()
                self.close()
                raise Stopped
            result, error = self._end.recv()
        except EOFError:
            self.close()
            raise Failed("the process ended by itself, perhaps for lack of memory") from None
        if error:
            raise Failed(error)
        return result

    @property
    def is_alive(self):
        return self._process.is_alive()

    def close(self):
        self._end.close()
        self._process.join(PATIENCE)
        self._process.kill()
        self._process.join()


def _serve(end, cores):
    """Answer until there are no more questions, on certain cores where the system permits it."""
    if cores:
        with suppress(AttributeError, OSError):
            os.sched_setaffinity(0, cores)
    while True:
        try:
            function, arguments = end.recv()
        except EOFError:
            return
        try:
            end.send((function(*arguments), None))
        except Exception as error:
            traceback.print_exc()
            end.send((None, f"{type(error).__name__}: {error}"))
