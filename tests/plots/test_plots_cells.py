"""Cells of a plane: borders are where cells change, and the boundary is that of the model."""

import numpy as np
import pytest

from frugalsvm import ASSETClassifier, LocalSVC
from frugalsvm.datasets import make_checkerboard
from frugalsvm.plots import CellsDisplay, DecisionBoundaryDisplay

draw = CellsDisplay.from_estimator


@pytest.fixture(scope="module")
def rows():
    return make_checkerboard(800, random_state=0)


@pytest.fixture(scope="module")
def model(rows):
    return LocalSVC(10.0, gamma=1.0, cell_size=110, n_trees=2, random_state=0).fit(*rows)


def test_cells_and_values_are_those_of_the_model(model, rows):
    display = draw(model, rows[0], y=rows[1], grid_resolution=40)
    at = np.column_stack([display.boundary.xx0[7], display.boundary.xx1[7]])
    np.testing.assert_array_equal(display.cells[7], model.apply(at))
    np.testing.assert_allclose(display.boundary.response[7], model.decision_function(at), rtol=1e-6)


def test_cells_change_across_every_long_border_and_on_no_side_of_it(model, rows):
    display = draw(model, rows[0], grid_resolution=200)
    step = display.boundary.xx0[0, 1] - display.boundary.xx0[0, 0]
    for tree, borders in enumerate(display.borders):
        lengths = np.linalg.norm(borders[:, 1] - borders[:, 0], axis=1)
        for (start, end), length in zip(borders[lengths > 20 * step], lengths[lengths > 20 * step], strict=True):
            normal = 1.5 * step * np.array([start[1] - end[1], end[0] - start[0]]) / length
            along = start + np.linspace(0.2, 0.8, 9)[:, None] * (end - start)
            left, right = (model.apply(along + side * normal)[:, tree] for side in (-1, 1))
            assert len(set(left)) == len(set(right)) == 1
            assert left[0] != right[0]


def test_what_is_drawn(model, rows):
    display = draw(model, rows[0], y=rows[1], grid_resolution=60, line_kw={"linewidths": 3.0})
    assert [len(lines.get_segments()) for lines in display.lines_] == list(map(len, display.borders))
    assert display.lines_[1].get_linewidths()[0] == 3.0
    np.testing.assert_array_equal(display.boundary.lines_[0].levels, [0])  # no margins
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["class -1", "class 1", "16 cells of 2 trees"]
    again = display.plot(legend=False)
    assert again.ax_.get_legend() is None


def test_one_cell_has_no_borders(rows):
    whole = LocalSVC(10.0, gamma=1.0, random_state=0).fit(*rows)
    display = draw(whole, rows[0], grid_resolution=20)
    assert display.borders[0].shape == (0, 2, 2)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()][-1] == "1 cell"


def test_several_classes(rows):
    X, y = rows
    model = LocalSVC(10.0, gamma=1.0, cell_size=110, random_state=0).fit(X, np.where(X[:, 0] > 1, 2, y))
    display = draw(model, X, grid_resolution=30)
    assert len(display.boundary.surface_) == 3


def test_models_without_cells_are_refused(rows):
    other = ASSETClassifier(n_components=16, random_state=0).fit(*rows)
    with pytest.raises(TypeError, match="ASSETClassifier has no cells: give a fitted LocalSVC"):
        draw(other, rows[0])
    boundary = DecisionBoundaryDisplay.from_estimator(other, rows[0], grid_resolution=10)
    with pytest.raises(ValueError, match=r"cells must have shape \(n, m, n_trees\)"):
        CellsDisplay(boundary=boundary, cells=np.zeros((10, 10)))
