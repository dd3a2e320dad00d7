"""Bad input: a sentence with file, line and column; or exactly the bad lines left out and counted."""

import io
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from stream_files import FORMATS, compressed, encoded, joined, table

from frugalsvm.streams import StreamError, open_stream, reader

CSV_HEAD = b"a,b,town,y\n1,2,Graz,0\n3,4,Linz,1\n"
CSV_TAIL = b"5,6,Wels,0\n"
CSV_BAD = {
    "ragged, short": (b"7,8,Graz\n", "3 fields where 4 are expected"),
    "ragged, long": (b"7,8,Graz,1,9\n", "5 fields where 4 are expected"),
    "nan": (b"7,nan,Graz,1\n", r"column 2 \('b'\): a value is missing"),
    "infinite": (b"7,inf,Graz,1\n", r"column 2 \('b'\): 'inf' is not a number"),
    "too large": (b"1e39,8,Graz,1\n", r"column 1 \('a'\): '1e39' is too large for float32"),
    "empty field": (b",8,Graz,1\n", r"column 1 \('a'\): a value is missing"),
    "text in a number": (b"7,x8,Graz,1\n", r"column 2 \('b'\): 'x8' is not a number"),
    "text in a label": (b"7,8,Graz,one\n", r"column 4 \('y'\): 'one' is not a number"),
    "open quote": (b'7,8,"Graz,1\n', "quote is not closed"),
    "not UTF-8": (b"7,8,Gr\xe4z,1\n", "not UTF-8"),
    "junk": (b"\x00\xff\x01\x02\n", "not UTF-8"),
    "underscores": (b"7_0,8,Graz,1\n", r"column 1 \('a'\): '7_0' is not a number"),
}
LIBSVM_HEAD = b"# comment\n1 1:1 3:2\n0 2:1\n"
LIBSVM_TAIL = b"1 1:5\n"
LIBSVM_BAD = {
    "too wide": (b"1 2:1 4:1\n", "column 3: feature '4' is beyond n_features=3"),
    "much too wide": (b"1 99999999999999999999999:1\n", "is beyond n_features=3"),
    "number 0": (b"1 0:1\n", "column 2: feature number 0 where numbers start at 1"),
    "not sorted": (b"1 2:1 1:1\n", "column 3: feature 1 is not above"),
    "twice": (b"1 2:1 2:1\n", "column 3: feature 2 is not above"),
    "nan": (b"1 2:nan\n", "column 2: a value is missing"),
    "infinite": (b"1 2:-inf\n", "column 2: '-inf' is not a number"),
    "too large": (b"1 2:4e38\n", "column 2: '4e38' is too large for float32"),
    "text": (b"1 2:1 x\n", "column 3: 'x' is not of the form"),
    "negative number": (b"1 -2:1\n", "column 2: '-2:1' is not of the form"),
    "no value": (b"1 2:\n", "column 2: a value is missing"),
    "label text": (b"yes 2:1\n", r"column 1 \(label\): 'yes' is not a number"),
    "label nan": (b"nan 2:1\n", r"column 1 \(label\): a value is missing"),
    "no label": (b"1:1 2:1\n", r"column 1 \(label\): '1:1' is not a number"),
    "two labels": (b"1,2 1:1\n", "column 1: '1,2' is more than one label"),
    "ranking": (b"1 qid:3 1:1\n", "column 2: 'qid:3' belongs to ranking data"),
    "junk": (b"\x00\xff\x01\x02\n", "column 1"),
}


def check(text, options, line, message, X, y):
    with pytest.raises(StreamError, match=rf", line {line}: .*{message}"):
        list(open_stream(io.BytesIO(text), **options))
    # The rows before the bad line come first.
    good = []
    with pytest.raises(StreamError):  # noqa: PT012 - the loop is what raises
        for batch in open_stream(io.BytesIO(text), **options, batch_rows=1):
            good.append(batch)
    assert joined(good)[0].tolist() == X[:2]
    stream = open_stream(io.BytesIO(text), **options, on_bad_line="skip")
    rows, labels = joined(stream)
    assert rows.tolist() == X
    assert labels.tolist() == y
    assert stream.n_bad == 2
    assert len(stream.bad_examples) == 2
    rows, _ = joined(open_stream(io.BytesIO(text), **options, on_bad_line="skip", start=2))
    assert rows.tolist() == X[2:]


