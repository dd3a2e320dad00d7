"""The balanced tree: cells of nearly equal size, whatever the rows are, and the same ones for any number of threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from frugalsvm.cells.tree import cells_of, grown_tree
from frugalsvm.compiling.threads import Threads
from tests.oracles.cells import descend


def tree_of(rows, size, seed=0, threads=1):
    return grown_tree(np.ascontiguousarray(rows), size, np.random.default_rng(seed), Threads(threads))


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(3000, 4)).astype(np.float32)


def test_cells_have_nearly_equal_sizes(rows):
    tree = tree_of(rows, 130)
    assert tree.n_cells == 24
    assert tree.sizes.max() <= 130
    assert tree.sizes.min() >= 120
    assert tree.is_sound(None)


def test_rows_fall_into_the_cells_that_have_them(rows):
    tree = tree_of(rows, 100)
    cells = cells_of(tree, rows)
    for cell in range(tree.n_cells):
        assert (cells[tree.members_of(cell)] == cell).all()


def test_descent_is_that_of_the_oracle(rows):
    tree = tree_of(rows, 100)
    others = np.random.default_rng(1).normal(size=(200, 4)).astype(np.float32)
    assert cells_of(tree, others).tolist() == [descend(tree, row) for row in others]


def test_threads_change_nothing(rows):
    many = np.concatenate([rows] * 8) + np.arange(24000, dtype=np.float32)[:, None] / 1000
    for mine, other in zip(tree_of(many, 500), tree_of(many, 500, threads=3), strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("unit", [2.0**60, 2.0**-60])
def test_the_unit_of_rows_changes_nothing(rows, unit):
    plain, scaled = tree_of(rows, 100), tree_of(rows * np.float32(unit), 100)
    np.testing.assert_array_equal(plain.members, scaled.members)
    np.testing.assert_array_equal(plain.directions, scaled.directions)


def test_few_rows_are_one_cell(rows):
    tree = tree_of(rows[:50], 50)
    assert tree.n_cells == 1
    assert tree.is_sound(None)
    assert (cells_of(tree, rows[:9]) == 0).all()


def test_equal_rows_are_one_cell_however_many():
    rows = np.repeat(np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32), 400, axis=0)
    tree = tree_of(rows, 100)
    assert tree.sizes.tolist() == [400] * 5
    assert tree.is_sound(None)


def test_one_row_that_differs_is_found():
    rows = np.zeros((5000, 3), np.float32)
    rows[4321] = 1e-6
    assert sorted(tree_of(rows, 100).sizes) == [1, 4999]


@given(
    arrays(np.float32, st.tuples(st.integers(1, 60), st.integers(1, 3)), elements=st.sampled_from([0, 1, 2.5, -3e10])),
    st.integers(1, 9),
    st.integers(0, 99),
)
def test_no_cell_is_empty_and_large_ones_have_equal_rows(rows, size, seed):
    tree = tree_of(rows, size, seed)
    assert tree.is_sound(None)
    for cell in np.flatnonzero(tree.sizes > size):
        members = rows[tree.members_of(cell)]
        assert (members == members[0]).all()
    cells = cells_of(tree, rows)
    for cell in range(tree.n_cells):
        assert (cells[tree.members_of(cell)] == cell).all()
