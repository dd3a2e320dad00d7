"""Commands that end early: nothing is left behind, and it is said what there is."""

import signal
from contextlib import contextmanager
from pathlib import Path

from frugalsvm.cli.console import tell

__all__ = ["ending_cleanly", "leaving_as_it_was"]


_EXIT_CODES = (129, 143)  # of programs that SIGHUP and SIGTERM have ended


@contextmanager
def ending_cleanly():
    """End by SIGTERM and SIGHUP as by an error, so that nothing is left behind; training has handlers of its own."""

    def leave(number, frame):
        raise SystemExit(128 + number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names if signal.getsignal(getattr(signal, name)) == signal.SIG_DFL]
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def leaving_as_it_was(output: Path, advice: str = ""):
    """Training that has nothing to save before its end: tell what an interruption leaves behind."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as end:
        is_interruption = isinstance(end, KeyboardInterrupt) or end.code in _EXIT_CODES
        if is_interruption:
            left = f"{output} is as it was before" if output.exists() else f"{output} was not written"
            tell(f"Interrupted; {left}.{advice}")
        raise
