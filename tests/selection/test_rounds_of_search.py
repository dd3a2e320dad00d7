"""Rounds: entries are leave-one-out errors of rows that the metric has not seen, and rows are paired."""

import numpy as np
import pytest

from frugalsvm.cells.choosing import Choice
from frugalsvm.lowrank.losses import SquaredHinge
from frugalsvm.selection.rounds import Round, best_of, is_better
from frugalsvm.selection.task import Candidate, Clock, Machinery, Task, divided, neighborhoods, new_view

RBF = Candidate("scaled", "rbf", 0.5)


def task_of(n_rows, weights=None, n_features=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    targets = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0).astype(np.float32)[None]
    weights = np.ones(n_rows) if weights is None else weights
    views = {"scaled": new_view("scaled", X.__getitem__)}
    labels = (targets[0] > 0).astype(int)
    return Task(views, targets, labels, weights.astype(np.float32), SquaredHinge(), Machinery(), rng)


def round_of(task, members, unseen=None):
    told = []
    unseen = np.ones(task.n_rows, bool) if unseen is None else unseen
    return Round(task, 1, members, unseen, Clock(), told.append), told


def left_out_scores(X, y, weights, gamma, C):
    """Of each row, by a machine of all others: brute force."""
    found = np.empty(len(X))
    for i in range(len(X)):
        kept = np.arange(len(X)) != i
        K = np.exp(-gamma * np.square(X[kept, None] - X[None, kept]).sum(axis=2))
        H = np.zeros((kept.sum() + 1, kept.sum() + 1))
        H[:-1, :-1] = K + np.diag(1.0 / (C * weights[kept]))
        H[-1, :-1] = H[:-1, -1] = 1.0
        solved = np.linalg.solve(H, [*y[kept], 0.0])
        found[i] = np.exp(-gamma * np.square(X[kept] - X[i]).sum(axis=1)) @ solved[:-1] + solved[-1]
    return found


@pytest.mark.parametrize("weighted", [False, True])
def test_entries_are_leave_one_out_errors(weighted):
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 40) if weighted else None
    task = task_of(40, weights)
    round_, told = round_of(task, [np.arange(40)])
    (entry,) = round_.entries(RBF, [Choice(0.5, 10.0)])
    X, y = task.views["scaled"].take(slice(None)).astype(float), task.targets[0]
    scores = left_out_scores(X, y, task.weights, 0.5, 10.0)
    assert entry.judgment.error == pytest.approx(np.average((scores > 0) != (y > 0), weights=task.weights))
    squares = np.where(y * scores > 1.0, 0.0, np.square(y - scores))
    np.testing.assert_allclose(entry.judgment.squares, squares, atol=0.02)
    assert told == [entry]


def test_only_rows_that_the_metric_has_not_seen_count():
    task, unseen = task_of(40), np.arange(40) % 3 == 0
    members = [np.arange(40)]
    (entry,) = round_of(task, members, unseen)[0].entries(RBF, [Choice(0.5, 10.0)])
    (every,) = round_of(task, members)[0].entries(RBF, [Choice(0.5, 10.0)])
    np.testing.assert_array_equal(entry.judgment.squares, every.judgment.squares[unseen])
    assert entry.round.judged_index.tolist() == np.flatnonzero(unseen).tolist()


def test_rows_are_paired_whatever_cells_they_are_in():
    task = task_of(60)
    parts = [np.arange(60)[::2], np.arange(60)[1::2]]
    one, other = (round_of(task, members)[0] for members in (parts, parts[::-1]))
    np.testing.assert_array_equal(one.judged_index, other.judged_index)
    first, second = (each.entries(RBF, [Choice(0.5, 10.0)])[0] for each in (one, other))
    np.testing.assert_allclose(first.judgment.squares, second.judgment.squares, atol=1e-5)
    assert not is_better(first, second, 1.0)


class TooCoarse(Round):
    """Cannot solve the machines that are asked for first, as where float32 is too coarse for their C."""

    is_begun = False

    def entries(self, candidate, points, *, may_fall_back=False):
        was_begun, self.is_begun = self.is_begun, True
        return super().entries(candidate, points, may_fall_back=may_fall_back) if was_begun else [None] * len(points)


def test_a_search_that_is_out_of_time_ends_with_a_machine():
    task = task_of(60)
    round_ = TooCoarse(task, 1, [np.arange(60)], np.ones(60, bool), Clock(), lambda entry: None)
    assert round_.best(RBF, may_go_on=lambda: False).rank_key < np.inf


def test_the_best_entry_is_downhill():
    task = task_of(80)
    round_, told = round_of(task, [np.arange(80)])
    found = round_.best(RBF._replace(gamma=30.0), 1e4)
    assert found.rank_key <= 1.005 * best_of(told).rank_key
    assert found.candidate.gamma < 30.0


def test_without_time_the_first_entries_are_all():
    task = task_of(40)
    round_, told = round_of(task, [np.arange(40)])
    found = round_.best(RBF, 100.0, may_go_on=lambda: False)
    assert len(told) <= 5
    assert found in told


def radius(X, members):
    """How far apart the rows of a cell are."""
    return np.sqrt(X[members].var(axis=0).sum())


@pytest.mark.parametrize("sample", [2**17, 1000])
def test_neighborhoods_are_as_dense_as_cells_of_all_rows(sample, monkeypatch):
    """Also where a tree of some rows only tells where cells are."""
    monkeypatch.setattr("frugalsvm.selection.task._SAMPLE_ROWS", sample)
    monkeypatch.setattr("frugalsvm.selection.task._BLOCK_ROWS", 700)
    task = task_of(8000)
    view = task.views["scaled"]
    X = view.take(slice(None))
    found = neighborhoods(task, view, 200, 3)
    assert len(found) == 3
    whole = divided(task, view, np.arange(8000), 200)
    usual = np.median([radius(X, members) for members in whole])
    for members in found:
        assert 60 <= len(members) <= 400
        assert radius(X, members) < 2.5 * usual  # a random sample of as many rows is as wide as all of them
        assert len(np.unique(members)) == len(members)
    assert radius(X, np.arange(0, 8000, 40)) > 4.0 * usual


def test_few_rows_are_one_neighborhood():
    task = task_of(50)
    (members,) = neighborhoods(task, task.views["scaled"], 200, 3)
    assert members.tolist() == list(range(50))


def test_parts_of_a_cell_have_each_of_its_rows_once():
    task = task_of(500)
    members = np.arange(0, 500, 2)
    parts = divided(task, task.views["scaled"], members, 60)
    assert max(map(len, parts)) <= 60
    assert sorted(np.concatenate(parts)) == members.tolist()
