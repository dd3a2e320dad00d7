"""Machines of cells: their systems are solved, and leave-one-out is that of training without each row."""

import threading

import numpy as np
import pytest

from frugalsvm.cells.places import OnThreads
from frugalsvm.cells.scores import scores
from frugalsvm.cells.solver import Examples, cell_bytes, new_system, solve_some, solved_cells
from frugalsvm.cells.tree import grown_tree
from frugalsvm.compiling.threads import ONE_THREAD, Threads
from frugalsvm.core.kernels import KERNELS
from tests.oracles import kernels as kernel_oracle
from tests.oracles.cells import cell_machine, left_out_predictions

RIDGE, GAMMA, SIZE = 0.1, 0.3, 70


def problem(dtype=np.float64, n=200, weighted=True):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.stack([np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n), np.sign(X[:, 1] * X[:, 2])])
    weights = rng.uniform(0.5, 2.0, size=n) if weighted else np.empty(0)
    return Examples(X.astype(dtype), y.astype(dtype), weights)


def solve(examples, kernel, ridge=RIDGE, size=SIZE, threads=ONE_THREAD):
    tree = grown_tree(examples.rows, size, np.random.default_rng(0))
    errors = np.zeros(examples.targets.shape)
    return solved_cells(kernel, examples, tree, size, ridge, errors, threads), errors


def weights_of(examples, members):
    return examples.weights[members] if len(examples.weights) else np.ones(len(members))


@pytest.mark.parametrize("name", ["matern12", "rbf", "laplacian"])
@pytest.mark.parametrize("weighted", [True, False])
def test_systems_are_solved_and_leave_one_out_is_exact(name, weighted):
    examples = problem(weighted=weighted)
    cells, errors = solve(examples, KERNELS[name](gamma=GAMMA))
    assert cells.tree.n_cells == 3
    for cell in range(cells.tree.n_cells):
        members = cells.tree.members_of(cell)
        K = kernel_oracle.value(name, examples.rows[members], examples.rows[members], GAMMA)
        y, weights = examples.targets[:, members].T, weights_of(examples, members)
        coef, intercepts = cell_machine(K, y, RIDGE, weights)
        own = slice(*cells.tree.starts[cell : cell + 2])
        np.testing.assert_allclose(cells.coef[:, own].T, coef, atol=1e-9)
        np.testing.assert_allclose(cells.intercepts[cell], intercepts, atol=1e-9)
        left_out = left_out_predictions(K, y, RIDGE, weights)
        np.testing.assert_allclose(y - errors[:, members].T, left_out, atol=1e-8)


def test_kernels_that_are_not_of_differences():
    examples = problem()
    cells, errors = solve(examples, KERNELS["linear"]())
    members = cells.tree.members_of(0)
    rows, y = examples.rows[members], examples.targets[:, members].T
    left_out = left_out_predictions(rows @ rows.T, y, RIDGE, weights_of(examples, members))
    np.testing.assert_allclose(y - errors[:, members].T, left_out, atol=1e-8)


def test_scores_are_those_of_the_cell_of_a_row():
    examples, kernel = problem(), KERNELS["matern12"](gamma=GAMMA)
    trees = OnThreads(ONE_THREAD).grown(examples, SIZE, 2, np.random.default_rng(0))
    cells, _ = OnThreads(ONE_THREAD).trained(kernel, examples, trees, SIZE, RIDGE)
    expected = np.zeros((len(examples.rows), 2))
    for each in cells:
        for cell in range(each.tree.n_cells):
            members = each.tree.members_of(cell)
            K = kernel_oracle.value("matern12", examples.rows[members], examples.rows[members], GAMMA)
            own = slice(*each.tree.starts[cell : cell + 2])
            expected[members] += (K @ each.coef[:, own].T + each.intercepts[cell]) / len(cells)
    found = scores(kernel, examples.rows, cells, examples.rows, Threads(2))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_several_trees_leave_a_row_out_of_all():
    examples, kernel = problem(), KERNELS["matern12"](gamma=GAMMA)
    trees = OnThreads(ONE_THREAD).grown(examples, SIZE, 2, np.random.default_rng(0))
    _, left_out = OnThreads(ONE_THREAD).trained(kernel, examples, trees, SIZE, RIDGE)
    expected = np.zeros_like(left_out)
    for tree in trees:
        for cell in range(tree.n_cells):
            members = tree.members_of(cell)
            K = kernel_oracle.value("matern12", examples.rows[members], examples.rows[members], GAMMA)
            y, weights = examples.targets[:, members].T, weights_of(examples, members)
            expected[members] += left_out_predictions(K, y, RIDGE, weights) / len(trees)
    np.testing.assert_allclose(left_out, expected, atol=1e-8)


