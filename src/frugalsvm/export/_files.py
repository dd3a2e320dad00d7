"""Files that are there as a whole or not at all."""

import os
from pathlib import Path
from typing import BinaryIO

from frugalsvm.persist.atomic import write_atomically


def write_file(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file by way of a temporary one, so that a full disk leaves what was there."""
    data = content.encode() if isinstance(content, str) else content

    def write(file: BinaryIO) -> None:
        file.write(data)

    write_atomically(path, write)
    return Path(path)
