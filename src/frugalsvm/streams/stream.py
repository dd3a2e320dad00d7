"""`open_stream`: from a file, a folder or a pipe to batches."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from frugalsvm.exceptions import ParameterError, Sentence
from frugalsvm.streams.bad_lines import BadLines, StreamError
from frugalsvm.streams.batch import Batch, rebatched
from frugalsvm.streams.columns import Roles, Schema
from frugalsvm.streams.delimited import DelimitedReader
from frugalsvm.streams.discovery import FORMATS, folder_format, guessed_format, sources_of
from frugalsvm.streams.libsvm import LibsvmReader
from frugalsvm.streams.numpy_files import NpyReader, NpzReader
from frugalsvm.streams.reader import Reader, TextSources
from frugalsvm.streams.tables import TableReader

_read: Any = property  # whose type is that of what it reads


class Stream:
    """Batches of rows from a source; made by `open_stream`.

    Iterating reads the source from row `start` on. A file can be iterated again and again; a pipe once.

    Attributes
    ----------
    name : str
        Where the rows come from, for messages.
    batch_rows : int
        Rows in each batch, except the last.
    start : int
        Number of the row that reading begins at.
    n_features, schema, zero_based, notes
        Width, columns (None for LIBSVM and npz), whether feature numbers of LIBSVM text start at 0 (None for others),
        and what was decided without being asked for; known from the first lines, which are read when one of these is
        first used.
    n_rows : int or None
        Rows in the whole source where that is cheap to know.
    n_bad : int
        Bad lines that the latest pass has left out so far; `bad_examples` describes the first of them.
    n_unlabeled, n_incomplete : int
        Rows that it has left out so far because they have no label, or lack a feature.
    unlabeled_word : tuple of str and int
        The word, such as "NA", that stood most often where a label is missing among labels of text, and how often it
        did; ("", 0) if there was none.
    n_missing : int
        Missing values in the rows that it has given so far.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        batch_rows: int,
        start: int,
        skip_bad: bool,
        class_labels: bool = False,
        missing: str = "fail",
        unlabeled: str = "fail",
    ) -> None:
        self._reader, self._skip_bad = reader, skip_bad
        self._rules = (skip_bad, class_labels, missing, unlabeled)
        self.batch_rows, self.start, self.name = batch_rows, start, reader.name
        self.reopenable = reader.reopenable
        self._bad = self._no_bad_lines()

    def _no_bad_lines(self) -> BadLines:
        return BadLines(*self._rules)

    n_features: int = _read(lambda self: self._reader.prepare().n_features)
    schema: Schema | None = _read(lambda self: self._reader.prepare().schema)
    zero_based: bool | None = _read(lambda self: self._reader.prepare().zero_based)
    notes: tuple[str, ...] = _read(lambda self: self._reader.prepare().notes)
    # Rows that will be left out are not known before they are read.
    n_rows: int | None = _read(lambda self: None if self._skip_bad else self._reader.prepare().n_rows)
    n_bad: int = _read(lambda self: self._bad.count)
    bad_examples: list[str] = _read(lambda self: self._bad.examples)
    n_unlabeled: int = _read(lambda self: self._bad.n_unlabeled)
    n_incomplete: int = _read(lambda self: self._bad.n_incomplete)
    n_missing: int = _read(lambda self: self._bad.n_missing)

    @property
    def unlabeled_word(self) -> tuple[str, int]:
        return max(self._bad.unlabeled_words.items(), key=lambda pair: pair[1], default=("", 0))

    def from_row(self, start: int) -> Stream:
        """The same stream, read from another row on."""
        if start < 0:
            raise ParameterError("start", start, "the index of a row, at least 0")
        other = copy.copy(self)
        other.start, other._bad = start, self._no_bad_lines()
        return other

    def __iter__(self) -> Iterator[Batch]:
        self._bad = self._no_bad_lines()
        return self._batches(self._bad)

    def _batches(self, bad: BadLines) -> Iterator[Batch]:
        is_empty = True
        for batch in rebatched(self._reader.pieces(self.start, bad), self.batch_rows, self.start):
            is_empty = False
            yield batch
        if is_empty and self.start == 0:
            raise StreamError(f"{self.name} has no rows{_why_none(bad)}.")

    def __repr__(self) -> str:
        return f"<Stream of {self.name} in batches of {self.batch_rows} rows from row {self.start}>"


