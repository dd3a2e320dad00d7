"""Accuracy along a stream that changes: drifts that are known, and those that a model has found."""

import numpy as np
import pytest

from frugalsvm import BSGDClassifier
from frugalsvm.datasets import make_checkerboard
from frugalsvm.pipelines import DriftWatch, StreamPipeline
from frugalsvm.plots import AccuracyCurveDisplay, record_stream

CHANGE = 1500


class At:
    """A detector that finds a drift in the row of a number; those of the first batch are not shown to it."""

    def __init__(self, row):
        self._row, self._seen, self.drift_detected = row, 0, False

    def update(self, x):
        self._seen += 1
        self.drift_detected = self._seen == self._row


@pytest.fixture(scope="module")
def batches():
    X, y = make_checkerboard(3000, random_state=0)
    y[CHANGE:] = -y[CHANGE:]
    return [(X[start : start + 100], y[start : start + 100]) for start in range(0, 3000, 100)]


def watch(on_drift="reset", **pipeline):
    model = BSGDClassifier(budget=30, gamma=5.0)
    return DriftWatch(StreamPipeline(model, scale=False, **pipeline) if pipeline else model, At(1350), on_drift)


@pytest.mark.parametrize("pipeline", [{}, {"warmup_rows": 150}])
def test_a_watch_is_followed_through_its_reset(batches, pipeline):
    notes = record_stream({"watch": watch(**pipeline)}, batches, classes=[-1, 1])["watch"]
    np.testing.assert_array_equal(notes["n_drifts"], np.repeat([0, 1], [14, 16]))
    n_tested = np.full(30, 100)
    n_tested[[0, 15]] = 0  # it had learned nothing, and nothing since the reset
    np.testing.assert_array_equal(notes["n_tested"], n_tested)
    assert np.isnan(notes["n_terms"][14])  # of a new model
    assert notes["n_terms"][-1] > 5


def test_found_drifts_are_marked(batches):
    display = AccuracyCurveDisplay.from_stream({"watch": watch()}, batches, classes=[-1, 1], window=300)
    np.testing.assert_array_equal(display.drifts, [1500])
    assert [mark.get_xdata()[0] for mark in display.marks_] == [1500]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["watch", "Drift"]


def test_known_drifts_are_marked_instead(batches):
    model = BSGDClassifier(budget=30, gamma=5.0)
    display = AccuracyCurveDisplay.from_stream({"one": model}, batches[:5], drifts=[120, 340])
    assert [mark.get_xdata()[0] for mark in display.marks_] == [120, 340]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["one", "Drift"]


def test_without_drifts_there_are_no_marks(batches):
    model = BSGDClassifier(budget=30, gamma=5.0)
    display = AccuracyCurveDisplay.from_stream({"one": model}, batches[:3])
    assert (display.marks_, display.drifts.size) == ([], 0)
