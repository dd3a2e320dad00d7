"""Machines of cells in a number of bytes: landmarks, codes, and what they promise."""

import numpy as np
import pytest
from sklearn.base import clone

from frugalsvm import LocalSVC, LocalSVR, load, save
from frugalsvm.cells.budget import array_bytes, exact_bytes, trained_within
from frugalsvm.cells.codes import column_grids
from frugalsvm.cells.places import OnThreads
from frugalsvm.cells.scores import scores
from frugalsvm.cells.solver import Examples
from frugalsvm.compiling.threads import ONE_THREAD, Threads
from frugalsvm.core.kernels import KERNELS
from frugalsvm.exceptions import ParameterError
from tests.oracles import kernels as kernel_oracle
from tests.oracles.cells import decoded, landmark_left_out, landmark_machine

RIDGE, GAMMA, SIZE, MEMORY = 0.1, 0.3, 70, 2**30


def problem(dtype=np.float64, n=200, weighted=True):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(n, 3)), rng.integers(0, 2, size=n), np.full(n, 3.0)])
    y = np.stack([np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n), np.sign(X[:, 1] * X[:, 2])])
    weights = rng.uniform(0.5, 2.0, size=n) if weighted else np.empty(0)
    return Examples(X.astype(dtype), y.astype(dtype), weights)


def train(examples, kernel, share, n_trees=1, threads=ONE_THREAD, ridge=RIDGE):
    """Cells in a share of the bytes of all rows, and leave-one-out scores."""
    trees = OnThreads(ONE_THREAD).grown(examples, SIZE, n_trees, np.random.default_rng(0))
    budget = int(share * exact_bytes(examples, trees))
    cells, left_out = trained_within(kernel, examples, trees, SIZE, ridge, budget, MEMORY, threads)
    assert sum(map(array_bytes, cells)) <= budget
    return trees, cells, left_out


def kernel_values(name, A, B):
    return A @ B.T if name == "linear" else kernel_oracle.value(name, A, B, GAMMA)


def weights_of(examples, members):
    return examples.weights[members] if len(examples.weights) else np.ones(len(members))


def penalized(K_zz, ridge, weights):
    """With what is added because coefficients are rounded."""
    size = np.diag(K_zz).mean()
    return K_zz + size * (1e-10 + 1e-7 * size * weights.sum() / ridge) * np.eye(len(K_zz))


@pytest.mark.parametrize("name", ["matern12", "rbf", "linear"])
@pytest.mark.parametrize("weighted", [True, False])
def test_leave_one_out_is_that_of_training_without_each_row(name, weighted):
    examples = problem(weighted=weighted)
    kernel = KERNELS[name]() if name == "linear" else KERNELS[name](gamma=GAMMA)
    (tree,), (cells,), left_out = train(examples, kernel, 0.1)
    assert 0 < cells.tree.starts[-1] < len(examples.rows)
    for cell in range(tree.n_cells):
        members, (Z, _) = tree.members_of(cell), decoded(cells, cell)
        X, y, weights = examples.rows[members], examples.targets[:, members].T, weights_of(examples, members)
        K_zz = penalized(kernel_values(name, Z, Z), RIDGE, weights)
        own = np.full(len(X), -1)
        own[[np.abs(X - z).sum(axis=1).argmin() for z in Z]] = np.arange(len(Z))
        expected = landmark_left_out(K_zz, kernel_values(name, X, Z), y, RIDGE, weights, own)
        np.testing.assert_allclose(left_out[members], expected, atol=1e-6)


def test_scores_are_those_of_the_codes():
    examples, kernel = problem(), KERNELS["matern12"](gamma=GAMMA)
    trees, cells, _ = train(examples, kernel, 0.1, n_trees=2)
    expected = np.zeros((len(examples.rows), 2))
    for tree, each in zip(trees, cells, strict=True):
        for cell in range(tree.n_cells):
            members, (Z, coef) = tree.members_of(cell), decoded(each, cell)
            expected[members] += kernel_values("matern12", examples.rows[members], Z) @ coef + each.intercepts[cell]
    found = scores(kernel, examples.rows[:0], cells, examples.rows, Threads(2))
    np.testing.assert_allclose(found, expected / 2, atol=1e-9)


