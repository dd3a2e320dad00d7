"""Which files a caller means: paths, patterns, folders, and archives with files in them; and in which formats."""

from __future__ import annotations

import glob
import os
import re
import zipfile
from pathlib import Path
from typing import Any

from frugalsvm.exceptions import Sentence
from frugalsvm.streams.bad_lines import StreamError
from frugalsvm.streams.source import COMPRESSIONS, Source

FORMATS = ("libsvm", "csv", "tsv", "parquet", "arrow", "npz", "npy")
_FORMAT_OF_SUFFIX = {
    **dict.fromkeys((".libsvm", ".svmlight", ".svm"), "libsvm"),
    ".csv": "csv",
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), "arrow"),
    ".npz": "npz",
    ".npy": "npy",
}
_FORMAT_OF_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"PK\x03\x04": "npz",
    b"\x93NUMPY": "npy",
}
_NO_DATA = re.compile(r"(^|/)(\.|__MACOSX/)")  # what systems add to archives and folders by themselves
_OF_DOCUMENTS = {"[Content_Types].xml", "content.xml"}  # of Excel and of OpenDocument, which are archives as well


def _format_of_name(path: Path) -> str | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1][1:] in COMPRESSIONS:
        suffixes.pop()
    return _FORMAT_OF_SUFFIX.get(suffixes[-1]) if suffixes else None


def known_suffix(path: Path) -> bool:
    """Whether the name of a file says that it holds rows."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return _format_of_name(path) is not None or bool({".txt", ".data", ".dat", ".zip"} & set(suffixes[-2:]))


def folder_format(folder: Path) -> str | None:
    """``"parquet"`` or ``"arrow"``, by the names of the files in a folder; None if it has neither."""
    suffixes = {path.suffix.lower() for path in folder.rglob("*") if path.is_file()}
    if suffixes & {".parquet", ".pq"}:
        return "parquet"
    if suffixes & {".arrow", ".feather", ".ipc"}:
        return "arrow"
    return None


def guessed_format(source: Source) -> str:
    """The format of a source: from its name, or from its first bytes where the name says nothing."""
    if source.path and (named := _format_of_name(source.inner_path)):
        return named
    head = source.peek()
    for magic, name in _FORMAT_OF_MAGIC.items():
        if head.startswith(magic):
            return name
    if not head:
        raise StreamError(f"{source.name} is empty.")
    guess = None if b"\x00" in head else _format_of_text(head)
    if guess is None:
        words = f"{source.name} is in no format that is known here"
        raise StreamError(Sentence(words, "; say which one with {format}."))
    return guess


def _format_of_text(head: bytes) -> str | None:
    for line in head.splitlines()[:100]:
        data = line.split(b"#", 1)[0].strip()
        if not data:
            continue
        if re.search(rb"(^|\s)\d+:[-+.\d]", data):
            return "libsvm"
        if b"\t" in data:
            return "tsv"
        # Numbers with blanks between them are a table as well; words in a line above them may be its header.
        is_number = [re.fullmatch(rb"[-+]?[\d.,]+([eE][-+]?\d+)?", field) is not None for field in data.split()]
        if any(mark in data for mark in (b",", b";", b"|")) or sum(is_number) > 1:
            return "csv"
    return None


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
