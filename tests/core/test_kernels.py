"""Kernel rows, scored rows and single values against scikit-learn's."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import Matern
from sklearn.metrics.pairwise import (
    additive_chi2_kernel,
    chi2_kernel,
    cosine_similarity,
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
)

from frugalsvm.compiling.functions import entry
from frugalsvm.core.capabilities import offers
from frugalsvm.core.feature_sums import SUMS, Chi2Distances, L1Distances, Minima
from frugalsvm.core.kernels import KERNELS as REGISTRY
from frugalsvm.core.kernels import (
    RBF,
    Chi2,
    Cosine,
    Intersection,
    Laplacian,
    Linear,
    Poly,
    Tanimoto,
    kernel_row,
    kernel_value,
    pairing_of,
    scored_row,
    self_value,
)
from frugalsvm.core.matern import Matern12, Matern32, Matern52
from frugalsvm.core.pairing import Products

KERNELS = {
    "rbf": (RBF(0.3), lambda X, Z: rbf_kernel(X, Z, gamma=0.3)),
    "laplacian": (Laplacian(0.3), lambda X, Z: laplacian_kernel(X, Z, gamma=0.3)),
    "matern12": (Matern12(0.3), Matern(0.3**-0.5, nu=0.5)),
    "matern32": (Matern32(0.3), Matern(0.3**-0.5, nu=1.5)),
    "matern52": (Matern52(0.3), Matern(0.3**-0.5, nu=2.5)),
    "chi2": (Chi2(0.3), lambda X, Z: chi2_kernel(X, Z, gamma=0.3)),
    "intersection": (Intersection(), lambda X, Z: np.minimum(X[:, None], Z[None]).sum(axis=2)),
    "tanimoto": (Tanimoto(), lambda X, Z: 1.0 / (cdist(X, Z, "sqeuclidean") / (X @ Z.T) + 1.0)),
    "cosine": (Cosine(), cosine_similarity),
    "poly": (Poly(0.3, 1.5, 3), lambda X, Z: polynomial_kernel(X, Z, gamma=0.3, coef0=1.5, degree=3)),
    "linear": (Linear(), linear_kernel),
}
PAIRS = {
    L1Distances: lambda Z, x: cdist(Z, x, "cityblock"),
    Chi2Distances: lambda Z, x: -additive_chi2_kernel(Z, x),
    Minima: lambda Z, x: np.minimum(Z, x).sum(axis=1, keepdims=True),
    Products: lambda Z, x: Z @ x.T,
}
N = 37  # not a multiple of a vector


@entry
def all_ways(kernel, products, norms, norm_x, weights, row, scored, values, n):
    """One kernel row by each of the three functions; returns the score."""
    kernel_row(kernel, products, norms, norm_x, row, n)
    score = scored_row(kernel, products, norms, norm_x, weights, scored, n)
    for j in range(n):
        product, norm_z = np.float64(products[j]), np.float64(norms[j])
        values[j] = kernel_value(kernel, product, np.float64(norm_x), norm_z)
    return score


@pytest.fixture(scope="module", params=KERNELS)
def named_kernel(request):
    return KERNELS[request.param]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_scores_and_values(named_kernel, dtype):
    kernel, reference = named_kernel
    rng = np.random.default_rng(0)
    x, Z = rng.normal(size=(1, 6)).astype(dtype), rng.normal(size=(N + 2, 6)).astype(dtype)
    if offers(kernel, "nonnegative"):
        x, Z = np.abs(x), np.abs(Z)
    Z[3] = x  # distance 0
    weights = rng.normal(size=(2, N + 2)).astype(dtype)
    products = PAIRS[type(pairing_of(kernel))](Z, x)[:, 0].astype(dtype)
    norms = np.square(Z).sum(axis=1)
    row, scored, values = np.full(N + 2, -7, dtype), np.full(N + 2, -7, dtype), np.zeros(N + 2)

    score = all_ways(kernel, products, norms, np.square(x[0]).sum(), weights, row, scored, values, N)

    expected = reference(Z.astype(np.float64), x.astype(np.float64))[:N, 0]
    scale = np.abs(expected).max()
    tolerance = 30 * float(np.finfo(dtype).eps) * scale
    np.testing.assert_allclose(row[:N], expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(values[:N], expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(scored[:N], row[:N], rtol=0, atol=tolerance)
    # Only the first row of weights counts
    assert score == pytest.approx(weights[0, :N].astype(np.float64) @ expected, abs=N * tolerance)
    # Nothing is written beyond the slots in use
    assert np.all(row[N:] == -7)
    assert np.all(scored[N:] == -7)


def test_rbf_is_never_above_one():
    """Rounding can make a squared distance negative: of x with itself, say."""
    rng = np.random.default_rng(0)
    Z = (100.0 * rng.normal(size=(N, 6))).astype(np.float32)
    row, scored, values = np.zeros(N, np.float32), np.zeros(N, np.float32), np.zeros(N)
    kernel = RBF(0.3)
    above = 0
    for i in range(N):
        products = np.full(N, np.float32(Z[i] @ Z[i]))
        norms = np.full(N, np.float32(np.square(Z[i]).sum() * (1 - 1e-6)))
        all_ways(kernel, products, norms, norms[0], np.ones((2, N), np.float32), row, scored, values, N)
        above += products[-1] > norms[0]
        assert row.max() == scored.max() == values.max() == 1.0
    assert above > 0


@pytest.mark.parametrize("name", REGISTRY)
def test_what_a_kernel_is_made_of_is_what_it_declares(name):
    kernel = REGISTRY[name](*[1] * len(REGISTRY[name]._fields))
    assert isinstance(pairing_of(kernel), SUMS) == offers(kernel, "by_feature") == (not offers(kernel, "products"))
    assert isinstance(pairing_of(kernel), L1Distances) == offers(kernel, "l1")
    if offers(kernel, "shift_invariant"):
        assert self_value(kernel, 5.0) == 1.0


@pytest.mark.parametrize("name", ["matern12", "matern32", "matern52"])
def test_rounding_errors_have_no_roots(name):
    """Of a row with itself the squared distance is a rounding error, whose root would be an error of a thousandth."""
    X = (3.0 + np.random.default_rng(0).normal(size=(N, 20))).astype(np.float32)
    norms = np.square(X).sum(axis=1)
    row, scored, values = np.zeros(N, np.float32), np.zeros(N, np.float32), np.zeros(N)
    for i in range(N):
        all_ways(REGISTRY[name](0.3), X @ X[i], norms, norms[i], np.ones((2, N), np.float32), row, scored, values, N)
        assert row[i] == pytest.approx(1.0, abs=1e-6)
