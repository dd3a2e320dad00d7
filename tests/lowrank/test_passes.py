"""Passes over rows: products with a few vectors, and the same numbers on any number of threads."""

import numpy as np
import pytest
from support import blobs

from frugalsvm import ASSETClassifier, ASSETOneClassSVM, ASSETRegressor
from frugalsvm.compiling.crew import Crew
from frugalsvm.compiling.threads import Threads
from frugalsvm.lowrank.gram import is_upper_triangle
from frugalsvm.lowrank.passes import ChosenRows, CurvedSums, Passes, TwoTriangles
from frugalsvm.lowrank.symmetric import gram, inverse_factor, is_positive_definite, products_of_rows, roots_of
from frugalsvm.lowrank.whitening import HostWhitening

N_ROWS = 3001


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(N_ROWS, 150)).astype(np.float32)


def few(n_outputs, n, seed=1):
    return np.random.default_rng(seed).normal(size=(n_outputs, n)).astype(np.float32)


def rarely_nonzero(n_outputs, n):
    weights = few(n_outputs, n)
    return weights * (np.random.default_rng(2).random(weights.shape) < 0.2)


@pytest.mark.parametrize("n_outputs", [1, 2, 5])
class TestProducts:
    def test_scores(self, rows, n_outputs):
        vectors = few(n_outputs, rows.shape[1])
        np.testing.assert_allclose(Passes().scores(rows, vectors), vectors @ rows.T.astype(np.float64), atol=1e-4)

    def test_scores_of_a_part(self, rows, n_outputs):
        vectors = few(n_outputs, rows.shape[1])
        whole = Passes().scores(rows, vectors)
        np.testing.assert_allclose(Passes().scores(rows[5:24], vectors), whole[:, 5:24], atol=1e-5)

    def test_weighted_sums(self, rows, n_outputs):
        weights = rarely_nonzero(n_outputs, N_ROWS)
        expected = weights.astype(np.float64) @ rows
        np.testing.assert_allclose(Passes().weighted_sums(rows, weights), expected, atol=1e-4)

    def test_rows_without_weight_are_not_read(self, rows, n_outputs):
        weights, spoiled = rarely_nonzero(n_outputs, N_ROWS), rows.copy()
        spoiled[~weights.any(axis=0)] = np.nan
        assert np.array_equal(Passes().weighted_sums(spoiled, weights), Passes().weighted_sums(rows, weights))

    def test_curved_sums(self, rows, n_outputs):
        index = np.random.default_rng(3).permutation(N_ROWS)[:1999]
        weights, vectors, shifts = rarely_nonzero(n_outputs, 1999), few(n_outputs, 150), few(n_outputs, 1)[:, 0]
        chosen = rows[index].astype(np.float64)
        changes = weights * (vectors @ chosen.T + shifts[:, None])
        times = CurvedSums(Passes(), ChosenRows(rows, index), weights)
        for _ in range(2):  # memory is used again
            sums, totals = times(vectors, shifts)
            np.testing.assert_allclose(sums, changes @ chosen, rtol=1e-4, atol=1e-2)
            np.testing.assert_allclose(totals[:, 0], changes.sum(axis=1), rtol=1e-4, atol=1e-2)

    @pytest.mark.parametrize("count", [2, 5])
    def test_threads_change_nothing(self, rows, n_outputs, count):
        many, one = Passes(Threads(count)), Passes()
        vectors, weights = few(n_outputs, 150), rarely_nonzero(n_outputs, N_ROWS)
        assert np.array_equal(many.scores(rows, vectors), one.scores(rows, vectors))
        assert np.array_equal(many.weighted_sums(rows, weights), one.weighted_sums(rows, weights))
        chosen, shifts = ChosenRows(rows, np.arange(N_ROWS)), np.ones(n_outputs, np.float32)
        both = [CurvedSums(passes, chosen, weights)(vectors, shifts) for passes in (many, one)]
        assert all(np.array_equal(*each) for each in zip(*both, strict=True))


