"""Pipelines with a detector of drift of their own."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from frugalsvm import BSGDClassifier, BSGDRegressor
from frugalsvm.conformal import ConformalClassifier
from frugalsvm.datasets import make_checkerboard
from frugalsvm.persist import load, register, save
from frugalsvm.pipelines import ColumnEncoder, DriftWatch, StreamPipeline
from frugalsvm.plots import record_stream

CHANGE = 400


@register
class ManyMistakes:
    """A drift is a mean of mistakes above a limit; then it begins anew, as those of river do."""

    drift_detected = False

    def __init__(self, limit=0.5):
        self.mean, self.limit, self.updates = 0.0, limit, []

    def update(self, x):
        self.updates.append(x)
        self.mean += 0.05 * (x - self.mean)
        self.drift_detected = self.mean > self.limit
        if self.drift_detected:
            self.mean = 0.0


@pytest.fixture(scope="module")
def stream():
    """A checkerboard that becomes its negative, in other units."""
    X, y = make_checkerboard(CHANGE + 700, cells=3, random_state=0)
    y = (y > 0).astype(int)
    y[CHANGE:] = 1 - y[CHANGE:]
    X[CHANGE:] = 100 + 50 * X[CHANGE:]
    return X, y


def new_pipeline(on_drift="reset", **more):
    more = {"warmup_rows": 100, "detector": ManyMistakes(), **more}
    return StreamPipeline(BSGDClassifier(budget=60, gamma=2.0), on_drift=on_drift, **more)


def learned(model, X, y, size=50):
    for start in range(0, len(y), size):
        model.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1] if start == 0 else None)
    return model


@pytest.mark.filterwarnings("ignore:.*range:UserWarning")
def test_reset_begins_anew_with_another_scale(stream):
    X, y = stream
    n = CHANGE + 300
    model, plain = learned(new_pipeline(), X[:n], y[:n]), learned(new_pipeline(detector=None), X[:n], y[:n])
    assert CHANGE < model.drifts_[0] < CHANGE + 300
    # The row at which the drift was found is the first of the new model.
    assert model.estimator_.t_ == n - model.drifts_[-1] + 1
    assert np.all(model.scaler_.center_ > 50)
    assert model.score(X[n:], y[n:]) > plain.score(X[n:], y[n:])


@pytest.mark.filterwarnings("ignore:.*range:UserWarning")
def test_rows_are_batches_of_one(stream):
    X, y = stream
    n = CHANGE + 300
    fast, slow = new_pipeline(), learned(new_pipeline(), X[:n], y[:n], size=1)
    for start in range(n):
        fast.learn_one_row(X[start], y[start]) if start else fast.partial_fit(X[:1], y[:1], classes=[0, 1])
    assert fast.drifts_ == slow.drifts_ != []
    assert fast.detector_.updates == slow.detector_.updates
    np.testing.assert_array_equal(fast.estimator_.dual_coef_, slow.estimator_.dual_coef_)


@pytest.mark.filterwarnings("ignore:.*range:UserWarning")
@pytest.mark.parametrize(("on_drift", "weighted"), [("reset", True), ("boost", False)])
def test_drifts_do_not_depend_on_the_size_of_batches(stream, on_drift, weighted):
    X, y = stream[0][CHANGE - 150 : CHANGE + 100], stream[1][CHANGE - 150 : CHANGE + 100]

    def watched(size):
        model = new_pipeline(on_drift)
        for start in range(0, len(y), size):
            batch = slice(start, start + size)
            weights = {"sample_weight": np.ones(len(y[batch]))} if weighted else {}
            model.partial_fit(X[batch], y[batch], classes=None if start else [0, 1], **weights)
        return model

    one, seven, whole = map(watched, (1, 7, len(y)))
    assert one.drifts_ == seven.drifts_ == whole.drifts_ != []
    assert len(one.detector_.updates) == len(y) - 1  # all but the first
    assert one.detector_.updates == seven.detector_.updates == whole.detector_.updates
    np.testing.assert_allclose(whole.decision_function(X), one.decision_function(X), rtol=1e-9)


@pytest.mark.parametrize("n_first", [0, 400])
def test_a_bad_label_within_a_batch_leaves_no_trace(stream, n_first):
    X, y = stream
    model = new_pipeline()
    if n_first:
        learned(model, X[:n_first], y[:n_first])
    before = pickle.dumps(vars(model))
    with pytest.raises(ValueError, match="7"):
        model.partial_fit(X[400:500], np.where(np.arange(100) == 60, 7, y[400:500]), classes=[0, 1])
    assert pickle.dumps(vars(model)) == before


def test_the_encoder_gets_the_categories_after_the_drift():
    rng = np.random.default_rng(0)
    before, after = rng.choice(["a", "b"], 200), rng.choice(["c", "d"], 300)
    text = np.concatenate([before, after])
    y = np.isin(text, ["a", "d"]).astype(int)
    y[200:] = 1 - y[200:]
    model = new_pipeline(scale=False, encoder=ColumnEncoder(), detector=ManyMistakes(0.3))
    for start in range(0, 500, 50):
        model.partial_fit((None, {"text": text[start : start + 50]}), y[start : start + 50], classes=[0, 1])
    assert model.drifts_
    assert model.encoder_.categories_[0].tolist() == ["c", "d"]
    assert model.score((None, {"text": text[-100:]}), y[-100:]) == 1.0


def test_classes_stay_through_a_reset(stream):
    X, y = stream
    model = learned(new_pipeline(), X[: CHANGE + 100], y[: CHANGE + 100])
    model.partial_fit(X[:50], np.full(50, 1))
    at_drift = len(model.drifts_)
    for start in range(0, 1000, 50):  # one class only, always wrong at first
        rows = X[start : start + 50]
        model.partial_fit(rows, 1 - model.predict(rows) if len(model.drifts_) == at_drift else np.ones(50, int))
    assert len(model.drifts_) > at_drift
    np.testing.assert_array_equal(model.classes_, [0, 1])


def test_boost_is_that_of_a_watch(stream):
    X, y = stream[0][:CHANGE], stream[1][:CHANGE].copy()
    y[200:] = 1 - y[200:]
    own = learned(new_pipeline("boost"), X, y)
    watch = learned(DriftWatch(new_pipeline(detector=None), ManyMistakes(), "boost"), X, y, size=1)
    assert own.drifts_ == watch.drifts_ != []
    np.testing.assert_array_equal(own.estimator_.dual_coef_, watch.model.estimator_.dual_coef_)


@pytest.mark.filterwarnings("ignore:.*range:UserWarning")
def test_a_function_of_the_users_own(stream):
    X, y = stream
    calls = []
    model = learned(
        new_pipeline(lambda pipeline: calls.append(pipeline.drifts_[-1])), X[: CHANGE + 500], y[: CHANGE + 500]
    )
    assert calls == model.drifts_ != []


def test_a_bad_batch_is_not_shown_to_the_detector(stream):
    X, y = stream
    model = learned(new_pipeline(), X[:500], y[:500])
    seen = len(model.detector_.updates)
    with pytest.raises(ValueError, match="sample_weight"):
        model.partial_fit(X[:50], y[:50], sample_weight=-np.ones(50))
    assert len(model.detector_.updates) == seen


def test_the_parameter_stays_as_it_is(stream):
    X, y = stream
    model = learned(new_pipeline(), X[:500], y[:500])
    assert model.detector.updates == []
    again = learned(clone(model), X[:500], y[:500])
    assert again.detector_.updates == model.detector_.updates != []


@pytest.mark.parametrize("on_drift", ["reset", "boost"])
@pytest.mark.parametrize("copied", ["pickle", "model file"])
@pytest.mark.filterwarnings("ignore:.*range:UserWarning")
def test_a_copy_goes_on_bit_for_bit(stream, tmp_path, on_drift, copied):
    X, y = stream
    model = learned(
        new_pipeline(on_drift), X[: CHANGE + 200], y[: CHANGE + 200]
    )  # in the middle of what it does after a drift
    if copied == "pickle":
        twin = pickle.loads(pickle.dumps(model))
    else:
        save(model, tmp_path / "model.frugal")
        twin = load(tmp_path / "model.frugal")
    assert twin.drifts_ == model.drifts_
    for each in (model, twin):
        for start in range(CHANGE + 200, CHANGE + 500, 50):
            each.partial_fit(X[start : start + 50], y[start : start + 50])
    assert twin.drifts_ == model.drifts_ != []
    np.testing.assert_array_equal(twin.estimator_.dual_coef_, model.estimator_.dual_coef_)


@pytest.mark.filterwarnings("ignore:.*range:UserWarning")
def test_in_a_recording_and_under_a_promise(stream):
    X, y = stream
    batches = [(X[start : start + 50], y[start : start + 50]) for start in range(0, len(y), 50)]
    models = {"plain": new_pipeline(), "promise": ConformalClassifier(new_pipeline())}
    history = record_stream(models, batches, classes=[0, 1])
    assert history["plain"]["n_drifts"][-1] == len(models["plain"].drifts_) == 1
    assert models["promise"].estimator_.drifts_ == models["plain"].drifts_
    assert abs(models["promise"].coverage_ - 0.9) < 0.03


@pytest.mark.filterwarnings("ignore:.*range:UserWarning")
def test_refusals(stream):
    X, y = stream
    with pytest.raises(ValueError, match="on_drift='restart'"):
        new_pipeline("restart").partial_fit(X, y)
    with pytest.raises(ValueError, match="no update"):
        new_pipeline(detector="adwin").partial_fit(X, y)
    with pytest.raises(ValueError, match="for classifiers"):
        StreamPipeline(BSGDRegressor(), detector=ManyMistakes()).partial_fit(X, y)
    assert not hasattr(new_pipeline(detector=None).partial_fit(X, y), "drifts_")


def test_detectors_of_river(stream):
    drift = pytest.importorskip("river.drift")
    X, y = np.tile(stream[0][:CHANGE], (2, 1)), np.tile(stream[1][:CHANGE], 2)
    y[300:] = 1 - y[300:]
    model = learned(new_pipeline(detector=drift.ADWIN()), X[:600], y[:600])
    assert any(300 < each < 600 for each in model.drifts_)
