"""Trees of a trunk and branches: sound, with cells of nearly equal size, and the same whatever is drawn from where."""

import numpy as np
import pytest

from frugalsvm.cells import trunk as trunks
from frugalsvm.cells.tree import cells_of, grown_tree
from frugalsvm.cells.trunk import branch_of, drawn_rows, grafted, sampling_for, with_members


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(6000, 3)).astype(np.float32)


def tree_on(trunk, rows, size):
    trunk = with_members(trunk, cells_of(trunk, rows))
    return grafted(trunk, [branch_of(rows[trunk.members_of(part)], size, [part]) for part in range(trunk.n_cells)])


@pytest.mark.parametrize("n_drawn", [1, 50, 600])
def test_rows_fall_into_the_cells_that_have_them(rows, n_drawn):
    sample = rows[drawn_rows(len(rows), n_drawn, np.random.default_rng(1))]
    tree = tree_on(grown_tree(sample, 50, np.random.default_rng(2)), rows, 100)
    assert tree.is_sound(None)
    assert tree.sizes.max() <= 100
    cells = cells_of(tree, rows)
    for cell in range(tree.n_cells):
        assert (cells[tree.members_of(cell)] == cell).all()
        assert (np.diff(tree.members_of(cell)) > 0).all()


def test_cells_of_many_in_a_part_are_nearly_equal(rows):
    sample = rows[drawn_rows(len(rows), 600, np.random.default_rng(1))]
    tree = tree_on(grown_tree(sample, 300, np.random.default_rng(2)), rows, 100)
    assert tree.sizes.min() >= 90


def test_a_trunk_of_all_rows_is_the_tree(rows):
    tree = grown_tree(rows, 100, np.random.default_rng(0))
    for mine, other in zip(tree_on(tree, rows, 100), tree, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_equal_rows_are_one_cell():
    rows = np.repeat(np.arange(3, dtype=np.float32)[:, None], 50, axis=0)
    tree = tree_on(grown_tree(rows[::10].copy(), 10, np.random.default_rng(0)), rows, 20)
    assert tree.sizes.tolist() == [50, 50, 50]
    assert tree.is_sound(None)


def test_rows_are_drawn_from_all_over():
    drawn = drawn_rows(10_000, 100, np.random.default_rng(0))
    assert (drawn // 100 == np.arange(100)).all()
    assert drawn_rows(7, 7, np.random.default_rng(0)).tolist() == list(range(7))


def test_few_rows_are_all_drawn_and_of_many_enough_for_every_part():
    assert sampling_for(100_000, 2048, 10**6) == (100_000, 2048)
    for n_rows, most_rows in ((10**7, 10**7), (10**9, 10**7), (10**7, 50_000)):
        n_drawn, size = sampling_for(n_rows, 2048, most_rows)
        assert n_drawn <= most_rows
        assert size >= trunks._LEAST_DRAWN
        assert size * n_rows / n_drawn <= 0.51 * most_rows


@pytest.mark.parametrize(("n_rows", "most_rows", "advice"), [(10**6, 3000, "cell_size"), (10**9, 100_000, "memory")])
def test_too_little_memory_is_refused(n_rows, most_rows, advice):
    with pytest.raises(
        ValueError, match=f"there is some for {most_rows:,}: raise memory.*{'' if advice == 'memory' else advice}"
    ):
        sampling_for(n_rows, 2048, most_rows)
