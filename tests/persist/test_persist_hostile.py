"""Files that are damaged or made to do harm: one clear error each, and nothing else."""

import copy
import hashlib
import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from make_version_files import FOLDER
from mutating import entries_of, number_of, refused, sealed, with_array, with_document
from support import blobs

from frugalsvm import LASVMClassifier
from frugalsvm.budgeted.neighbors import UNKNOWN, new_neighbors
from frugalsvm.persist import ModelFileError, describe, load, save
from frugalsvm.persist.archive import write_archive
from frugalsvm.pipelines import StreamingScaler

GOOD = FOLDER / "version1.frugal"
CAP = 64 * 2**20  # bytes that reading a small file may take


@pytest.fixture(scope="module")
def good():
    return GOOD.read_bytes()


def resealed_digest(content):
    """The file with the right digest at its end."""
    return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()


class TestFuzz:
    def mutated(self, content, rng):
        data = bytearray(content)
        how = rng.integers(6)
        place = int(rng.integers(len(data)))
        if how == 0:
            data[place] ^= 1 << int(rng.integers(8))
        elif how == 1:
            del data[place:]
        elif how == 2:
            del data[place : place + 1 + int(rng.integers(64))]
        elif how == 3:
            data[place:place] = rng.bytes(1 + int(rng.integers(64)))
        elif how == 4:
            begin = int(rng.integers(len(data)))
            data[place : place + 40] = data[begin : begin + 40]
        else:
            for each in rng.integers(len(data), size=int(rng.integers(1, 50))):
                data[each] = int(rng.integers(256))
        return bytes(data)

    def attack(self, folder, content, n):
        rng = np.random.default_rng(n)
        tried = 0
        while tried < n:
            mutant = self.mutated(content, rng)
            if mutant != content:
                refused(folder, mutant)
                tried += 1

    def test_some_mutations(self, tmp_path, good):
        self.attack(tmp_path, good, 300)

    @pytest.mark.slow
    def test_many_mutations(self, tmp_path, good):
        self.attack(tmp_path, good, 10_000)

    def test_every_byte_counts(self, tmp_path, good):
        for place in range(0, len(good), 37):
            refused(tmp_path, good[:place] + bytes([good[place] ^ 0x20]) + good[place + 1 :])

    def attack_sealed(self, folder, content, n):
        """Mutations whose checksums are right: they are refused, or give a model, and never anything else."""
        rng = np.random.default_rng(n)
        entries = entries_of(content)
        names = sorted(entries)
        path = folder / "sealed.frugal"
        n_refused = 0
        for _ in range(n):
            name = "model.json" if rng.random() < 0.6 else names[int(rng.integers(len(names)))]
            path.write_bytes(sealed(entries | {name: self.mutated(entries[name], rng)}))
            for read in (load, describe):
                try:
                    read(path)
                except ModelFileError:
                    n_refused += 1
        assert n_refused > n / 4

    def test_some_sealed_mutations(self, tmp_path, good):
        self.attack_sealed(tmp_path, good, 300)

    @pytest.mark.slow
    def test_many_sealed_mutations(self, tmp_path, good):
        self.attack_sealed(tmp_path, good, 10_000)


