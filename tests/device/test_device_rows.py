"""Rows of features, wherever they come from and however they are kept: the same products."""

import numpy as np
import pytest
from device_support import Wave
from scipy.sparse import csr_array

from frugalsvm.arrays import sources
from frugalsvm.arrays.maps import kernel_map
from frugalsvm.arrays.sources import DeviceSource, HostSource
from frugalsvm.core.kernels import RBF
from frugalsvm.lowrank.backends import torch as torch_backend
from frugalsvm.lowrank.backends.torch import ComputedRows, Torch, TorchStorage, stored_rows
from frugalsvm.lowrank.losses import Hinge
from frugalsvm.lowrank.nystroem import bare_nystroem
from frugalsvm.lowrank.training import Data, new_training
from frugalsvm.lowrank.whitening import new_whitening

WIDTH = 20


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Several blocks, the last of them shorter."""
    monkeypatch.setattr(sources, "_BLOCK_NUMBERS", 64 * WIDTH)
    monkeypatch.setattr(torch_backend, "_SUM_ROWS", 70)


X = Wave(n_rows=500).X


def map_of(arrays):
    return kernel_map(arrays, RBF(0.5), arrays.asarray(X[:WIDTH]))


def expected():
    return np.exp(-0.5 * np.square(X[:, None].astype(np.float64) - X[None, :WIDTH]).sum(axis=2))


def batches():
    return (X[start : start + 130] for start in range(0, 500, 130))


SOURCES = {
    "device": lambda arrays: DeviceSource(arrays, arrays.asarray(X)),
    "host": lambda arrays: HostSource(arrays, lambda: iter((X,)), 500, X),
    "float64": lambda arrays: HostSource(arrays, lambda: iter((X.astype(np.float64),)), 500),
    "csr": lambda arrays: HostSource(arrays, lambda: iter((csr_array(X),)), 500, csr_array(X)),
    "batches": lambda arrays: HostSource(arrays, batches, 500),
    "sparse batches": lambda arrays: HostSource(arrays, lambda: (csr_array(part) for part in batches()), 500),
}
KEPT = {
    "stored": lambda arrays, source: stored_rows(Torch(arrays), map_of(arrays), source),
    "float16": lambda arrays, source: stored_rows(Torch(arrays), map_of(arrays), source, dtype="float16"),
    "computed": lambda arrays, source: ComputedRows(Torch(arrays), map_of(arrays), source),
}


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("source", SOURCES)
def test_products(arrays, source, kept):
    rng = np.random.default_rng(0)
    rows, K = KEPT[kept](arrays, SOURCES[source](arrays)), expected()
    a, w = rng.normal(size=(2, WIDTH)), rng.normal(size=(2, 500)).astype(np.float32)
    tolerance = 2e-3 if kept == "float16" else 2e-5
    assert (rows.n_rows, rows.width) == (500, WIDTH)
    scores = rows.scores(arrays.asarray(a))
    assert arrays.host(scores).dtype == np.float32
    np.testing.assert_allclose(arrays.host(scores), a @ K.T, atol=5 * tolerance)
    sums = rows.gradient(arrays.asarray(w))
    assert arrays.host(sums).dtype == np.float64
    np.testing.assert_allclose(arrays.host(sums), w @ K, atol=20 * tolerance)
    index = np.sort(rng.choice(500, 150, replace=False))
    taken = arrays.host(rows.take(arrays.asarray(index)))
    assert taken.dtype == np.float32
    np.testing.assert_allclose(taken, K[index], atol=tolerance)


def test_whitened_at_once(arrays):
    device_map, Z = map_of(arrays), arrays.asarray(X[:WIDTH])
    factor = new_whitening(arrays, device_map, Z, 1e-7, None)
    rows = stored_rows(Torch(arrays), device_map, DeviceSource(arrays, arrays.asarray(X)), factor)
    V = arrays.host(rows.block).astype(np.float64)
    np.testing.assert_allclose(V[:WIDTH] @ V[:WIDTH].T, expected()[:WIDTH], atol=1e-3)
    assert rows.subsample(30).n_rows == 30


def test_an_order_of_its_own(arrays):
    order = np.random.default_rng(0).permutation(500)
    source = DeviceSource(arrays, arrays.asarray(X), arrays.asarray(order))
    parts = [arrays.host(part) for _, part in source.blocks(64)]
    np.testing.assert_array_equal(np.concatenate(parts), X[order])
    np.testing.assert_array_equal(arrays.host(source.take(arrays.asarray(np.array([3, 9])))), X[order[[3, 9]]])


def test_batches_that_change_between_passes(arrays):
    source = HostSource(arrays, lambda: iter((X[:400],)), 500)
    with pytest.raises(ValueError, match="500 rows at first, but 400 in a later pass"):
        list(source.blocks(64))


def is_stored(made):
    return not isinstance(made.problem.rows, ComputedRows)


class TestTraining:
    def made(self, arrays, X, memory, dtype="float32", batches=None):
        feature_map = bare_nystroem(RBF(0.5), Wave(n_rows=500).X[:WIDTH])
        storage = TorchStorage(arrays, feature_map, threshold=1e-7, rank=None, memory=memory, dtype=dtype)
        data = Data(batches, X, np.ones((1, 500), np.float32), np.arange(500).astype(np.float32))
        return new_training(storage, data, Hinge(), True, 0.0, np.random.default_rng(0))

    def moved_rows(self, monkeypatch):
        """What is sent block by block."""
        seen = []
        moved = sources._moved

        def watched(arrays, parts):
            for part in moved(arrays, parts):
                seen.append(part.shape[0])
                yield part

        monkeypatch.setattr(sources, "_moved", watched)
        return seen

    def test_what_fits_is_computed_once(self, arrays, monkeypatch):
        seen = self.moved_rows(monkeypatch)
        made = self.made(arrays, X, 2**20)
        assert is_stored(made)
        assert not seen  # all rows went to the device at once
        # weights went with their rows
        order = arrays.host(made.problem.weights).astype(int)
        assert not (np.sort(order) != np.arange(500)).any()
        raw = arrays.host(made.problem.rows.block)
        np.testing.assert_allclose(raw @ raw[order < WIDTH].T, expected()[order][:, order[order < WIDTH]], atol=1e-3)

    def test_features_that_do_not_fit_are_computed_again(self, arrays, monkeypatch):
        seen = self.moved_rows(monkeypatch)
        made = self.made(arrays, X, 4 * 500 * WIDTH)
        assert not is_stored(made)
        assert isinstance(made.problem.rows, ComputedRows)
        made.problem.rows.scores(arrays.zeros((1, WIDTH)))
        assert not seen

    def test_rows_that_do_not_fit_are_sent_again(self, arrays, monkeypatch):
        monkeypatch.setattr(torch_backend, "_FOR_X", 0.0)
        seen = self.moved_rows(monkeypatch)
        made = self.made(arrays, X, 4 * 500 * WIDTH)
        for n_passes in (1, 2):
            made.problem.rows.scores(arrays.zeros((1, WIDTH)))
            assert sum(seen) == 500 * n_passes

    def test_half_precision_fits_twice_as_much(self, arrays):
        memory = 4 * 500 * WIDTH
        assert is_stored(self.made(arrays, X, memory, "float16"))
        assert not is_stored(self.made(arrays, X, memory, "float32"))

    def test_batches_keep_their_order_and_samples_do_not(self, arrays):
        made = self.made(arrays, None, 2**20, batches=batches)
        np.testing.assert_array_equal(arrays.host(made.problem.weights), np.arange(500))
        order = arrays.host(made.sample.weights).astype(int)
        assert len(set(order)) == 500
        assert not (order == np.arange(500)).all()
        raw = arrays.host(made.problem.rows.block)
        np.testing.assert_allclose(arrays.host(made.sample.rows.block), raw[order], atol=1e-6)

    def test_too_little_memory_is_refused(self, arrays):
        with pytest.raises(ValueError, match=r"1000 bytes .* too few for 20 components, which take 16000 at least"):
            self.made(arrays, X, 1000)
