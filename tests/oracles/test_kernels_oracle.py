"""Checks of the oracle of kernels: scikit-learn's values, and differences for derivatives."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from .kernels import ORDERS, gamma_derivative, gradient, value

GAMMA = 0.3
NAMES = ["rbf", "laplacian", *ORDERS]
STEP = 1e-6

each_name = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(7, 4)), rng.normal(size=(5, 4))


@each_name
def test_values_are_those_of_scikit_learn(rows, name):
    if name == "rbf":
        expected = rbf_kernel(*rows, gamma=GAMMA)
    elif name == "laplacian":
        expected = laplacian_kernel(*rows, gamma=GAMMA)
    else:
        expected = Matern(length_scale=GAMMA**-0.5, nu=ORDERS[name] / 2)(*rows)
    np.testing.assert_allclose(value(name, *rows, GAMMA), expected, rtol=1e-12)


@each_name
def test_gradients(rows, name):
    X, Z = rows
    for f in range(X.shape[1]):
        step = STEP * np.eye(X.shape[1])[f]
        expected = (value(name, X + step, Z, GAMMA) - value(name, X - step, Z, GAMMA)) / (2 * STEP)
        np.testing.assert_allclose(gradient(name, X, Z, GAMMA)[:, :, f], expected, atol=1e-8)


@each_name
def test_derivatives_with_respect_to_gamma(rows, name):
    expected = (value(name, *rows, GAMMA + STEP) - value(name, *rows, GAMMA - STEP)) / (2 * STEP)
    np.testing.assert_allclose(gamma_derivative(name, *rows, GAMMA), expected, atol=1e-8)
