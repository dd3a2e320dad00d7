"""What is around a learner in C: sets, intervals and alarms that keep a promise, and scaling that follows a stream."""

import ctypes
import struct
import zlib

import numpy as np
import pytest
from learning_support import CASES, LearnerInC, begun, compiled_with, learn_on, stream_for, targets_for
from sklearn.base import clone

import frugalsvm
from frugalsvm import BSGDClassifier, BSGDRegressor
from frugalsvm.conformal import ConformalClassifier, ConformalRegressor
from frugalsvm.conformal._label_scores import row_label_scores
from frugalsvm.core.score_reservoir import new_reservoir, observe
from frugalsvm.export import read_state, to_c, write_state
from frugalsvm.export.learning_c.plan import plan_of
from frugalsvm.export.learning_c.state import context_bytes, state_bytes
from frugalsvm.persist import ModelFileError
from frugalsvm.pipelines import StreamingScaler, StreamPipeline

INNER = BSGDClassifier(budget=12, alpha=1e-3, gamma=0.7)


def stream(name, seed=4, n_rows=600, dtype="float64"):
    """A model of the cases, with a stream for it."""
    model, n_targets = CASES[name]
    X, score = stream_for(n_targets, seed, n_rows=n_rows, dtype=dtype)
    return clone(model), X, targets_for(model, n_targets, X, score)


def predicted_set(device, x, n_classes):
    found = np.zeros(n_classes, np.uint8)
    n = device("predict_set", np.ascontiguousarray(x, device.dtype).ctypes, found.ctypes)
    assert n == found.sum()
    return found.astype(bool)


def predicted_interval(device, x):
    low, high = ctypes.c_double(), ctypes.c_double()
    row = np.ascontiguousarray(x, device.dtype)
    assert device("predict_interval", row.ctypes, ctypes.byref(low), ctypes.byref(high)) == 0
    return low.value, high.value


class TestConformal:
    @pytest.mark.parametrize("name", ["conformal", "conformal, 3 classes"])
    def test_sets(self, name, tmp_path):
        model, X, y = stream(name)
        model = begun(model, X, y, 60)
        device = LearnerInC(model, tmp_path)
        for k in range(60, len(X)):
            if k % 3 == 0:
                expected = model.predict_set(X[k : k + 1])[0]
                np.testing.assert_array_equal(predicted_set(device, X[k], len(model.classes_)), expected)
            device.learn(X[k], y[k])
            model.learn_one_row(X[k], y[k])
        made = read_state(model, device.save())
        assert made.coverage_ == model.coverage_ == pytest.approx(0.8, abs=0.05)
        np.testing.assert_allclose(made.thresholds_, model.thresholds_)
        np.testing.assert_allclose(made.p_values(X[:50]), model.p_values(X[:50]))

    def test_a_threshold_is_that_of_the_same_scores_bit_for_bit(self, tmp_path):
        model, X, y = stream("conformal, 3 classes", seed=6)
        model = begun(model, X, y, 60)  # that batch has no scores yet: there was no model before it
        device, expected = LearnerInC(model, tmp_path), new_reservoir(model.window)
        for k in range(60, len(X)):
            score = row_label_scores(device.scores(X[k]).tolist())[y[k]]
            observe(expected, model._promise, np.array([score]), np.empty(1))
            device.learn(X[k], y[k])
        made = read_state(model, device.save())._reservoirs[0]
        for found, wanted in zip(made, expected, strict=True):
            np.testing.assert_array_equal(found, wanted)

    @pytest.mark.parametrize("name", ["conformal, regression", "conformal, quantiles"])
    def test_intervals(self, name, tmp_path):
        model, X, y = stream(name)
        y[300:350] += 40.0 * np.arange(50)  # misses in a row, after which intervals reach beyond all that was seen
        model = begun(model, X, y, 60)
        device = LearnerInC(model, tmp_path)
        for k in range(60, len(X)):
            if k % 3 == 0:
                expected = model.predict_interval(X[k : k + 1])[0]
                np.testing.assert_allclose(predicted_interval(device, X[k]), expected, rtol=1e-7, atol=1e-7)
            device.learn(X[k], y[k])
            model.learn_one_row(X[k], y[k])
        assert device.predict(X[0]) == pytest.approx(model.predict(X[:1])[0])
        assert read_state(model, device.save()).coverage_ == model.coverage_

    def test_alarms(self, tmp_path):
        model, X, _ = stream("conformal, one class", n_rows=1500)
        X[::50] *= 4.0
        model = begun(model, X, None, 100)
        device = LearnerInC(model, tmp_path)
        for k in range(100, len(X)):
            if k % 5 == 0:  # so are the anomalies
                assert device.predict(X[k]) == model.predict(X[k : k + 1])[0]
            device.learn(X[k])
            model.learn_one_row(X[k])
        assert read_state(model, device.save()).alarm_rate_ == model.alarm_rate_ > 0.05
        np.testing.assert_allclose([device.scores(x)[0] for x in X[:50]], model.decision_function(X[:50]))

    def test_an_empty_learner_judges_from_the_second_row_on(self, tmp_path):
        model, X, y = stream("conformal")
        device = LearnerInC(begun(model, X, y, 60), tmp_path, start="empty")
        device.learn_all(X[:100], y[:100])
        made, expected = read_state(model, device.save()), clone(model)
        learn_on(expected.partial_fit(X[:1], y[:1], classes=np.unique(y)), X, y, range(1, 100))
        assert made._reservoirs[0].counts[0]["n_rows"] == 99
        assert made.coverage_ == expected.coverage_
        np.testing.assert_allclose(made.thresholds_, expected.thresholds_)

    def test_what_cannot_be_promised(self, tmp_path):
        _, X, y = stream("conformal")
        with pytest.raises(ValueError, match="by_class=True cannot learn in C: use by_class=False"):
            to_c(ConformalClassifier(INNER, by_class=True).partial_fit(X, y), tmp_path, learn=True)
        wide = BSGDRegressor("pinball", budget=8, gamma=1.0, quantile=[0.1, 0.5, 0.9])
        model = ConformalRegressor(wide).partial_fit(X, X[:, 0])
        with pytest.raises(ValueError, match="needs one output or two quantiles, and the model has 3"):
            to_c(model, tmp_path, learn=True)


