"""No subnormal numbers where the low-rank solvers spend their time."""

import numpy as np
import pytest
from support import count_subnormals

from frugalsvm import ASSETClassifier, ASSETRegressor
from frugalsvm.core.kernels import RBF, kernel_block
from frugalsvm.lowrank import epochs, hessian
from frugalsvm.lowrank.backends.compiled import Compiled, StoredRows

LOSSES = {
    "hinge": ASSETClassifier,
    "squared_hinge": ASSETClassifier,
    "epsilon_insensitive": ASSETRegressor,
    "squared_epsilon_insensitive": ASSETRegressor,
}


@pytest.fixture
def seen(monkeypatch):
    """Arrays of a fit: kernel values or features, slopes and curvatures, weights of Hessians, changes of scores."""
    arrays = []

    def watch(owner, name, found):
        original = getattr(owner, name)

        def watched(*arguments, **named):
            result = original(*arguments, **named)
            arrays.extend(found(result, *arguments))
            return result

        monkeypatch.setattr(owner, name, watched)

    watch(StoredRows, "__init__", lambda _, rows, *rest: [rows.block])
    watch(Compiled, "slopes", lambda slopes, *rest: slopes)
    watch(Compiled, "add_scaled", lambda _, self, scores, lengths, changes: [scores.copy(), changes.copy()])
    watch(hessian.Hessian, "__init__", lambda _, self, *rest: [self.weights, self.weights.astype(np.float32)])
    watch(epochs, "features_of", lambda features, *rest: [features])
    return arrays


def with_rows_far_away(for_classes, n_rows=1500):
    """Rows around zero, and others from which all others are ever farther: kernel values take all sizes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 2))
    X[::3] = 20.0 * rng.random((len(X[::3]), 1)) * rng.normal(size=(len(X[::3]), 2))
    values = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n_rows)
    return X, np.digitize(values, [-0.5, 0.5]) if for_classes else 100 * values


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["newton", "asset", "asset*"])
def test_fits(loss, solver, seen):
    estimator = LOSSES[loss]
    X, y = with_rows_far_away(estimator is ASSETClassifier)
    model = estimator(n_components=60, loss=loss, solver=solver, C=100.0, gamma=1.0, random_state=0)
    model.set_params(max_iter=50 if solver == "newton" else 3).fit(X, y)
    assert len(seen) > 5
    assert count_subnormals(*seen) == 0
    assert count_subnormals(model._map.whitening, model._map.whitening.astype(np.float32), model.coef_) == 0


@pytest.mark.parametrize("alpha", [1e-4, 1.0])
@pytest.mark.parametrize("solver", ["asset", "asset*"])
def test_streams(alpha, solver, seen):
    """A large penalty shrinks what was learned long ago."""
    X, y = with_rows_far_away(True)
    model = ASSETClassifier(n_components=60, solver=solver, alpha=alpha, gamma=1.0, random_state=0)
    for _ in range(5):
        model.partial_fit(X, y, classes=[0, 1, 2])
    assert count_subnormals(*seen, *model._steps.state) == 0


def test_numbers_of_a_long_stream_vanish_at_once():
    """Landmarks that no row is near any more: what they have is multiplied with less than one for ever."""
    rng = np.random.default_rng(0)
    model = ASSETClassifier(n_components=20, solver="asset", alpha=10.0, gamma=1.0, average=False, random_state=0)
    X, y = rng.normal(size=(2000, 2)), rng.integers(0, 2, 2000)
    model.partial_fit(X[:40], y[:40], classes=[0, 1])
    for shift in range(1, 40):
        model.partial_fit(X + 100.0 * shift, y)
    assert count_subnormals(*model._steps.state) == 0


def test_blocks_of_kernel_values():
    """Values of all sizes down to nothing; those that are left are as they should be."""
    distances = np.linspace(0.0, 120.0, 2401, dtype=np.float32)[None]
    block = np.empty_like(distances)
    kernel_block(RBF(1.0), -distances / 2, np.zeros(distances.size, np.float32), np.zeros(1, np.float32), block)
    assert count_subnormals(block, block * np.float32(1e-16)) == 0
    near = distances < 40
    np.testing.assert_allclose(block[near], np.exp(-distances[near]), rtol=1e-5)
    assert not block[distances > 45].any()


def test_counting():
    tiny = np.finfo(np.float32).tiny
    assert count_subnormals(np.array([0, tiny, -tiny / 2, tiny / 4], np.float32), np.array([5e-324, 1.0])) == 3
    assert count_subnormals(np.arange(3), np.zeros(0)) == 0
