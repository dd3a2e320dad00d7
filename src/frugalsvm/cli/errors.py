"""What goes wrong, in one sentence and with an exit code that tells what it was."""

import os
import re
import sys
import warnings
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from frugalsvm._compile_notice import show_compiling

__all__ = ["Exit", "Printer", "advised", "compiling_shown", "fail", "in_flags", "nobody_reads", "reported", "silenced"]


class Exit(IntEnum):
    """Exit codes; 1 is a defect, and 2 a wrong flag, as everywhere."""

    DATA = 3
    MODEL = 4
    SYSTEM = 5
    INTERRUPTED = 130
    CLOSED = 141  # what shells tell of programs whose output nobody reads any more


_console = Console(stderr=True, soft_wrap=True)

# What the readers of rows call by names of Python, as the commands have it. Names in quotes and paths are the user's.
_FLAGS = (
    (re.compile(r" \(zero_based=True allows it\)"), ""),
    (re.compile(r"(?<![\w'\"/\\.-])format=(?=\.|$)"), "--format"),
    (re.compile(r"(?<![\w'\"/\\.-])n_features=(?=\d)"), "--features "),
    (re.compile(r"(?<![\w'\"/\\.-])n_features(?![\w'\"/\\=-]|\.\w)"), "--features"),
)
_ARGUMENTS = re.compile(r"(?<![\w'\"/\\.-])(decimal|thousands|categorical|ignore)=(?=[ ,.]|$)")
_WIDTH = re.compile(r"--features (\d+)")


_BAD_LINE = re.compile(r", (line|row) \d+( \(from 0\))?: ")


def fail(code: Exit, message: str) -> typer.Exit:
    """Tell what went wrong; raise what this returns."""
    _console.print(f"[bold red]error:[/] {_escaped(message)}", highlight=False)
    return typer.Exit(int(code))


def in_flags(message: str, *, of_model: bool = False) -> str:
    """A message about data with the flags of the command line; a width may be that of a model, which no flag changes.

    Examples
    --------
    >>> in_flags("rows.txt, line 3, column 2: feature '4' is beyond n_features=3")
    "rows.txt, line 3, column 2: feature '4' is beyond --features 3"
    >>> in_flags("rows.csv has 2 columns of numbers, not n_features=3.", of_model=True)
    'rows.csv has 2 columns of numbers, not the 3 features of the model.'
    """
    for pattern, flag in _FLAGS:
        message = pattern.sub(flag, message)
    message = _ARGUMENTS.sub(r"--\1", message)
    return _WIDTH.sub(r"the \1 features of the model", message) if of_model else message


def advised(message: str) -> str:
    """A sentence about a line of data, with what to do about it where it does not say so.

    Examples
    --------
    >>> advised("rows.csv, line 3: 2 fields where 4 are expected")
    'rows.csv, line 3: 2 fields where 4 are expected (--on-bad-line skip leaves out such lines).'
    """
    if not _BAD_LINE.search(message) or "--" in message:
        return message
    advice = "--missing median fills them" if "is missing" in message else "--on-bad-line skip leaves out such lines"
    if re.search(r": column \d+ .* is not a number$", message):
        advice += ", --ignore the column"
    return f"{message.rstrip('.')} ({advice})."


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
def _warnings_in_lines():
    """Show warnings as a line each, without the place in our code that they come from."""

    def show(message, category, filename, lineno, file=None, line=None) -> None:
        with suppress(OSError):  # nobody reads standard error any more
            _console.print(f"[bold yellow]warning:[/] {_escaped(str(message))}", highlight=False)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def compiling_shown(*, quiet: bool = False):
    """Show, once, that machine code is compiled, if that takes a while; or nothing at all."""
    told: list[str] = []

    def show(name: str, seconds: float | None) -> None:
        if not quiet and not told:
            told.append(name)
            with suppress(OSError):
                words = "Compiling machine code for this model and type of data; later runs find it on the disk ..."
                _console.print(words, highlight=False)

    before = show_compiling(show)
    try:
        yield
    finally:
        show_compiling(before)


@contextmanager
def reported(*, of_model: Path | None = None):
    """Turn the errors that users cause into a sentence and an exit code; rows may have to fit a model in a file."""
    from frugalsvm.arrays.namespace import DeviceError
    from frugalsvm.persist import ModelFileError
    from frugalsvm.streams import StreamError

    try:
        with _warnings_in_lines(), compiling_shown():
            yield
    except ModelFileError as error:
        raise fail(Exit.MODEL, str(error) if of_model is None else f"{of_model}: {error}") from error
    except StreamError as error:
        raise fail(Exit.DATA, advised(in_flags(str(error), of_model=of_model is not None))) from error
    except DeviceError as error:
        raise fail(Exit.SYSTEM, str(error)) from error
    except BrokenPipeError as error:  # the reader of our output has had enough, as `head` has
        raise nobody_reads() from error
    except OSError as error:
        raise fail(Exit.SYSTEM, _sentence_of(error)) from error
    except ImportError as error:  # of an extra, with how to get it
        raise fail(Exit.SYSTEM, str(error)) from error
    except (ValueError, MemoryError) as error:
        raise fail(Exit.DATA, str(error)) from error
