"""Readers for the formats in which the public sources offer their files.

Each reader takes the downloaded files as bytes, by name, and returns the arrays of the data set in the layout
described in `frugalsvm.datasets.fetch`, with rows in the order of the source.
"""

import bz2
import gzip
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from frugalsvm.datasets import _unix_compress

Files = Mapping[str, bytes]
Arrays = dict[str, NDArray]

MAX_BYTES = 2**29  # of a file once it is decompressed: several times the largest there is


def read_svmlight(files: Files, *, train: str, test: str, n_features: int, dtype: DTypeLike) -> Arrays:
    """Read a pair of files in the sparse text format of LIBSVM into dense arrays."""
    from sklearn.datasets import load_svmlight_file

    arrays: Arrays = {}
    for split, name in (("train", train), ("test", test)):
        # The number of features is given because the last ones may not occur in a file.
        X, y = load_svmlight_file(io.BytesIO(_inflated(files, name)), n_features=n_features, zero_based=False)
        arrays |= _dense(split, X.toarray(), y, dtype)
    return arrays


def read_svmlight_with_duplicates(files: Files, *, archive: str, train: str, test: str, n_features: int) -> Arrays:
    """Read a pair of LIBSVM files from a tar archive into CSR arrays; lines may repeat a feature."""
    import tarfile

    arrays: Arrays = {}
    with tarfile.open(fileobj=io.BytesIO(files[archive])) as tar:
        for split, name in (("train", train), ("test", test)):
            member = tar.extractfile(name)
            if member is None:
                raise ValueError(f"{name} in {archive} is not a file")
            arrays |= _csr(split, _limited(member).decode("ascii").splitlines(), n_features)
    return arrays


def read_tables_in_zip(
    files: Files, *, archive: str, train: str, test: str, delimiter: str | None, dtype: DTypeLike
) -> Arrays:
    """Read two tables of integers from a zip archive; the last column is the class."""
    arrays: Arrays = {}
    for split, name in (("train", train), ("test", test)):
        table = _table(_zip_member(files[archive], name), delimiter, np.int64)
        arrays |= _dense(split, table[:, :-1], table[:, -1], dtype)
    return arrays


def read_covtype(files: Files, *, archive: str, member: str) -> Arrays:
    """Read the gzipped table of Covertype in its zip archive."""
    # Straight into the small type: the table has 32 million numbers.
    table = _table(_gunzipped(_zip_member(files[archive], member)), ",", np.int16)
    return _dense("train", table[:, :-1], table[:, -1], np.int16)


def read_letter(files: Files, *, archive: str, member: str, n_train: int) -> Arrays:
    """Read the letter table, whose first column is the capital letter, and split it."""
    text = _zip_member(files[archive], member)
    letter_number = {0: lambda letter: ord(letter) - ord("A") + 1}
    table = _table(text, ",", np.int64, converters=letter_number)
    X, y = table[:, 1:], table[:, 0]
    return _dense("train", X[:n_train], y[:n_train], np.uint8) | _dense("test", X[n_train:], y[n_train:], np.uint8)


def read_idx(files: Files, *, train: tuple[str, str], test: tuple[str, str]) -> Arrays:
    """Read pairs of gzipped IDX files (images, labels), flattening the images."""
    arrays: Arrays = {}
    for split, (images, labels) in (("train", train), ("test", test)):
        X, y = _idx_array(_gunzipped(files[images])), _idx_array(_gunzipped(files[labels]))
        arrays |= _dense(split, X.reshape(len(X), -1), y, np.uint8)
    return arrays


def read_zip_codes(files: Files, *, train: str, test: str) -> Arrays:
    """Read the gzipped tables of USPS digits, whose first column is the digit."""
    arrays: Arrays = {}
    for split, name in (("train", train), ("test", test)):
        table = _table(_inflated(files, name), None, np.float64)
        arrays |= _dense(split, table[:, 1:], table[:, 0], np.float32)
    return arrays


def read_arff(files: Files, *, name: str, labels: Sequence[str], member: str | None = None) -> Arrays:
    """Read the data section of an ARFF or KEEL file, or member of a zip archive; label ``labels[k]`` becomes ``k``."""
    content = files[name] if member is None else _zip_member(files[name], member)
    lines = [line.strip() for line in content.decode("utf-8").splitlines()]
    first = next(i for i, line in enumerate(lines) if line.lower() == "@data") + 1
    rows = [line.split(",") for line in lines[first:] if line and not line.startswith("%")]
    numbers = {label: number for number, label in enumerate(labels)}
    X = np.array([[float(value.strip(" '")) for value in row[:-1]] for row in rows])
    y = np.array([numbers[row[-1].strip(" '")] for row in rows])
    return _dense("train", X, y, np.float32)


def read_matlab_struct(files: Files, *, name: str, variable: str) -> Arrays:
    """Read fields ``x`` (features) and ``t`` (labels) of a structure in a MATLAB file."""
    from scipy.io import loadmat

    content = io.BytesIO(files[name])
    struct = loadmat(content, variable_names=[variable], simplify_cells=True)[variable]
    return _dense("train", struct["x"], struct["t"], np.float32)


