"""What scores are worth, and by how much one is better than another."""

import numpy as np
import pytest

from frugalsvm.selection.judging import better_by, judged, row_losses

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
