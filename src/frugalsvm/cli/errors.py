"""What goes wrong, in one sentence and with an exit code that tells what it was."""

import signal
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

import typer

from frugalsvm.cli.console import Exit, compiling_shown, nobody_reads, tell, tell_wrong
from frugalsvm.cli.words.wording import advised, flag_for

__all__ = ["Exit", "check_folder", "ending_cleanly", "fail", "leaving_as_it_was", "reported"]


def fail(code: Exit, message: str) -> typer.Exit:
    """Tell what went wrong; raise what this returns."""
    tell_wrong("error", "bold red", message)
    return typer.Exit(int(code))


def check_folder(path: Path) -> None:
    """Refuse a file in a folder that is not there, before anything takes time."""
    if not path.parent.is_dir():
        raise OSError(f"There is no folder {path.parent} to write {path.name} to.")


def _sentence_of(error: OSError) -> str:
    """What the system says, without its number."""
    if error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}."


@contextmanager
def _warnings_in_lines():
    """Show warnings as a line each, once, without the place in our code that they come from."""
    from frugalsvm.exceptions import UnknownValuesWarning

    shown = set()

    def show(message, category, filename, lineno, file=None, line=None) -> None:
        text = str(message)
        if text not in shown:
            shown.add(text)
            with suppress(OSError):  # standard error is not read any more
                tell_wrong("warning", "bold yellow", text)

    with warnings.catch_warnings():
        warnings.showwarning = show
        # scikit-learn's guess about small batches; what the labels are was decided for all rows.
        warnings.filterwarnings("ignore", message="The number of unique classes is greater than 50%")
        # Counted over all rows, and said once: see `tell_left_out`.
        warnings.simplefilter("ignore", UnknownValuesWarning)
        yield


@contextmanager
def reported(*, of_model: Path | None = None):
    """Turn the errors that users cause into a sentence and an exit code; rows may have to fit a model in a file."""
    from frugalsvm.arrays.namespace import DeviceError
    from frugalsvm.exceptions import ParameterError, TaskError
    from frugalsvm.persist import ModelFileError
    from frugalsvm.streams import StreamError

    try:
        with _warnings_in_lines(), compiling_shown():
            yield
    except ModelFileError as error:
        raise fail(Exit.MODEL, str(error) if of_model is None else f"{of_model}: {error}") from error
    except (StreamError, TaskError) as error:
        raise fail(Exit.DATA, advised(error.sentence, of_model=of_model is not None)) from error
    except ParameterError as error:
        raise fail(Exit.DATA, error.named(flag_for)) from error
    except DeviceError as error:
        raise fail(Exit.SYSTEM, error.named(flag_for)) from error
    except BrokenPipeError as error:  # the reader of our output has had enough, as `head` has
        raise nobody_reads() from error
    except OSError as error:
        raise fail(Exit.SYSTEM, _sentence_of(error)) from error
    except ImportError as error:  # of an extra, with how to get it
        raise fail(Exit.SYSTEM, str(error)) from error
    except (ValueError, MemoryError) as error:
        raise fail(Exit.DATA, str(error)) from error


# --- ends that somebody wants --------------------------------------------------------------------------------

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
