"""Model files with right checksums and wrong contents, made from good ones: by hand, or by chance."""

import copy
import hashlib
import io
import json
import zipfile

import numpy as np
import pytest

from frugalsvm.persist import ModelFileError, load
from frugalsvm.persist.archive import write_archive

NASTY = [
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**62, 2**63, -(2**63), 10**30, 0.0, -1.5, 1e-300, 1e38, 1e300, "",
    "poly", "balanced", "a" * 50, [], [1], {}, {"dict": {}}, {"tuple": []}, {"float": "nan"}, {"float": "inf"},
    {"float": "-inf"}, {"array": 0}, {"array": 1}, {"array": 10**6}, {"scalar": "<f8", "bytes": "00" * 8},
    {"part": "linear", "fields": {}}, {"part": "rbf", "fields": {"gamma": 1.0}},
    {"object": "ColumnEncoder", "complete": True, "state": {}}, {"dtype": "<f4"}, {"type": "<i8"},
    {"objects": ["a", "b"], "shape": [2]}, {"object": "BSGDClassifier", "complete": True, "state": {}},
]  # fmt: skip
NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-300, 1e20, 1e38, 1e300, 2**31, -(2**31), 2**62, -(2**62), 7, -7]
DTYPES = ["<f4", "<f8", "<i8", "<i4", "|i1", "|b1", "<u8", "<U3", "|S4", "<f2", "<c16"]


def entries_of(content):
    """The entries of a file by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def sealed(entries):
    """A file of these entries with all checksums right, as someone would make who knows the format."""
    file = io.BytesIO()
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in entries.items() if name != "manifest.json"}
    manifest = {"manifest.json": json.dumps({"sha256": sums}).encode()}
    write_archive(file, [(name, [data]) for name, data in (entries | manifest).items()])
    return file.getvalue()


def npy(array):
    """An array in NumPy's format."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)
    return file.getvalue()


def with_document(content, change):
    """The file with another model.json, sealed again."""
    entries = entries_of(content)
    document = json.loads(entries["model.json"])
    change(document)
    return sealed(entries | {"model.json": json.dumps(document).encode()})


def with_array(content, number, array):
    """The file with another array in the place of one."""
    entries = entries_of(content)
    document = json.loads(entries["model.json"])
    described = {"dtype": array.dtype.str, "shape": list(array.shape), "fortran_order": False}
    document["arrays"][number] = described
    changed = {"model.json": json.dumps(document).encode(), f"arrays/{number}.npy": npy(array)}
    return sealed(entries | changed)


def number_of(content, field):
    """The number of the array that is a field of the expansion."""
    document = json.loads(entries_of(content)["model.json"])
    return document["model"]["state"]["_expansion"]["fields"][field]["array"]


def refused(folder, content, why=None):
    """Check that a file is refused by one sentence, with little memory, and that nothing appears beside it."""
    path = folder / "hostile.frugal"
    path.write_bytes(content)
    before = sorted(folder.rglob("*"))
    with pytest.raises(ModelFileError, match=why) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    assert sorted(folder.rglob("*")) == before


class Mutator:
    """Makes mutants of one file; the same seed gives the same ones."""

    def __init__(self, content, seed):
        self._entries = entries_of(content)
        self._rng = np.random.default_rng(seed)

    def mutant(self):
        """The bytes of a file, and what is wrong with it."""
        document = json.loads(self._entries["model.json"])
        arrays = {}
        for _ in range(1 if self._rng.random() < 0.8 else 2):
            if document["arrays"] and self._rng.random() < 0.5:
                what = self._change_array(document, arrays)
            else:
                what = self._change_document(document["model"])
        changed = {"model.json": json.dumps(document).encode()}
        changed |= {f"arrays/{number}.npy": npy(array) for number, array in arrays.items()}
        return sealed(self._entries | changed), what

    def _pick(self, choices):
        return choices[int(self._rng.integers(len(choices)))]

    # --- the document -------------------------------------------------------------------------------------------

    def _change_document(self, model):
        places = list(_places(model))
        parent, key, path = self._pick(places)
        how = self._pick(["replace", "replace", "replace", "remove", "add", "swap", "rename", "nudge"])
        if how == "remove":
            del parent[key]
        elif how == "add" and isinstance(parent, dict):
            parent[self._pick(["predict", "_scores", "extra_", "_predictor", "_dtype", "classes_"])] = self._pick(NASTY)
        elif how == "swap":
            other, other_key, _ = self._pick(places)
            parent[key], other[other_key] = copy.deepcopy(other[other_key]), copy.deepcopy(parent[key])
        elif how == "rename" and isinstance(parent, dict):
            parent[str(key) + "x"] = parent.pop(key)
        elif how == "nudge" and type(parent[key]) in (int, float):
            parent[key] = self._pick([parent[key] + 1, parent[key] - 1, -parent[key], parent[key] * 1000, str(key)])
        else:
            parent[key] = copy.deepcopy(self._pick(NASTY))
        return f"{how} {path}"

    # --- arrays -------------------------------------------------------------------------------------------------

    def _change_array(self, document, arrays):
        number = int(self._rng.integers(len(document["arrays"])))
        data = self._entries[f"arrays/{number}.npy"]
        array = np.lib.format.read_array(io.BytesIO(data)).copy()
        how = self._pick(["value", "value", "value", "bytes", "dtype", "shape", "order", "all", "shuffle"])
        arrays[number] = array = np.asarray(self._changed(array, how))
        by_columns = bool(array.flags.f_contiguous and not array.flags.c_contiguous)
        described = {"dtype": array.dtype.str, "shape": list(array.shape), "fortran_order": by_columns}
        document["arrays"][number] = described
        return f"{how} of array {number}"

    def _changed(self, array, how):
        if how == "dtype":
            with np.errstate(invalid="ignore", over="ignore"):
                return array.astype(self._pick(DTYPES) if array.dtype.kind in "fiub" else "<U9")
        if how == "shape":
            longer = np.concatenate([array, array]) if array.ndim else array[None]
            return self._pick([array.ravel(), array[None], array[:-1] if array.ndim else array, longer, array.T])
        if how == "order":
            return np.asfortranarray(array)
        if array.size == 0:
            return array
        if how == "bytes":
            raw = bytearray(array.tobytes())
            for place in self._rng.integers(len(raw), size=int(self._rng.integers(1, 5))):
                raw[place] = int(self._rng.integers(256))
            return np.frombuffer(bytes(raw), array.dtype).reshape(array.shape).copy()
        if how == "shuffle":
            return self._rng.permutation(array.ravel()).reshape(array.shape)
        return self._with_values(array, how)

    def _with_values(self, array, how):
        if array.dtype.kind not in "fiu":
            return array[::-1].copy() if array.ndim else array
        value = self._pick(NUMBERS)
        if array.dtype.kind in "iu":
            limits = np.iinfo(array.dtype)
            value = max(limits.min, min(limits.max, int(value) if np.isfinite(value) else 0))
        with np.errstate(over="ignore"):
            if how == "all":
                array[...] = value
            else:
                array.flat[self._rng.integers(array.size, size=int(self._rng.integers(1, 3)))] = value
        return array


def _places(node, path="model"):
    """All places in a document: the container, the key, and a name for people."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in items:
        yield node, key, f"{path}.{key}"
        yield from _places(child, f"{path}.{key}")