def test_equal_rows_predict_their_mean():
    examples = problem(n=150)
    rows = np.repeat(examples.rows[:2], 75, axis=0)
    examples = examples._replace(rows=np.ascontiguousarray(rows))
    cells, errors = solve(examples, KERNELS["matern12"](gamma=GAMMA), size=20)
    assert cells.tree.sizes.tolist() == [75, 75]
    members = cells.tree.members_of(0)
    y, weights = examples.targets[:, members].T, weights_of(examples, members)
    left_out = left_out_predictions(np.ones((75, 75)), y, RIDGE, weights)
    np.testing.assert_allclose(y - errors[:, members].T, left_out, atol=1e-8)
    found = scores(KERNELS["matern12"](gamma=GAMMA), rows, [cells], rows[members[:1]])
    np.testing.assert_allclose(found[0], np.average(y, axis=0, weights=weights), atol=1e-12)


def test_float32_falls_back_to_float64_where_it_is_too_coarse():
    kernel, examples = KERNELS["rbf"](gamma=0.01), problem(np.float32, weighted=False)
    ridge = 1e-7  # far below the rounding errors of float32
    _, errors = solve(examples, kernel, ridge)
    _, exact_errors = solve(Examples(*(np.asarray(each, np.float64) for each in examples)), kernel, ridge)
    np.testing.assert_allclose(errors, exact_errors, atol=1e-5)


