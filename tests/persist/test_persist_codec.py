"""Values come back as what they were; classes of other packages register themselves."""

import json
import math
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone

from frugalsvm import ASSETClassifier, BSGDClassifier
from frugalsvm.core.kernels import RBF, Linear
from frugalsvm.persist import ModelFileError, describe, load, register, save
from frugalsvm.persist.codec import Decoder, Encoder
from frugalsvm.pipelines import StreamPipeline


def there_and_back(value):
    encoder = Encoder()
    node = json.loads(json.dumps(encoder.encode(value), allow_nan=False))
    return Decoder(encoder.arrays).decode(node)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        10**30,
        0.1 + 0.2,
        -0.0,
        math.inf,
        -math.inf,
        "text \N{SNOWMAN}\0",
        [1, [2.0, None]],
        (1, (), "a"),
        {"a": 1, "b": {}},
        {0: 1.0, "one": 2, (1, 2): 3, np.int64(4): 5},
        np.float32(0.1),
        np.int8(-3),
        np.str_("bee"),
        np.bool_(True),
        np.dtype("f4"),
        np.float64,
        RBF(0.5),
        Linear(),
    ],
    ids=repr,
)
def test_values(value):
    copy = there_and_back(value)
    assert copy == value
    assert type(copy) is type(value)


def test_nan():
    assert math.isnan(there_and_back(math.nan))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
        np.arange(10, dtype=">u4")[::2],
        np.array(["a", "longer"]),
        np.array([b"x", b"yz"]),
        np.zeros((0, 3), np.float32),
        np.array(5),
        np.array([True, False]),
        np.array(["a", None, 3, 2.5], object),
        np.array([[1j, 2]]),
    ],
    ids=lambda array: f"{array.dtype}-{array.shape}",
)
def test_arrays(array, tmp_path):
    save(BSGDClassifier(class_weight=array), tmp_path / "model.frugal")
    for mmap in (False, True):
        copy = load(tmp_path / "model.frugal", mmap=mmap).class_weight
        assert copy.dtype == array.dtype.newbyteorder("=")
        assert copy.shape == array.shape
        assert copy.tolist() == array.tolist()
        assert copy.flags.writeable
        assert copy.flags.aligned
        assert copy.flags.c_contiguous or (array.flags.f_contiguous and copy.flags.f_contiguous)


def test_shared_arrays_stay_shared(tmp_path):
    array = np.arange(3.0)
    save(BSGDClassifier(class_weight={"a": array, "b": array, "c": array.copy()}), tmp_path / "model.frugal")
    copy = load(tmp_path / "model.frugal").class_weight
    assert copy["a"] is copy["b"]
    assert copy["a"] is not copy["c"]