@pytest.mark.parametrize("case", CSV_BAD)
def test_bad_csv(case):
    bad, message = CSV_BAD[case]
    text = CSV_HEAD + bad + CSV_TAIL + bad
    check(text, {"format": "csv"}, 4, message, [[1, 2], [3, 4], [5, 6]], [0, 1, 0])


@pytest.mark.parametrize("case", LIBSVM_BAD)
def test_bad_libsvm(case):
    bad, message = LIBSVM_BAD[case]
    text = LIBSVM_HEAD + bad + LIBSVM_TAIL + bad
    options = {"format": "libsvm", "n_features": 3, "zero_based": False}
    check(text, options, 4, message, [[1, 0, 2], [0, 1, 0], [5, 0, 0]], [1, 0, 1])


def test_file_names_and_line_numbers_of_later_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "BLOCK_BYTES", 100)
    (tmp_path / "one.csv").write_bytes(b"a,y\n" + b"1,2\n" * 100)
    (tmp_path / "two.csv").write_bytes(b"a,y\n" + b"1,2\n" * 77 + b"1,x\n" + b"1,2\n" * 50)
    paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
    with pytest.raises(StreamError, match=r"two.csv, line 79: column 2 \('y'\)"):
        list(open_stream(paths))
    (tmp_path / "two.csv").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(StreamError, match=r"two.csv, line 1: the header is not that of"):
        list(open_stream(paths))


@pytest.mark.parametrize("format", ["npz", "npy", "parquet", "arrow"])
def test_nan_in_arrays(tmp_path, format):
    X, y = table()
    X[5, 2] = np.nan
    X[50, 0] = -np.inf
    path = tmp_path / f"data.{format}"
    path.write_bytes(encoded(X, y, format))
    with pytest.raises(StreamError, match=rf"data.{format}, row 5 \(from 0\): column '.*2': the value is missing"):
        list(open_stream(path))
    stream = open_stream(path, on_bad_line="skip")
    good = np.isfinite(X).all(axis=1)
    np.testing.assert_array_equal(joined(stream)[0], X[good])
    np.testing.assert_array_equal(joined(stream.from_row(30))[1], y[good][30:])
    assert stream.n_bad == 2
    assert stream.n_rows is None