def _why_none(bad: BadLines) -> str:
    """Why there are no rows, where there are lines."""
    if bad.count:
        return f" ({bad.count} bad lines were left out; the first: {bad.examples[0]})"
    if bad.n_unlabeled or bad.n_incomplete:
        return f" with a label and all values ({bad.n_unlabeled} lack a label, {bad.n_incomplete} a value)"
    return ""


def open_stream(
    source: Any,
    *,
    format: str | None = None,
    label: str | int | None = None,
    weight: str | int | None = None,
    batch_rows: int = 4096,
    n_features: int | None = None,
    start: int = 0,
    on_bad_line: str = "fail",
    header: bool | str = "auto",
    has_labels: bool = True,
    dtype: Any = np.float32,
    delimiter: str | None = None,
    categorical: Sequence[str | int] = (),
    zero_based: bool | None = None,
    class_labels: bool = False,
    decimal: str | None = None,
    thousands: str | None = None,
    missing: str = "fail",
    unlabeled: str = "fail",
    ignore: Sequence[str | int] = (),
    reads_labels: bool = True,
    like: Schema | None = None,
    hash_features: int | None = None,
) -> Stream:
    """Open a source of rows.

    Parameters
    ----------
    source : path, list of paths, "-" or binary file object
        Where to read: files (gz, bz2, xz and zst are decompressed, and all files in a zip archive are read), a pattern
        such as ``part-*.csv``, a folder, standard input, or an object with ``read``. Several files are read one after
        the other, in the order of their names.
    format : {"libsvm", "csv", "tsv", "parquet", "arrow", "npz", "npy"}, optional
        Guessed from the name, or from the first bytes.
    label : str or int, optional
        Column of the labels, by name or by index from 0. By default a column called label, target, class or y, or
        else the last. For npz the name of an array (``y`` or ``y_train``), for npy also the path of a second file.
    weight : str or int, optional
        Column of weights, likewise; none by default.
    batch_rows : int, default=4096
        Rows in a batch.
    n_features : int, optional
        Number of features; rows of another width are bad lines. For LIBSVM text from a pipe or a large file, the
        first lines decide otherwise.
    start : int, default=0
        First row to give: reading resumes there, with the same rows as without the interruption.
    on_bad_line : {"fail", "skip"}, default="fail"
        Whether a bad line is an error, or is left out and counted.
    header : bool or "auto", default="auto"
        Whether delimited text begins with names; "auto" says so if no field of the first line is a number, or if the
        numbers count the columns (0, 1, 2, ...), as pandas names them.
    has_labels : bool, default=True
        Whether to look for labels; without, all columns are features (unless `label` names one).
    dtype : dtype, default=float32
        Of the features: float32 or float64.
    delimiter : str, optional
        Between fields; by default what cuts the first lines into as many fields each, or what a first line ``sep=;``
        says.
    categorical : sequence of str or int, optional
        Columns that are text even if they look like numbers.
    zero_based : bool, optional
        Whether LIBSVM feature numbers start at 0; by default they do if a 0 occurs where `n_features` is looked for.
    class_labels : bool, default=False
        Whether labels must be classes, whole numbers or text; then a label with a fraction makes a line bad, and so
        does a number of 2**53 or more that was read as a float, as in text, where it may have been rounded.
    decimal : {".", ","}, optional
        What stands before the decimals of numbers in delimited text; by default what the first lines have.
    thousands : {",", ".", " ", "'", "_"}, optional
        What stands between groups of three digits; by default what the first lines have, most often nothing.
    missing : {"fail", "skip", "nan"}, default="fail"
        Whether a row that lacks a number is a bad line, is left out and counted (`Stream.n_incomplete`), or has NaN
        there. Nothing, NA, NaN, null, none, n/a, #N/A, #NA, <NA>, ``\\N``, ?, - and . stand for missing values. Missing
        text is text.
    unlabeled : {"fail", "skip"}, default="fail"
        Whether a row without a label is a bad line, or is left out and counted (`Stream.n_unlabeled`). The same words
        stand for missing labels, except for none, - and the point.
    ignore : sequence of str or int, optional
        Columns to leave out.
    reads_labels : bool, default=True
        Whether labels are read; otherwise their column is left out, whatever is in it.
    like : Schema, optional
        Columns of rows that were read before, and of which these must have the features: found by their names, in any
        order. Where these rows or those have no names, they are found by their order, and have the names of `like`.
    hash_features : int, optional
        For LIBSVM text whose feature numbers are huge: the number of features to which they are hashed, with random
        signs, so that collisions cancel on average.

    Returns
    -------
    Stream

    Examples
    --------
    >>> import io
    >>> from frugalsvm.streams import open_stream
    >>> stream = open_stream(io.BytesIO(b"+1 1:0.5 3:1\\n-1 2:2\\n"), format="libsvm", batch_rows=100)
    >>> for batch in stream:
    ...     print(batch.X.toarray(), batch.y)
    [[0.5 0. 1. ] [0. 2. 0. ]] [ 1. -1.]
    """
    _check_choices(format=(format, (None, *FORMATS)), on_bad_line=(on_bad_line, ("fail", "skip")))
    _check_choices(missing=(missing, ("fail", "skip", "nan")), unlabeled=(unlabeled, ("fail", "skip")))
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ParameterError("dtype", dtype, "float32 or float64")
    for name, number, least in (
        ("batch_rows", batch_rows, 1),
        ("start", start, 0),
        ("n_features", n_features, 1),
        ("hash_features", hash_features, 1),
    ):
        if number is not None and number < least:
            raise ParameterError(name, number, f"at least {least}")
    if hash_features is not None and n_features not in (None, hash_features):
        raise ParameterError("n_features", n_features, f"None, or {hash_features} as hash_features is")
    roles = Roles(label, weight, has_labels, categorical, ignore, reads_labels, like)
    text = {"header": header, "delimiter": delimiter, "decimal": decimal, "thousands": thousands}
    common = {"n_features": n_features, "dtype": dtype}
    libsvm = {"zero_based": zero_based, "hash_features": hash_features}
    reader = _reader(source, format, roles, common, text, libsvm)
    return Stream(
        reader,
        batch_rows=batch_rows,
        start=start,
        skip_bad=on_bad_line == "skip",
        class_labels=class_labels,
        missing=missing,
        unlabeled=unlabeled,
    )