def test_no_rows_at_all(rows):
    assert Passes().scores(rows[:0], few(2, 150)).shape == (2, 0)
    assert not Passes().weighted_sums(rows[:0], few(2, 0)).any()


class TestSymmetric:
    SIZES = (3, 64, 700)

    @pytest.mark.parametrize("size", SIZES)
    def test_gram(self, size):
        rows = np.random.default_rng(0).normal(size=(900, size))
        for single, tolerance in ((rows, 1e-10), (rows.astype(np.float32), 1e-3)):
            found = gram(Passes(Threads(3)), single)
            np.testing.assert_allclose(np.triu(found), np.triu(rows.T @ rows), atol=tolerance)

    @pytest.mark.parametrize("size", SIZES)
    def test_products_of_rows(self, size):
        rows = np.random.default_rng(0).normal(size=(size, 50))
        found = products_of_rows(Passes(Threads(3)), rows)
        np.testing.assert_allclose(found, rows @ rows.T, atol=1e-10)
        np.testing.assert_array_equal(found, products_of_rows(Passes(), rows))

    @pytest.mark.parametrize("whitening", ["none", "a triangle", "narrow"])
    def test_roots(self, rows, whitening):
        rng, width = np.random.default_rng(0), rows.shape[1]
        index, weights = rng.permutation(N_ROWS)[:1001], rng.random(1001).astype(np.float32)
        matrix = {"none": np.eye(width), "a triangle": np.triu(rng.normal(size=(width, width)))}.get(whitening)
        matrix = (rng.normal(size=(width, 70)) if matrix is None else matrix).astype(np.float32)
        given = None if whitening == "none" else (matrix, is_upper_triangle(matrix))
        expected = np.column_stack([weights[:, None] * (rows[index].astype(np.float64) @ matrix), weights])
        found = roots_of(Passes(Threads(3)), rows, index, weights, given)
        np.testing.assert_allclose(found, expected, atol=1e-4)
        assert np.array_equal(found, roots_of(Passes(), rows, index, weights, given))

    def test_triangles_are_told(self):
        matrix = np.triu(np.ones((70, 70), np.float32))
        assert is_upper_triangle(matrix)
        assert not is_upper_triangle(matrix[:, :60])
        matrix[60, 3] = 1e-30
        assert not is_upper_triangle(matrix)

    @pytest.mark.parametrize("size", SIZES)
    def test_inverse_factor(self, size):
        rows, passes = np.random.default_rng(0).normal(size=(2 * size, size)), Passes(Threads(3))
        matrix = rows.T @ rows
        inverse = inverse_factor(passes, matrix)
        np.testing.assert_allclose(inverse.T, np.linalg.inv(np.linalg.cholesky(matrix)), atol=1e-9)
        assert not np.tril(inverse, -1).any()
        np.testing.assert_allclose(inverse @ inverse.T @ matrix, np.eye(size), atol=1e-9)

    @pytest.mark.parametrize("n_vectors", [1, 2, 7])
    @pytest.mark.parametrize("size", [1, 3, 401])
    @pytest.mark.parametrize("count", [1, 3])
    def test_two_triangles(self, size, n_vectors, count):
        rng = np.random.default_rng(0)
        upper, vectors = np.triu(rng.normal(size=(size, size))), rng.normal(size=(n_vectors, size))
        product = TwoTriangles(Passes(Threads(count)), upper)(vectors)
        scale = np.abs(upper).sum() ** 2 / size
        np.testing.assert_allclose(product, vectors @ (upper @ upper.T), atol=1e-6 * scale)
        assert np.array_equal(product, TwoTriangles(Passes(), upper)(vectors))

    def test_shift_of_the_diagonal(self):
        rows, passes = np.random.default_rng(0).normal(size=(900, 300)), Passes(Threads(3))
        matrix = rows.T @ rows
        least = np.linalg.eigvalsh(matrix)[0]
        shifted = inverse_factor(passes, matrix, 7.0)
        np.testing.assert_allclose(shifted @ shifted.T @ (matrix + 7.0 * np.eye(300)), np.eye(300), atol=1e-9)
        assert is_positive_definite(passes, matrix, -0.99 * least)
        assert not is_positive_definite(passes, matrix, -1.01 * least)

    def test_transposed(self):
        matrix = np.random.default_rng(0).normal(size=(700, 900))
        transposed = Passes(Threads(3)).transposed(matrix)
        np.testing.assert_array_equal(transposed, matrix.T)
        assert transposed.flags.c_contiguous

    @pytest.mark.parametrize("row", [0, 63, 150, 199])
    def test_not_positive_definite(self, row):
        matrix = np.eye(200)
        matrix[row, row] = -1e-3
        assert inverse_factor(Passes(), matrix) is None
        assert not is_positive_definite(Passes(), matrix)

    @pytest.mark.parametrize("count", [2, 4, 7])
    def test_threads_change_nothing(self, count):
        rows = np.random.default_rng(0).normal(size=(900, 700))
        many = Passes(Threads(count))
        many.crew = Crew(count)  # on however few cores
        of_one, of_many = ((gram(passes, rows), passes) for passes in (Passes(), many))
        np.testing.assert_array_equal(np.triu(of_one[0]), np.triu(of_many[0]))
        np.testing.assert_array_equal(*(inverse_factor(passes, matrix, 1.0) for matrix, passes in (of_one, of_many)))


