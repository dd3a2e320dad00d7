"""The one error of model files."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ModelFileError", "file_errors", "malformed"]

_LONGEST = 300  # characters of a reason


class ModelFileError(ValueError):
    """A model file that cannot be read, or an object that cannot be written to one."""


def malformed(why: str) -> ModelFileError:
    """The error for a file whose contents cannot be what `save` wrote; the reason may quote them, in one short line."""
    line = " ".join(why.split())
    line = line[:_LONGEST] + " ..." if len(line) > _LONGEST else line.rstrip(".")
    return ModelFileError(f"The model file is malformed: {line}.")


@contextmanager
def file_errors(what: str) -> Iterator[None]:
    """Turn whatever a malformed file makes library code raise into a `ModelFileError`.

    Files may be hostile, and what NumPy, SciPy or ``zipfile`` raise for nonsense is theirs to choose. Errors of the
    operating system are left as they are: they say something about the disk, not about the file.
    """
    try:
        yield
    except (ModelFileError, OSError):
        raise
    except Exception as error:
        raise malformed(f"{what} ({type(error).__name__}: {error})") from error
