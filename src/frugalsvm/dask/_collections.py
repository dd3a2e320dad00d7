"""What users pass, as one list of partitions: Dask arrays, data frames, or lists of delayed objects and futures."""

from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from dask.delayed import Delayed
from distributed import Future


class Source(NamedTuple):
    """A partition that is not computed yet."""

    number: int
    X: Any
    y: Any
    weight: Any  # None where all rows count the same


def is_frame(X: Any) -> bool:
    """Whether X is a Dask data frame or a series of one."""
    return hasattr(X, "to_delayed") and hasattr(X, "npartitions") and not isinstance(X, da.Array)


def sources_of(X: Any, y: Any = None, sample_weight: Any = None, *, in_columns: bool = False) -> list[Source]:
    """The partitions of rows, labels and weights, which must be divided in the same way; y may be ``in_columns``."""
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, rows and features, but it has {X.ndim}.")
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        y, sample_weight = _like_rows(X, y, in_columns), _like_rows(X, sample_weight)
    parts = _parts("X", X)
    labels = [None] * len(parts) if y is None else _parts("y", y)
    weights = [None] * len(parts) if sample_weight is None else _parts("sample_weight", sample_weight)
    for name, others in (("y", labels), ("sample_weight", weights)):
        if len(others) != len(parts):
            raise ValueError(
                f"X has {len(parts)} partitions, but {name} has {len(others)}: they must be divided in the same way."
            )
    if not parts:
        raise ValueError("X has no partitions: there is nothing to learn from.")
    return [Source(number, *each) for number, each in enumerate(zip(parts, labels, weights, strict=True))]


def _like_rows(X: Any, part: Any, in_columns: bool = False) -> Any:
    """Labels or weights in the chunks of the rows, as far as these are known."""
    if isinstance(part, np.ndarray):
        if np.isnan(X.shape[0]):
            raise TypeError("X has chunks of unknown length: pass y and sample_weight as Dask collections too.")
        _check_length(X, part, in_columns)
        return da.from_array(part, chunks=(X.chunks[0], *(-1,) * (part.ndim - 1)))
    if isinstance(part, da.Array):
        part = part.ravel() if part.ndim == 2 and part.shape[1] == 1 and not in_columns else part
        if not (np.isnan(X.shape[0]) or np.isnan(part.shape[0])):
            _check_length(X, part, in_columns)
            return part.rechunk((X.chunks[0], *(-1,) * (part.ndim - 1)))
        return part.rechunk({1: -1}) if part.ndim == 2 else part
    return part


def _check_length(X: Any, part: Any, in_columns: bool) -> None:
    if part.shape[:1] != (X.shape[0],) or part.ndim > 1 + in_columns:
        raise ValueError(f"X has {X.shape[0]} rows, but y or sample_weight has the shape {part.shape}.")


def _parts(name: str, collection: Any) -> list[Any]:
    """The partitions of one collection, as delayed objects or futures."""
    if isinstance(collection, da.Array):
        return list(collection.to_delayed().ravel())
    if is_frame(collection):
        return _frame_parts(collection)
    if isinstance(collection, list | tuple) and all(isinstance(part, Delayed | Future) for part in collection):
        return list(collection)
    raise TypeError(
        f"{name} must be a Dask array, a Dask data frame, or a list of delayed objects or futures, not "
        f"{type(collection).__name__}; for arrays in memory there are the estimators without Dask."
    )


def _frame_parts(frame: Any) -> list[Any]:
    """The partitions of a frame as they are.

    A full optimization would make fewer of small files where few columns are needed: of the labels, but not of the
    rows. Simplifying alone still reads no column that is not needed.
    """
    frame = frame.simplify() if hasattr(frame, "simplify") else frame
    return list(frame.to_delayed(optimize_graph=False))


def as_array(made, X: Any, empty: np.ndarray) -> da.Array:
    """A Dask array of what a delayed function makes of each partition; ``empty`` is what it makes of no rows."""
    lengths = X.chunks[0] if isinstance(X, da.Array) else None
    blocks = [
        da.from_delayed(
            made(source.X),
            shape=(np.nan if lengths is None else lengths[source.number], *empty.shape[1:]),
            dtype=empty.dtype,
        )
        for source in sources_of(X)
    ]
    return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)
