"""The real data sets: reading, verifying and downloading them, against a server on this machine."""

import bz2
import contextlib
import gzip
import hashlib
import io
import logging
import shutil
import socket
import subprocess
import sys
import tarfile
import threading
import zipfile
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from frugalsvm.datasets import (
    DatasetMismatchError,
    DatasetUnavailableError,
    _parsers,
    _unix_compress,
    fetch,
    get_data_home,
    list_datasets,
    load,
)
from frugalsvm.datasets._digest import digest
from frugalsvm.datasets._sources import SOURCES

# Rows for training and testing, features, classes (of a target of regression: different values in the training rows).
FACTS = {
    "a9a": (32561, 16281, 123, 2),
    "ad_http": (567498, 0, 3, 2),
    "ad_mammography": (11183, 0, 6, 2),
    "ad_satellite": (6435, 0, 36, 2),
    "ad_shuttle": (49097, 0, 9, 2),
    "banana": (5300, 0, 2, 2),
    "covtype": (581012, 0, 54, 7),
    "dna": (2000, 1186, 180, 3),
    "elec2": (45312, 0, 8, 2),
    "elevators": (14940, 1659, 18, 61),
    "ijcnn1": (49990, 91701, 22, 2),
    "kin40k": (36000, 4000, 8, 31954),
    "letter": (16000, 4000, 16, 26),
    "mnist": (60000, 10000, 784, 10),
    "pendigits": (7494, 3498, 16, 10),
    "phoneme": (5404, 0, 5, 2),
    "pol": (13500, 1500, 26, 11),
    "protein": (41157, 4573, 9, 14514),
    "reuters_money_fx": (7770, 3299, 8315, 2),
    "satimage": (4435, 2000, 36, 6),
    "shuttle": (43500, 14500, 9, 7),
    "usps": (7291, 2007, 256, 10),
}
ALL_NAMES = sorted(FACTS)
SPLITS = ("train", "test")
LARGE = {"a9a", "ad_http", "covtype", "ijcnn1", "kin40k", "mnist", "protein", "reuters_money_fx", "usps"}
REGRESSION = {"elevators", "kin40k", "pol", "protein"}


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch):
    monkeypatch.delenv("FRUGALSVM_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


# Small data sets, and the same examples written in the formats of the original files.


def small_arrays(name):
    """Make a few random examples with the types, labels and splits of a data set."""
    rng = np.random.default_rng(ALL_NAMES.index(name))
    _, n_test, n_features, _ = FACTS[name]
    labels, low, high, decimals, dtype = {
        "a9a": ([-1, 1], 0, 1, 0, np.int8),
        "ad_http": ([0, 1], -3, 17, None, np.float32),
        "ad_mammography": ([0, 1], -1, 31, None, np.float32),
        "ad_satellite": ([0, 1], 27, 157, 0, np.float32),
        "ad_shuttle": ([0, 1], -4821, 15164, 0, np.float32),
        "banana": ([-1, 1], -3, 3, None, np.float32),
        "covtype": (range(1, 8), 0, 7173, 0, np.int16),
        "dna": ([1, 2, 3], 0, 1, 0, np.int8),
        "elec2": ([0, 1], 0, 1, 6, np.float32),
        "elevators": ([-0.041959, 0.053351, 1.319], -1, 1, 5, np.float32),
        "ijcnn1": ([-1, 1], -1, 1, 6, np.float32),
        "kin40k": ([-1.2778, 0.28839, 3.2252], -1.7, 1.7, 4, np.float32),
        "letter": (range(1, 27), 0, 15, 0, np.uint8),
        "mnist": (range(10), 0, 255, 0, np.uint8),
        "pendigits": (range(10), 0, 100, 0, np.uint8),
        "phoneme": ([0, 1], -2, 4, 3, np.float32),
        "pol": ([-28.945, 21.055, 71.055], -12, 130, 3, np.float32),
        "protein": ([-1.8912, 0.13472, 1.1998], -7479, 30163, 1, np.float32),
        "reuters_money_fx": ([-1, 1], 0, 1, None, np.float32),
        "satimage": ([1, 2, 3, 4, 5, 7], 27, 157, 0, np.uint8),
        "shuttle": (range(1, 8), -4821, 15164, 0, np.int16),
        "usps": (range(10), -1, 1, 3, np.float32),
    }[name]
    arrays = {}
    for split, size in (("train", 12), ("test", 7 if n_test else 0)):
        if size:
            X = rng.uniform(low, high, (size, n_features))
            if name == "reuters_money_fx":
                X[rng.random(X.shape) < 0.995] = 0.0
            X = (X if decimals is None else np.round(X, decimals) + 0.0).astype(dtype)
            arrays |= stored(split, X, name == "reuters_money_fx")
            arrays[f"y_{split}"] = rng.choice(labels, size).astype(np.float64 if name in REGRESSION else np.int8)
    return arrays


def stored(split, X, is_sparse):
    if not is_sparse:
        return {f"X_{split}": X}
    csr = scipy.sparse.csr_matrix(X)
    return {
        f"X_{split}_data": csr.data,
        f"X_{split}_indices": csr.indices.astype(np.int32),
        f"X_{split}_indptr": csr.indptr.astype(np.int32),
        f"X_{split}_shape": np.array(csr.shape, dtype=np.int64),
    }


def shortest(value):
    return np.format_float_positional(value, trim="-") if isinstance(value, np.floating) else str(value)


def svmlight_text(X, y):
    rows = ([f"{j + 1}:{shortest(row[j])}" for j in np.flatnonzero(row)] for row in X)
    return "".join(f"{label:+d} {' '.join(row)}\n" for label, row in zip(y, rows, strict=True)).encode()


def sparse_text_with_duplicates(arrays, split):
    """Write CSR arrays as text, with the first feature of every other row given twice."""
    data, indices, indptr = (arrays[f"X_{split}_{part}"] for part in ("data", "indices", "indptr"))
    lines = []
    for i, label in enumerate(arrays[f"y_{split}"]):
        row = slice(indptr[i], indptr[i + 1])
        entries = [f"{j + 1}:{float(v):.14E}" for j, v in zip(indices[row], data[row], strict=True)]
        lines.append(" ".join([f"{label}", *entries[: i % 2], *entries]) + " \n")
    return "".join(lines).encode()


def table_text(table, delimiter=" ", end="\n"):
    return "".join(delimiter.join(map(shortest, row)) + end for row in table).encode()


def class_last(arrays, split):
    return np.column_stack([arrays[f"X_{split}"].astype(int), arrays[f"y_{split}"]])


def masked_table_files(name, arrays):
    """Write a table with the test rows among the others, and ten masks of which the first tells them apart."""
    tables = [np.column_stack([arrays[f"X_{split}"].astype(object), arrays[f"y_{split}"]]) for split in SPLITS]
    is_test = np.random.default_rng(0).permutation(np.repeat([0, 1], [len(table) for table in tables]))
    rows = np.empty((len(is_test), tables[0].shape[1]), dtype=object)
    for part, table in enumerate(tables):
        rows[is_test == part] = table
    masks = np.column_stack([is_test, *(np.roll(is_test, shift) for shift in range(1, 10))])
    texts = {"data.csv.gz": table_text(rows, ","), "test_mask.csv.gz": table_text(masks, ",")}
    return {f"{name}/{file}": gzip.compress(text, 1) for file, text in texts.items()}


def with_classes(arrays, normal, anomaly, n_train):
    """The two parts of a set with classes of which one is normal and one an anomaly."""
    X, y = arrays["X_train"], np.where(arrays["y_train"] == 1, anomaly, normal)
    return {"X_train": X[:n_train], "y_train": y[:n_train], "X_test": X[n_train:], "y_test": y[n_train:]}


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred_bz2(**members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:bz2") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def idx(array):
    shape = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return gzip.compress(bytes([0, 0, 8, array.ndim]) + shape + array.astype(np.uint8).tobytes(), 1)


def unix_compressed(content, *, clear_every=None):
    """Compress as the Unix program does; ``clear_every`` codes, forget the table."""
    output, codes, width, free = bytearray(b"\x1f\x9d\x90"), [], 9, 257
    table = {bytes([value]): value for value in range(256)}

    def end_group(padded):
        bits = sum(code << i * width for i, code in enumerate(codes))
        size = width if padded and codes else -(-len(codes) * width // 8)
        output.extend(bits.to_bytes(size, "little"))
        codes.clear()

    def put(code):
        codes.append(code)
        if len(codes) == 8:
            end_group(padded=True)

    word, n_codes = b"", 0
    for value in content:
        longer = word + bytes([value])
        if longer in table:
            word = longer
            continue
        put(table[word])
        n_codes += 1
        if free > (1 << width) - 1 and width < 16:
            end_group(padded=True)
            width += 1
        if free < 1 << 16:
            table[longer] = free
            free += 1
        if clear_every and n_codes % clear_every == 0:
            put(256)
            end_group(padded=True)
            width, free = 9, 257
            table = {bytes([byte]): byte for byte in range(256)}
        word = bytes([value])
    put(table[word])
    end_group(padded=False)
    return bytes(output)


def data_section(header, X, labels, delimiter):
    rows = "".join(delimiter.join([*map(str, row), label]) + "\r\n" for row, label in zip(X, labels, strict=True))
    return f"{header}\r\n@data\r\n{rows}".encode()


def original_files(name, arrays):
    """Write examples in the format in which the source of a data set offers them."""
    train, test = ((arrays.get(f"X_{split}"), arrays.get(f"y_{split}")) for split in ("train", "test"))
    match name:
        case "a9a":
            return {"a9a": svmlight_text(*train), "a9a.t": svmlight_text(*test)}
        case "ad_http" | "ad_mammography":
            file = {"ad_http": "16_http.npz", "ad_mammography": "23_mammography.npz"}[name]
            return {file: npz(X=train[0].astype(np.float64), y=train[1].astype(np.int64))}
        case "ad_satellite":
            return original_files("satimage", with_classes(arrays, 3, 4, len(train[1]) // 2))
        case "ad_shuttle":
            return original_files("shuttle", with_classes(arrays, 1, 6, len(train[1]) // 2))
        case "elevators" | "kin40k" | "pol" | "protein":
            return masked_table_files(name, arrays)
        case "dna":
            return {"dna.scale": svmlight_text(*train), "dna.scale.t": svmlight_text(*test)}
        case "ijcnn1":
            texts = {"ijcnn1.bz2": svmlight_text(*train), "ijcnn1.t.bz2": svmlight_text(*test)}
            return {file: bz2.compress(text, 1) for file, text in texts.items()}
        case "banana":
            struct = {
                "x": train[0].astype(float),
                "t": train[1][:, None].astype(float),
                "train": 1,
                "test": 2,
            }
            buffer = io.BytesIO()
            scipy.io.savemat(buffer, {"banana": struct, "image": {"x": 0.0}})
            return {"benchmarks.mat": buffer.getvalue()}
        case "covtype":
            table = gzip.compress(table_text(class_last(arrays, "train"), ","))
            return {"covertype.zip": zipped(**{"covtype.info": b"", "covtype.data.gz": table})}
        case "elec2":
            header = "% comment\r\n@relation electricity\r\n@attribute day {1,2,3}\r\n@attribute class {UP,DOWN}"
            labels = np.array(["DOWN", "UP"])[train[1]]
            return {"electricity-normalized.arff": data_section(header, train[0], labels, ",")}
        case "phoneme":
            header = "@relation phoneme\r\n@attribute Aa real [-1.7, 4.107]\r\n@inputs Aa\r\n@outputs Class"
            content = data_section(header, train[0], train[1].astype(str), ",")
            return {"phoneme.zip": zipped(**{"phoneme.dat": content})}
        case "letter":
            X, y = (np.concatenate(pair) for pair in zip(train, test, strict=True))
            rows = "".join(f"{chr(64 + label)},{','.join(map(str, row))}\n" for row, label in zip(X, y, strict=True))
            return {"letter+recognition.zip": zipped(**{"letter-recognition.data": rows.encode()})}
        case "mnist":
            return {
                "train-images-idx3-ubyte.gz": idx(train[0].reshape(-1, 28, 28)),
                "train-labels-idx1-ubyte.gz": idx(train[1]),
                "t10k-images-idx3-ubyte.gz": idx(test[0].reshape(-1, 28, 28)),
                "t10k-labels-idx1-ubyte.gz": idx(test[1]),
            }
        case "pendigits":
            tables = {
                "pendigits.tra": class_last(arrays, "train"),
                "pendigits.tes": class_last(arrays, "test"),
            }
            texts = {file: table_text(table, ", ") for file, table in tables.items()}
            return {"pen+based+recognition+of+handwritten+digits.zip": zipped(**texts)}
        case "satimage":
            texts = {
                "sat.trn": table_text(class_last(arrays, "train")),
                "sat.tst": table_text(class_last(arrays, "test")),
            }
            return {"statlog+landsat+satellite.zip": zipped(**texts)}
        case "shuttle":
            members = {
                "shuttle.trn.Z": unix_compressed(table_text(class_last(arrays, "train"))),
                "shuttle.tst": table_text(class_last(arrays, "test")),
            }
            return {"statlog+shuttle.zip": zipped(**members)}
        case "reuters_money_fx":
            members = {
                "reuters/money-fx.trn": sparse_text_with_duplicates(arrays, "train"),
                "reuters/money-fx.tst": sparse_text_with_duplicates(arrays, "test"),
            }
            return {"lasvm-reuters.tar.bz2": tarred_bz2(**members)}
        case "usps":
            texts = {}
            for file, (X, y) in (("zip.train.gz", train), ("zip.test.gz", test)):
                rows = np.column_stack([y, X.astype(np.float64)])
                text = "".join(" ".join(f"{value:.4f}" for value in row) + " \n" for row in rows)
                texts[file] = gzip.compress(text.encode(), 1)
            return texts
    raise AssertionError(name)


# A server on this machine.


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


class BreakingHandler(QuietHandler):
    """Promises more than it sends."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"too short")


class EndlessHandler(QuietHandler):
    """Sends until nobody listens any more."""

    def __init__(self, announces, *args, **kwargs):
        self.announces = announces
        super().__init__(*args, **kwargs)

    def do_GET(self):
        self.send_response(200)
        if self.announces:
            self.send_header("Content-Length", str(10**12))
        self.end_headers()
        with contextlib.suppress(OSError):
            while True:
                self.wfile.write(b"0" * 2**16)


def parse_nothing(files):
    raise AssertionError("parsed")


def serving(handler):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    return server, f"http://127.0.0.1:{server.server_port}"


@pytest.fixture
def mirror(tmp_path):
    """Serve a folder; yields the address and the folder."""
    folder = tmp_path / "served"
    folder.mkdir()
    server, address = serving(partial(QuietHandler, directory=folder))
    yield address, folder
    server.shutdown()
    server.server_close()


@pytest.fixture
def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the network was used")

    monkeypatch.setattr("urllib.request.urlopen", refuse)


@pytest.fixture
def small(monkeypatch):
    """Make the table expect the small version of a data set; returns its arrays."""

    def expect(name):
        arrays = small_arrays(name)
        source = SOURCES[name]
        sha256 = digest(arrays, any_row_order=source.any_row_order, decimals=source.decimals)
        parse = source.parse
        if name == "letter":
            parse = partial(parse, n_train=len(arrays["y_train"]))
        monkeypatch.setitem(SOURCES, name, replace(source, sha256=sha256, parse=parse, file_sha256={}))
        return arrays

    return expect


def write_files(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)


def assert_holds(data, arrays):
    for split in ("train", "test"):
        if f"y_{split}" not in arrays:
            assert f"X_{split}" not in data
            continue
        np.testing.assert_array_equal(data[f"y_{split}"], arrays[f"y_{split}"])
        if f"X_{split}" in arrays:
            np.testing.assert_array_equal(data[f"X_{split}"], arrays[f"X_{split}"])
        else:
            np.testing.assert_array_equal(data[f"X_{split}"].data, arrays[f"X_{split}_data"])
            np.testing.assert_array_equal(data[f"X_{split}"].indices, arrays[f"X_{split}_indices"])


def test_names():
    assert list_datasets() == ALL_NAMES


class TestDownload:
    @pytest.mark.parametrize("name", ALL_NAMES)
    def test_reads_the_format_of_the_source_and_keeps_the_result(self, name, mirror, small, tmp_path):
        address, folder = mirror
        arrays = small(name)
        files = original_files(name, arrays)
        assert set(files) == set(SOURCES[name].urls)
        write_files(folder, files)
        home = tmp_path / "new" / "home"

        data = fetch(name, data_home=home, mirror=address)
        assert_holds(data, arrays)
        assert [path.name for path in home.iterdir()] == [f"{name}.npz"]
        with np.load(home / f"{name}.npz") as kept:
            assert {key: kept[key].dtype for key in kept} == {key: array.dtype for key, array in arrays.items()}

        # The second time it comes from the folder.
        shutil.rmtree(folder)
        assert_holds(fetch(name, data_home=home, download=False), arrays)

    def test_all_files_of_a_set_may_be_on_disk(self, small, tmp_path):
        arrays = small("usps")
        write_files(tmp_path, original_files("usps", arrays))
        data = fetch("usps", data_home=tmp_path / "home", mirror=tmp_path.as_uri())
        assert_holds(data, arrays)

    def test_second_address_stands_in_for_the_first(self, mirror, small, tmp_path, closed_port, monkeypatch, caplog):
        address, folder = mirror
        arrays = small("dna")
        write_files(folder, original_files("dna", arrays))
        source = SOURCES["dna"]
        urls = {name: (f"{closed_port}/{name}", f"{address}/{name}") for name in source.urls}
        monkeypatch.setitem(SOURCES, "dna", replace(source, urls=urls))
        with caplog.at_level(logging.INFO, logger="frugalsvm"):
            assert_holds(fetch("dna", data_home=tmp_path), arrays)
        assert f"no answer from {closed_port}/dna.scale" in caplog.text

    def test_other_contents_are_refused_and_not_kept(self, mirror, small, tmp_path):
        address, folder = mirror
        arrays = small("satimage")
        expected = SOURCES["satimage"].sha256
        changed = arrays | {"X_test": arrays["X_test"] + 1}
        write_files(folder, original_files("satimage", changed))
        with pytest.raises(DatasetMismatchError) as info:
            fetch("satimage", data_home=tmp_path / "home", mirror=address)
        message = str(info.value)
        assert "statlog+landsat+satellite.zip" in message
        assert expected in message
        assert digest(changed) in message
        assert not list(tmp_path.glob("home/*"))

    @pytest.mark.parametrize("name", ALL_NAMES)
    def test_page_instead_of_the_file(self, name, mirror, tmp_path):
        address, folder = mirror
        write_files(folder, dict.fromkeys(SOURCES[name].urls, b"<html>The file has moved.</html>"))
        why = "sha256 of the file should be" if SOURCES[name].file_sha256 else "could not be read"
        with pytest.raises(DatasetMismatchError, match=why):
            fetch(name, data_home=tmp_path / "home", mirror=address)
        assert not list(tmp_path.glob("home/*"))

    @pytest.mark.parametrize("name", ["shuttle", "letter"])
    def test_archive_without_the_member(self, name, mirror, tmp_path):
        address, folder = mirror
        write_files(folder, dict.fromkeys(SOURCES[name].urls, zipped(Index=b"nothing here")))
        with pytest.raises(DatasetMismatchError, match="only: Index"):
            fetch(name, data_home=tmp_path, mirror=address)

    def test_connection_that_breaks_off(self, tmp_path):
        server, address = serving(BreakingHandler)
        try:
            with pytest.raises(DatasetUnavailableError, match="IncompleteRead"):
                fetch("a9a", data_home=tmp_path / "home", mirror=address)
        finally:
            server.shutdown()
            server.server_close()
        assert not list(tmp_path.glob("home/*"))

    @pytest.mark.parametrize("announces", [True, False])
    def test_files_that_are_too_large_are_not_read(self, announces, small, tmp_path, monkeypatch):
        small("a9a")
        monkeypatch.setitem(SOURCES, "a9a", replace(SOURCES["a9a"], max_bytes=10_000, parse=parse_nothing))
        server, address = serving(partial(EndlessHandler, announces))
        try:
            with pytest.raises(DatasetMismatchError, match=r"a9a: the file has .* 10000 (bytes )?(that )?are expected"):
                fetch("a9a", data_home=tmp_path / "home", mirror=address)
        finally:
            server.shutdown()
            server.server_close()

    @pytest.mark.parametrize(
        "name", ["ad_http", "covtype", "ijcnn1", "mnist", "pol", "shuttle", "reuters_money_fx", "usps"]
    )
    def test_decompressing_is_limited(self, name, mirror, small, tmp_path, monkeypatch):
        address, folder = mirror
        write_files(folder, original_files(name, small(name)))
        monkeypatch.setattr(_parsers, "MAX_BYTES", 100)
        with pytest.raises(DatasetMismatchError, match="decompressed, the file has more than 100 bytes"):
            fetch(name, data_home=tmp_path / "home", mirror=address)

    def test_known_digests_are_checked_before_parsing(self, mirror, small, tmp_path, monkeypatch):
        address, folder = mirror
        arrays = small("usps")
        files = original_files("usps", arrays)
        sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        monkeypatch.setitem(SOURCES, "usps", replace(SOURCES["usps"], file_sha256=sums))
        write_files(folder, files)
        assert_holds(fetch("usps", data_home=tmp_path / "home", mirror=address), arrays)
        write_files(folder, {"zip.test.gz": files["zip.train.gz"]})
        monkeypatch.setitem(SOURCES, "usps", replace(SOURCES["usps"], parse=parse_nothing))
        with pytest.raises(DatasetMismatchError, match=f"sha256 of the file should be {sums['zip.test.gz']}"):
            fetch("usps", data_home=tmp_path / "other", mirror=address)

    def test_missing_file_on_the_server(self, mirror, tmp_path):
        with pytest.raises(DatasetUnavailableError, match="404"):
            fetch("a9a", data_home=tmp_path, mirror=mirror[0])

    def test_no_network_says_what_to_do(self, tmp_path, closed_port):
        with pytest.raises(DatasetUnavailableError) as info:
            fetch("a9a", data_home=tmp_path, mirror=closed_port)
        for hint in ("a9a.npz", str(tmp_path), "FRUGALSVM_DATA", "a9a.t", "file:///"):
            assert hint in str(info.value)

    def test_forbidden(self, tmp_path, no_network):
        with pytest.raises(DatasetUnavailableError, match="download=False"):
            fetch("a9a", data_home=tmp_path, download=False)

    def test_unfinished_files_disappear(self, mirror, small, tmp_path, monkeypatch):
        address, folder = mirror
        write_files(folder, original_files("phoneme", small("phoneme")))

        def full_disk(file, **arrays):
            Path(file).write_bytes(b"half")
            raise OSError("no space left")

        monkeypatch.setattr(np, "savez_compressed", full_disk)
        with pytest.raises(OSError, match="no space left"):
            fetch("phoneme", data_home=tmp_path / "home", mirror=address)
        assert not list(tmp_path.glob("home/*"))


class TestFile:
    @pytest.fixture
    def home(self, tmp_path, small, no_network):
        for name in ("letter", "elec2", "reuters_money_fx"):
            np.savez(tmp_path / f"{name}.npz", **small(name))
        return tmp_path

    def test_environment_variable_names_the_folder(self, home, monkeypatch):
        monkeypatch.setenv("FRUGALSVM_DATA", str(home))
        data = fetch("elec2")
        assert data.filename == str(home / "elec2.npz")
        assert data.name == "elec2"
        assert "Harries" in data.DESCR
        assert "12 train" in data.DESCR

    def test_argument_wins_over_environment_variable(self, home, monkeypatch, tmp_path):
        monkeypatch.setenv("FRUGALSVM_DATA", str(tmp_path / "elsewhere"))
        assert len(fetch("elec2", data_home=home).y_train) == 12

    def test_types(self, home):
        data = fetch("letter", data_home=home)
        assert data.X_train.dtype == data.X_test.dtype == np.float32
        assert data.y_train.dtype == data.y_test.dtype == np.int64
        assert fetch("letter", data_home=home, dtype=np.float64).X_train.dtype == np.float64
        assert fetch("letter", data_home=home, dtype=None).X_train.dtype == np.uint8
        assert fetch("reuters_money_fx", data_home=home, dtype=np.float64).X_train.dtype == np.float64

    def test_targets_of_regression_stay_real_numbers(self, small, tmp_path):
        arrays = small("pol")
        np.savez(tmp_path / "pol.npz", **arrays)
        for split in SPLITS:
            _, y = load("pol", split, data_home=tmp_path)
            assert y.dtype == np.float64
            np.testing.assert_array_equal(y, arrays[f"y_{split}"])

    def test_sparse_features(self, home):
        data = fetch("reuters_money_fx", data_home=home)
        assert scipy.sparse.issparse(data.X_train)
        assert data.X_train.format == "csr"
        assert data.X_train.has_canonical_format
        assert data.X_test.shape == (7, 8315)

    @pytest.mark.parametrize("name", ["letter", "reuters_money_fx"])
    def test_load_picks_a_split(self, home, name):
        data = fetch(name, data_home=home)
        X, y = load(name, data_home=home)
        assert X.shape == (19, data.X_train.shape[1])
        assert (X[:12] != data.X_train).sum() == 0
        assert (X[12:] != data.X_test).sum() == 0
        np.testing.assert_array_equal(y, np.concatenate([data.y_train, data.y_test]))
        assert load(name, "train", data_home=home)[0].shape[0] == 12
        assert load(name, "test", data_home=home)[0].shape[0] == 7

    def test_load_without_a_split(self, home):
        assert len(load("elec2", data_home=home)[1]) == 12
        assert len(load("elec2", "train", data_home=home)[1]) == 12
        with pytest.raises(ValueError, match="no test examples"):
            load("elec2", "test", data_home=home)

    def test_unknown_split(self, home):
        with pytest.raises(ValueError, match="split"):
            load("elec2", "validation", data_home=home)

    def test_unknown_name(self):
        with pytest.raises(ValueError, match="choose one of: a9a"):
            fetch("iris")

    def test_wrong_contents(self, home):
        path = home / "elec2.npz"
        arrays = small_arrays("elec2")
        np.savez(path, **(arrays | {"y_train": 1 - arrays["y_train"]}))
        with pytest.raises(DatasetMismatchError) as info:
            fetch("elec2", data_home=home)
        assert str(path) in str(info.value)
        assert SOURCES["elec2"].sha256 in str(info.value)
        assert path.exists()

    def test_damaged_file(self, home):
        (home / "elec2.npz").write_bytes(b"PK\x03\x04 damaged")
        with pytest.raises(DatasetMismatchError, match=r"elec2\.npz"):
            fetch("elec2", data_home=home)

    def test_pickles_are_not_opened(self, home):
        np.savez(home / "elec2.npz", X_train=np.array([{}], dtype=object))
        with pytest.raises(DatasetMismatchError, match="pickle"):
            fetch("elec2", data_home=home)


class TestDataHome:
    def test_follows_the_operating_system(self, monkeypatch, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
        monkeypatch.setattr(sys, "platform", "linux")
        assert get_data_home() == tmp_path / "xdg" / "frugalsvm"
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert get_data_home() == tmp_path / ".cache" / "frugalsvm"
        monkeypatch.setattr(sys, "platform", "darwin")
        assert get_data_home() == tmp_path / "Library" / "Caches" / "frugalsvm"
        monkeypatch.setattr(sys, "platform", "win32")
        assert get_data_home() == tmp_path / "local" / "frugalsvm"

    def test_choices(self, monkeypatch, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("FRUGALSVM_DATA", "~/data")
        assert get_data_home() == tmp_path / "data"
        assert get_data_home("~/other") == tmp_path / "other"


class TestDigest:
    def test_sees_types_shapes_names_and_values(self):
        X, y = np.arange(6, dtype=np.float32).reshape(3, 2), np.arange(3, dtype=np.int8)
        variants = [
            {"X_train": X, "y_train": y},
            {"X_train": X.astype(np.float64), "y_train": y},
            {"X_train": X.reshape(2, 3), "y_train": y},
            {"X_test": X, "y_test": y},
            {"X_train": X + 1, "y_train": y},
        ]
        assert len({digest(arrays) for arrays in variants}) == len(variants)

    def test_ignores_memory_layout_and_order_of_names(self):
        X, y = np.arange(6, dtype=np.int16).reshape(3, 2), np.arange(3, dtype=np.int8)
        other = {"y_train": y, "X_train": np.asfortranarray(X).astype(">i2")}
        assert digest({"X_train": X, "y_train": y}) == digest(other)

    def test_any_row_order_keeps_features_and_label_together(self):
        arrays = small_arrays("phoneme")
        order = np.random.default_rng(0).permutation(12)
        shuffled = {name: array[order] for name, array in arrays.items()}
        swapped = arrays | {"y_train": arrays["y_train"][order]}
        assert digest(shuffled, any_row_order=True) == digest(arrays, any_row_order=True)
        assert digest(shuffled) != digest(arrays)
        assert digest(swapped, any_row_order=True) != digest(arrays, any_row_order=True)

    def test_decimals(self):
        X, y = np.array([[0.124, -0.001]], dtype=np.float32), np.array([1], dtype=np.int8)
        near, far = {"X_train": X * 0.999, "y_train": y}, {"X_train": X + 0.01, "y_train": y}
        two = partial(digest, any_row_order=True, decimals=2)
        assert two({"X_train": X, "y_train": y}) == two(near) != two(far)


class TestUnixCompress:
    @pytest.fixture
    def text(self):
        return table_text(np.random.default_rng(0).integers(0, 60, (3000, 9)))

    @pytest.mark.parametrize("clear_every", [None, 50, 255, 256, 257, 3000])
    def test_undoes_the_encoder(self, text, clear_every):
        assert _unix_compress.decompress(unix_compressed(text, clear_every=clear_every)) == text

    def test_full_table(self):
        content = np.random.default_rng(0).integers(0, 256, 100_000, dtype=np.uint8).tobytes()
        assert _unix_compress.decompress(unix_compressed(content)) == content

    @pytest.mark.parametrize("clear_every", [None, 257, 3000])
    def test_encoder_of_these_tests_is_the_real_one(self, text, clear_every):
        if shutil.which("gzip") is None:
            pytest.skip("needs gzip, which reads such files too")
        compressed = unix_compressed(text, clear_every=clear_every)
        run = subprocess.run(["gzip", "-dc"], input=compressed, capture_output=True, check=True)
        assert run.stdout == text

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\x1f\x8b\x08",
            b"\x1f\x9d\x91" + b"\xff" * 20,
            b"\x1f\x9d\x9f" + b"a" * 20,
            b"\x1f\x9d\x90a\xfe\xff",
        ],
    )
    def test_refuses_damaged_files(self, content):
        with pytest.raises(ValueError, match=r"damaged|not a file|not supported"):
            _unix_compress.decompress(content)


def test_repeated_feature_with_two_values_is_an_error():
    content = tarred_bz2(train=b"1 3:0.5 3:0.25\n", test=b"")
    with pytest.raises(ValueError, match="feature 3"):
        _parsers.read_svmlight_with_duplicates({"a": content}, archive="a", train="train", test="test", n_features=3)


def test_masks_of_another_length_are_an_error():
    files = {"table.gz": gzip.compress(b"1,2\n3,4\n"), "masks.gz": gzip.compress(b"0,1\n")}
    with pytest.raises(ValueError, match=r"masks.gz has 1 rows, table.gz has 2"):
        _parsers.read_masked_table(files, table="table.gz", masks="masks.gz")


def test_classes_that_are_no_part_of_an_anomaly_set_are_left_out():
    parts = {"X_train": np.arange(4)[:, None], "y_train": np.array([1, 4, 7, 1])}
    parts |= {"X_test": np.arange(4, 6)[:, None], "y_test": np.array([4, 2])}
    arrays = _parsers.as_anomalies({}, read=lambda files: parts, anomalies=(2, 7), without=(4,))
    assert sorted(arrays) == ["X_train", "y_train"]
    assert arrays["X_train"].ravel().tolist() == [0, 2, 3, 5]
    assert arrays["y_train"].tolist() == [0, 1, 0, 1]


def skip_without(folder, name):
    if not (folder / f"{name}.npz").exists():
        pytest.skip(f"{name} is not in the folder of data sets")


class TestSharedFiles:
    """The real files, where they are at hand."""

    @pytest.mark.parametrize("name", ALL_NAMES)
    def test_file_has_the_digest_of_the_table(self, name, shared_data, monkeypatch, no_network):
        skip_without(shared_data, name)
        monkeypatch.setenv("FRUGALSVM_DATA", str(shared_data))
        data = fetch(name, dtype=None)
        n_train, n_test, n_features, n_classes = FACTS[name]
        assert data.X_train.shape == (n_train, n_features)
        assert data.y_train.shape == (n_train,)
        assert len(np.unique(data.y_train)) == n_classes
        assert ("X_test" in data) == (n_test > 0)
        if n_test:
            assert data.X_test.shape == (n_test, n_features)
            assert data.y_test.shape == (n_test,)

    @pytest.mark.parametrize("name", sorted(set(ALL_NAMES) - LARGE))
    def test_comes_through_the_format_of_the_source_unchanged(self, name, shared_data, mirror, tmp_path):
        address, folder = mirror
        skip_without(shared_data, name)
        with np.load(shared_data / f"{name}.npz") as stored_arrays:
            arrays = {key: stored_arrays[key] for key in stored_arrays}
        write_files(folder, original_files(name, arrays))
        assert_holds(fetch(name, data_home=tmp_path, mirror=address), arrays)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", sorted(LARGE))
    def test_large_one_comes_through_unchanged(self, name, shared_data, mirror, tmp_path):
        self.test_comes_through_the_format_of_the_source_unchanged(name, shared_data, mirror, tmp_path)

    def test_banana_digest_allows_for_the_last_digit(self, shared_data):
        with np.load(shared_data / "banana.npz") as stored_arrays:
            arrays = {key: stored_arrays[key] for key in stored_arrays}
        source = SOURCES["banana"]
        up = np.nextafter(arrays["X_train"], np.float32(np.inf))
        down = np.nextafter(arrays["X_train"], np.float32(-np.inf))
        for X in (up, down):
            found = digest(arrays | {"X_train": X}, any_row_order=True, decimals=source.decimals)
            assert found == source.sha256

    def test_original_text_of_shuttle_and_phoneme(self, shared_data):
        # Checksums that other projects publish for the files of the sources.
        def sha256(content):
            return hashlib.sha256(content).hexdigest()

        with np.load(shared_data / "shuttle.npz") as arrays:
            assert sha256(table_text(class_last(arrays, "train"))).startswith("87b24ee9fb5137e1")
            assert sha256(table_text(class_last(arrays, "test"))).startswith("f776934a628d9b94")
        with np.load(shared_data / "phoneme.npz") as arrays:
            X, y = arrays["X_train"], arrays["y_train"]
        names = ["Aa", "Ao", "Dcl", "Iy", "Sh"]
        header = ["@relation phoneme"]
        for name, low, high in zip(names, X.min(axis=0), X.max(axis=0), strict=True):
            header.append(f"@attribute {name} real [{low!s}, {high!s}]")
        header += ["@attribute Class {0, 1}", f"@inputs {', '.join(names)}", "@outputs Class"]
        text = data_section("\n".join(header), X, y.astype(str), ",").replace(b"\r", b"")
        assert sha256(text).startswith("fe7e701fc5b4a142")
