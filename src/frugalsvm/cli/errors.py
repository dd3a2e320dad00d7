"""What goes wrong, in one sentence with flags instead of names of Python, and with an exit code that tells what."""

import signal
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import Any

import typer

from frugalsvm.cli.console import Exit, compiling_shown, nobody_reads, tell, tell_wrong
from frugalsvm.cli.flag_rules import TABLE, flag_named
from frugalsvm.exceptions import Naming, Sentence

# Parameters that the library calls otherwise than the commands do.
_FLAGS = {"n_features": "features", "C": "c", "random_state": "seed", "n_components": "budget", "coverage": "interval"}
_NOT_OF_TRAIN = ("name", "dtype", "interval")
_ADVICE = {
    "missing": "--missing median fills them",
    "on_bad_line": "--on-bad-line skip leaves out such lines",
    "categorical": "--categorical {} takes the column as text",
    "ignore": "--ignore {} leaves it out",
}


def flag_for(parameter: str, value: Any = None) -> str | None:
    """The flag for a parameter, with a value; None if there is no such flag.

    Examples
    --------
    >>> flag_for("n_features", 3), flag_for("ignore"), flag_for("zero_based", True)
    ('--features 3', '--ignore', None)
    """
    name = _FLAGS.get(parameter, parameter)
    if name not in TABLE and name not in _NOT_OF_TRAIN:
        return None
    return flag_named(name) if value is None else f"{flag_named(name)} {quote(str(value))}"


def _of_a_model(parameter: str, value: Any = None) -> str | None:
    """The same for rows that are to fit a model, whose width no flag changes."""
    return f"the {value} features of the model" if parameter == "n_features" else flag_for(parameter, value)


def in_flags(sentence: str, *, of_model: bool = False) -> str:
    """A sentence about data with the flags of the command line; a width may be that of a model.

    Examples
    --------
    >>> from frugalsvm.exceptions import Sentence
    >>> sentence = Sentence("rows.csv has 2 columns of numbers", ", not {n_features}.", n_features=3)
    >>> in_flags(sentence)
    'rows.csv has 2 columns of numbers, not --features 3.'
    >>> in_flags(sentence, of_model=True)
    'rows.csv has 2 columns of numbers, not the 3 features of the model.'
    """
    names: Naming = _of_a_model if of_model else flag_for
    return sentence.named(names) if isinstance(sentence, Sentence) else sentence


def advised(sentence: Sentence, *, of_model: bool = False) -> str:
    """The same, with what to do about it where it names no flag.

    Examples
    --------
    >>> from frugalsvm.exceptions import Sentence
    >>> advised(Sentence("rows.csv, line 3: 2 fields where 4 are expected", remedies=("on_bad_line",)))
    'rows.csv, line 3: 2 fields where 4 are expected (--on-bad-line skip leaves out such lines).'
    """
    words = in_flags(sentence, of_model=of_model)
    remedies = [remedy.partition("=") for remedy in sentence.remedies]
    if of_model:  # whose columns are what they are
        remedies = [each for each in remedies if not each[2]]
    advice = [_ADVICE[name].format(quote(value)) for name, _, value in remedies if name in _ADVICE]
    if not advice or "--" in words.removeprefix(sentence.words):
        return words
    return f"{words.rstrip('.')} ({', '.join(advice)})."


def fail(code: Exit, message: str) -> typer.Exit:
    """Tell what went wrong; raise what this returns."""
    tell_wrong("error", "bold red", message)
    return typer.Exit(int(code))


def check_folders(*paths: Path | None) -> None:
    """Refuse files in folders that are not there, before anything takes time."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
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
def reported(*, of_model: Path | None = None, may_refuse: bool = False):
    """Turn the errors that users cause into a sentence and an exit code; rows may have to fit a model in a file.

    Where the library ``may_refuse`` models of other kinds, it does so by a TypeError.
    """
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
    except TypeError as error:
        if not may_refuse:
            raise
        raise fail(Exit.MODEL, f"{of_model}: {error}") from error


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
