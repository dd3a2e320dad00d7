"""Small models of IncrementalSVC, and what must be the same of two."""

import numpy as np
import pytest

from frugalsvm import IncrementalSVC

GAMMA = 0.3
EQUAL = 1e-6


def new_model(C=1.0, **kwargs):
    return IncrementalSVC(C, **({"gamma": GAMMA} | kwargs))


def noisy_xor(n_rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return X, np.where(rng.random(n_rows) < 0.2, 1 - y, y)


def assert_same_values(first, second, X, tolerance=EQUAL):
    np.testing.assert_allclose(first.decision_function(X), second.decision_function(X), rtol=0, atol=tolerance)
    assert first.dual_objective_ == pytest.approx(second.dual_objective_, rel=1e-9)
    for model in (first, second):
        assert model.kkt_violation_ < 1e-8


def all_about(model, X):
    """What must be the same, bit by bit, after a refusal."""
    names = ("example_ids_", "support_", "support_vectors_", "dual_coef_", "intercept_", "C_", "t_")
    return [getattr(model, name) for name in names] + [model.decision_function(X), model.get_params()["C"]]


def assert_all_equal(first, second):
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
