"""The formats that are read, and which of them a source is in."""

from __future__ import annotations

import re
from pathlib import Path

from frugalsvm.exceptions import Sentence
from frugalsvm.streams.bad_lines import StreamError
from frugalsvm.streams.source import COMPRESSIONS, Source

__all__ = ["FORMATS", "folder_format", "guessed_format", "known_suffix"]

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