def test_coefficients_make_up_for_the_rounding_of_others():
    examples, ridge, gamma = problem(), 1e-4, 1e-3  # a wide kernel: coefficients are large and nearly cancel
    (tree,), (cells,), _ = train(examples, KERNELS["matern12"](gamma=gamma), 0.2, ridge=ridge)
    members, (Z, coef) = tree.members_of(0), decoded(cells, 0)
    X, y, weights = examples.rows[members], examples.targets[:, members].T, weights_of(examples, members)
    K_xz, K_zz = (kernel_oracle.value("matern12", rows, Z, gamma) for rows in (X, Z))
    exact, intercept = landmark_machine(penalized(K_zz, ridge, weights), K_xz, y, ridge, weights)
    low, step = exact.min(axis=0), np.ptp(exact, axis=0) / 255
    rounded = low + step * np.round((exact - low) / step)
    found = K_xz @ (coef - exact) + cells.intercepts[0] - intercept
    one_by_one = K_xz @ (rounded - exact)
    assert (np.std(found, axis=0) < 0.5 * np.std(one_by_one, axis=0)).all()
    assert (np.abs(found.mean(axis=0)) < 0.1 * np.abs(one_by_one.mean(axis=0))).all()


def test_columns_with_equal_spaces_are_exact_and_constant_ones_cost_nothing():
    rng = np.random.default_rng(0)
    columns = [np.full(50, 0.1), rng.integers(0, 2, 50) * 1.7 - 0.3, rng.integers(0, 9, 50) / 7, rng.normal(size=50)]
    rows = np.column_stack(columns)
    widths, lows, steps = column_grids(rows)
    assert widths.tolist() == [0, 1, 4, 8]
    codes = np.round((rows - lows) / np.where(steps > 0, steps, 1))
    np.testing.assert_allclose((lows + steps * codes)[:, :3], rows[:, :3], atol=1e-6)
    assert np.abs((lows + steps * codes - rows)[:, 3]).max() <= 0.5001 * steps[3]


def test_many_budgets_are_kept():
    examples, kernel = problem(np.float32), KERNELS["matern12"](gamma=GAMMA)
    trees = OnThreads(ONE_THREAD).grown(examples, SIZE, 2, np.random.default_rng(0))
    for budget in range(1111, exact_bytes(examples, trees), 777):
        cells, left_out = trained_within(kernel, examples, trees, SIZE, RIDGE, budget, MEMORY, ONE_THREAD)
        n_kept = sum(each.tree.starts[-1] for each in cells)
        assert sum(map(array_bytes, cells)) <= budget
        # Nothing much is left unused: some words, and what one more row would need
        assert n_kept == 2 * len(examples.rows) or sum(map(array_bytes, cells)) > budget - 2 * 8 * (3 + 2)
        assert np.isfinite(left_out).all()


def test_threads_change_nothing():
    examples, kernel = problem(np.float32), KERNELS["matern12"](gamma=GAMMA)
    (_, (mine,), left_out), (_, (other,), other_left_out) = (
        train(examples, kernel, 0.15, threads=Threads(n)) for n in (1, 3)
    )
    np.testing.assert_array_equal(mine.words, other.words)
    np.testing.assert_array_equal(left_out, other_left_out)


def test_rows_that_are_the_same_are_landmarks_as_well():
    examples = problem()
    examples = examples._replace(rows=np.repeat(examples.rows[:40], 5, axis=0))
    _, (cells,), left_out = train(examples, KERNELS["rbf"](gamma=GAMMA), 0.1, ridge=1e-12)
    assert np.isfinite(left_out).all()
    assert np.isfinite(cells.intercepts).all()


def test_cells_of_one_class_keep_no_rows():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 2)), rng.normal(100.0, size=(200, 2))])
    y = np.concatenate([rng.integers(0, 2, 200), np.full(200, 2)])
    model = LocalSVC(C=10.0, gamma=1.0, cell_size=100, budget="4KB", random_state=0).fit(X, y)
    sizes = model._cells[0].tree.sizes
    assert np.count_nonzero(sizes == 0) == 2
    assert (model.predict(X[200:]) == 2).all()
    assert (model.loo_scores_[200:].argmax(axis=1) == 2).all()


