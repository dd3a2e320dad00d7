"""What goes wrong, in one sentence and with an exit code that tells what it was."""

from contextlib import contextmanager
from enum import IntEnum

import typer
from rich.console import Console

__all__ = ["Exit", "fail", "reported"]


class Exit(IntEnum):
    """Exit codes; 1 is a defect, and 2 a wrong flag, as everywhere."""

    DATA = 3
    MODEL = 4
    SYSTEM = 5
    INTERRUPTED = 130


_console = Console(stderr=True, soft_wrap=True)


def fail(code: Exit, message: str) -> typer.Exit:
    """Tell what went wrong; raise what this returns."""
    _console.print(f"[bold red]error:[/] {_escaped(message)}", highlight=False)
    return typer.Exit(int(code))


def _escaped(message: str) -> str:
    return message.replace("[", r"\[")


@contextmanager
def reported():
    """Turn the errors that users cause into a sentence and an exit code."""
    from frugalsvm.persist import ModelFileError
    from frugalsvm.streams import StreamError

    try:
        yield
    except ModelFileError as error:
        raise fail(Exit.MODEL, str(error)) from error
    except StreamError as error:
        raise fail(Exit.DATA, str(error)) from error
    except BrokenPipeError:
        raise  # the reader of our output has had enough: the interpreter ends quietly
    except OSError as error:
        raise fail(Exit.SYSTEM, str(error)) from error
    except (ValueError, MemoryError) as error:
        raise fail(Exit.DATA, str(error)) from error