class TestContainer:
    @pytest.mark.parametrize("content", [b"", b"PK", b"x" * 1000, b"\0" * 100_000], ids=["empty", "tiny", "x", "zeros"])
    def test_other_files(self, tmp_path, content):
        refused(tmp_path, content, "not a frugalsvm model file")

    def test_truncated_everywhere(self, tmp_path, good):
        for n in range(0, len(good), 97):
            refused(tmp_path, good[:n])

    @pytest.mark.parametrize(
        "name", ["../evil", "/etc/evil", "arrays/../../evil.npy", "arrays/01.npy", "model.json/", "C:\\x"]
    )
    def test_other_names(self, tmp_path, good, name):
        refused(tmp_path, sealed(entries_of(good) | {name: b"evil"}), "unexpected entry")

    @pytest.mark.filterwarnings("ignore:Duplicate name")
    def test_duplicates(self, tmp_path, good):
        file = io.BytesIO()
        entries = [(name, [data]) for name, data in entries_of(good).items()]
        write_archive(file, [*entries, entries[0]])
        refused(tmp_path, file.getvalue(), "same name")

    def test_zip_bomb(self, tmp_path, good):
        """A hundred megabytes of zeros in a file of a hundred kilobytes."""
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in (entries_of(good) | {"model.json": b"0" * 10**8}).items():
                archive.writestr(name, data)
            archive.comment = b"sha256=" + b"0" * 64
        refused(tmp_path, resealed_digest(file.getvalue()), "compressed")

    def test_entries_on_top_of_each_other(self, tmp_path, good):
        data = bytearray(good)
        first = data.index(b"PK\1\2")
        second = data.index(b"PK\1\2", first + 4)
        third = data.index(b"PK\1\2", second + 4)
        data[third + 42 : third + 46] = data[second + 42 : second + 46]
        refused(tmp_path, resealed_digest(bytes(data)), "malformed")

    def test_sizes_beyond_the_file(self, tmp_path, good):
        data = bytearray(good)
        second = data.index(b"PK\1\2", data.index(b"PK\1\2") + 4)
        data[second + 20 : second + 28] = struct.pack("<2L", 2**31, 2**31)
        refused(tmp_path, resealed_digest(bytes(data)), "larger than the file|where the directory")

    def test_huge_directory(self, tmp_path, good):
        data = bytearray(good)
        end = len(data) - 71 - 22
        data[end + 12 : end + 16] = struct.pack("<L", 2**31)
        refused(tmp_path, resealed_digest(bytes(data)), "directory")

    def test_checksums_of_entries(self, tmp_path, good):
        for name in ("model.json", "arrays/0.npy"):
            entries = entries_of(good)
            manifest = json.loads(entries["manifest.json"])
            manifest["sha256"][name] = "0" * 64
            file = io.BytesIO()
            others = entries | {"manifest.json": json.dumps(manifest).encode()}
            write_archive(file, [(each, [data]) for each, data in others.items()])
            refused(tmp_path, file.getvalue(), f"checksum of {name} is wrong")


class TestDocument:
    @pytest.mark.parametrize(
        ("text", "why"),
        [
            (b"[" * 100_000, "cannot be parsed"),
            (b'{"a":' * 100_000, "cannot be parsed"),
            (b"\xff\xfe\x00", "cannot be parsed"),
            (b'{"a": NaN}', "not JSON"),
            (b'{"a": 1, "a": 2}', "twice"),
            (b'{"a": ' + b"1" * 10_000 + b"}", "cannot be parsed"),
            (b"[]", "not an object"),
            (b"{}", "does not say so"),
            (b" " * (9 * 2**20), "more than 8388608 bytes"),
        ],
        ids=["lists", "dicts", "encoding", "nan", "duplicate", "digits", "list", "nothing", "large"],
    )
    def test_json(self, tmp_path, good, text, why):
        refused(tmp_path, sealed(entries_of(good) | {"model.json": text}), why)

    def test_versions(self, tmp_path, good):
        refused(tmp_path, with_document(good, lambda doc: doc.update(version=3)), "version 3.*up to 2.*newer")
        for version in (0, "1", 1.0, None, True):
            refused(tmp_path, with_document(good, lambda doc, v=version: doc.update(version=v)), "does not say so")
        refused(tmp_path, with_document(good, lambda doc: doc.pop("metadata")), "lacks")

    @pytest.mark.parametrize(
        ("node", "why"),
        [
            ({"object": "os.system", "complete": True, "state": {}}, "does not know"),
            ({"object": ["BSGDClassifier"], "complete": True, "state": {}}, "does not know"),
            ({"object": "SVC", "complete": True, "state": {}}, "does not know"),
            ({"part": "os.path.PathLike", "fields": {}}, "does not know"),
            ({"part": "core.kernels.np", "fields": {}}, "does not know"),
            ({"part": "core.kernels.NamedTuple", "fields": {}}, "does not know"),
            ({"part": "estimators.bsgd.Parts", "fields": {}}, "does not know"),
            ({"part": "rbf", "fields": {}}, "fields of rbf"),
            ({"part": "rbf", "fields": {"gamma": 1.0, "more": 2}}, "fields of rbf"),
            ({"array": 99}, "not there"),
            ({"array": -1}, "not there"),
            ({"array": "0"}, "not there"),
            ({"array": True}, "not there"),
            ({"pickle": "gASV"}, "unknown kind of value"),
            ({}, "unknown kind of value"),
            ({"scalar": "|O", "bytes": "00" * 8}, "cannot be in a model file"),
            ({"scalar": "<f8", "bytes": "00"}, "not as it should be"),
            ({"dtype": "O"}, "cannot be in a model file"),
            ({"type": "V999999999"}, "cannot be in a model file|unknown type"),
            ({"float": "1"}, "not as it should be"),
            ({"objects": ["a"], "shape": [10**12]}, "not as it should be"),
            ({"random": {"dict": {"legacy": False, "state": {"dict": {"bit_generator": "Popen"}}}}}, "unknown random"),
            ({"csr": "csr_array", "parts": {"dict": {"shape": [2, 2], "data": 1, "at": 2, "rows": 3}}}, "not as it"),
            ({"cache": {"dict": {}}}, "cache does not have the expected fields"),
        ],
        ids=lambda value: None if isinstance(value, str) else json.dumps(value)[:40],
    )
    def test_nodes(self, tmp_path, good, node, why):
        content = with_document(good, lambda doc: doc["model"]["state"].update(class_weight=node))
        refused(tmp_path, content, why)

    def test_deep_values(self, tmp_path, good):
        node: list = []
        for _ in range(200):
            node = [node]
        refused(tmp_path, with_document(good, lambda doc: doc["model"]["state"].update(gamma=node)), "too deeply")

    @pytest.mark.parametrize("name", ["predict", "__class__", "__dict__", "a b"])
    def test_attributes(self, tmp_path, good, name):
        refused(
            tmp_path, with_document(good, lambda doc: doc["model"]["state"].update({name: 1})), "attribute|parameter"
        )

    def test_generator_behind_its_end(self, tmp_path, good):
        def change(doc):
            state = doc["model"]["state"]["random_state"]["random"]["dict"]["state"]["dict"]
            state["state"]["dict"]["pos"] = 625

        refused(tmp_path, with_document(good, change), "beyond its end")

    def test_missing_parameters_get_their_defaults(self, tmp_path, good):
        """So it is with a file that is older than a parameter."""
        path = tmp_path / "old.frugal"
        path.write_bytes(with_document(good, lambda doc: doc["model"]["state"].pop("new_classes")))
        assert load(path).new_classes == "error"