def table(n=600):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1), np.sin(2 * X[:, 0]) + X[:, 1]


@pytest.mark.parametrize("budget", ["3KB", "5555B", "0.01MB"])
def test_models_have_at_most_as_many_bytes(budget):
    X, y, _ = table()
    model = LocalSVC(C=10.0, gamma=1.0, cell_size=200, budget=budget, random_state=0).fit(X, y)
    assert model.model_bytes_ <= {"3KB": 3072, "5555B": 5555, "0.01MB": 10485}[budget]
    assert model.score(X, y) > 0.85
    assert model.loo_scores_.shape == (len(X), 3)


def test_a_budget_for_all_changes_nothing():
    X, _, y = table()
    model = LocalSVR(C=10.0, gamma=1.0, cell_size=200, intervals=None, random_state=0)
    plain = clone(model).fit(X, y)
    exact = clone(model).set_params(budget=f"{plain.model_bytes_}B").fit(X, y)
    np.testing.assert_array_equal(exact.predict(X), plain.predict(X))
    assert exact.model_bytes_ == plain.model_bytes_
    less = clone(model).set_params(budget=f"{plain.model_bytes_ - 1}B").fit(X, y)
    assert less.model_bytes_ < plain.model_bytes_
    assert np.corrcoef(less.predict(X), plain.predict(X))[0, 1] > 0.999


@pytest.mark.parametrize("budget", [4000, 10_001])
def test_intervals_are_within_the_budget(budget):
    X, _, y = table(3000)
    model = LocalSVR(C=10.0, gamma=1.0, cell_size=500, budget=f"{budget}B", random_state=0).fit(X, y)
    assert model.model_bytes_ <= budget
    low, high = model.predict_interval(X[:100]).T
    assert (low < high).all()


def test_a_budget_that_is_too_small_is_refused_with_the_least_that_works():
    X, y, _ = table()
    model = LocalSVC(C=10.0, gamma=1.0, cell_size=50, n_trees=2, budget="800B", random_state=0)
    expected = r"budget='800B' is too small for 24 cells .* at least \d+B: raise it"
    with pytest.raises(ParameterError, match=expected) as info:
        model.fit(X, y)
    least = int(str(info.value).split("at least ")[1].split("B:")[0])
    assert model.set_params(budget=f"{least}B").fit(X, y).model_bytes_ <= least
    with pytest.raises(ParameterError, match="at least"):
        model.set_params(budget=f"{least - 8 * 24}B").fit(X, y)


def test_memory_limits_what_landmarks_need():
    examples, kernel = problem(), KERNELS["matern12"](gamma=GAMMA)
    trees = OnThreads(ONE_THREAD).grown(examples, SIZE, 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="raise memory, or lower cell_size or budget"):
        trained_within(kernel, examples, trees, SIZE, RIDGE, 5000, 1000, ONE_THREAD)


def test_files_are_small_and_predict_the_same(tmp_path):
    X, _, y = table(3000)
    model = LocalSVR(C=10.0, gamma=1.0, cell_size=500, random_state=0, budget="10KB").fit(X, y)
    save(model, tmp_path / "model", for_prediction=True)
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
    assert (tmp_path / "model").stat().st_size < 20_000


def test_new_rows_are_predicted_as_well_as_those_that_are_left_out():
    X, _, y = table(3000)
    model = LocalSVR(C=100.0, gamma=1.0, kernel="rbf", cell_size=500, random_state=0, budget="20KB")
    model.fit(X[:2000], y[:2000])
    error = np.sqrt(np.mean((model.predict(X[2000:]) - y[2000:]) ** 2))
    assert 0.7 * model.loo_error_ < error < 1.4 * model.loo_error_
    assert error < 0.2 * y.std()


def test_without_codes_it_is_the_same_model():
    X, y, _ = table()
    model = LocalSVC(C=10.0, gamma=1.0, cell_size=200, n_trees=2, budget="5KB", random_state=0).fit(X, y)
    rows, trees = model.machines()
    found = scores(model._kernel, rows, trees, model._known_rows(X, np.float32))
    np.testing.assert_allclose(found, model.decision_function(X), atol=1e-3)  # small distances in float32
    assert model.learned_rows(10).shape == (10, 3)
