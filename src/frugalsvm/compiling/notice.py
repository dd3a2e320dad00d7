"""One line while machine code is compiled, so that who waits for a first fit sees why.

A compilation that takes longer than ``PATIENCE`` seconds is shown on stderr if that is a terminal or a notebook, unless
the environment variable ``FRUGALSVM_QUIET`` is set. All of them go to the logger "frugalsvm" at the level INFO.
`show_compiling` puts something else in the place of that line.
"""

import itertools
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 2.0  # seconds after which somebody wants to know
QUIET = "FRUGALSVM_QUIET"
FIRST_LINE = (
    "frugalsvm compiles machine code for this model and type of data; later runs find it on disk "
    "(`frugalsvm warm-up` makes it ahead) ... "
)
NEXT_LINE = "frugalsvm compiles more of it ... "

_logger = logging.getLogger("frugalsvm")
_lines = itertools.chain([FIRST_LINE], itertools.repeat(NEXT_LINE))


def show_on_terminal(name: str, seconds: float | None) -> None:
    """Begin a line on stderr (``seconds`` is None) or end it (when all is compiled), if somebody is there to see it."""
    stream = sys.stderr
    is_terminal = getattr(stream, "isatty", lambda: False)  # there may be no stderr at all
    if os.environ.get(QUIET) or not (is_terminal() or "ipykernel" in sys.modules):
        return
    stream.write(next(_lines) if seconds is None else f"{seconds:.0f} s\n")
    stream.flush()


_show: Callable[[str, float | None], Any] = show_on_terminal


def show_compiling(show: Callable[[str, float | None], Any]) -> Callable[[str, float | None], Any]:
    """Choose how long compilations are shown; returns how they were shown before.

    Parameters
    ----------
    show : callable
        Called as ``show(name, None)``, from a thread of its own, when something has been compiling for ``PATIENCE``
        seconds, and as ``show(name, seconds)`` when it is done; ``name`` is the function. It is never called for
        shorter compilations.
    """
    global _show
    before, _show = _show, show
    return before


class CompileNotice:
    """Told of every compilation. Those within another one are a part of it; several threads may compile at a time."""

    def __init__(self, patience: float = PATIENCE):
        self._patience, self._began = patience, 0.0
        self._n_threads = 0  # that compile something now
        self.n_compiled = 0  # functions so far, without those within others
        self._here = threading.local()
        self._timer: threading.Timer | None = None
        self._shown: Callable[[str, float | None], Any] | None = None
        self._lock = threading.Lock()

    def begin(self, name: str) -> None:
        self._here.depth = getattr(self._here, "depth", 0) + 1
        if self._here.depth > 1:
            return
        _logger.info("Compiling %s.", name)
        self._here.began = time.monotonic()
        with self._lock:
            self._n_threads += 1
            if self._n_threads == 1:
                self._began = self._here.began
                self._timer = threading.Timer(self._patience, self._tell, (name, self._began))
                self._timer.daemon = True
                self._timer.start()

    def _tell(self, name: str, began: float) -> None:
        with self._lock:
            if self._n_threads and self._began == began:  # what the timer was started for is not done yet
                self._shown = _show
                self._shown(name, None)

    def end(self, name: str) -> None:
        self._here.depth -= 1
        if self._here.depth:
            return
        now = time.monotonic()
        _logger.info("Compiled %s in %.1f s.", name, now - self._here.began)
        with self._lock:
            self.n_compiled += 1
            self._n_threads -= 1
            if self._n_threads:
                return
            if self._timer is not None:
                self._timer.cancel()
            shown, self._shown = self._shown, None
            seconds = now - self._began
        if shown is not None:
            shown(name, seconds)
