"""Pictures of explanations: the numbers that are drawn."""

import numpy as np
import pytest

from frugalsvm import ASSETClassifier
from frugalsvm.exceptions import ParameterError
from frugalsvm.explain import Explanation, shapley_values
from frugalsvm.plots import ExplanationDisplay

VALUES = np.array([[0.5, -0.2, 0.05, 0.0], [-1.0, 0.1, 0.3, 0.2]])
FOUND = Explanation(VALUES, 0.1, [[3.0, 7.0, 1.0, 0.0], [1.0, 2.0, 3.0, 4.0]], "abcd", ["yes"])


def labels(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


def test_a_waterfall_leads_from_the_base_value_to_that_of_the_row():
    display = ExplanationDisplay(FOUND).plot(kind="waterfall", row=1, n_features=2)
    bars = sorted(display.artist_, key=lambda bar: bar.get_y())  # the top one first
    assert [bar.get_width() for bar in bars] == pytest.approx([-1.0, 0.3, 0.3])  # the last is that of two others
    assert bars[-1].get_x() == pytest.approx(0.1)
    assert bars[0].get_x() + bars[0].get_width() == pytest.approx(FOUND.predictions[1])
    assert sorted(labels(display)) == ["2 others", "a = 1", "c = 3"]
    texts = {text.get_text(): text.xy[0] for text in display.ax_.texts}  # on the right of their bars
    assert texts["-1"] == pytest.approx(bars[0].get_x())
    assert texts["+0.3"] == pytest.approx(bars[1].get_x() + bars[1].get_width())


def test_bars_are_mean_absolute_shares():
    display = ExplanationDisplay(FOUND).plot(kind="bars", n_features=3)
    assert labels(display) == ["a", "c", "b", "1 other"]
    assert [bar.get_width() for bar in display.artist_] == pytest.approx([0.75, 0.175, 0.15, 0.1])


def test_a_beeswarm_has_a_point_for_each_row():
    display = ExplanationDisplay(FOUND).plot()
    assert labels(display) == ["a", "c", "b", "d"]
    assert sorted(display.artist_[0].get_offsets()[:, 0]) == [-1.0, 0.5]
    assert display.artist_[0].get_array().tolist() == [1.0, 0.0]  # 3 is high, 1 is low


def test_columns_of_text_are_drawn_without_a_rank():
    found = Explanation(VALUES[:, :1], 0.1, np.array([["red"], ["blue"]], object), ["color"])
    display = ExplanationDisplay(found).plot(kind="beeswarm")
    assert display.artist_[0].get_array() is None
    assert labels(ExplanationDisplay(found[0]).plot()) == ["color = red"]


def test_a_model_is_explained_and_drawn():
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = ASSETClassifier(n_components=16, gamma=0.3, random_state=0).fit(X, np.digitize(X[:, 1], [-0.5, 0.5]))
    display = ExplanationDisplay.from_estimator(model, X[:20], X[20:40], kind="bars")
    assert labels(display)[0] == "Feature 2"
    found = shapley_values(model, X[:20], X[20:40])
    assert display.artist_[0].get_width() == pytest.approx(found.importances.sum(axis=1).max())
    assert "for 2" in display.plot(kind="waterfall", output=2).ax_.get_xlabel()


def test_refuses_what_it_cannot_draw():
    with pytest.raises(ParameterError, match="kind"):
        ExplanationDisplay(FOUND).plot(kind="pie")
    with pytest.raises(ParameterError, match="n_features"):
        ExplanationDisplay(FOUND).plot(n_features=0)
    with pytest.raises(ParameterError, match="row"):
        ExplanationDisplay(FOUND).plot(row=2)
    with pytest.raises(TypeError, match="shapley_values"):
        ExplanationDisplay(VALUES)
