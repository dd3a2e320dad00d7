"""What goes wrong, in one sentence and with an exit code that tells what it was."""

import os
import sys
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

import typer
from rich.console import Console

__all__ = ["Exit", "Printer", "fail", "nobody_reads", "reported", "silenced"]


class Exit(IntEnum):
    """Exit codes; 1 is a defect, and 2 a wrong flag, as everywhere."""

    DATA = 3
    MODEL = 4
    SYSTEM = 5
    INTERRUPTED = 130
    CLOSED = 141  # what shells tell of programs whose output nobody reads any more


_console = Console(stderr=True, soft_wrap=True)


def fail(code: Exit, message: str) -> typer.Exit:
    """Tell what went wrong; raise what this returns."""
    _console.print(f"[bold red]error:[/] {_escaped(message)}", highlight=False)
    return typer.Exit(int(code))


def _escaped(message: str) -> str:
    return message.replace("[", r"\[")


def silenced(stream: Any) -> None:
    """Send what is still to be written nowhere, so that the interpreter ends without a complaint."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def nobody_reads() -> SystemExit:
    """The quiet end of a program whose output is closed; raise what this returns."""
    silenced(sys.stdout)
    return SystemExit(int(Exit.CLOSED))


class Printer(Console):
    """A console for results: when the reader has had enough, as ``head`` has, the program ends quietly."""

    def on_broken_pipe(self) -> None:
        """End."""
        raise nobody_reads()


def _sentence_of(error: OSError) -> str:
    """What the system says, without its number."""
    if error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}."


@contextmanager
def reported():
    """Turn the errors that users cause into a sentence and an exit code."""
    from frugalsvm.device.arrays import DeviceError
    from frugalsvm.persist import ModelFileError
    from frugalsvm.streams import StreamError

    try:
        yield
    except ModelFileError as error:
        raise fail(Exit.MODEL, str(error)) from error
    except StreamError as error:
        raise fail(Exit.DATA, str(error)) from error
    except DeviceError as error:
        raise fail(Exit.SYSTEM, str(error)) from error
    except BrokenPipeError as error:  # the reader of our output has had enough, as `head` has
        raise nobody_reads() from error
    except OSError as error:
        raise fail(Exit.SYSTEM, _sentence_of(error)) from error
    except (ValueError, MemoryError) as error:
        raise fail(Exit.DATA, str(error)) from error
