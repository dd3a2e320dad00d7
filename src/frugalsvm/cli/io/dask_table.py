"""Files for ``--dask``: read by the workers, with the columns and in the words of the other ways to train."""

from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cli.data import FIRST_ROWS
from frugalsvm.cli.io.first_rows import many_texts
from frugalsvm.cli.options import DataOptions
from frugalsvm.cli.words.task import many_classes, task_of, task_words
from frugalsvm.streams.columns import unnamed
from frugalsvm.streams.dates import days_in
from frugalsvm.streams.lines import Block
from frugalsvm.streams.sniffer import sniff

__all__ = ["Table", "read_table"]

_READERS = {".parquet": "read_parquet", ".pq": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv"}
_HEADERS: dict[str, bool | str] = {"auto": "auto", "yes": True, "no": False}
_SNIFFED_BYTES = "64 kiB"


class Table(NamedTuple):
    """Rows and labels, which are read when they are needed; and what is known of the columns."""

    X: Any
    y: Any  # None where none are needed
    first: Any  # the first rows of X
    columns: list[list[str]]  # name, kind and role of each, as model files have them
    notes: list[str]
    doubt: str | None = None  # about the labels
    predicted: str | None = None  # what they are, in words

    @property
    def has_text(self) -> bool:
        return any((kind, role) == ("string", "feature") for _, kind, role in self.columns)


def read_table(data: DataOptions, *, labels: str | None) -> Table:
    """Rows of all files; ``labels`` are "classes" or "numbers", or None if there is nothing to predict."""
    frame = _frame(data)
    names = list(frame.columns)
    label = None if labels is None and data.label is None else _column(data, data.label or "-1", names)
    ignored = {*_listed(data, data.ignore, names), *([] if label is None else [label])}
    features = [name for name in names if name not in ignored]
    for name in _listed(data, data.categorical, names):
        frame[name] = frame[name].astype(object).map(_text, meta=(name, object))
    if labels is not None:
        frame = frame.dropna(subset=[label])
    first = frame.head(FIRST_ROWS, npartitions=-1)
    texts = [name for name in features if not _is_number(frame.dtypes[name])]
    _refuse_dates(data, first, texts)
    unused, notes = _unused(data, first, texts)
    features = [name for name in features if name not in unused]
    numbers = [name for name in features if name not in texts]
    if not features:
        raise ValueError(f"{data.name} has no column to learn from.")
    if data.missing == "skip" and numbers:
        frame, first = frame.dropna(subset=numbers), first.dropna(subset=numbers)
    roles = dict.fromkeys((*unused, *ignored), "ignored") | ({} if label is None else {label: "label"})
    kinds = {name: "number" if _is_number(frame.dtypes[name]) else "string" for name in names}
    y = None if labels is None else _labels(frame[label], labels)
    columns = [[name, kinds[name], roles.get(name, "feature")] for name in names]
    doubt = many_classes(first[label].to_numpy(), label, "a classifier") if labels == "classes" else None
    predicted = None if labels is None else _predicted(first[label], labels)
    return Table(frame[features], y, first[features], columns, notes, doubt, predicted)


def _predicted(y: Any, labels: str) -> str | None:
    """What the first labels are, in the words of the other ways to train."""
    if not len(y):
        return None
    where = "" if len(y) < FIRST_ROWS else f" in the first {len(y):,} rows"
    y = _whole(y) if labels == "classes" and y.dtype.kind == "f" else y
    task = task_of(y.to_numpy(), "regression" if labels == "numbers" else "classification")
    return task_words(task, str(y.name), where)


def _refuse_dates(data: DataOptions, first: Any, texts: list[str]) -> None:
    """Dates would be categories here, and numbers when other commands read them."""
    kept = _listed(data, data.categorical, list(first.columns))
    for name in texts:
        is_date = first[name].dtype.kind == "M" or days_in(first[name].dropna().astype(str)) is not None
        if is_date and name not in kept:
            raise ValueError(
                f"{data.name}: column {name!r} has dates, which --dask does not learn from: leave it out (--ignore "
                f"{quote(name)}), take it as text (--categorical {quote(name)}), or train without --dask."
            )


def _frame(data: DataOptions) -> Any:
    """The data frame of all files, with a name for each column."""
    import dask.dataframe as dd

    source = data.source if isinstance(data.source, str) else data.source[0]
    suffix = Path(source.rstrip("*")).suffix.lower() if data.format is None else f".{data.format}"
    if suffix not in _READERS:
        raise ValueError(
            f"{data.name}: --dask reads Parquet, CSV and TSV files, whose names end with "
            f"{', '.join(sorted(_READERS))} (or --format says so): convert the rows first, or train without --dask."
        )
    options: dict[str, Any] = {}
    if _READERS[suffix] == "read_csv":
        options = _dialect(data._replace(delimiter=data.delimiter or ("\t" if suffix == ".tsv" else None)), source)
    frame = getattr(dd, _READERS[suffix])(data.source, **options)
    names = [name if isinstance(name, str) else unnamed(int(name)) for name in frame.columns]
    return frame.rename(columns=dict(zip(frame.columns, names, strict=True)))


def _dialect(data: DataOptions, source: str) -> dict[str, Any]:
    """How the first lines of CSV are written, as `read_csv` is told; what flags say is as they say."""
    from dask.bytes import read_bytes

    first = read_bytes(source, sample=_SNIFFED_BYTES, delimiter=b"\n")[0]
    settings = {name: getattr(data, name) for name in ("delimiter", "decimal", "thousands")}
    sniffed = sniff(Block(data.name, 1, first, opening=True), header=_HEADERS[data.header], **settings)
    notation = sniffed.notation
    header = None if sniffed.header is None else 0
    missing = ["?", "-", "."]  # that the other ways to train know, and pandas does not
    return {
        "sep": sniffed.delimiter, "header": header, "decimal": notation.decimal, "thousands": notation.thousands,
        "na_values": missing,
    }  # fmt: skip


def _listed(data: DataOptions, listed: str | None, names: list[str]) -> list[str]:
    return [] if listed is None else [_column(data, name.strip(), names) for name in listed.split(",")]


def _column(data: DataOptions, name: str, names: list[str]) -> str:
    """A column that a flag names, or gives the index of."""
    if name not in names and name.lstrip("-").isdigit() and -len(names) <= int(name) < len(names):
        name = names[int(name)]
    if name not in names:
        raise ValueError(f"{data.name} has no column {name!r}; its columns are {', '.join(names)}.")
    return name


def _is_number(dtype: Any) -> bool:
    from pandas.api.types import is_numeric_dtype

    return is_numeric_dtype(dtype)


def _text(value: Any) -> str | None:
    """A category; numbers without fractions are written as integers, wherever values are missing."""
    if value is None or value != value:
        return None
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value) if is_whole else value)


def _unused(data: DataOptions, first: Any, texts: list[str]) -> tuple[set[str], list[str]]:
    """Columns of text that are left out, and notes that say so."""
    kept = set(_listed(data, data.categorical, list(first.columns)))
    found = {name: many_texts(first[name].dropna().tolist()) for name in texts if name not in kept}
    notes = [
        f"column {name!r} has {what}: it is left out (--categorical {name} keeps it)"
        for name, what in found.items()
        if what is not None
    ]
    return {name for name, what in found.items() if what is not None}, notes


def _labels(y: Any, labels: str) -> Any:
    """Labels as the other ways to train have them: whole numbers are integers, if they are classes."""
    if labels == "numbers":
        return y.astype("float64")
    return y.map_partitions(_whole, meta=(y.name, "int64")) if y.dtype.kind == "f" else y


def _whole(y: Any) -> Any:
    wrong = y[y != np.floor(y)]
    if len(wrong):
        raise ValueError(
            f"the label {wrong.iloc[0]:g} is not a class: classes are whole numbers or text. --label says where they "
            "are, and `-a asset --task regression` learns numbers."
        )
    return y.astype("int64")
