"""The one error of model files."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ModelFileError", "file_errors"]


class ModelFileError(ValueError):
    """A model file that cannot be read, or an object that cannot be written to one."""


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
        raise ModelFileError(f"The model file is malformed: {what} ({type(error).__name__}: {error}).") from error
