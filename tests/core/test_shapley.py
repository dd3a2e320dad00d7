"""Compiled Shapley values of product kernels against the definition and the exact rule."""

import numpy as np
import pytest
from oracles.shapley import by_exact_rule, by_subsets, factors_of

from frugalsvm.arrays.namespace import HOST
from frugalsvm.arrays.shapley import array_shapley_values
from frugalsvm.core.fastmath import below_one
from frugalsvm.core.kernels import RBF, Chi2, Laplacian
from frugalsvm.core.quadrature import new_rules
from frugalsvm.core.shapley import add_shapley_values, new_game, new_room

KERNELS = {"rbf": RBF, "laplacian": Laplacian, "chi2": Chi2}


def compiled(kernel, rows, vectors, coefficients, background, first=None, tolerance=1e-12):
    """Values (n_rows, n_players, n_outputs) by compiled code."""
    first = np.arange(rows.shape[1] + 1) if first is None else first
    n_players = len(first) - 1
    out = np.zeros((len(rows), len(coefficients), n_players))
    room = new_room(n_players, len(rows), len(background))
    game = new_game(vectors, coefficients, first)
    add_shapley_values(kernel, rows, background, new_rules(n_players, tolerance), game, room, out)
    return out.transpose(0, 2, 1)


def model(n_features, n_vectors, n_outputs=1, seed=0):
    """Rows, vectors, coefficients and background rows; no value is negative, for all kernels."""
    rng = np.random.default_rng(seed)
    rows, vectors, background = (rng.gamma(2.0, 0.5, size=(n, n_features)) for n in (5, n_vectors, 3))
    return rows, vectors, rng.normal(size=(n_outputs, n_vectors)), background


@pytest.mark.parametrize("form", ["baseline", "interventional"])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    ("n_features", "n_outputs"), [(1, 1), (2, 3), (7, 2), pytest.param(10, 1, marks=pytest.mark.slow)]
)
def test_equals_all_subsets(name, n_features, n_outputs, form):
    rows, vectors, coefficients, background = model(n_features, 19, n_outputs)
    background = background[:0] if form == "baseline" else background
    found = compiled(KERNELS[name](0.7), rows, vectors, coefficients, background)
    own = factors_of(name, 0.7, rows, vectors)
    others = factors_of(name, 0.7, background, vectors) if len(background) else np.ones((1, 19, n_features))
    for i in range(2 if n_features == 10 else 5):
        expected = by_subsets(coefficients, own[i], others)
        np.testing.assert_allclose(found[i], expected, rtol=1e-10, atol=1e-12 * np.abs(coefficients).sum())


@pytest.mark.parametrize("gamma", [1e-9, 0.01, 0.5, 20.0])
@pytest.mark.parametrize("n_background", [0, 3])
def test_equals_the_exact_rule_for_any_width(gamma, n_background):
    rows, vectors, coefficients, background = model(61, 40, 2, seed=1)
    background = background[:n_background]
    found = compiled(RBF(gamma), rows, vectors, coefficients, background)
    own = factors_of("rbf", gamma, rows, vectors)
    others = factors_of("rbf", gamma, background, vectors) if n_background else np.ones((1, 40, 61))
    for i in range(len(rows)):
        expected = by_exact_rule(coefficients, own[i], others)
        # Differences of factors near 1 lose digits in the oracle, not in compiled code.
        np.testing.assert_allclose(found[i], expected, rtol=1e-6 if gamma < 1e-3 else 1e-9, atol=1e-12)


def test_values_of_a_wide_kernel_keep_their_digits():
    """To first order in a small gamma, each value is the sum of coefficients times terms."""
    rows, vectors, coefficients, _ = model(9, 30, seed=2)
    gamma = 1e-13
    found = compiled(RBF(gamma), rows, vectors, coefficients, rows[:0])[:, :, 0]
    first_order = -gamma * np.einsum("i,nij->nj", coefficients[0], (rows[:, None] - vectors) ** 2)
    np.testing.assert_allclose(found, first_order, rtol=1e-9)


