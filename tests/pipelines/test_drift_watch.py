"""What is done when a detector finds a drift."""

import numpy as np
import pytest

from frugalsvm import BSGDClassifier, BSGDRegressor
from frugalsvm.datasets import make_checkerboard
from frugalsvm.pipelines import DriftWatch, StreamPipeline

CHANGE = 3000


class ManyMistakes:
    """A drift is a mean of mistakes above 60 %; then it begins anew, as those of river do."""

    drift_detected = False

    def __init__(self):
        self.mean, self.updates = 0.0, []

    def update(self, x):
        self.updates.append(x)
        self.mean += 0.02 * (x - self.mean)
        self.drift_detected = self.mean > 0.6
        if self.drift_detected:
            self.mean = 0.0


@pytest.fixture(scope="module")
def stream():
    X, y = make_checkerboard(5000, random_state=0)
    y = (y > 0).astype(int)
    y[CHANGE:] = 1 - y[CHANGE:]
    return X, y


def new_model():
    return StreamPipeline(BSGDClassifier(budget=60, gamma=2.0), warmup_rows=100)


def learned(watch, X, y, size=50):
    for start in range(0, len(y), size):
        watch.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1])
    return watch


def test_reset_begins_anew_and_is_right_sooner(stream):
    X, y = stream
    watch, plain = learned(DriftWatch(new_model(), ManyMistakes()), X[:3600], y[:3600]), new_model()
    plain.partial_fit(X[:3600], y[:3600])
    assert len(watch.drifts_) == 1
    assert CHANGE < watch.drifts_[0] < CHANGE + 300
    assert watch.model.estimator_.t_ == 3600 - watch.drifts_[0]
    assert watch.score(X[3600:], y[3600:]) > plain.score(X[3600:], y[3600:]) + 0.05


def test_boost_lets_the_next_rows_count_more(stream):
    X = stream[0]
    seen = []

    class Recorder:
        def partial_fit(self, X, y, classes=None, sample_weight=None):
            self.classes_ = np.array([0, 1])
            seen.append(np.ones(len(y)) if sample_weight is None else sample_weight)

        def predict(self, X):
            return (X[:, 0] > 5).astype(int)  # always 0

    watch = DriftWatch(Recorder(), ManyMistakes(), "boost", boost_weight=4.0, boost_rows=70)
    labels = np.concatenate([np.zeros(200, int), np.ones(60, int), np.zeros(240, int)])
    learned(watch, X[:500], labels)
    (drift,) = watch.drifts_
    weights = np.concatenate(seen)
    expected = np.ones(500)
    expected[drift : drift + 70] = 4.0
    np.testing.assert_array_equal(weights, expected)


def test_a_function_of_the_users_own(stream):
    X, y = stream
    calls = []
    watch = learned(DriftWatch(new_model(), ManyMistakes(), lambda watch: calls.append(watch.n_seen_)), X, y)
    assert calls == watch.drifts_
    assert calls


def test_the_detector_sees_every_row_but_the_first_batch(stream):
    X, y = stream
    detector = ManyMistakes()
    watch = learned(DriftWatch(new_model(), detector), X[:1000], y[:1000])
    assert len(detector.updates) == 950
    assert set(detector.updates) <= {0.0, 1.0}
    assert watch.drifts_ == []


def test_detectors_of_river(stream):
    drift = pytest.importorskip("river.drift")
    X, y = stream
    watch = learned(DriftWatch(new_model(), drift.ADWIN()), X, y)
    assert any(CHANGE < each < CHANGE + 500 for each in watch.drifts_)


def test_refusals():
    with pytest.raises(ValueError, match="on_drift='restart'"):
        DriftWatch(new_model(), ManyMistakes(), "restart")
    with pytest.raises(ValueError, match="is for classifiers, not for BSGDRegressor"):
        DriftWatch(BSGDRegressor(), ManyMistakes())
    with pytest.raises(ValueError, match="no update and drift_detected"):
        DriftWatch(new_model(), object())
    with pytest.raises(ValueError, match="boost_rows"):
        DriftWatch(new_model(), ManyMistakes(), boost_rows=0)