class TestArrays:
    """State that does not fit together never reaches compiled code, which checks no bounds."""

    @pytest.mark.parametrize(
        ("field", "array"),
        [
            ("rows", np.zeros((16, 2), np.float32)),
            ("rows", np.zeros((1, 3), np.float32)),
            ("norms", np.zeros(15, np.float32)),
            ("weights", np.zeros((1, 1), np.float32)),
            ("coef", np.zeros((3, 16))),
            ("counts", np.array([17, 0, 0, 0, 0, 0])),
            ("counts", np.array([-1, 0, 0, 0, 0, 0])),
            ("counts", np.zeros(6)),
            ("counts", np.zeros(5, np.int64)),
            ("scalars", np.zeros(4)),
        ],
        ids=lambda value: value if isinstance(value, str) else f"{value.dtype}{value.shape}",
    )
    def test_state_that_does_not_fit(self, tmp_path, good, field, array):
        refused(tmp_path, with_array(good, number_of(good, field), array), "malformed")

    def test_the_same_array_is_fine(self, tmp_path, good):
        """The test above would be worth nothing if `with_array` broke the file in another way."""
        number = number_of(good, "norms")
        path = tmp_path / "same.frugal"
        path.write_bytes(with_array(good, number, load(GOOD)._expansion.norms))
        assert load(path).predict(np.zeros((1, 3), np.float32)).shape == (1,)

    def test_number_of_features(self, tmp_path, good):
        refused(
            tmp_path, with_document(good, lambda doc: doc["model"]["state"].update(n_features_in_=4)), "fit together"
        )

    @pytest.mark.parametrize(
        "description",
        [
            {"dtype": "|O", "shape": [16], "fortran_order": False},
            {"dtype": "<f4", "shape": [10**18], "fortran_order": False},
            {"dtype": "<f4", "shape": [2**32, 2**32], "fortran_order": False},
            {"dtype": "<f4", "shape": [-16], "fortran_order": False},
            {"dtype": "<f4", "shape": [[16]], "fortran_order": False},
            {"dtype": "<f4", "shape": [1] * 50, "fortran_order": False},
            {"dtype": "<f4", "shape": "16", "fortran_order": False},
            {"dtype": ["<f4"], "shape": [16], "fortran_order": False},
            {"shape": [16]},
            7,
        ],
        ids=str,
    )
    def test_descriptions_and_headers(self, tmp_path, good, description):
        """The description alone, and the array's own header in agreement with it."""
        number = number_of(good, "norms")
        change = lambda doc: doc["arrays"].__setitem__(number, description)  # noqa: E731
        content = with_document(good, change)
        refused(tmp_path, content)
        if isinstance(description, dict) and len(description) == 3:
            entries = entries_of(content)
            described = copy.deepcopy(description)
            text = str(
                {"descr": described["dtype"], "fortran_order": False, "shape": tuple(described["shape"])}
            ).encode()
            data = b"\x93NUMPY\1\0" + struct.pack("<H", len(text) + 1) + text + b"\n" + bytes(64)
            refused(tmp_path, sealed(entries | {f"arrays/{number}.npy": data}))

    @pytest.mark.parametrize(
        "data", [b"", b"\x93NUMPY", b"\x93NUMPY\1\0\xff\xff" + b"(" * 70_000, b"\x93NUMPY\3\0" + bytes(99)]
    )
    def test_broken_headers(self, tmp_path, good, data):
        refused(tmp_path, sealed(entries_of(good) | {"arrays/0.npy": data}), "malformed")

    def test_missing_and_additional_arrays(self, tmp_path, good):
        entries = entries_of(good)
        refused(
            tmp_path, sealed(entries | {"arrays/99.npy": entries["arrays/0.npy"]}), "not those that the model refers to"
        )
        del entries["arrays/0.npy"]
        refused(tmp_path, sealed(entries), "not those that the model refers to")