def read_masked_table(files: Files, *, table: str, masks: str) -> Arrays:
    """Read a gzipped table, the target last, and split it by the first column of a table of masks: 1 is a test row."""
    rows = _table(_inflated(files, table), ",", np.float64)
    is_test = _table(_inflated(files, masks), ",", np.int8)[:, 0] == 1
    if len(is_test) != len(rows):
        raise ValueError(f"{masks} has {len(is_test)} rows, {table} has {len(rows)}")
    arrays: Arrays = {}
    for split, part in (("train", rows[~is_test]), ("test", rows[is_test])):
        arrays |= _dense(split, part[:, :-1], part[:, -1], np.float32, np.float64)
    return arrays


def read_numpy_archive(files: Files, *, archive: str) -> Arrays:
    """Read the arrays ``X`` and ``y`` of a numpy archive."""
    X, y = (np.load(io.BytesIO(_zip_member(files[archive], f"{name}.npy")), allow_pickle=False) for name in "Xy")
    return _dense("train", X, y, np.float32)


def as_anomalies(
    files: Files, *, read: Callable[[Files], Arrays], anomalies: Sequence[int], without: Sequence[int] = ()
) -> Arrays:
    """Put both parts of a set together, leave classes out, and mark some of the others as anomalies (1, else 0)."""
    arrays = read(files)
    X, y = (np.concatenate([arrays[f"{name}_train"], arrays[f"{name}_test"]]) for name in "Xy")
    kept = ~np.isin(y, without)
    return _dense("train", X[kept], np.isin(y[kept], anomalies), np.float32)


def _dense(split: str, X: NDArray, y: NDArray, dtype: DTypeLike, target_dtype: DTypeLike = np.int8) -> Arrays:
    X = np.ascontiguousarray(X, dtype=dtype)
    # Adding zero turns negative zeros, which some text files contain, into plain ones.
    return {f"X_{split}": X + X.dtype.type(0), f"y_{split}": np.asarray(y).ravel().astype(target_dtype)}


def _csr(split: str, lines: Sequence[str], n_features: int) -> Arrays:
    labels: list[int] = []
    indices: list[int] = []
    values: list[float] = []
    indptr = [0]
    for line in filter(str.strip, lines):
        label, *entries = line.split()
        row = _row_without_duplicates(entries)
        labels.append(int(float(label)))
        for feature in sorted(row):
            indices.append(feature - 1)
            values.append(row[feature])
        indptr.append(len(indices))
    return {
        f"X_{split}_data": np.array(values, dtype=np.float32),
        f"X_{split}_indices": np.array(indices, dtype=np.int32),
        f"X_{split}_indptr": np.array(indptr, dtype=np.int32),
        f"X_{split}_shape": np.array([len(labels), n_features], dtype=np.int64),
        f"y_{split}": np.array(labels, dtype=np.int8),
    }


def _row_without_duplicates(entries: Sequence[str]) -> dict[int, float]:
    row: dict[int, float] = {}
    for entry in entries:
        feature, value = entry.split(":")
        if row.setdefault(int(feature), float(value)) != float(value):
            raise ValueError(f"feature {feature} has two different values in one line")
    return {feature: value for feature, value in row.items() if value != 0.0}


def _table(content: bytes, delimiter: str | None, dtype: DTypeLike, **options: Any) -> NDArray:
    text = io.TextIOWrapper(io.BytesIO(content), encoding="ascii")
    return np.loadtxt(text, delimiter=delimiter, dtype=dtype, ndmin=2, **options)


def _idx_array(content: bytes) -> NDArray:
    # Two zero bytes, the type (8 is an unsigned byte), the number of dimensions, the dimensions, the values.
    if content[:3] != b"\x00\x00\x08":
        raise ValueError("not an IDX file of bytes")
    n_dimensions = content[3]
    shape = np.frombuffer(content, dtype=">u4", count=n_dimensions, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_dimensions).reshape(shape)


def _limited(stream: Any) -> bytes:
    """The content of a stream that decompresses: a small file can become larger than any memory."""
    content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"decompressed, the file has more than {MAX_BYTES} bytes")
    return content


def _gunzipped(content: bytes) -> bytes:
    with gzip.open(io.BytesIO(content)) as stream:
        return _limited(stream)


def _inflated(files: Files, name: str) -> bytes:
    if name.endswith(".bz2"):
        with bz2.open(io.BytesIO(files[name])) as stream:
            return _limited(stream)
    return _gunzipped(files[name]) if name.endswith(".gz") else files[name]


def _zip_member(archive: bytes, name: str) -> bytes:
    """Return a member of a zip archive, also if the archive holds it in a folder or compressed as ``.Z``."""
    import zipfile

    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        paths = {path.rsplit("/", 1)[-1]: path for path in opened.namelist()}
        found = next((each for each in (name, f"{name}.Z") if each in paths), None)
        if found is None:
            raise ValueError(f"the archive has no member {name}, only: {', '.join(sorted(paths))}")
        with opened.open(paths[found]) as stream:
            content = _limited(stream)
        return content if found == name else _unix_compress.decompress(content, MAX_BYTES)
