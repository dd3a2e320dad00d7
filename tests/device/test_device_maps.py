"""Feature maps and factors on a device against the kernels of the core."""

import numpy as np
import pytest
from device_support import Wave
from oracles import kernels as oracle
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from frugalsvm.arrays import maps
from frugalsvm.arrays.expansion import expansion_values
from frugalsvm.arrays.maps import fourier_map, kernel_map
from frugalsvm.arrays.slopes import radial_slope, radial_value
from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import KERNELS as registry
from frugalsvm.core.kernels import RBF, UNIT_KERNELS, Laplacian, Linear, Poly
from frugalsvm.lowrank import whitening
from frugalsvm.lowrank.fourier import features, new_fourier
from frugalsvm.lowrank.nystroem import kernel_rows, new_nystroem

FALLING = {name: each(0.5) for name, each in registry.items() if offers(each, "shift_invariant")}
OTHERS = {name: registry[name](*[0.5] * len(registry[name]._fields)) for name in oracle.OTHERS}
NAMED = {**FALLING, "cubic": Poly(0.3, 1.0, 3), "affine": Poly(0.3, 0.0, 1), "linear": Linear()}
each_kernel = pytest.mark.parametrize("kernel", NAMED.values(), ids=NAMED)


def expected(kernel, X, Z):
    """By scikit-learn or the oracle, in float64."""
    X, Z = X.astype(np.float64), Z.astype(np.float64)
    if isinstance(kernel, RBF):
        return rbf_kernel(X, Z, gamma=kernel.gamma)
    if isinstance(kernel, UNIT_KERNELS):
        return oracle.value(type(kernel).__name__.lower(), X, Z, kernel.gamma)
    if isinstance(kernel, Poly):
        return polynomial_kernel(X, Z, kernel.degree, kernel.gamma, kernel.coef0)
    return linear_kernel(X, Z)


class TestMaps:
    @each_kernel
    def test_kernel_values(self, arrays, kernel):
        X = Wave().X
        made = kernel_map(arrays, kernel, arrays.asarray(X[:40]))
        found = arrays.host(made.rows(arrays.asarray(X)))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected(kernel, X, X[:40]), rtol=2e-5, atol=2e-5)
        compiled = kernel_rows(new_nystroem(kernel, X[:40]), X, np.empty((len(X), 40), np.float32))
        np.testing.assert_allclose(found, compiled, rtol=2e-5, atol=2e-5)

    @pytest.mark.parametrize("name", OTHERS)
    def test_kernels_of_histograms_and_angles(self, arrays, name):
        X, kernel = np.maximum(Wave().X, 0.0), OTHERS[name]
        X[3] = 0.0
        found = arrays.host(kernel_map(arrays, kernel, arrays.asarray(X[:40])).rows(arrays.asarray(X)))
        values = oracle.value(name, X.astype(np.float64), X[:40].astype(np.float64), 0.5)
        np.testing.assert_allclose(found, values, rtol=2e-5, atol=2e-5)

    @pytest.mark.parametrize("name", FALLING)
    def test_slopes(self, arrays, name):
        X, Z = Wave().X[:30].astype(np.float64), Wave().X[30:50].astype(np.float64)
        differences = oracle.differences(X, Z)
        is_l1 = isinstance(FALLING[name], Laplacian)
        distances = np.abs(differences).sum(axis=2) if is_l1 else np.square(differences).sum(axis=2)
        found = arrays.host(radial_slope(arrays.xp, FALLING[name], arrays.asarray(distances)))
        np.testing.assert_allclose(found, oracle.slope(name, X, Z, 0.5), rtol=1e-10)
        at_the_top = arrays.host(radial_slope(arrays.xp, FALLING[name], arrays.zeros((1, 1))))
        assert np.isfinite(at_the_top).all()

    def test_a_kernel_without_a_slope(self, arrays):
        with pytest.raises(TypeError, match="slope of Linear kernels"):
            radial_slope(arrays.xp, Linear(), arrays.zeros((1, 1)))
        with pytest.raises(TypeError, match="Linear kernels are not functions of a distance"):
            radial_value(arrays.xp, Linear(), arrays.zeros((1, 1)))

    @pytest.mark.parametrize("name", FALLING)
    def test_rows_that_are_alike(self, arrays, name):
        """Where squared distances are rounding errors, their roots must not be taken for distances."""
        X = (3.0 + np.random.default_rng(0).normal(size=(50, 20))).astype(np.float32)
        found = arrays.host(kernel_map(arrays, FALLING[name], arrays.asarray(X)).rows(arrays.asarray(X)))
        np.testing.assert_allclose(np.diag(found), 1.0, atol=1e-4)

    def test_fourier_features(self, arrays):
        X = Wave().X
        kept = new_fourier(3, 64, 0.5, np.random.default_rng(0), False)
        found = arrays.host(fourier_map(arrays, kept.frequencies, kept.offsets).rows(arrays.asarray(X)))
        np.testing.assert_allclose(found, features(kept, X, np.empty((len(X), 64), np.float32)), atol=2e-6)

    def test_bytes_as_they_are(self, arrays):
        X = np.random.default_rng(0).integers(0, 256, (50, 7)).astype(np.uint8)
        made = kernel_map(arrays, RBF(1e-5), arrays.asarray(X[:10].astype(np.float32)))
        found = arrays.host(made.rows(arrays.asarray(X)))
        np.testing.assert_allclose(found, expected(RBF(1e-5), X, X[:10]), rtol=1e-4)

    def test_a_kernel_that_is_not_there(self, arrays):
        with pytest.raises(TypeError, match="str kernels are not available"):
            kernel_map(arrays, "laplace", arrays.zeros((2, 2)))

    @pytest.mark.parametrize("scale", [1e-20, 1e-3, 1.0, 5e4])
    def test_parts_of_norms_sum_to_them_and_are_short(self, arrays, scale):
        values = (scale * np.random.default_rng(0).normal(size=1000)).astype(np.float32)
        values[0] = 0.0
        parts = [arrays.host(part) for part in maps._parts(arrays, arrays.asarray(values))]
        # in the order in which a product adds them
        np.testing.assert_array_equal(parts[0] + (parts[1] + parts[2]), values)
        for part in parts:  # no more bits than tf32 keeps: 1 + 10
            mantissas = np.frexp(part)[0] * 2**11
            np.testing.assert_array_equal(mantissas, np.round(mantissas))


