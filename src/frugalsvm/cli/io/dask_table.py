"""Files for ``--dask``: read by the workers, with the columns and in the words of the other ways to train."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
from pandas import StringDtype, isna
from pandas.api.types import is_numeric_dtype

from frugalsvm.cli.words.outcome import left_out_words
from frugalsvm.pipelines.first_rows import described, left_out_notes, many_texts
from frugalsvm.pipelines.label_task import many_classes, task_of, task_words
from frugalsvm.pipelines.reading import FIRST_ROWS, HEADERS, DataOptions, column_in, columns_in
from frugalsvm.streams.columns import Roles, assigned, unnamed
from frugalsvm.streams.dates import days_in
from frugalsvm.streams.number_notation import is_missing, missing_words
from frugalsvm.streams.reader import Block
from frugalsvm.streams.row_checks import are_classes, why_no_class
from frugalsvm.streams.sniffer import Sniffed, sniff

_READERS = {".parquet": "read_parquet", ".pq": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv"}
_SNIFFED_BYTES = "64 kiB"


class Table(NamedTuple):
    """Rows and labels, which are read when they are needed; and what is known of the columns."""

    X: Any
    y: Any  # None where none are needed
    first: Any  # the first rows of X
    columns: list[list[str]]  # name, kind and role of each, as model files have them
    notes: list[str]
    doubt: str | None = None  # about the labels

    @property
    def has_text(self) -> bool:
        return any((kind, role) == ("string", "feature") for _, kind, role in self.columns)


def read_table(data: DataOptions, *, labels: str | None) -> Table:
    """Rows of all files; ``labels`` are "classes" or "numbers", or None if there is nothing to predict."""
    from dask import compute

    learns_labels, categorical = labels is not None, columns_in(data.categorical)
    frame, no_data, said = _frame(data, categorical)
    names = list(frame.columns)
    kinds = ["number" if is_numeric_dtype(frame.dtypes[name]) else "string" for name in names]
    kinds = ["ignored" if name in no_data else kind for name, kind in zip(names, kinds, strict=True)]
    roles = Roles(column_in(data.label), None, learns_labels, categorical, columns_in(data.ignore))
    schema, notes = assigned(names, kinds, roles, data.name)
    kept = {names[each] if isinstance(each, int) else each for each in categorical}
    label = schema.label if learns_labels else None
    has_words = label is not None and not is_numeric_dtype(frame.dtypes[label])
    for name in (*schema.strings, *([label] if has_words else [])):
        if name != label and isinstance(frame.dtypes[name], StringDtype):  # in compiled code
            frame[name] = frame[name].str.strip().fillna("")
        else:
            frame[name] = frame[name].astype(object).map(_label if name == label else _text, meta=(name, object))
    frame, n_unlabeled = _complete(frame, [] if label is None else [label])
    frame, n_incomplete = _complete(frame, schema.numbers if data.missing == "skip" else [])
    first, *left_out = compute(frame.head(FIRST_ROWS, npartitions=-1, compute=False), n_unlabeled, n_incomplete)
    texts = {name: first[name][first[name] != ""] for name in schema.strings if name not in kept}
    _refuse_dates(data, texts)
    unused = {name: what for name, text in texts.items() if (what := many_texts(text.tolist())) is not None}
    features = [name for name in names if name in {*schema.numbers, *schema.strings} and name not in unused]
    if not features:
        raise ValueError(f"{data.name} has no column to learn from.")
    said, doubt, y = [*said, *notes, *left_out_notes(unused), *left_out_words(*left_out)], None, None
    if label is not None:
        y = _labels(frame[label], str(labels))
        doubt = many_classes(first[label].to_numpy(), label, "a classifier") if labels == "classes" else None
        said += _predicted(first[label], str(labels))
    return Table(frame[features], y, first[features], described(schema, unused), said, doubt)


def _complete(frame: Any, names: Sequence[str]) -> tuple[Any, Any]:
    """The rows that lack no value in some columns, and how many do; both for `compute`."""
    return (frame.dropna(subset=list(names)), frame[list(names)].isna().any(axis=1).sum()) if names else (frame, 0)


def _predicted(y: Any, labels: str) -> list[str]:
    """What the first labels are, in the words of the other ways to train."""
    if not len(y):
        return []
    where = "" if len(y) < FIRST_ROWS else f" in the first {len(y):,} rows"
    y = _whole(y) if labels == "classes" and y.dtype.kind == "f" else y
    task = task_of(y.to_numpy(), "regression" if labels == "numbers" else "classification")
    return [task_words(task, str(y.name), where)]


def _refuse_dates(data: DataOptions, texts: dict[str, Any]) -> None:
    """Dates would be categories here, and numbers when other commands read them."""
    for name, text in texts.items():
        if text.dtype.kind == "M" or days_in(text.astype(str)) is not None:
            raise ValueError(
                f"{data.name}: column {name!r} has dates, which --dask does not learn from: leave it out (--ignore "
                f"{quote(name)}), take it as text (--categorical {quote(name)}), or train without --dask."
            )


def _frame(data: DataOptions, categorical: Sequence[str | int]) -> tuple[Any, set[str], Sequence[str]]:
    """The data frame of all files, with a name for each column; the columns that are no data; and notes."""
    import dask.dataframe as dd

    source = data.source if isinstance(data.source, str) else data.source[0]
    suffix = Path(source.rstrip("*")).suffix.lower() if data.format is None else f".{data.format}"
    if suffix not in _READERS:
        raise ValueError(
            f"{data.name}: --dask reads Parquet, CSV and TSV files, whose names end with "
            f"{', '.join(sorted(_READERS))} (or --format says so): convert the rows first, or train without --dask."
        )
    read = getattr(dd, _READERS[suffix])
    if _READERS[suffix] == "read_csv":
        sniffed = _sniffed(data._replace(delimiter=data.delimiter or ("\t" if suffix == ".tsv" else None)), source)
        no_data = {name for name, kind in zip(sniffed.names, sniffed.kinds, strict=True) if kind == "ignored"}
        return read(data.source, **_as_sniffed(sniffed, categorical)), no_data, sniffed.notes
    frame = read(data.source)
    names = [name if isinstance(name, str) else unnamed(int(name)) for name in frame.columns]
    return frame.rename(columns=dict(zip(frame.columns, names, strict=True))), set(), ()


def _sniffed(data: DataOptions, source: str) -> Sniffed:
    """How the first lines of CSV are written; flags come first."""
    from dask.bytes import read_bytes

    first = read_bytes(source, sample=_SNIFFED_BYTES, delimiter=b"\n")[0]
    settings = {name: getattr(data, name) for name in ("delimiter", "decimal", "thousands")}
    return sniff(
        Block(data.name, 1, first.removeprefix(b"\xef\xbb\xbf"), opening=True), header=HEADERS[data.header], **settings
    )


def _as_sniffed(sniffed: Sniffed, categorical: Sequence[str | int]) -> dict[str, Any]:
    """Arguments of `read_csv` that read a text as the other ways to train do: only numbers are converted."""
    as_text = {sniffed.names[each] if isinstance(each, int) else each for each in categorical}
    numbers = {
        name
        for name, kind in zip(sniffed.names, sniffed.kinds, strict=True)
        if kind == "number" and name not in as_text
    }
    return {
        "sep": sniffed.delimiter,
        "header": None if sniffed.header is None else 0,
        "names": list(sniffed.names),
        "index_col": False,
        "decimal": sniffed.notation.decimal,
        "thousands": sniffed.notation.thousands,
        "skipinitialspace": True,
        "dtype": {name: np.float64 if name in numbers else object for name in sniffed.names},
        "keep_default_na": False,
        "na_values": {name: list(missing_words()) for name in numbers},
    }


def _text(value: Any) -> str:
    """A category, as readers of files have it: numbers without fractions as integers, and missing text as none."""
    if isna(value):
        return ""
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value) if is_whole else value).strip()


def _label(value: Any) -> str | None:
    """A class; None if a word stands for a missing one."""
    text = _text(value)
    return None if is_missing(text, is_label=True) else text


def _labels(y: Any, labels: str) -> Any:
    """Labels as the other ways to train have them: whole numbers are integers, if they are classes."""
    if labels == "numbers":
        return y.astype("float64")
    return y.map_partitions(_whole, meta=(y.name, "int64")) if y.dtype.kind == "f" else y


def _whole(y: Any) -> Any:
    wrong = y[~are_classes(y)]
    if len(wrong):
        label = wrong.iloc[0]
        raise ValueError(
            f"the label {label:g} is not a class: {why_no_class(label)}. --label says where they are, and `-a asset "
            "--task regression` learns numbers."
        )
    return y.astype("int64")
