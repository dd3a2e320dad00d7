"""The search: how large cells of the last fit are, what a limit of time or memory allows, and rows that judge."""

from types import SimpleNamespace

import numpy as np
import pytest

from frugalsvm.lowrank.losses import SquaredHinge
from frugalsvm.selection.judging import Judgment
from frugalsvm.selection.low_rank import Start
from frugalsvm.selection.rounds import Entry
from frugalsvm.selection.search import COMPARED, LARGER, METRIC, Plan, _Search, search
from frugalsvm.selection.task import Candidate, Clock, Machinery, Task, new_view


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
    return search(task_of(*rows_with_noise(1200)), Plan(("rbf",)), Clock(), told.append), told


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
    assert {each.round.n_rows_of_cell for each in (plain, learned, softened)} == {1200}  # as the last fit will be


@pytest.mark.parametrize("A", [np.array([4.0, 1.0, 0.25]), _rng().normal(size=(2, 3))])
def test_half_of_a_metric_has_the_square_roots_of_its_sizes(A):
    half = new_view("learned metric (rbf)", np.eye(3).__getitem__)._replace(metric=A).softened().metric
    np.testing.assert_allclose(np.linalg.norm(half), np.linalg.norm(A))
    sizes, roots = (np.linalg.svd(np.diag(each) if A.ndim == 1 else each, compute_uv=False) for each in (A, half))
    np.testing.assert_allclose(roots**2 / roots[0] ** 2, sizes / sizes[0])


def entry_of(kernel, squares, round_=None, n_components=0):
    judgment = Judgment(squares, squares, np.ones(len(squares)), np.arange(len(squares)) % 5)
    return Entry(Candidate("scaled", kernel, 1.0), 1.0, judgment, round_, 0.0, n_components)


@pytest.mark.parametrize(
    ("plain", "whole", "half", "expected"),
    [
        (1.0, 0.50, 0.51, "half"),  # all of the metric is better, but not by more than chance
        (1.0, 0.51, 0.50, "half"),
        (1.0, 0.50, 0.70, "whole"),
        (1.0, 0.98, 0.99, "plain"),
        (1.0, 0.935, 0.955, "whole"),  # half of it is not clearly better than none, and all of it is
    ],
)
def test_half_of_a_metric_is_taken_unless_all_of_it_is_better(plain, whole, half, expected):
    def entry_with(view, error):  # paired differences have a standard deviation of about .35
        entry = entry_of("rbf", error + noises[view])
        return entry._replace(candidate=entry.candidate._replace(view=view))

    rng = _rng()
    noises = {name: 0.25 * rng.normal(size=200) for name in ("plain", "whole", "half")}
    noises = {name: noise - noise.mean() for name, noise in noises.items()}
    entries = [entry_with("plain", plain), entry_with("whole", whole), entry_with("half", half)]
    searching = search_of(1000)
    searching.halves = {"half"}
    taken = searching._metric_or_not(entries[0], entries[1:], entries)
    assert taken.candidate.view == expected


@pytest.mark.parametrize(("other", "expected"), [(0.96, "scaled"), (0.93, "symmetric"), (1.1, "scaled")])
def test_another_view_of_the_rows_is_taken_where_it_is_clearly_better(other, expected, monkeypatch):
    noise = np.tile([0.35, -0.35], 100)  # a standard error of .025
    errors = {"scaled": 1.0 + np.zeros(200), "symmetric": other + noise}

    def entry_with(round_, candidate, C=100.0):
        entry = entry_of("rbf", errors[candidate.view], round_)
        return entry._replace(candidate=entry.candidate._replace(view=candidate.view))

    searching = search_of(1000)
    searching.task.views["symmetric"] = searching.task.views["scaled"]._replace(name="symmetric")
    monkeypatch.setattr(searching, "_best", entry_with)
    assert searching._on_sample()[0].candidate.view == expected


@pytest.mark.parametrize(
    ("kernels", "best", "lead", "expected"),
    [
        (("rbf", "laplacian"), "laplacian", 0.2, "laplacian"),
        (("rbf", "laplacian"), "laplacian", 0.001, "rbf"),  # not clearly better
        (("rbf", "laplacian"), "rbf", 0.2, "rbf"),
        (("matern32", "laplacian"), "laplacian", 0.2, "laplacian"),
        (("laplacian",), "laplacian", 0.2, "laplacian"),
    ],
)
def test_metrics_are_learned_with_laplacian_where_it_is_clearly_better(kernels, best, lead, expected):
    squares, noise = _rng().random(200), 0.1 * _rng().normal(size=200)
    entries = [entry_of(kernel, squares if kernel == best else squares + lead + noise) for kernel in kernels]
    sample = sorted(entries, key=lambda entry: entry.rank_key)
    numbers = _rng().normal(size=(200, 3))
    for X, kernel in (numbers, expected), (np.sign(numbers), "laplacian" if len(kernels) == 1 else "rbf"):
        task = task_of(X, X[:, 0] > 0)
        searching = _Search(task, Plan(kernels), Clock(), lambda entry: None, lambda words: None)
        assert searching._kernel_of_metrics(sample) == kernel  # features of two values have no thresholds


def test_thresholds_of_single_columns_are_learned_with_laplacian():
    X = _rng().uniform(size=(700, 6))
    told = []
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.7)
    search(task_of(X, y), Plan(("rbf", "laplacian")), Clock(), told.append)
    views = {entry.candidate.view for entry in told if entry.round.number == METRIC}
    assert views == {"learned metric (laplacian)", "learned metric (laplacian), softened"}


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


# --- low-rank machines ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("saved", "expected"), [(0.0, 2250), (0.004, 2250), (0.1, 3000)])
def test_landmarks_are_no_more_than_it_pays(saved, expected, monkeypatch):
    squares = _rng().random(200)

    def entries(start, round_, n_landmarks, path):
        own = squares if n_landmarks < 2250 else (1.0 - saved) * squares
        return [entry_of("rbf", own, round_, n_landmarks)._replace(C=C) for C in path]

    monkeypatch.setattr("frugalsvm.selection.search.low_rank_entries", entries)
    best, n_components = search_of(3000)._low_rank(Start(Candidate("scaled", "rbf", 1.0), 1.0, 512))
    assert best.n_components == 2250  # a quarter of 3000 rows judge
    assert n_components == expected
