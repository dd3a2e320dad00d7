"""Cells of rows, as `LocalSVC` and `LocalSVR` tell them."""

import numpy as np
import pytest

from frugalsvm import LocalSVC, LocalSVR


@pytest.mark.parametrize("kind", [LocalSVC, LocalSVR])
def test_every_row_has_a_cell_in_each_tree(kind):
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = kind(10.0, gamma=0.3, cell_size=40, n_trees=2, random_state=0).fit(X, X[:, 0] > 0)
    cells = model.apply(X)
    assert cells.shape == (300, 2)
    for tree in cells.T:
        counts = np.bincount(tree)
        assert len(counts) == model.n_cells_ / 2
        assert counts.min() > 0
        assert counts.max() <= 40
    assert (cells[:, 0] != cells[:, 1]).any()
