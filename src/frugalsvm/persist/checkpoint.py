"""Checkpoints: model files that are written again and again, so that there is a good one at every moment."""

import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from frugalsvm.persist.archive import ModelFileError
from frugalsvm.persist.atomic import previous_of
from frugalsvm.persist.model import read_model, save


class Checkpoint(NamedTuple):
    """A model with what was saved beside it, and the file that it came from."""

    model: Any
    metadata: dict[str, Any]
    path: Path


def save_checkpoint(model: Any, path: str | os.PathLike, metadata: dict[str, Any] | None = None) -> None:
    """Save a model so that training can resume from it bit for bit; the previous checkpoint is kept.

    Parameters
    ----------
    model : object
    path : str or path
    metadata : dict, default=None
        Where training stands, such as the position in the stream.
    """
    save(model, path, metadata=metadata, caches=True, keep_previous=True)


def load_checkpoint(path: str | os.PathLike) -> Checkpoint:
    """Load a checkpoint, or the one before it, with a warning, if the file is missing or damaged.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Checkpoint
        Its ``path`` is that of the file that was read.

    Raises
    ------
    FileNotFoundError
        If there is neither.
    ModelFileError
        If neither can be read; the error is that of the newer one.
    """
    try:
        return Checkpoint(*read_model(path), Path(path))
    except (FileNotFoundError, ModelFileError) as error:
        previous = previous_of(path)
        try:
            found = Checkpoint(*read_model(previous), previous)
        except (FileNotFoundError, ModelFileError):
            raise error from None
        reason = "it is missing" if isinstance(error, FileNotFoundError) else str(error)
        warnings.warn(
            f"The checkpoint {os.fspath(path)} cannot be used ({reason.rstrip('.')}): training continues from the "
            f"previous one, {previous}.",
            RuntimeWarning,
            stacklevel=2,
        )
        return found