@pytest.fixture(scope="module")
def drifting():
    """Rows whose features grow, and move; one is constant at first, and one lacks values."""
    X, score = stream_for(2, 4, n_rows=1500)
    X = X * np.linspace(1.0, 5.0, len(X))[:, None] + np.linspace(0.0, 9.0, len(X))[:, None]
    X[:450, 2] = 3.0  # constant at first
    X[::7, 1] = np.nan
    return X, (score > 0).astype(int)


class TestFollowing:
    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    @pytest.mark.parametrize("soft", [False, True])
    def test_statistics_are_those_of_python(self, soft, dtype, drifting, tmp_path):
        X, y = drifting[0].astype(dtype), drifting[1]
        scaler = StreamingScaler("standard", half_life=500, soft_clip=soft)
        model = StreamPipeline(INNER, scale=scaler, impute="mean", warmup_rows=100).partial_fit(X[:130], y[:130])
        device = LearnerInC(model, tmp_path, dtype=dtype)
        assert len(device.save()) == len(write_state(model, dtype=dtype))
        device.learn_all(X[130:950], y[130:950])
        middle = read_state(model, device.save())  # within a block
        for each in (model.partial_fit(X[130:950], y[130:950]), middle):
            each.partial_fit(X[950:], y[950:])
        device.learn_all(X[950:], y[950:])
        tolerance = 1e-9 if dtype == "float64" else 1e-5
        for found in (middle, read_state(model, device.save())):
            for name in ("mean_", "scale_", "limit_", "var_"):
                own, expected = getattr(found.scaler_, name), getattr(model.scaler_, name)
                np.testing.assert_allclose(own, expected, rtol=tolerance, atol=tolerance)
            np.testing.assert_array_equal(found.scaler_.constant_, model.scaler_.constant_)
            np.testing.assert_array_equal(found.scaler_._watch.n_blocks, model.scaler_._watch.n_blocks)
            assert found.scaler_._watch.n_rows == model.scaler_._watch.n_rows
            assert found.estimator_.t_ == model.estimator_.t_
            assert np.mean(found.predict(X) == model.predict(X)) >= 0.999

    def test_sizes_and_damaged_statistics(self, drifting, tmp_path):
        X, y = drifting
        model = StreamPipeline(INNER, scale="following", impute="mean", warmup_rows=100).partial_fit(X[:300], y[:300])
        device, plan = LearnerInC(model, tmp_path), plan_of(model)
        state = device.save()
        assert device.context_bytes == context_bytes(plan, np.dtype(np.float64))
        assert device.sizes["STATE_BYTES"] == state_bytes(plan, np.dtype(np.float64)) >= len(state)
        with pytest.raises(ModelFileError, match="checksum"):
            read_state(model, state[:-60] + bytes(60))


@pytest.mark.parametrize(("name", "n_experts"), [("conformal, pipeline", 6), ("conformal, regression", 0)])
def test_states_that_were_changed_are_refused_or_sound(name, n_experts, tmp_path):
    """Experts and scores of a state with a checksum that matches: what is read can be saved, loaded and exported."""
    model, X, y = stream(name)
    model = begun(begun(model, X, y, 60), X[60:], y[60:], 50)
    state = write_state(model, dtype="float64")
    end = 4 + 8 * 50 + 40 + (16 + 24 * n_experts if n_experts else 0)
    rng, n_read = np.random.default_rng(0), 0
    for _ in range(300):
        changed = bytearray(state[:-4])
        changed[rng.integers(len(state) - end, len(changed))] = rng.integers(256)
        try:
            made = read_state(model, bytes(changed) + struct.pack("<I", zlib.crc32(changed)))
        except ModelFileError:
            continue
        n_read += 1
        if n_read % 20 == 0:
            frugalsvm.save(made, tmp_path / "made.frugal")
            loaded = frugalsvm.load(tmp_path / "made.frugal")
            assert write_state(loaded, dtype="float64")[:-4] == bytes(changed)
    assert 20 <= n_read < 300


def test_two_promises_in_one_program(tmp_path):
    """All that is made has the name of the model."""
    sources = []
    for name, case in (("one", "conformal"), ("two", "conformal, regression")):
        model, X, y = stream(case)
        sources.append(str(to_c(begun(model, X, y, 60), tmp_path, name=name, learn=True)[1]))
    main = tmp_path / "main.c"
    main.write_text('#include "one.h"\n#include "two.h"\nint main(void) { return 0; }\n')
    compiled_with("-o", str(tmp_path / "main"), str(main), *sources, "-lm")
