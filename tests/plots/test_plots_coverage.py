"""Coverage along a stream: shares in windows of rows, and the promised one beside them."""

import numpy as np
import pytest
from sklearn.linear_model import SGDRegressor
from sklearn.naive_bayes import GaussianNB

from frugalsvm.conformal import ConformalClassifier, ConformalDetector, ConformalRegressor
from frugalsvm.datasets import DriftStream
from frugalsvm.exceptions import ParameterError
from frugalsvm.plots import CoverageDisplay


def regressor(coverage=0.9):
    return ConformalRegressor(SGDRegressor(random_state=0), coverage)


def batches(n_rows=2_000, size=40):
    return DriftStream("friedman", changes=1_000, random_state=0).chunks(n_rows, size)


def test_shares_are_those_of_the_latest_rows():
    display = CoverageDisplay.from_stream(regressor(), batches(), window=200)
    model, covered = regressor(), []
    for X, y in batches():
        low, high = model.test_then_train(X, y).T
        covered.append((low <= y) & (y <= high))
    covered = np.concatenate(covered)
    expected = [covered[max(0, end - 200) : end].mean() for end in range(40, 2_001, 40)]
    np.testing.assert_allclose(display.coverage["ConformalRegressor"], expected)
    np.testing.assert_array_equal(display.examples["ConformalRegressor"], range(40, 2_001, 40))


def test_sets_of_labels():
    model = ConformalClassifier(GaussianNB()).partial_fit([[0.0] * 3, [1.0] * 3], [-1, 1], classes=[-1, 1])
    stream = DriftStream("sea", random_state=0).chunks(3_000, 30)
    display = CoverageDisplay.from_stream({"bayes": model}, stream, window=3_000)
    assert display.coverage["bayes"][-1] == pytest.approx(model.coverage_)


def test_the_promise_is_drawn_where_there_is_one():
    display = CoverageDisplay.from_stream({"a": regressor(), "b": regressor()}, batches(400))
    assert display.promise_.get_ydata()[0] == 0.9
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["a", "b", "Promised"]
    display = CoverageDisplay.from_stream({"a": regressor(0.8), "b": regressor()}, batches(400))
    assert display.promise_ is None
    assert len(display.lines_) == 2


def test_several_runs_are_a_band():
    display = CoverageDisplay({"a": [1, 2]}, {"a": [[0.8, 0.9], [0.9, 0.9]]}).plot()
    assert len(display.bands_) == 1


@pytest.mark.parametrize("window", [0, 1.5, "all"])
def test_windows_are_numbers_of_rows(window):
    with pytest.raises(ParameterError, match="window"):
        CoverageDisplay.from_stream(regressor(), batches(), window=window)


@pytest.mark.parametrize("model", [SGDRegressor(), ConformalDetector(None)])
def test_models_that_promise_no_coverage(model):
    with pytest.raises(TypeError, match="promises no coverage"):
        CoverageDisplay.from_stream(model, batches())
