"""The search: how large cells of the last fit are, what a limit of time or memory allows, and rows that judge."""

from types import SimpleNamespace

import numpy as np
import pytest

from frugalsvm.lowrank.losses import SquaredHinge
from frugalsvm.selection.search import COMPARED, LARGER, METRIC, Plan, _Search, search
from frugalsvm.selection.task import Machinery, Task, new_view
from frugalsvm.selection.work import Clock


def task_of(X, y, memory=4 * 2**30):
    targets = np.where(y, 1.0, -1.0).astype(np.float32)[None]
    views = {"scaled": new_view("scaled", X.astype(np.float32).__getitem__)}
    machinery = Machinery(memory=memory)
    return Task(views, targets, y.astype(int), np.ones(len(y), np.float32), SquaredHinge(), machinery, _rng())


def _rng():
    return np.random.default_rng(0)


def search_of(n_rows, limit=None, memory=4 * 2**30, **plan):
    task = task_of(np.zeros((n_rows, 2)), np.arange(n_rows) % 2 == 0, memory)
    clock = Clock(limit, now=lambda: 0.0)
    return _Search(task, Plan(("rbf",), **plan), clock, lambda entry: None, lambda words: None)


# --- the size of cells ----------------------------------------------------------------------------------------------


def test_few_rows_are_one_cell():
    size, n_trees = search_of(3000)._structure(0.0)
    assert size >= 3000
    assert n_trees == 1


def test_cells_are_larger_where_that_pays():
    sizes = [search_of(40_000)._structure(gain)[0] for gain in (-0.1, 0.0, 0.05, 0.2)]
    assert sizes == sorted(sizes)
    assert sizes[0] == sizes[1] < sizes[2]


def test_trees_are_as_many_as_there_is_work_for():
    n_trees = [search_of(60_000, fit_work=work)._structure(0.0)[1] for work in (1.0, 25.0, 1e6)]
    assert n_trees[0] == 1 < n_trees[1] <= n_trees[2] == 3


def test_a_limit_of_time_makes_cells_small():
    sizes = [search_of(100_000, limit)._structure(0.2)[0] for limit in (0.1, 10.0, 1e6)]
    assert sizes == sorted(sizes)
    assert sizes[0] == 256 < sizes[2]


def test_cells_have_room_in_memory():
    for memory in (2**22, 2**24, 2**26):
        for n_rows in (4000, 40_000):
            found = search_of(n_rows, memory=memory)
            size = min(found._structure(0.2)[0], n_rows)
            assert found.task.machinery.cell_bytes(size, 2, 1) <= memory


# --- rounds ---------------------------------------------------------------------------------------------------------


def rows_with_noise(n_rows):
    """Two columns decide, eight are noise."""
    X = _rng().normal(size=(n_rows, 10))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] > 0


@pytest.fixture(scope="module")
def found():
    told = []
    return search(task_of(*rows_with_noise(900)), Plan(("rbf",)), Clock(), told.append), told


def test_a_metric_is_judged_by_rows_that_it_was_not_learned_from(found):
    found, told = found
    own = [entry for entry in told if entry.round.number == METRIC]
    assert found.best.candidate.view.startswith("learned metric")
    assert 0 < found.unseen.sum() < 450
    for entry in own:
        assert found.unseen[entry.round.judged_index].all()


def test_a_metric_and_none_are_compared_on_the_same_rows(found):
    plain, learned, softened = (entry for entry in found[1] if entry.round.number == COMPARED)
    assert plain.candidate.view == "scaled"
    assert softened.candidate.view == f"{learned.candidate.view}, softened"
    for each in learned, softened:
        np.testing.assert_array_equal(plain.round.judged_index, each.round.judged_index)
    np.testing.assert_array_equal(np.sort(plain.round.judged_index), np.flatnonzero(found[0].unseen))


@pytest.mark.parametrize("A", [np.array([4.0, 1.0, 0.25]), _rng().normal(size=(2, 3))])
def test_half_of_a_metric_has_the_square_roots_of_its_sizes(A):
    half = new_view("learned metric (rbf)", np.eye(3).__getitem__)._replace(metric=A).softened().metric
    np.testing.assert_allclose(np.linalg.norm(half), np.linalg.norm(A))
    sizes, roots = (np.linalg.svd(np.diag(each) if A.ndim == 1 else each, compute_uv=False) for each in (A, half))
    np.testing.assert_allclose(roots**2 / roots[0] ** 2, sizes / sizes[0])


def test_without_a_metric_all_rows_count():
    X = _rng().normal(size=(600, 2))
    made = search(task_of(X, X[:, 0] * X[:, 1] > 0), Plan(("rbf",), learns_metric=False), Clock(), lambda entry: None)
    assert made.unseen.all()


def test_nothing_is_gained_where_there_are_no_errors():
    best = SimpleNamespace(judgment=SimpleNamespace(error=0.0))
    assert search_of(40_000)._gain(best) == 0.0


def test_what_larger_cells_gain_is_measured_in_two_sizes(monkeypatch):
    for name, value in (("_ONE_CELL", 300), ("_SMALL", 50), ("CELL", 100), ("_LARGE", 200), ("_USUAL_SIZE", 200)):
        monkeypatch.setattr(f"frugalsvm.selection.search.{name}", value)
    monkeypatch.setattr("frugalsvm.selection.search.global_start", lambda best, order: None)
    told = []
    X = _rng().normal(size=(1200, 2))
    y = X[:, 0] + 0.3 * np.random.default_rng(1).normal(size=1200) > 0
    made = search(task_of(X, y), Plan(("rbf",), learns_metric=False), Clock(), told.append)
    small, large = (entry.round for entry in told if entry.round.number == LARGER)
    assert small.n_rows_of_cell <= 100 < large.n_rows_of_cell <= 200
    np.testing.assert_array_equal(small.judged_index, large.judged_index)
    assert made.cell_size >= 200
    assert made.rival is None