def test_a_missing_label_in_a_table(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for labels in ([0, None, 1, 1], [False, None, True, True], ["a", None, "b", "b"], [0.5, None, 1.0, 1.0]):
        values = pa.array([1.0, 2.0, None, 4.0])
        parquet.write_table(pa.table({"x": values, "y": pa.array(labels)}), tmp_path / "t.parquet")
        with pytest.raises(StreamError, match=r"row 1 \(from 0\): the label is missing"):
            list(open_stream(tmp_path / "t.parquet"))
        stream = open_stream(tmp_path / "t.parquet", on_bad_line="skip")
        (batch,) = stream
        assert batch.X.ravel().tolist() == [1, 4]
        assert batch.y.tolist() == [labels[0], labels[3]]
        assert "row 2 (from 0): column 'x'" in stream.bad_examples[1]
    parquet.write_table(pa.table({"x": pa.array([[1.0]]), "y": pa.array([1])}), tmp_path / "t.parquet")
    with pytest.raises(StreamError, match=r"column 'x' is list<.*neither numbers nor text"):
        list(open_stream(tmp_path / "t.parquet"))


def test_many_empty_lines_under_a_wide_header():
    """Room is made for the rows that can be there, not for a wide row per line end."""
    text = (",".join(f"c{i}" for i in range(20_000)) + ",y\n").encode() + b"\n" * 200_000
    with pytest.raises(StreamError, match="has no rows"):
        list(open_stream(io.BytesIO(text), format="csv"))


def test_negative_weights():
    text = b"a,w,y\n1,1,0\n2,-1,1\n3,2,1\n"
    with pytest.raises(StreamError, match="line 3: the weight -1 is negative"):
        list(open_stream(io.BytesIO(text), format="csv", weight="w"))
    (batch,) = open_stream(io.BytesIO(text), format="csv", weight=1, on_bad_line="skip")
    assert batch.X.tolist() == [[1], [3]]


WHOLE_FILES = [
    (b"", {"format": "csv"}, "is empty"),
    (b"", {"format": "libsvm"}, "is empty"),
    (b"", {}, "is empty"),
    (b"\n\n", {"format": "csv"}, "has no rows"),
    (b"# nothing\n", {"format": "libsvm"}, "has no rows"),
    (b"a,b,y\n", {"format": "csv"}, "has no rows"),
    (b"a,b\n1,2\n", {"format": "csv", "label": "c"}, "no column 'c'; its columns are a, b"),
    (b"a,b\n1,2\n", {"format": "csv", "label": 2}, "no column with index 2"),
    (b"1,2\n", {"format": "csv", "label": "y"}, "no header"),
    (
        b"a,a,b\n1,2,3\n",
        {"format": "csv", "label": "a"},
        "line 1: two columns are called 'a'; give the label by index",
    ),
    (b"y\n1\n", {"format": "csv"}, "no column left for features"),
    (b"a,b,c\n1,2,3\n", {"format": "csv", "n_features": 3}, "2 columns of numbers"),
    (b"a,b,c\n1,2,3\n", {"format": "csv", "label": "b", "weight": 1}, "label and weight at once"),
    (b"a,b,c\nx,2,3\n", {"format": "csv", "weight": "a"}, "are not numbers"),
    (bytes(range(256)), {}, "in no format that is known here"),
    (b"\x1f\x8b" + bytes(100), {"format": "csv"}, "damaged or cut short"),
    (compressed(CSV_HEAD, "gz")[:-9], {"format": "csv"}, "damaged or cut short"),
    (b"PAR1 and no more", {}, "cannot be read as parquet"),
    (b"ARROW1 and no more", {}, "cannot be read as arrow"),
    (b"PK\x03\x04 and no more", {}, "cannot be read"),
    (b"\x93NUMPY\x01\x00 and no more", {}, "cannot be read"),
    (encoded(*table(), "npz"), {"label": "z"}, "has no array 'z'"),
    (encoded(*table(), "npy")[:-8], {}, "mmap|ends early|cannot be read"),
    (b"1 1:1\n", {"format": "libsvm", "weight": 0}, "no columns to choose"),
]


# Numbers for names: the bytes of a compressed file differ from one collection of the tests to the next.
@pytest.mark.parametrize(("text", "options", "message"), WHOLE_FILES, ids=range(len(WHOLE_FILES)))
def test_whole_files(text, options, message):
    for on_bad_line in ("fail", "skip"):
        with pytest.raises(StreamError, match=message):
            list(open_stream(io.BytesIO(text), on_bad_line=on_bad_line, **options))


def test_nothing_but_bad_lines():
    stream = open_stream(io.BytesIO(b"a,y\n1,\n2,\n"), format="csv", on_bad_line="skip")
    with pytest.raises(StreamError, match=r"has no rows \(2 bad lines were left out; the first: .*line 2"):
        list(stream)


def test_missing_files_and_wrong_arguments(tmp_path):
    with pytest.raises(StreamError, match="does not exist"):
        open_stream(tmp_path / "none.csv")
    with pytest.raises(StreamError, match="holds no file of a format"):
        open_stream(tmp_path)
    (tmp_path / "a.csv.gz").write_bytes(CSV_HEAD)
    with pytest.raises(StreamError, match="is not gz data"):
        list(open_stream(tmp_path / "a.csv.gz"))
    for options in ({"format": "xls"}, {"on_bad_line": "ask"}, {"dtype": "int8"}, {"batch_rows": 0}, {"start": -1}):
        with pytest.raises(ValueError, match="must be"):
            open_stream(io.BytesIO(CSV_HEAD), **options)
    with pytest.raises(StreamError, match="binary mode"):
        list(open_stream(io.StringIO("a,y\n1,2\n"), format="csv"))


def test_long_lines_are_read_up_to_a_limit():
    """A 10 MB line can be right; one that never ends is left out without being kept."""
    wide = b"1 " + b" ".join(b"%d:1" % i for i in range(1, 1_000_001)) + b"\n"
    assert len(wide) > 8_000_000
    (batch,) = open_stream(io.BytesIO(LIBSVM_TAIL + wide), format="libsvm", n_features=1_000_000, zero_based=False)
    assert batch.X.nnz == 1_000_001

    class Endless(io.RawIOBase):
        """A line of 100 MB between two good ones."""

        def __init__(self):
            self.parts = [b"1 1:5\n"] + [b"1 " * 50_000] * 1000 + [b"\n0 2:1\n"]

        def readable(self):
            return True

        def read(self, n=-1):
            if not self.parts:
                return b""
            part = self.parts.pop(0)
            if 0 <= n < len(part):
                self.parts.insert(0, part[n:])
            return part[:n]

    tracemalloc.start()
    try:
        stream = open_stream(Endless(), format="libsvm", n_features=2, zero_based=False, on_bad_line="skip")
        rows, _ = joined(stream)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows.tolist() == [[5, 0], [0, 1]]
    assert stream.bad_examples == ["the file object, line 2: the line is longer than 16 MB"]
    assert peak < 60_000_000


GOOD = {format: encoded(*table(20, 3), format) for format in FORMATS}


@settings(max_examples=300)
@given(
    st.sampled_from(FORMATS),
    st.lists(
        st.tuples(st.integers(0, 10**6), st.sampled_from(["cut", "insert", "replace", "repeat"]), st.binary(max_size=5))
    ),
    st.sampled_from(["fail", "skip"]),
)
@example("arrow", [(6272, "replace", b"\x80")], "fail")  # a name that is no text
@example("npz", [(918, "replace", b"\x02")], "fail")  # a longer name in the header, which zipfile cites
def test_mutations_never_crash(format, changes, on_bad_line):
    data = GOOD[format]
    for place, kind, new in changes:
        at = place % (len(data) + 1)
        if kind == "cut":
            data = data[:at]
        elif kind == "insert":
            data = data[:at] + new + data[at:]
        elif kind == "replace":
            data = data[:at] + new + data[at + len(new) :]
        else:
            data = data[:at] + data[max(at - 20, 0) :]
    stream = open_stream(io.BytesIO(data), format=format, on_bad_line=on_bad_line, batch_rows=7)
    try:
        for batch in stream:
            assert batch.y is not None
            assert len(batch.y) == batch.n_rows <= 7
            values = batch.X.data if format == "libsvm" else batch.X
            assert np.isfinite(values).all()
    except StreamError as error:
        assert len(str(error)) < 1000  # noqa: PT017 - both ways are right


@pytest.mark.parametrize("format", ["csv", "libsvm", "npz", "npy", "parquet", "arrow"])
def test_labels_with_fractions_where_classes_are_wanted(tmp_path, format):
    X, y = table()
    y = y.astype(np.float64)
    y[[7, 30]] += 0.5
    whole = y == np.floor(y)
    path = tmp_path / f"data.{format}"
    path.write_bytes(encoded(X, y, format))
    np.testing.assert_array_equal(joined(open_stream(path))[1], y)
    with pytest.raises(StreamError, match=rf"data.{format}, (row|line) .*: the label {y[7]:g} is not a class"):
        list(open_stream(path, class_labels=True))
    stream = open_stream(path, class_labels=True, on_bad_line="skip", batch_rows=8)
    np.testing.assert_array_equal(joined(stream)[1], y[whole])
    assert stream.n_bad == 2
    for start in (5, 20, 40):  # rows that were left out do not count
        np.testing.assert_array_equal(joined(stream.from_row(start))[1], y[whole][start:])


@pytest.mark.parametrize(("format", "text"), [("csv", "x,y\n1,{}\n2,3\n"), ("libsvm", "{} 1:1\n3 1:2\n")])
@pytest.mark.parametrize("label", [2**53 + 1, -(2**53), 10**20])
def test_labels_that_are_rounded_where_classes_are_wanted(format, text, label):
    data = text.format(label).encode()
    assert joined(open_stream(io.BytesIO(data), format=format))[1].tolist() == [float(label), 3]
    with pytest.raises(StreamError, match=r"is not a class: whole numbers from 2\*\*53 on are rounded"):
        list(open_stream(io.BytesIO(data), format=format, class_labels=True))
    stream = open_stream(io.BytesIO(data), format=format, class_labels=True, on_bad_line="skip")
    assert joined(stream)[1].tolist() == [3]
    good = text.format(2**53 - 1).encode()
    assert joined(open_stream(io.BytesIO(good), format=format, class_labels=True))[1].tolist() == [2**53 - 1, 3]