@pytest.mark.parametrize("n_background", [0, 2])
def test_values_of_groups_are_those_of_one_player(n_background):
    rows, vectors, coefficients, background = model(6, 17, 2, seed=3)
    background, groups = background[:n_background], [[0], [1, 2, 3], [4, 5]]
    found = compiled(Laplacian(0.4), rows, vectors, coefficients, background, first=np.array([0, 1, 4, 6]))
    own = factors_of("laplacian", 0.4, rows, vectors, groups)
    others = factors_of("laplacian", 0.4, background, vectors, groups) if n_background else np.ones((1, 17, 3))
    for i in range(len(rows)):
        np.testing.assert_allclose(found[i], by_subsets(coefficients, own[i], others), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_columns_that_are_the_same_in_both_rows(share):
    """They have no share with this background row; with another one they may."""
    rows, vectors, coefficients, background = model(8, 21, 2, seed=8)
    same = np.random.default_rng(9).random((3, 8)) < share
    background = np.where(same, rows[0], background)
    for first, groups in (
        (np.arange(9), None),
        (np.array([0, 2, 3, 6, 7, 8]), [[0, 1], [2], [3, 4, 5], [6], [7]]),
    ):
        found = compiled(RBF(0.7), rows, vectors, coefficients, background, first=first)
        own, others = (factors_of("rbf", 0.7, each, vectors, groups) for each in (rows, background))
        for i in range(2):
            expected = by_subsets(coefficients, own[i], others)
            np.testing.assert_allclose(found[i], expected, rtol=1e-10, atol=1e-12 * np.abs(coefficients).sum())
    if share == 1.0:
        assert (found[0] == 0.0).all()


@pytest.mark.parametrize("n_background", [0, 2])
def test_stable_with_784_features_and_tiny_factors(n_background):
    """Factors from 1e-30 to 1: nothing overflows, and values add up to the decision value."""
    rng = np.random.default_rng(4)
    exponents = rng.uniform(0.0, 30.0 * np.log(10.0), size=(20, 784)) * (rng.random((20, 784)) < 0.3)
    vectors, rows = np.sqrt(exponents), np.zeros((1, 784))
    background = rng.normal(scale=0.1, size=(2, 784))[:n_background]
    coefficients = rng.normal(size=(1, 20))
    found = compiled(RBF(1.0), rows, vectors, coefficients, background)[0]
    own = factors_of("rbf", 1.0, rows, vectors)[0]
    others = factors_of("rbf", 1.0, background, vectors) if n_background else np.ones((1, 20, 784))
    expected = by_exact_rule(coefficients, own, others)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
    gained = coefficients[0] @ own.prod(axis=1) - (coefficients @ others.prod(axis=2).T).mean()
    assert abs(found.sum() - gained) < 1e-8 * np.abs(coefficients).sum()


def test_tiny_values_keep_their_digits_where_all_factors_are_tiny():
    """A row and a background row that are far from all vectors: values of 1e-40 are as exact as others."""
    rows, vectors, coefficients, background = model(8, 12, seed=5)
    rows, background = rows + 12.0 * np.eye(8)[0], background[:2] + 12.5 * np.eye(8)[0]
    found = compiled(RBF(1.0), rows, vectors, coefficients, background)
    own, others = factors_of("rbf", 1.0, rows, vectors), factors_of("rbf", 1.0, background, vectors)
    for i in range(len(rows)):
        expected = by_exact_rule(coefficients, own[i], others)
        assert np.abs(expected).max() < 1e-20
        np.testing.assert_allclose(found[i], expected, rtol=1e-8, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("n_factors", [2, 9, 60, 400])
def test_the_bound_on_errors_holds(n_factors):
    """Every rule is within its tolerance up to its limit, and few nodes are enough for small gaps."""
    rng = np.random.default_rng(6)
    tolerance = 1e-9
    rules = new_rules(n_factors, tolerance)
    exact_nodes, exact_weights = np.polynomial.legendre.leggauss(n_factors // 2 + 1)
    exact_nodes = (1 + exact_nodes) / 2
    for rule, limit in enumerate(rules.limits):
        part = slice(rules.first[rule], rules.first[rule + 1])
        for concentration in (0.2, 1.0, 50.0):
            gaps = rng.dirichlet(np.full(n_factors, concentration)) * min(limit, 0.999 * n_factors)
            gaps = np.minimum(gaps, 1.0)
            found = rules.weights[part] @ np.prod(1 - np.outer(rules.nodes[part], gaps), axis=1)
            expected = exact_weights / 2 @ np.prod(1 - np.outer(exact_nodes, gaps), axis=1)
            assert abs(found - expected) <= tolerance
    assert rules.first[1] == 2
    # The last one is for all products there are, and has no more nodes than the one that is exact.
    assert rules.limits[-1] >= n_factors
    assert rules.first[-1] - rules.first[-2] <= n_factors / 2 + 2


@pytest.mark.parametrize("n_background", [0, 3])
def test_array_version_equals_compiled(n_background):
    rows, vectors, coefficients, background = model(11, 33, 2, seed=7)
    background, first = background[:n_background], np.array([0, 2, 3, 4, 8, 9, 10, 11])
    for kernel in (RBF(0.3), Laplacian(0.3), Chi2(0.3)):
        expected = compiled(kernel, rows, vectors, coefficients, background, first)
        rules = new_rules(len(first) - 1, 1e-12)
        found = array_shapley_values(HOST, kernel, rows, background, vectors, coefficients, first, rules)
        np.testing.assert_allclose(found.transpose(0, 2, 1), expected, rtol=1e-9, atol=1e-12)


def test_below_one_is_exact_for_small_and_large_exponents():
    exponents = -np.concatenate([10.0 ** np.linspace(-300, 0, 301), np.linspace(1, 499, 200)])
    found = np.array([below_one(t) for t in exponents])
    np.testing.assert_allclose(found, -np.expm1(exponents * np.log(2.0)), rtol=2e-15)
    assert below_one(np.float64(0.0)) == 0.0
