"""Every format, compressed or not, gives the same rows: in any batch size, from any row, on every pass."""

import builtins
import io
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from stream_files import COMPRESSIONS, FORMATS, compressed, encoded, joined, table

from frugalsvm.streams import StreamError, open_stream

pytest.importorskip("pyarrow")


def written(folder, format, compression="", data=None):
    path = folder / (f"data.{format}" + (f".{compression}" if compression else ""))
    path.write_bytes(compressed(encoded(*table(), format) if data is None else data, compression))
    return path


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("format", FORMATS)
def test_round_trip(tmp_path, format, compression):
    X, y = table()
    stream = open_stream(written(tmp_path, format, compression), batch_rows=10)
    for _ in range(2):
        batches = list(stream)
        assert [batch.n_rows for batch in batches] == [10] * 5 + [7]
        rows, labels = joined(batches)
        np.testing.assert_array_equal(rows, X)
        np.testing.assert_array_equal(labels, y)
        assert batches[0].X.dtype == np.float32
        assert sparse.issparse(batches[0].X) == (format == "libsvm")
        assert format == "libsvm" or batches[0].X.flags.c_contiguous
    assert stream.n_features == X.shape[1]
    assert stream.n_rows in (None, len(X))
    assert stream.n_bad == 0


@pytest.mark.parametrize("format", FORMATS)
def test_file_objects_and_pipes(tmp_path, format):
    X, y = table()
    data = encoded(X, y, format)
    seekable = open_stream(io.BytesIO(data))
    for _ in range(2):
        np.testing.assert_array_equal(joined(seekable)[0], X)

    class Pipe(io.BytesIO):
        def seekable(self):
            return False

        def read1(self, n=-1):
            return super().read(min(n, 7))

    for kind in ("", "gz", "zst"):
        once = open_stream(Pipe(compressed(data, kind)), batch_rows=9)
        np.testing.assert_array_equal(joined(once)[1], y)
        if format not in ("parquet", "arrow", "npz", "npy"):
            with pytest.raises(StreamError, match="only once"):
                list(once)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(FORMATS), st.integers(1, 70), st.integers(0, 60), st.sampled_from(["fail", "skip"]))
def test_any_batch_size_and_any_first_row(tmp_path, format, batch_rows, start, on_bad_line):
    X, y = table()
    path = tmp_path / f"data.{format}"
    if not path.exists():
        path.write_bytes(encoded(X, y, format))
    stream = open_stream(path, batch_rows=batch_rows, start=start, on_bad_line=on_bad_line)
    batches = list(stream)
    if start >= len(X):
        assert batches == []
        return
    assert batches[0].start == start
    rows, labels = joined(batches)
    np.testing.assert_array_equal(rows, X[start:])
    np.testing.assert_array_equal(labels, y[start:])
    np.testing.assert_array_equal(joined(stream.from_row(0))[0], X)


def test_blocks_do_not_show(tmp_path, monkeypatch):
    """Text is read in blocks; rows at their borders, and resuming, are the same for every block size."""
    from frugalsvm.streams import reader

    X, y = table(300)
    for format in ("libsvm", "csv"):
        path = written(tmp_path, format, data=encoded(X, y, format))
        for size in (64, 1000, 5000):
            monkeypatch.setattr(reader, "BLOCK_BYTES", size)
            rows, labels = joined(open_stream(path, batch_rows=77, n_features=5))
            np.testing.assert_array_equal(rows, X)
            np.testing.assert_array_equal(joined(open_stream(path, start=123, n_features=5))[1], y[123:])
            np.testing.assert_array_equal(labels, y)


@settings(max_examples=150)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=6), st.data())
def test_numbers_are_rounded_as_by_float(values, data):
    texts = [data.draw(st.sampled_from([repr(v), f"{v:.6g}", f"{v:.3e}", f"{v:+.17g}", f" {v!r} "])) for v in values]
    line = ",".join([*texts, "1"]).encode() + b"\n"
    (batch,) = open_stream(io.BytesIO(line), format="csv", header=False, dtype=np.float64)
    np.testing.assert_array_equal(batch.X[0], [float(text) for text in texts])
    line = " ".join(["1", *(f"{i + 1}:{text.strip()}" for i, text in enumerate(texts))]).encode() + b"\n"
    (batch,) = open_stream(io.BytesIO(line), format="libsvm", dtype=np.float64)
    np.testing.assert_array_equal(batch.X.toarray()[0], [float(text) for text in texts])


