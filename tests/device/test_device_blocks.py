"""Learning with blocks from a device: the same model as without, but for the rounding of kernel values."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from frugalsvm import BSGDClassifier
from frugalsvm.budgeted import device_blocks as blocks
from frugalsvm.datasets import make_checkerboard

SLOW = pytest.mark.slow  # what they have in common with the others is machine code of its own


def rows(n=700, n_features=12, n_classes=2, dtype=np.float64):
    """Two features decide, ten are noise."""
    X, y = make_checkerboard(n, random_state=0)
    rng = np.random.default_rng(1)
    X = np.column_stack([X, 0.1 * rng.normal(size=(n, n_features - 2))]).astype(dtype)
    return X, (y > 0).astype(int) if n_classes == 2 else rng.permutation(n_classes)[np.digitize(X[:, 0], [-0.5, 0.5])]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch, arrays):
    """On NumPy as well, which no estimator asks for by name."""
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 32)
    monkeypatch.setattr("frugalsvm.estimators._bsgd.arrays_on", lambda device: arrays if device == "here" else NoDevice)


class NoDevice:
    is_torch = False


@pytest.fixture
def learned(arrays, monkeypatch):
    """Two models, one by blocks."""
    monkeypatch.setattr(arrays, "is_torch", True)
    if arrays.xp is np:
        monkeypatch.setattr(arrays, "asarray", np.asarray)
        monkeypatch.setattr(arrays, "land", lambda array, place: np.copyto(place, array))

    def pair(X, y, **settings):
        settings = {"gamma": 4.0, "alpha": 1e-3, "random_state": 0, "budget": 40, **settings}
        return [BSGDClassifier(device=device, **settings).fit(X, y) for device in ("cpu", "here")]

    return pair


def check_equal(first, second, tolerance=2e-3):
    assert first.n_updates_ == second.n_updates_
    np.testing.assert_allclose(first.support_vectors_, second.support_vectors_, rtol=tolerance, atol=tolerance)
    scale = np.abs(first.dual_coef_).max()
    np.testing.assert_allclose(first.dual_coef_ / scale, second.dual_coef_ / scale, atol=tolerance)


@pytest.mark.parametrize(
    ("n_classes", "maintenance"),
    [(2, "merge"), (3, "merge"), *(pytest.param(n, "remove", marks=SLOW) for n in (2, 3))],
)
def test_same_model(learned, maintenance, n_classes):
    check_equal(*learned(*rows(n_classes=n_classes), maintenance=maintenance))


SETTINGS = [{"budget": None}, {"max_iter": 3, "average": True}, {"class_weight": {0: 0.5, 1: 2.0}}]
SLOW_SETTINGS = [
    {"learner": "norma", "eta0": 0.5},
    {"learner": "perceptron", "radius": 20.0},
    {"kernel": "poly", "maintenance": "remove", "gamma": 0.3, "degree": 2},
    {"kernel": "laplacian", "maintenance": "remove", "gamma": 1.0},
    {"kernel": "matern32", "maintenance": "remove", "gamma": 1.0},
    {"average": "post"},
]


@pytest.mark.parametrize("settings", [*SETTINGS, *(pytest.param(each, marks=SLOW) for each in SLOW_SETTINGS)], ids=str)
def test_all_kinds_of_learners(learned, settings):
    check_equal(*learned(*rows(), **settings), tolerance=1e-2)


def test_sparse_rows_and_float32(learned):
    X, y = rows()
    check_equal(*learned(X.astype(np.float32), y))
    check_equal(*learned(csr_array(X), y))


def test_coefficients_that_are_folded_within_a_block(learned):
    """The lazy scale is multiplied in when it is small: what was computed before must follow."""
    first, second = learned(*rows(), learner="norma", eta0=1.0, alpha=0.9)
    # Without folding, it would be the product of all 1 - alpha / sqrt(t), which is below 1e-20.
    assert min(each._expansion.scalars[0]["scale"] for each in (first, second)) > 1e-10
    check_equal(first, second, tolerance=1e-2)


@pytest.mark.usefixtures("learned")
def test_projection_is_for_the_cpu():
    with pytest.raises(ValueError, match="maintenance='project' is for device='cpu'"):
        BSGDClassifier(maintenance="project", device="here").fit(*rows())
