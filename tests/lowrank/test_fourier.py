"""Random Fourier features: against the oracle, and as an approximation of the Gaussian kernel."""

import numpy as np
import pytest
from oracles.fourier import gaussian_kernel, phi, structured_frequencies
from scipy.sparse import csr_array, csr_matrix

from frugalsvm.lowrank.fourier import DenseFourier, StructuredFourier, features, new_fourier, prefers_structured

KINDS = pytest.mark.parametrize("structured", [False, True], ids=["dense", "structured"])


def random_rows(n_rows, n_features, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features)).astype(np.float32)


def fourier_of(n_features, d, structured, gamma=None, seed=0):
    gamma = 0.5 / n_features if gamma is None else gamma
    return new_fourier(n_features, d, gamma, np.random.default_rng(seed), structured)


def frequencies_of(fourier):
    """The dense frequencies that a map of either kind stands for."""
    if isinstance(fourier, DenseFourier):
        return fourier.frequencies.astype(np.float64)
    return structured_frequencies(fourier.factors, fourier.n_features, fourier.offsets.size)


def assert_as_the_oracle(fourier, X, found):
    d = fourier.offsets.size
    assert found.shape == (X.shape[0], d)
    assert found.dtype == np.float32
    expected = phi(X, frequencies_of(fourier), fourier.offsets.astype(np.float64))
    # Angles of a few turns in float32
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-5 * np.sqrt(2.0 / d))


def kernel_error(n_features, d, structured, n_maps=20):
    """Root mean square error of kernel values between different rows, over several maps."""
    X, gamma = random_rows(40, n_features), 0.5 / n_features
    exact = gaussian_kernel(X.astype(np.float64), X.astype(np.float64), gamma)
    pairs = np.triu_indices(40, 1)
    squares = []
    for seed in range(n_maps):
        rows = features(fourier_of(n_features, d, structured, gamma, seed), X).astype(np.float64)
        squares.append(np.mean((rows @ rows.T - exact)[pairs] ** 2))
    return np.sqrt(np.mean(squares))


@KINDS
class TestAgainstOracle:
    # Blocks of 64, 128, 256, 512 and 1024: each has its own sequence of passes
    @pytest.mark.parametrize("n_features", [1, 2, 3, 8, 9, 64, 65, 200, 300, 784])
    def test_number_of_features(self, structured, n_features):
        fourier, X = fourier_of(n_features, 100, structured), random_rows(20, n_features)
        assert_as_the_oracle(fourier, X, features(fourier, X))

    @pytest.mark.parametrize("n_rows", [0, 1, 15, 16, 17, 300])
    def test_number_of_rows(self, structured, n_rows):
        fourier, X = fourier_of(9, 70, structured), random_rows(n_rows, 9)
        assert_as_the_oracle(fourier, X, features(fourier, X))

    # Less than a block, whole blocks, parts of blocks, and more than one tile of a block
    @pytest.mark.parametrize("d", [1, 5, 63, 64, 65, 128, 1000])
    @pytest.mark.parametrize("n_features", [10, 300])
    def test_number_of_components(self, structured, n_features, d):
        fourier, X = fourier_of(n_features, d, structured), random_rows(5, n_features)
        assert_as_the_oracle(fourier, X, features(fourier, X))


