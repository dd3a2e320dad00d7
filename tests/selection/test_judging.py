"""What scores are worth, and by how much one is better than another."""

import numpy as np
import pytest

from frugalsvm.selection.judging import Judgment, better_by, judged, mean_gain, optimism, row_losses

FOLDS = np.array([0, 0, 1, 1])
WEIGHTS = np.array([1.0, 1.0, 1.0, 3.0])


def test_wrong_classes_count_by_weight():
    targets = np.array([[1.0, 1.0, -1.0, -1.0]])
    found = judged(np.array([[0.5, -0.5, -2.0, 0.0]]), targets, WEIGHTS, FOLDS, classes=True)
    assert found.losses.tolist() == [0, 1, 0, 1]  # zero is the second class
    assert found.error == pytest.approx(4 / 6)
    assert found.fold_errors() == pytest.approx([1 / 2, 3 / 4])


def test_what_is_beyond_the_margin_is_no_error():
    _, squares = row_losses(np.array([[3.0, 0.5]]), np.array([[1.0, 1.0]]), classes=True)
    assert squares.tolist() == [0.0, 0.25]


def test_several_classes_take_the_largest_score():
    targets = np.array([[1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    losses, _ = row_losses(np.array([[0.1, 0.2], [0.0, 0.1], [-1.0, 0.0]]), targets, classes=True)
    assert losses.tolist() == [0, 1]


def test_values_have_squared_errors():
    losses, squares = row_losses(np.array([[1.0, 3.0]]), np.array([[2.0, 1.0]]), classes=False)
    assert losses.tolist() == squares.tolist() == [1.0, 4.0]


def test_differences_are_paired_and_leave_out_rows_without_a_score():
    targets = np.ones((1, 4))
    one = judged(np.array([[1.0, 1.0, -1.0, np.nan]]), targets, WEIGHTS, FOLDS, classes=True)
    other = judged(np.array([[1.0, -1.0, -1.0, np.nan]]), targets, WEIGHTS, FOLDS, classes=True)
    gain, error = better_by(one, other)
    assert gain == pytest.approx(1 / 3)
    assert error == pytest.approx(np.std([0, 1, 0]) / np.sqrt(3))


def test_rows_without_weight_do_not_count():
    worse, better = np.r_[np.ones(9), np.zeros(90), 0.0], np.r_[np.zeros(99), 50.0]
    weights, folds = np.r_[np.ones(99), 0.0], np.zeros(100, int)
    found = better_by(*(Judgment(losses, losses, weights, folds) for losses in (better, worse)))
    assert found == pytest.approx(mean_gain(worse[:99] - better[:99]))
    assert found[0] == pytest.approx(9 / 99)


def test_nothing_is_known_of_no_rows():
    assert mean_gain(np.zeros(0)) == (0.0, np.inf)


def test_the_best_of_many_is_not_as_good_elsewhere():
    """Candidates that differ by chance only: the best of them has smaller losses where it was chosen."""
    rng = np.random.default_rng(0)
    n_rows, n_tries, targets = 100, 40, np.zeros((1, 100))
    folds, weights = np.arange(n_rows) % 5, np.ones(n_rows)
    best, elsewhere = np.empty((2, n_tries))
    for k, scores in enumerate(rng.normal(size=(n_tries, 30, 1, n_rows))):
        many = [judged(each, targets, weights, folds, classes=False) for each in scores]
        best[k] = min(each.error for each in many)
        elsewhere[k] = best[k] * optimism(many)
    assert best.mean() < 0.8
    assert abs(elsewhere.mean() - 1.0) < 0.1
    assert optimism(many[:1]) == 1.0
    clear = judged(np.full((1, n_rows), 0.1), targets, weights, folds, classes=False)
    assert optimism([*many, clear]) == 1.0
