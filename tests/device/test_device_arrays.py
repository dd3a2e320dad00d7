"""Devices by name: what is there, what is missing, and what to do about it."""

import subprocess
import sys

import numpy as np
import pytest

from frugalsvm.arrays import namespace as module
from frugalsvm.arrays.namespace import DeviceError, arrays_on, available_devices, is_torch, on_host


@pytest.fixture
def without_torch(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)


@pytest.mark.parametrize("name", ["gpu", "CUDA", "cuda:", "cuda:x", "torch:1", "cuda:-1", "", None, 0, True])
def test_wrong_names(name):
    with pytest.raises(ValueError, match=r"device must be 'cpu', 'cuda', .* or 'auto', not "):
        arrays_on(name)


@pytest.mark.parametrize("name", ["cuda", "cuda:1", "torch"])
def test_without_torch(without_torch, name):
    with pytest.raises(DeviceError, match=r"pip install 'frugalsvm\[torch\]', or choose device='cpu' or 'auto'"):
        arrays_on(name)


def test_what_is_there_without_torch(without_torch):
    assert available_devices()["cuda"].startswith("not available: PyTorch is not installed")
    assert "pip install" in available_devices()["cuda"]


def test_auto_falls_back(without_torch, recwarn):
    made = arrays_on("auto")
    assert (made.xp, made.device, made.is_torch) == (np, "cpu", False)
    assert not recwarn


class TestWithTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        pytest.importorskip("array_api_compat")
        return pytest.importorskip("torch")

    def test_without_a_gpu(self, torch, monkeypatch):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        with pytest.raises(DeviceError, match=r"needs a GPU, but PyTorch .* sees no GPU\. .* choose device='cpu'"):
            arrays_on("cuda")
        assert arrays_on("auto").xp is np
        assert "sees no GPU" in available_devices()["cuda"]

    def test_a_gpu_that_is_not_there(self, torch, monkeypatch):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
        with pytest.raises(DeviceError, match=r"'cuda:2' does not exist: the number of GPUs is 2, from 0"):
            arrays_on("cuda:2")

    def test_a_tensor_of_this_device_is_not_copied(self, torch):
        made, rows = arrays_on("torch"), torch.zeros((3, 2))
        assert made.asarray(rows).data_ptr() == rows.data_ptr()
        assert made.holds(rows)
        assert not made.holds(torch.zeros((3, 2), device="meta"))
        assert not made.holds(rows.numpy())
        assert not arrays_on("cpu").holds(rows)

    @pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "uint8", "int64"])
    def test_tensors_on_the_host(self, torch, dtype):
        rows = torch.arange(6).reshape(3, 2).to(getattr(torch, dtype))
        found = on_host(rows)
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(found, np.arange(6).reshape(3, 2))
        np.testing.assert_array_equal(arrays_on("cpu").asarray(rows), found)

    def test_what_needs_a_gradient(self, torch):
        np.testing.assert_array_equal(on_host(torch.ones(2, requires_grad=True)), np.ones(2))


def test_other_arrays_are_left_alone():
    rows = np.ones(3)
    assert on_host(rows) is rows
    assert on_host(None) is None
    assert not is_torch(rows)


def test_nothing_imports_torch_unless_asked():
    code = """
import sys
import numpy as np
import frugalsvm
from frugalsvm import ASSETClassifier, BSGDClassifier
X = np.random.default_rng(0).normal(size=(60, 2))
model = ASSETClassifier(n_components=8, random_state=0).fit(X, X[:, 0] > 0)
model.predict(X), model.predict(X, device="cpu")
assert "torch" not in sys.modules and "array_api_compat" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