MODELS = {
    "binary": lambda: ASSETClassifier(n_components=64, C=10.0, gamma=0.2, random_state=0),
    "several classes": lambda: ASSETClassifier(n_components=64, C=10.0, gamma=0.2, random_state=0),
    "whitened rows": lambda: ASSETClassifier(n_components=64, rank=16, gamma=0.2, random_state=0),
    "fourier": lambda: ASSETClassifier("fourier", 64, gamma=0.2, random_state=0),
    "computed rows": lambda: ASSETClassifier(n_components=64, gamma=0.2, memory="400KB", random_state=0),
    "subgradient steps": lambda: ASSETClassifier(
        n_components=64, solver="asset", gamma=0.2, max_iter=2, random_state=0
    ),
    "regression": lambda: ASSETRegressor(n_components=64, C=10.0, gamma=0.2, random_state=0),
    "squared hinge": lambda: ASSETClassifier(n_components=64, loss="squared_hinge", gamma=0.2, random_state=0),
    "huber": lambda: ASSETRegressor(n_components=64, loss="huber", gamma=0.2, random_state=0),
    "path": lambda: ASSETClassifier(n_components=64, C=[1.0, 10.0], gamma=0.2, random_state=0),
    "one class": lambda: ASSETOneClassSVM(n_components=64, gamma=0.2, random_state=0),
}


FAST = "several classes", "regression"


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in FAST else pytest.mark.slow) for kind in MODELS]
)
def test_a_fit_is_the_same_on_any_number_of_threads(kind, monkeypatch):
    monkeypatch.setattr(
        "frugalsvm.lowrank.passes.usable_cores", lambda: 8
    )  # or there would be no more threads than cores here
    X, y = blobs(12_000, 4, 4 if kind == "several classes" else 2, seed=0)
    X = X + np.random.default_rng(0).normal(scale=3.0, size=X.shape)  # there are errors
    fits = [MODELS[kind]().set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 2, 3, 8)]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.coef_, fits[0].coef_)
        assert other.objective_ == fits[0].objective_
        values = [model.predict(X[:3000]) for model in (other, fits[0])]
        np.testing.assert_array_equal(*values)


def test_a_rounded_matrix_is_seen_when_it_is_full():
    """Tasks in threads of one process share a whitening."""
    seen = []

    class Passes:
        def each(self, function, n_rows, width):
            seen.append(whitening._single)
            function(slice(0, n_rows))

    matrix = np.triu(np.random.default_rng(0).normal(size=(5, 5)))
    whitening = HostWhitening(matrix, Passes())
    single, is_triangle = whitening.in_single()
    assert seen == [None]
    assert is_triangle
    np.testing.assert_array_equal(single, matrix.astype(np.float32))
