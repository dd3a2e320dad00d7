"""The same small table in every format, for the tests of the readers."""

import bz2
import gzip
import io
import lzma
from functools import partial

import numpy as np

COMPRESSIONS = ("", "gz", "bz2", "xz", "zst")
FORMATS = ("libsvm", "csv", "tsv", "parquet", "arrow", "npz", "npy")


def table(n_rows=57, n_features=5, seed=0):
    """Rows with zeros, easy and hard numbers, exactly representable in float32; labels 0, 1, 2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32) * 10.0 ** rng.integers(-6, 6, (n_rows, n_features))
    X = X.astype(np.float32)
    X[rng.random(X.shape) < 0.3] = 0.0
    X[0, -1] = 2.5
    return X, rng.integers(0, 3, n_rows)


def encoded(X, y, format):
    """The bytes of a table in a format."""
    if format == "libsvm":
        lines = []
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            pairs = [f"{i + 1}:{v!r}" for i, v in enumerate(row) if v]
            lines.append(" ".join([str(label), *pairs]))
        return ("\n".join(lines) + "\n").encode()
    if format in ("csv", "tsv"):
        mark = "," if format == "csv" else "\t"
        lines = [mark.join([*(f"f{i}" for i in range(X.shape[1])), "label"])]
        lines += [
            mark.join([*(repr(v) for v in row), str(label)]) for row, label in zip(X.tolist(), y.tolist(), strict=True)
        ]
        return ("\n".join(lines) + "\n").encode()
    target = io.BytesIO()
    if format == "npz":
        np.savez(target, X=X, y=y)
    elif format == "npy":
        np.save(target, np.column_stack([X, y]).astype(np.float32))
    else:
        _write_arrow(X, y, format, target)
    return target.getvalue()


def _write_arrow(X, y, format, target):
    import pyarrow as pa
    from pyarrow import ipc, parquet

    data = pa.table({**{f"f{i}": X[:, i] for i in range(X.shape[1])}, "label": y})
    if format == "parquet":
        parquet.write_table(data, target, row_group_size=20)
        return
    with ipc.new_file(target, data.schema) as writer:
        writer.write_table(data, max_chunksize=20)


def compressed(data, kind):
    """The bytes in a compressed form."""
    if kind == "zst":
        import pyarrow as pa

        return pa.compress(data, codec="zstd", asbytes=True)
    return {"": bytes, "gz": partial(gzip.compress, mtime=0), "bz2": bz2.compress, "xz": lzma.compress}[kind](data)


def joined(batches):
    """All rows of an iterable of batches as dense arrays; checks that rows are numbered without a gap."""
    batches = list(batches)
    for one, other in zip(batches, batches[1:], strict=False):
        assert one.end == other.start
    X = np.concatenate([b.X.toarray() if hasattr(b.X, "toarray") else b.X for b in batches])
    y = None if batches[0].y is None else np.concatenate([b.y for b in batches])
    return X, y