each_factor = pytest.mark.parametrize("kind", ["eigen", "cholesky", "cholesky of many"])


class TestFactors:
    def whitened(self, arrays, factor, matrix):
        """``F^-1 K F^-T``"""
        half = factor.features(matrix)
        return arrays.host(factor.features(arrays.asarray(arrays.host(half).T)))

    def made(self, arrays, monkeypatch, kind, device_map, Z):
        monkeypatch.setattr(whitening, "_MOST_EIGEN", 0 if kind == "cholesky of many" else 1000)
        # A rank needs eigenvectors.
        factor = whitening.new_whitening(arrays, device_map, Z, 1e-9, Z.shape[0] if kind == "eigen" else None)
        assert factor.method == ("eigen" if kind == "eigen" else "cholesky")
        return factor

    @each_factor
    def test_the_whitened_kernel_matrix_is_the_identity(self, arrays, monkeypatch, kind):
        Z = arrays.asarray(Wave().X[:60])
        device_map = kernel_map(arrays, RBF(4.0), Z)
        factor = self.made(arrays, monkeypatch, kind, device_map, Z)
        assert factor.n_features == 60
        matrix = arrays.double(device_map.rows(Z, exact=True))
        np.testing.assert_allclose(self.whitened(arrays, factor, matrix), np.eye(60), atol=1e-4)

    def test_rank_and_threshold(self, arrays):
        Z = arrays.asarray(Wave().X[:60])
        device_map = kernel_map(arrays, RBF(0.5), Z)
        kept = [whitening.new_whitening(arrays, device_map, Z, t, r).n_features for t, r in ((1e-7, 10), (1e-2, None))]
        eigenvalues = np.linalg.eigvalsh(expected(RBF(0.5), *2 * [arrays.host(Z)]))
        assert kept == [10, np.count_nonzero(eigenvalues > 1e-2 * eigenvalues[-1])]

    def test_nothing_to_learn_from(self, arrays):
        Z = arrays.asarray(np.zeros((5, 2), np.float32))
        with pytest.raises(ValueError, match="nothing to learn from"):
            whitening.new_whitening(arrays, kernel_map(arrays, Linear(), Z), Z, 1e-7, None)

    def test_equal_rows_have_a_cholesky_factor_too(self, arrays, monkeypatch):
        monkeypatch.setattr(whitening, "_MOST_EIGEN", 0)
        Z = arrays.asarray(np.repeat(Wave().X[:5], 4, axis=0))
        factor = whitening.new_whitening(arrays, kernel_map(arrays, RBF(0.5), Z), Z, 1e-7, None)
        assert np.isfinite(arrays.host(factor.raw(arrays.ones((1, 20), "float64")))).all()

    def test_eigenvectors_where_some_must_go(self, arrays):
        """Cholesky's factor is for matrices without eigenvalues below the threshold."""
        Z = arrays.asarray(Wave().X[:60])
        device_map = kernel_map(arrays, RBF(0.5), Z)
        eigenvalues = np.linalg.eigvalsh(expected(RBF(0.5), *2 * [arrays.host(Z)]))
        least = eigenvalues[0] / eigenvalues[-1]
        kinds = [whitening.new_whitening(arrays, device_map, Z, share * least, None).method for share in (1e-2, 1.1)]
        assert kinds == ["cholesky", "eigen"]

    @each_factor
    def test_raw_and_features_are_one_function(self, arrays, monkeypatch, kind):
        """``w . F^-1 k = (F^-T w) . k``, in both types."""
        Z, X = (arrays.asarray(rows) for rows in (Wave().X[:30], Wave().X[30:80]))
        device_map = kernel_map(arrays, RBF(2.0), Z)
        factor = self.made(arrays, monkeypatch, kind, device_map, Z)
        w = arrays.asarray(np.random.default_rng(0).normal(size=(2, factor.n_features)))
        k = device_map.rows(X)
        for cast in (arrays.double, arrays.single):
            left, right = factor.features(cast(k)) @ cast(w).T, cast(k) @ factor.raw(cast(w)).T
            assert left.dtype == right.dtype == cast(w).dtype
            np.testing.assert_allclose(arrays.host(left), arrays.host(right), rtol=1e-3, atol=1e-3)


class TestExpansion:
    @each_kernel
    def test_values(self, arrays, kernel):
        X = Wave(n_rows=300).X
        a = np.random.default_rng(1).normal(size=(3, 20))
        found = expansion_values(arrays, kernel_map(arrays, kernel, arrays.asarray(X[:20])), a, X)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected(kernel, X, X[:20]) @ a.T, rtol=1e-4, atol=1e-4)

    def test_many_blocks(self, arrays, monkeypatch):
        X = Wave(n_rows=300).X
        device_map = kernel_map(arrays, RBF(0.5), arrays.asarray(X[:20]))
        whole = expansion_values(arrays, device_map, np.ones((1, 20)), X)
        monkeypatch.setattr("frugalsvm.arrays.sources._BLOCK_NUMBERS", 20 * 7)
        np.testing.assert_allclose(expansion_values(arrays, device_map, np.ones((1, 20)), X), whole, rtol=1e-6)
