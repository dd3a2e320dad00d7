"""Files that are there as a whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

__all__ = ["write_file"]


def write_file(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file by way of a temporary one, so that a full disk leaves what was there."""
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise OSError(error.errno, f"The model cannot be written: {error.strerror}", str(path)) from error
    return path


def _umask() -> int:
    """What this process takes from the rights of new files; temporary ones are private whatever it is."""
    current = os.umask(0o077)
    os.umask(current)
    return current