@KINDS
class TestInput:
    @pytest.mark.parametrize("make", [csr_array, csr_matrix])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_sparse_equals_dense(self, structured, make, dtype):
        X = random_rows(300, 60).astype(dtype)
        X[np.random.default_rng(1).random(X.shape) < 0.8] = 0.0
        fourier = fourier_of(60, 100, structured)
        np.testing.assert_allclose(features(fourier, make(X)), features(fourier, X), rtol=0.0, atol=1e-6)

    def test_types_and_layouts(self, structured):
        X = np.round(random_rows(300, 10) * 8.0)
        fourier = fourier_of(10, 100, structured)
        expected = features(fourier, X)
        for other in [X.astype(np.float64), X.astype(np.int64), np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]]:
            np.testing.assert_allclose(features(fourier, other), expected, rtol=0.0, atol=1e-6)

    def test_X_is_not_changed_and_out_is_used(self, structured):
        X = random_rows(20, 10)
        before = X.copy()
        fourier = fourier_of(10, 30, structured)
        all_rows = np.full((22, 30), 7.0, np.float32)
        found = features(fourier, X, out=all_rows[1:21])
        assert np.shares_memory(found, all_rows)
        np.testing.assert_array_equal(all_rows[[0, 21]], 7.0)
        np.testing.assert_array_equal(all_rows[1:21], features(fourier, X))
        np.testing.assert_array_equal(X, before)

    def test_refusals(self, structured):
        fourier, X = fourier_of(10, 30, structured), random_rows(20, 10)
        with pytest.raises(ValueError, match="9 features"):
            features(fourier, X[:, :9])
        wrong = [np.empty((20, 31), np.float32), np.empty((20, 30)), np.empty((30, 20), np.float32).T]
        for out in wrong:
            with pytest.raises(ValueError, match="C-contiguous"):
                features(fourier, X, out=out)

    def test_rows_do_not_depend_on_their_neighbours(self, structured):
        # Lanes that are not filled hold what was there before
        X, fourier = random_rows(37, 20), fourier_of(20, 100, structured)
        together = features(fourier, X)
        for i in [0, 15, 16, 36]:
            np.testing.assert_allclose(features(fourier, X[i : i + 1])[0], together[i], rtol=0.0, atol=1e-6)


@KINDS
class TestMap:
    def test_seed_determines_everything(self, structured):
        X = random_rows(40, 20)
        first, second, other = (features(fourier_of(20, 50, structured, seed=seed), X) for seed in (3, 3, 4))
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, other)

    @pytest.mark.parametrize("n_features", [1, 3, 20, 100])
    def test_moments_of_frequencies(self, structured, n_features):
        gamma, d = 0.7, 8192
        in_radians = 2.0 * np.pi * frequencies_of(fourier_of(n_features, d, structured, gamma))
        assert np.mean(in_radians) == pytest.approx(0.0, abs=0.06)
        assert np.mean(in_radians**2) == pytest.approx(2.0 * gamma, rel=0.05)
        # That of a normal distribution; frequencies of equal size would have 1
        assert np.mean(in_radians**4) / np.mean(in_radians**2) ** 2 == pytest.approx(3.0, abs=0.3)

    def test_norms_are_near_one(self, structured):
        for n_features in [1, 30, 784]:
            norms = np.linalg.norm(
                features(fourier_of(n_features, 2048, structured), random_rows(50, n_features)), axis=1
            )
            np.testing.assert_allclose(norms, 1.0, atol=0.06)

    @pytest.mark.parametrize("n_features", [3, 40])
    def test_kernel_error_is_that_of_d_independent_features(self, structured, n_features):
        errors = np.array([kernel_error(n_features, d, structured) for d in (128, 512, 2048)])
        # 1 / sqrt(d), with a constant of about 0.7 to 0.95
        np.testing.assert_allclose(errors[:-1] / errors[1:], 2.0, rtol=0.15)
        assert np.all(errors * np.sqrt([128, 512, 2048]) < 1.0)


def test_orthogonal_frequencies_within_a_block():
    fourier = fourier_of(64, 64, structured=True)
    rows = frequencies_of(fourier).T
    directions = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(directions @ directions.T, np.eye(64), atol=1e-6)


@pytest.mark.parametrize("n_features", [1, 2, 3, 8, 9, 40, 200])
def test_structured_is_no_worse_than_dense(n_features):
    dense, structured = (kernel_error(n_features, 512, kind, n_maps=40) for kind in (False, True))
    # A few percent are chance; from some ten features on it is better by more than that
    assert structured < (1.05 if n_features < 20 else 0.97) * dense


def test_preferences():
    assert prefers_structured(784, 4096, sparse=False)
    assert prefers_structured(123, 512, sparse=False)
    assert prefers_structured(784, 4096, sparse=True)
    assert not prefers_structured(22, 512, sparse=False)
    assert not prefers_structured(784, 32, sparse=False)  # nearly all outputs of the transform would be cut off
    assert not prefers_structured(47_236, 1024, sparse=True)
    assert not prefers_structured(14, 512, sparse=True)


def test_kinds():
    assert isinstance(fourier_of(10, 30, structured=False), DenseFourier)
    assert isinstance(fourier_of(10, 30, structured=True), StructuredFourier)