def test_libsvm_agrees_with_scikit_learn(tmp_path):
    from sklearn.datasets import load_svmlight_file

    text = b"# a comment\n1 1:.5 3:1e-3 # 2:7\n\n-1\n+1.5 2:0.1000000000000000055 4:1E2\r\n 0 \t1:-0 4:00012.50\n2 1:1"
    path = written(tmp_path, "libsvm", data=text)
    X, y = load_svmlight_file(io.BytesIO(text))
    rows, labels = joined(open_stream(path, dtype=np.float64))
    np.testing.assert_array_equal(rows, X.toarray())
    np.testing.assert_array_equal(labels, y)


def test_first_feature_number_and_missing_labels():
    zero = open_stream(io.BytesIO(b"1 0:1 2:3\n0 1:2\n"), format="libsvm")
    assert zero.n_features == 3
    assert "feature numbers start at 0" in zero.notes
    assert open_stream(io.BytesIO(b"1 1:1\n"), format="libsvm", zero_based=True).n_features == 2
    for text in (b"1:1 2:3\n2:2\n", b"7 1:1 2:3\n7 2:2\n"):
        (batch,) = open_stream(io.BytesIO(text), format="libsvm", has_labels=False)
        assert batch.y is None
        np.testing.assert_array_equal(batch.X.toarray(), [[1, 3], [0, 2]])


def test_columns_of_text_labels_and_weights():
    text = ('age;town;w;class\r\n31; Graz ;1;"yes"\r\n42;"St; P""olten";0.5;no\r\n\r\n53;Z\u00fcrich;2;no\r\n').encode()
    stream = open_stream(io.BytesIO(text), format="csv", weight="w", batch_rows=2)
    first, last = stream
    assert stream.schema.numbers == ("age",)
    assert stream.schema.strings == ("town",)
    assert (stream.schema.label, stream.schema.weight) == ("class", "w")
    assert any("'class' (by its name)" in note for note in stream.notes)
    assert [*first.columns["town"], *last.columns["town"]] == ["Graz", 'St; P"olten', "Z\u00fcrich"]
    assert [*first.y, *last.y] == ["yes", "no", "no"]
    assert [*first.weights, *last.weights] == [1.0, 0.5, 2.0]
    assert [*first.X[:, 0], *last.X[:, 0]] == [31, 42, 53]


def test_label_column_by_number_and_without_header():
    text = b"5,1,2\n6,3,4\n"
    (batch,) = open_stream(io.BytesIO(text), format="csv", label=0)
    assert batch.y.tolist() == [5, 6]
    (batch,) = open_stream(io.BytesIO(text), format="csv", label=-2)
    assert batch.X.tolist() == [[5, 2], [6, 4]]
    stream = open_stream(io.BytesIO(text), format="csv", has_labels=False)
    (batch,) = stream
    assert batch.y is None
    assert stream.n_features == 3
    (batch,) = open_stream(io.BytesIO(b"1,7,a\n2,8,b\n"), format="csv", categorical=[1])
    assert batch.columns["column 1"].tolist() == ["7", "8"]
    assert batch.y.tolist() == ["a", "b"]


def test_several_files_and_folders(tmp_path):
    X, y = table()
    for format in ("libsvm", "csv", "parquet", "arrow"):
        folder = tmp_path / format
        folder.mkdir()
        paths = []
        for i, rows in enumerate((slice(0, 20), slice(20, 21), slice(21, None))):
            paths.append(folder / f"part{i}.{format}")
            paths[-1].write_bytes(encoded(X[rows], y[rows], format))
        for source in [paths, folder] if format in ("parquet", "arrow") else [paths]:
            np.testing.assert_array_equal(joined(open_stream(source, n_features=5, batch_rows=8))[0], X)
            np.testing.assert_array_equal(joined(open_stream(source, n_features=5, start=33))[1], y[33:])


