"""Which files a caller means: paths, patterns such as ``part-*.csv``, folders, and archives with files in them."""

from __future__ import annotations

import glob
import os
import re
import zipfile
from pathlib import Path
from typing import Any

from frugalsvm.streams.bad_lines import StreamError
from frugalsvm.streams.formats import known_suffix
from frugalsvm.streams.source import Source

__all__ = ["sources_of"]

_NO_DATA = re.compile(r"(^|/)(\.|__MACOSX/)")  # what systems add to archives and folders by themselves

_OF_DOCUMENTS = {"[Content_Types].xml", "content.xml"}  # of Excel and of OpenDocument, which are archives as well


def sources_of(source: Any) -> list[Source]:
    """All locations to read from, in order; those in folders, patterns and archives sorted by name."""
    locations = source if isinstance(source, list | tuple) else [source]
    found = [each for location in locations for each in _sources_at(location)]
    if not found:
        raise StreamError("The list of files is empty.")
    return found


def _sources_at(location: Any) -> list[Source]:
    if not isinstance(location, str | os.PathLike) or location == "-":
        return [Source(location)]
    path = Path(location)
    if path.is_dir():
        paths = [each for each in sorted(path.iterdir()) if each.is_file() and known_suffix(each)]
        if not paths:
            raise StreamError(f"The folder {path} holds no file of a format that is read here.")
        return [each for one in paths for each in _members_of(one)]
    if not path.exists() and glob.has_magic(str(location)):
        matching = sorted(glob.glob(str(location), recursive=True))
        if not matching:
            raise StreamError(f"No file matches {location}.")
        return [each for one in matching for each in _sources_at(one)]
    return _members_of(location)


def _members_of(location: Any) -> list[Source]:
    """The files in a zip archive, or the file itself if it is none; archives of NumPy arrays are one table."""
    path = Path(location)
    if path.suffix.lower() == ".npz" or not path.is_file() or not zipfile.is_zipfile(path):
        return [Source(location)]
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(name for name in archive.namelist() if not name.endswith("/") and not _NO_DATA.search(name))
    except (OSError, zipfile.BadZipFile) as error:
        raise StreamError(f"{location} is damaged or cut short: {error}") from error
    if _OF_DOCUMENTS & set(names):
        raise StreamError(f"{location} is a spreadsheet or another document: save its table as CSV.")
    if names and all(name.endswith(".npy") for name in names):
        return [Source(location)]
    data = [name for name in names if known_suffix(Path(name))] or names
    if not data:
        raise StreamError(f"{location} is an archive without files.")
    return [Source(location, member=name) for name in data]