@pytest.mark.parametrize("kind", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_generators_go_on(kind):
    bits = getattr(np.random, kind)
    for generator in (np.random.Generator(bits(1)), np.random.RandomState(bits(1))):
        generator.normal(size=7)
        if isinstance(generator, np.random.Generator):
            generator.integers(10, size=3, dtype=np.int32)  # leaves half a word
        copy = there_and_back(generator)
        np.testing.assert_array_equal(copy.normal(size=5000), generator.normal(size=5000))


@pytest.mark.parametrize("make", [csr_array, csr_matrix])
def test_sparse(make):
    matrix = make(np.array([[0, 1.5, 0], [2, 0, 0]], np.float32))
    copy = there_and_back(matrix)
    assert type(copy) is type(matrix)
    assert (copy != matrix).nnz == 0
    assert copy.dtype == matrix.dtype


class Foreign(NamedTuple):
    a: int


def test_refusals():
    loop: list = []
    loop.append(loop)
    for value, why in [
        (Foreign(1), "not in the registry"),
        (loop, "contains itself"),
        (object(), "not registered"),
        (np.array([object()]), "strings and numbers"),
        (np.array(["2020"], "M8[D]"), "cannot be in a model file"),
        (np.zeros(2, [("a", int)]), "cannot be in a model file"),
        ({1, 2}, "not registered"),
        (len, "not registered"),
    ]:
        with pytest.raises(ModelFileError, match=why):
            Encoder().encode(value)


def test_roots_and_metadata_are_checked(tmp_path):
    path = tmp_path / "model.frugal"
    for model, metadata, why in [
        ([1, 2], None, "not a list"),
        (BSGDClassifier(), [1], "must be a dict"),
        (BSGDClassifier(), {"a": np.zeros(3)}, "arrays are for models"),
        (BSGDClassifier(), {"a": "x" * 10**7}, "more than 8388608 bytes"),
    ]:
        with pytest.raises(ModelFileError, match=why):
            save(model, path, metadata=metadata)
    assert not path.exists()


def test_describe(tmp_path):
    metadata = {"history": [1, (2, math.nan)], "best": np.float32(0.5)}
    weights = {0: 2.0, 1: np.float64(1.0)}
    model = BSGDClassifier(budget=7, class_weight=weights, random_state=np.random.RandomState(0))
    save(model, tmp_path / "model.frugal", metadata=metadata)
    about = describe(tmp_path / "model.frugal")
    assert about.estimator == "BSGDClassifier"
    assert set(about.parameters) == set(model.get_params())
    assert about.parameters["budget"] == 7
    assert about.parameters["class_weight"] == {"0": 2.0, "1": 1.0}
    assert about.parameters["random_state"] == "<random>"
    assert about.metadata["best"] == 0.5
    assert about.metadata["history"][0] == 1
    assert {"frugalsvm", "numpy", "python"} <= set(about.versions)
    assert about.file_bytes == (tmp_path / "model.frugal").stat().st_size
    assert about.array_bytes == 624 * 4  # the state of the generator


class Pipeline:
    """What a pipeline may look like: any class with attributes, with an estimator in it."""

    def __init__(self, model):
        self.model, self.mean, self.lock = model, np.zeros(3), len

    def __getstate__(self):
        return {"model": self.model, "mean": self.mean}

    def __setstate__(self, state):
        vars(self).update(state, lock=len)


class Note(NamedTuple):
    text: str


class Labelled:
    def __init__(self, note):
        self.note = note


def test_registered_classes(tmp_path):
    path = tmp_path / "pipeline.frugal"
    with pytest.raises(ModelFileError, match="Pipeline cannot be saved"):
        save(Pipeline(None), path)
    for cls in (Pipeline, Note, Labelled):
        assert register(cls) is cls
    save(Pipeline(Labelled(Note("hello"))), path)
    copy = load(path)
    assert type(copy) is Pipeline
    assert copy.lock is len
    assert copy.model.note == Note("hello")
    assert describe(path).parameters["model"] == {"class": "Labelled", "note": {"part": "Note", "text": "hello"}}
    with pytest.raises(ValueError, match="registered for another class"):
        register(type("Pipeline", (), {"__module__": "elsewhere"}))
    with pytest.raises(ValueError, match=r"belongs to a class of|registered for another class"):
        register(Labelled, name="TVMClassifier")


def test_registered_functions(tmp_path):
    class Shelf:
        def __init__(self, books):
            self._books = books

    register(
        Shelf,
        name="a shelf",
        get_state=lambda shelf: {"titles": sorted(shelf._books)},
        set_state=lambda shelf, state: Shelf.__init__(shelf, set(state["titles"])),
    )
    save(Shelf({"b", "a"}), tmp_path / "shelf.frugal")
    assert load(tmp_path / "shelf.frugal")._books == {"a", "b"}


def test_importing_the_package_stays_light():
    code = "import sys, frugalsvm; assert not any(m.startswith(('frugalsvm.persist', 'numba')) for m in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_kernel_that_is_a_function_has_its_own_sentence(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = ASSETClassifier(kernel=lambda A, B: A @ B.T + 1.0, n_components=10).fit(X, X[:, 0] > 0)
    for each in (model, clone(model), StreamPipeline(clone(model))):
        with pytest.raises(ModelFileError, match=r"its kernel is a Python function.*kernel that has a name.*joblib"):
            save(each, tmp_path / "model.frugal")
    assert not list(tmp_path.iterdir())


def test_a_device_that_is_none_is_refused(tmp_path):
    """Whether one is at hand is found out later: files are read elsewhere than they were written."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = ASSETClassifier(n_components=10, gamma=1.0).fit(X, X[:, 0] > 0)
    for device, is_one in (("cuda:1", True), ("torch", True), ("balanced", False), ("cuda:x", False)):
        save(model.set_params(device=device), tmp_path / "model.frugal")
        if is_one:
            assert load(tmp_path / "model.frugal").device == device
        else:
            with pytest.raises(ModelFileError, match="device"):
                load(tmp_path / "model.frugal")