def test_memory_stays_small(tmp_path, good):
    """What asks for much memory gets little."""
    number = number_of(good, "rows")
    huge = {"dtype": "<f4", "shape": [2**34], "fortran_order": False}
    hostile = [
        with_document(good, lambda doc: doc["arrays"].__setitem__(number, huge)),
        with_document(good, lambda doc: doc["model"]["state"].update(gamma={"objects": [1], "shape": [2**34]})),
        sealed(entries_of(good) | {"model.json": b"[" * (8 * 2**20)}),
    ]
    tracemalloc.start()
    try:
        for content in hostile:
            refused(tmp_path, content)
        assert tracemalloc.get_traced_memory()[1] < CAP
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("slots", "n_covered", "is_sound"),
    [([1, 0, 0], 3, True), ([], 0, True), ([UNKNOWN], 1, True), ([1, UNKNOWN, 0], 3, False), ([1, 3, 0], 3, False)],
)
def test_neighbors_are_known_where_compiled_code_looks(slots, n_covered, is_sound):
    neighbors = new_neighbors(16)
    neighbors.slot[: len(slots)] = slots
    neighbors.state["n_covered"] = n_covered
    assert neighbors.is_sound({"s": 16}) is is_sound


def test_a_scaler_that_watches_has_limits(tmp_path):
    scaler = StreamingScaler().fit(np.random.default_rng(0).normal(size=(200, 2)))
    scaler.freeze()
    save(scaler, tmp_path / "scaler.frugal")
    assert load(tmp_path / "scaler.frugal").watches
    scaler.limit_ = None
    save(scaler, tmp_path / "scaler.frugal")
    with pytest.raises(ModelFileError):
        load(tmp_path / "scaler.frugal")


def test_switches_are_plain_values(tmp_path):
    content = (FOLDER / "0.1" / "regressor.frugal").read_bytes()
    wrong = with_document(content, lambda document: document["model"]["state"].update(non_crossing={"array": 0}))
    refused(tmp_path, wrong, "non_crossing cannot be")


def test_origins_of_models_for_prediction_are_bounded(tmp_path):
    X, y = blobs(60, 3, 2, seed=1)
    path = tmp_path / "model.frugal"
    save(LASVMClassifier(gamma=0.3).fit((X + 1e4).astype(np.float32), y), path, for_prediction=True)
    content = path.read_bytes()
    assert load(path).origin_.point.min() > 1e3
    path.unlink()
    number = json.loads(entries_of(content)["model.json"])["model"]["state"]["_origin"]["fields"]["point"]["array"]
    refused(tmp_path, with_array(content, number, np.full(3, 1e20)), "do not fit together")
