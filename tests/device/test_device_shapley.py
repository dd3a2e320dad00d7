"""Shapley values in operations on whole arrays, of NumPy and of PyTorch, equal those of compiled code."""

import numpy as np
import pytest

from frugalsvm import ASSETClassifier
from frugalsvm.arrays import shapley
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.quadrature import new_rules
from frugalsvm.core.shapley import add_shapley_values, new_game, new_room
from frugalsvm.explain import shapley_values
from frugalsvm.export import PlainModel

rng = np.random.default_rng(0)


def both(arrays, kernel, rows, vectors, background, first=None):
    """Values (n_rows, n_outputs, n_players) on the device, and by compiled code."""
    first = np.arange(rows.shape[1] + 1) if first is None else first
    n_players, coefficients = len(first) - 1, rng.normal(size=(2, len(vectors)))
    rules = new_rules(n_players, 1e-12)
    found = shapley.array_shapley_values(arrays, kernel, rows, background, vectors, coefficients, first, rules)
    expected = np.zeros_like(found)
    room = new_room(n_players, len(rows), len(background))
    add_shapley_values(kernel, rows, background, rules, new_game(vectors, coefficients, first), room, expected)
    return found, expected


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "chi2"])
@pytest.mark.parametrize("n_background", [0, 3])
def test_equals_compiled_code(arrays, kernel, n_background, monkeypatch):
    monkeypatch.setattr(shapley, "_BLOCK_VALUES", 2**10)  # several blocks of rows
    rows, vectors = rng.gamma(2.0, 0.5, size=(13, 23)), rng.gamma(2.0, 0.5, size=(20, 23))
    for gamma in (1e-6, 0.05, 2.0):
        found, expected = both(arrays, KERNELS[kernel](gamma), rows, vectors, rows[:n_background])
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("n_background", [0, 2])
def test_features_of_a_player_come_together(arrays, n_background):
    rows, vectors, first = rng.normal(size=(5, 11)), rng.normal(size=(30, 11)), np.array([0, 2, 3, 4, 8, 9, 10, 11])
    found, expected = both(arrays, KERNELS["rbf"](0.3), rows, vectors, rows[:n_background], first)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_background", [0, 2])
def test_784_features_with_tiny_factors(arrays, n_background):
    exponents = rng.uniform(0.0, 30.0 * np.log(10.0), size=(20, 784)) * (rng.random((20, 784)) < 0.3)
    rows, background = np.zeros((1, 784)), rng.normal(scale=0.1, size=(2, 784))[:n_background]
    found, expected = both(arrays, KERNELS["rbf"](1.0), rows, np.sqrt(exponents), background)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("device", ["torch", "auto"])
def test_a_model_is_explained_on_a_device(device):
    if device == "torch":
        pytest.importorskip("torch")
        pytest.importorskip("array_api_compat")
    X = rng.normal(size=(300, 5))
    model = ASSETClassifier(n_components=40, gamma=0.2, metric=[1.0, 2.0, 0.0, 1.0, 0.5], random_state=0)
    model.fit(X, np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7]))
    for background in (None, X[:10]):
        expected = shapley_values(model, X[:20], background)
        found = shapley_values(model, X[:20], background, device=device)
        np.testing.assert_allclose(found.values, expected.values, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(found.base_values, expected.base_values)


def test_tensors_are_rows():
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    X = rng.normal(size=(30, 4))
    model = PlainModel("rbf", X[:20], rng.normal(size=(1, 20)), np.zeros(1), "value", gamma=0.2)
    found = shapley_values(model, torch.from_numpy(X), torch.from_numpy(X[:5]), device="torch")
    np.testing.assert_allclose(found.values, shapley_values(model, X, X[:5]).values, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.data, X)


def test_a_device_that_is_none_is_refused():
    for kernel in ("rbf", "linear"):
        model = PlainModel(kernel, rng.normal(size=(5, 3)), np.ones((1, 5)), np.zeros(1), "value")
        with pytest.raises(ValueError, match=r"device must be 'cpu', 'cuda'.*, not 'tpu'"):
            shapley_values(model, np.zeros((2, 3)), device="tpu")