def test_folder_partitioned_by_name(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    for year in (2001, 2002):
        (tmp_path / f"year={year}").mkdir()
        data = pa.table({"x": [1.0, 2.0], "label": [0, 1]})
        parquet.write_table(data, tmp_path / f"year={year}" / "part.parquet")
    stream = open_stream(tmp_path, start=1)
    (batch,) = stream
    assert stream.schema.numbers == ("x", "year")
    assert batch.X.tolist() == [[2, 2001], [1, 2002], [2, 2002]]


def test_arrow_stream_and_dictionaries(tmp_path):
    import pyarrow as pa
    from pyarrow import ipc

    data = pa.table(
        {
            "a": pa.array([1, 2, None, 4]),
            "town": pa.array(["x", "y", "x", None]).dictionary_encode(),
            "y": pa.array([True, False, True, False]),
        }
    )
    target = io.BytesIO()
    with ipc.new_stream(target, data.schema) as writer:
        writer.write_table(data)
    path = tmp_path / "live.arrows"
    path.write_bytes(target.getvalue())
    stream = open_stream(path, on_bad_line="skip")
    for _ in range(2):
        (batch,) = stream
        assert batch.X.ravel().tolist() == [1, 2, 4]
        assert batch.columns["town"].tolist() == ["x", "y", ""]
        assert batch.y.tolist() == [True, False, False]
        assert stream.n_bad == 1
    with pytest.raises(StreamError, match=r"live.arrows, row 2 \(from 0\): column 'a'"):
        list(open_stream(path))


def test_numpy_files_of_other_shapes(tmp_path):
    X, y = table()
    np.save(tmp_path / "X.npy", np.asfortranarray(X))
    np.save(tmp_path / "y.npy", y)
    for start in (0, 31):
        rows, labels = joined(open_stream(tmp_path / "X.npy", label=str(tmp_path / "y.npy"), start=start))
        np.testing.assert_array_equal(rows, X[start:])
        np.testing.assert_array_equal(labels, y[start:])
    np.savez_compressed(tmp_path / "t.npz", X_train=np.asfortranarray(X), y_train=y.astype(str), w=np.abs(X[:, 0]))
    (batch,) = open_stream(tmp_path / "t.npz", weight="w")
    np.testing.assert_array_equal(batch.X, X)
    assert batch.y.tolist() == y.astype(str).tolist()
    np.testing.assert_array_equal(batch.weights, np.abs(X[:, 0]))
    np.savez(tmp_path / "o.npz", X=np.array([[1, "a"]], dtype=object), y=y)
    with pytest.raises(StreamError, match="holds object"):
        list(open_stream(tmp_path / "o.npz"))


def test_names_that_say_nothing(tmp_path):
    X, y = table()
    for format in FORMATS:
        path = tmp_path / f"{format}-data"
        path.write_bytes(compressed(encoded(X, y, format), "xz"))
        np.testing.assert_array_equal(joined(open_stream(path))[0], X)


def test_standard_input():
    code = (
        "import frugalsvm.streams as s\n"
        "stream = s.open_stream('-', batch_rows=2)\n"
        "print([b.X.tolist() for b in stream], [n for n in stream.notes])\n"
        "try:\n list(stream)\nexcept s.StreamError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], input=b"a,y\n1,2\n3,4\n5,6\n", capture_output=True, timeout=120)
    out = done.stdout.decode()
    assert "[[[1.0], [3.0]], [[5.0]]]" in out, done.stderr.decode()
    assert "standard input can be read only once" in out


def test_a_live_pipe_is_not_kept_waiting():
    """With width and first feature number given, a batch comes as soon as its lines have been written."""
    reading, writing = os.pipe()
    got = []
    with os.fdopen(reading, "rb") as file:
        stream = open_stream(file, format="libsvm", n_features=3, zero_based=False, batch_rows=2)
        thread = threading.Thread(target=lambda: got.append(next(iter(stream))), daemon=True)
        os.write(writing, b"1 1:1\n0 3:1\n")
        thread.start()
        thread.join(timeout=60)
        alive = thread.is_alive()
        os.close(writing)
        thread.join(timeout=60)
    assert not alive
    assert got[0].n_rows == 2


@pytest.mark.parametrize(("name", "data"), [("a.parquet", b"PAR1"), ("a.csv.zst", compressed(b"a,y\n1,2\n", "zst"))])
def test_missing_pyarrow(tmp_path, monkeypatch, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    real_import = builtins.__import__

    def without_pyarrow(module, *args, **kwargs):
        if module.split(".")[0] == "pyarrow":
            raise ImportError(module)
        return real_import(module, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(ImportError, match=r"frugalsvm\[streams\]"):
        list(open_stream(path))
