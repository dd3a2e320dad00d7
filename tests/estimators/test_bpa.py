"""BPAClassifier: what its variants and parameters do."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.utils import compute_sample_weight
from support import assert_same_estimator, blobs

from frugalsvm import BPAClassifier
from frugalsvm.budgeted.strategies import VARIANTS


def new_model(variant="nn", budget=10, **kwargs):
    """A small model that takes rows in order, so that results can be compared."""
    return BPAClassifier(variant, budget, **{"gamma": 0.3, "shuffle": False, **kwargs})


@pytest.fixture(scope="module")
def binary():
    return blobs(200, 3, 2, seed=0)


@pytest.mark.parametrize("variant", VARIANTS)
class TestEveryVariant:
    def test_counts(self, binary, variant):
        model = new_model(variant).fit(*binary)
        assert 50 < model.n_updates_ <= 200
        assert model.n_maintenance_ == model.n_updates_ - 10

    def test_last_example_has_its_margin(self, binary, variant):
        """With a large C, what was learned last has a margin of 1, whatever was removed for it."""
        X, y = binary
        for n in range(100, 120):
            model = new_model(variant, C=1e6).fit(X[:n], y[:n])
            assert (2 * y[n - 1] - 1) * model.decision_function(X[n - 1 : n])[0] >= 1.0 - 1e-6


def test_no_budget():
    """The parent algorithm, passive-aggressive learning, by definition."""
    X, y = blobs(500, 3, 2, seed=0)
    gram, coef = rbf_kernel(X, gamma=0.3), np.zeros(500)
    for i, sign in enumerate(2 * y - 1):
        coef[i] = sign * np.clip(1.0 - sign * (gram[i] @ coef), 0.0, 0.5)  # K(x, x) = 1
    model = new_model(budget=None, C=0.5).fit(X, y)
    assert np.count_nonzero(coef) > 256  # more than there was room for in the beginning
    np.testing.assert_array_equal(model.support_vectors_, X[coef != 0])
    np.testing.assert_allclose(model.dual_coef_[0], coef[coef != 0], rtol=1e-9, atol=1e-12)
    assert (model.budget_, model.n_maintenance_) == (None, 0)


def test_polynomial_kernel(binary):
    X, y = binary
    model = new_model(kernel="poly", gamma=0.1, degree=2, coef0=0.5).fit(X, y)
    expected = polynomial_kernel(X, model.support_vectors_, degree=2, gamma=0.1, coef0=0.5) @ model.dual_coef_[0]
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-8, atol=1e-8)


def test_weights_are_factors_of_the_largest_step(binary):
    X, y = binary
    smaller = new_model("simple", C=0.1).fit(X, y)
    assert np.abs(smaller.dual_coef_).max() < np.abs(new_model("simple", C=1.0).fit(X, y).dual_coef_).max()
    weighted = new_model("simple", C=1.0).fit(X, y, sample_weight=np.full(200, 0.1))
    np.testing.assert_allclose(weighted.dual_coef_, smaller.dual_coef_, rtol=1e-9)
    expected = new_model().fit(X, y, sample_weight=np.where(y == 1, 3.0, 0.5))
    for model in (
        new_model(class_weight={0: 0.5, 1: 3.0}).fit(X, y),
        new_model(C=0.5, class_weight={1: 6.0}).fit(X, y),
    ):
        np.testing.assert_allclose(model.dual_coef_, expected.dual_coef_, rtol=1e-9)
    balanced = new_model(class_weight="balanced").fit(X, y)
    assert_same_estimator(balanced, new_model().fit(X, y, compute_sample_weight("balanced", y)))
