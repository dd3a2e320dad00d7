"""Small data sets like the real ones, and the same examples in the formats of the original files."""

import bz2
import gzip
import io
import tarfile
import zipfile

import numpy as np
import scipy.io
import scipy.sparse

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