def _check_choices(**choices: tuple[Any, tuple]) -> None:
    for name, (value, known) in choices.items():
        if value not in known:
            raise ParameterError(name, value, f"one of {', '.join(str(each) for each in known if each)}")


def _reader(
    source: Any,
    format: str | None,
    roles: Roles,
    common: dict[str, Any],
    text: dict[str, Any],
    libsvm: dict[str, Any],
) -> Reader:
    if isinstance(source, str | os.PathLike) and source != "-" and Path(source).is_dir():
        format = format or folder_format(Path(source))
        if format in ("parquet", "arrow"):
            return TableReader(Path(source), format, roles=roles, **common)
    sources = sources_of(source)
    format = format or guessed_format(sources[0])
    if format != "libsvm" and libsvm["hash_features"] is not None:
        words, about = f"{sources[0].name} is {format} data", ", and {hash_features} is for LIBSVM text."
        raise StreamError(Sentence(words, about, hash_features=libsvm["hash_features"]))
    if format in ("parquet", "arrow"):
        return TableReader(sources, format, roles=roles, **common)
    if format in ("npz", "npy"):
        if len(sources) > 1:
            raise StreamError(f"Only one {format} file can be read at a time.")
        return (NpzReader if format == "npz" else NpyReader)(sources[0], roles=roles, **common)
    if format == "libsvm":
        if roles.weight is not None or roles.label is not None or roles.categorical or roles.ignore:
            chosen = [name for name in ("label", "weight") if getattr(roles, name) is not None]
            chosen += [name for name in ("categorical", "ignore") if getattr(roles, name)]
            words = f"{sources[0].name} is LIBSVM text, which has no columns to choose"
            raise StreamError(Sentence(words, f": leave out {' and '.join(f'{{{name}}}' for name in chosen)}."))
        # Labels that are not read need not be there.
        has_labels = roles.has_labels and roles.reads_labels
        return LibsvmReader(TextSources(sources), has_labels=has_labels, **libsvm, **common)
    return DelimitedReader(TextSources(sources), roles=roles, is_tsv=format == "tsv", **text, **common)