def far_apart(n=300):
    """Groups of rows that are close, with targets of their own; groups are far from each other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) + 3e4 * rng.integers(0, 2, size=(n, 1))
    return Examples(X.astype(np.float32), np.sign(rng.normal(size=(1, n))).astype(np.float32), np.empty(0))


def test_scores_are_in_float64_where_cells_were_solved_in_it():
    """In float32, the distance of close rows is lost among numbers that are as large as that of groups."""
    examples, kernel = far_apart(), KERNELS["matern12"](gamma=4.0)
    cells, _ = solve(examples, kernel, ridge=1e-3, size=300)
    assert cells.coef.dtype == np.float64
    found = scores(kernel, examples.rows, [cells], examples.rows)
    np.testing.assert_allclose(found.T, examples.targets, atol=0.1)


def test_more_regularization_where_float64_is_too_coarse():
    examples = problem(weighted=False)
    rows = np.ascontiguousarray(np.repeat(examples.rows[:100], 2, axis=0))  # every row twice: K is singular
    cells, errors = solve(examples._replace(rows=rows), KERNELS["rbf"](gamma=GAMMA), ridge=1e-18)
    assert np.isfinite(cells.coef).all()
    assert np.isfinite(errors).all()


def test_threads_change_nothing():
    examples, kernel = problem(np.float32), KERNELS["matern12"](gamma=GAMMA)
    (mine, errors), (other, other_errors) = (solve(examples, kernel, threads=Threads(n)) for n in (1, 3))
    np.testing.assert_array_equal(mine.coef, other.coef)
    np.testing.assert_array_equal(errors, other_errors)


LARGE = 2300  # rows: more than a panel, and threads share the cell


@pytest.fixture(scope="module")
def large():
    examples = problem(n=LARGE)
    return examples, *solve(examples, KERNELS["matern12"](gamma=GAMMA), size=LARGE)


def test_large_cells_are_solved_in_parts(large):
    examples, cells, errors = large
    members, coef = cells.tree.members, cells.coef.T
    K = kernel_oracle.value("matern12", examples.rows[members], examples.rows[members], GAMMA)
    y, ridge = examples.targets[:, members].T, RIDGE / examples.weights[members, None]
    np.testing.assert_allclose(K @ coef + ridge * coef + cells.intercepts, y, atol=1e-9)
    np.testing.assert_allclose(coef.sum(axis=0), 0.0, atol=1e-9)
    W = np.linalg.inv(K + np.diag(ridge[:, 0]))
    diagonal = np.diag(W) - W.sum(axis=1) ** 2 / W.sum()
    np.testing.assert_allclose(errors[:, members].T, coef / diagonal[:, None], atol=1e-9)
    found = scores(KERNELS["matern12"](gamma=GAMMA), examples.rows, [cells], examples.rows[members[:300]], Threads(2))
    np.testing.assert_allclose(found, (K @ coef)[:300] + cells.intercepts, atol=1e-9)


def test_threads_that_share_a_cell_change_nothing(large):
    examples, cells, errors = large
    other, other_errors = solve(examples, KERNELS["matern12"](gamma=GAMMA), size=LARGE, threads=Threads(3))
    np.testing.assert_array_equal(cells.coef, other.coef)
    np.testing.assert_array_equal(errors, other_errors)


def test_threads_share_several_cells(monkeypatch):
    examples, kernel = problem(), KERNELS["matern12"](gamma=GAMMA)
    alone, errors = solve(examples, kernel)
    monkeypatch.setattr("frugalsvm.cells.solver._LARGE", 10)
    for threads in (1, 2, 5):
        cells, other_errors = solve(examples, kernel, threads=Threads(threads))
        np.testing.assert_allclose(cells.coef, alone.coef, atol=1e-12)
        np.testing.assert_allclose(errors, other_errors, atol=1e-12)


def test_memory_limits_what_is_solved_at_a_time(monkeypatch):
    made = []

    def noted_system(*sizes, **options):
        made.append(sizes)
        return new_system(*sizes, **options)

    monkeypatch.setattr("frugalsvm.cells.solver.new_system", noted_system)
    examples, kernel = problem(np.float32, weighted=False), KERNELS["rbf"](gamma=0.01)
    tree = grown_tree(examples.rows, SIZE, np.random.default_rng(0))
    needed = cell_bytes(int(tree.sizes.max()), 3, 2, np.float32)
    # Far below the rounding errors of float32: there is no room for float64, so that there is more regularization.
    errors = np.zeros(examples.targets.shape)
    solved_cells(kernel, examples, tree, SIZE, 1e-7, errors, Threads(3), memory=1.5 * needed)
    assert len(made) > 1
    assert {dtype for *_, dtype in made} == {np.dtype(np.float32)}
    assert np.isfinite(errors).all()
    assert np.square(errors).mean() < 0.9 * np.square(examples.targets).mean()


def test_an_interrupt_in_one_thread_ends_all(monkeypatch):
    """Those that wait for parts of the interrupted one, too."""
    examples, lock, calls = problem(n=LARGE), threading.Lock(), []

    def solve_or_interrupt(*arguments):
        with lock:
            calls.append(threading.get_ident())
            is_second = len(calls) == 2
        if is_second:
            raise KeyboardInterrupt
        return solve_some(*arguments)

    monkeypatch.setattr("frugalsvm.cells.solver.solve_some", solve_or_interrupt)
    monkeypatch.setattr("frugalsvm.cells.solver._AT_A_TIME", 10)
    with pytest.raises(KeyboardInterrupt):
        solve(examples, KERNELS["matern12"](gamma=GAMMA), size=LARGE, threads=Threads(3))
