"""Pictures with long names: labels and legends are whole, inside the figure, and leave room for what is drawn."""

import warnings

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib import pyplot as plt

from frugalsvm import ASSETClassifier
from frugalsvm.explain import Explanation
from frugalsvm.plots import DecisionBoundaryDisplay, ExplanationDisplay, MetricDisplay

LONG = "a_name_of_a_column_that_goes_on_and_on_for_55_characters"
rng = np.random.default_rng(0)


def checked(display):
    """Everything that is written is inside the figure, and the axes have at least two fifths of its width."""
    figure, ax = display.ax_.figure, display.ax_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.canvas.draw()
    width, height = figure.get_size_inches() * figure.dpi
    low, high = sorted(ax.get_ylim())
    shown = [text for text in ax.get_yticklabels() if low <= text.get_position()[1] <= high]
    texts = [*shown, ax.xaxis.label, ax.yaxis.label]
    texts += [] if ax.get_legend() is None else ax.get_legend().get_texts()
    for text in filter(lambda each: each.get_text(), texts):
        box = text.get_window_extent()
        assert box.x0 >= -1, text
        assert box.x1 <= width + 1, text
        assert box.y0 >= -1, text
        assert box.y1 <= height + 1, text
    assert ax.get_window_extent().width > 0.4 * width
    plt.close(figure)


@pytest.mark.parametrize("labels", ["class number", "a class with a name that is quite long, number"])
def test_the_legend_of_six_named_classes_is_whole(labels):
    X = rng.normal(size=(300, 2))
    y = np.array([f"{labels} {k}" for k in np.digitize(X[:, 0], [-1.2, -0.5, 0.0, 0.5, 1.2])])
    model = ASSETClassifier(n_components=30, gamma=0.5, C=1.0, random_state=0).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y=y, grid_resolution=20)
    texts = [text.get_text().replace("\n", " ") for text in display.ax_.get_legend().get_texts()]
    assert f"{labels} 0" in texts  # not "class class number 0"
    checked(display)


@pytest.mark.parametrize("metric", [[1.0, 2.0, 0.5], np.eye(3) + 0.1])
def test_names_of_features_of_a_metric_are_whole(metric):
    X = rng.normal(size=(200, 3))
    model = ASSETClassifier(n_components=30, gamma=0.5, C=1.0, metric=np.array(metric), random_state=0).fit(
        X, X[:, 0] > 0
    )
    display = MetricDisplay.from_estimator(model, feature_names=[LONG, "b", "c"])
    assert LONG in [text.get_text().replace("\n", "") for text in display.ax_.get_yticklabels()]
    checked(display)


@pytest.mark.parametrize("kind", ["waterfall", "bars", "beeswarm"])
def test_names_of_columns_of_an_explanation_are_whole(kind):
    found = Explanation(rng.normal(size=(20, 3)), 0.1, rng.normal(size=(20, 3)), [LONG, "b", "c"], ["yes"])
    checked(ExplanationDisplay(found).plot(kind=kind))
