"""Pipelines whose estimator learns without labels, or several targets."""

import numpy as np
import pytest
from sklearn.base import is_outlier_detector
from sklearn.metrics import roc_auc_score

import frugalsvm
from frugalsvm import ASSETClassifier, ASSETOneClassSVM, BSGDOneClassSVM, BSGDRegressor
from frugalsvm.pipelines import StreamPipeline

DETECTOR = BSGDOneClassSVM(budget=30, alarm_rate=0.05, random_state=0)
REGRESSOR = BSGDRegressor(budget=30, gamma=0.3, random_state=0)


@pytest.fixture(scope="module")
def usual():
    return 1000 + 50 * np.random.default_rng(0).normal(size=(1500, 4))


@pytest.fixture(scope="module")
def targets(usual):
    z = (usual - 1000) / 50
    return np.column_stack([100 * np.sin(z[:, 0]), z[:, 1] * z[:, 2]])


def in_batches(model, X, y=None, size=200):
    for start in range(0, len(X), size):
        part = slice(start, start + size)
        model.partial_fit(X[part], None if y is None else y[part])
    return model


def test_a_detector_scales_and_learns_a_stream_without_labels(usual):
    model = in_batches(StreamPipeline(DETECTOR, warmup_rows=300), usual)
    assert is_outlier_detector(model)
    rows = np.concatenate([usual, np.full((20, 4), 1400.0)])
    is_usual = np.arange(len(rows)) < len(usual)
    assert roc_auc_score(is_usual, model.score_samples(rows)) == 1.0
    assert 0.02 < np.mean(model.predict(usual) == -1) < 0.12
    assert (model.predict(rows[~is_usual]) == -1).all()
    assert (model.p_values(rows[~is_usual]) < 0.01).all()
    np.testing.assert_allclose(model.decision_function(rows), model.score_samples(rows) - model.offset_)
    assert not hasattr(model, "score")
    assert not hasattr(model, "predict_proba")


def test_a_detector_is_that_of_scaled_rows_whatever_the_batches(usual):
    model = in_batches(StreamPipeline(DETECTOR, warmup_rows=300), usual, size=7)
    alone = DETECTOR.fit(model.scaler_.transform(usual[:2]))  # a fitted one is cloned
    assert alone.t_ == 2
    by_hand = in_batches(BSGDOneClassSVM(budget=30, alarm_rate=0.05), model.scaler_.transform(usual), size=300)
    np.testing.assert_allclose(
        model.score_samples(usual[:50]), by_hand.score_samples(model.scaler_.transform(usual[:50]))
    )


def test_labels_of_a_detector_are_not_looked_at(usual):
    labels = np.array(["a", None] * 750, dtype=object)
    one, other = (StreamPipeline(DETECTOR, warmup_rows=100) for _ in range(2))
    one.partial_fit(usual), other.partial_fit(usual, labels)
    np.testing.assert_array_equal(one.score_samples(usual[:9]), other.score_samples(usual[:9]))


def test_a_detector_answers_while_rows_are_held_back_and_survives_files(usual, tmp_path):
    model = StreamPipeline(DETECTOR, warmup_rows=1000).partial_fit(usual[:600])
    assert model.n_held_ == 600
    assert model.predict([[1400.0] * 4])[0] == -1
    frugalsvm.save(model, tmp_path / "held.frugal")
    loaded = frugalsvm.load(tmp_path / "held.frugal")
    for each in (model, loaded):
        each.partial_fit(usual[600:])
    np.testing.assert_array_equal(model.score_samples(usual[:9]), loaded.score_samples(usual[:9]))
    frugalsvm.save(model, tmp_path / "model.frugal", for_prediction=True)
    loaded = frugalsvm.load(tmp_path / "model.frugal")
    np.testing.assert_array_equal(model.p_values(usual[:9]), loaded.p_values(usual[:9]))


def test_a_detector_in_batch(usual):
    model = StreamPipeline(ASSETOneClassSVM(nu=0.1, n_components=64, random_state=0))
    found = model.fit_predict(usual)
    assert 0.05 < np.mean(found == -1) < 0.15
    assert not hasattr(model, "p_values")


def test_several_targets(usual, targets):
    model = in_batches(StreamPipeline(REGRESSOR, warmup_rows=300), usual, targets)
    assert model.predict(usual).shape == targets.shape
    assert model.score(usual, targets) > 0.5
    first = in_batches(StreamPipeline(REGRESSOR, warmup_rows=300), usual, targets[:, 0])
    assert first.predict(usual).shape == (1500,)


def test_several_targets_are_held_back_and_survive_files(usual, targets, tmp_path):
    model = StreamPipeline(REGRESSOR, warmup_rows=1000).partial_fit(usual[:400], targets[:400])
    assert model.predict(usual[:5]).shape == (5, 2)
    frugalsvm.save(model, tmp_path / "held.frugal")
    loaded = frugalsvm.load(tmp_path / "held.frugal")
    for each in (model, loaded):
        each.partial_fit(usual[400:], targets[400:])
    np.testing.assert_array_equal(model.predict(usual[:9]), loaded.predict(usual[:9]))


def test_targets_of_another_number_are_refused_while_rows_are_held_back(usual, targets):
    model = StreamPipeline(REGRESSOR, warmup_rows=1000).partial_fit(usual[:400], targets[:400])
    for wrong in (targets[400:, 0], np.column_stack([targets, targets])[400:]):
        with pytest.raises(ValueError, match="that of the first rows was"):
            model.partial_fit(usual[400:], wrong)
    assert model.n_held_ == 400


def test_labels_in_columns_are_refused(usual):
    with pytest.raises(ValueError, match="1d array"):
        StreamPipeline(ASSETClassifier()).fit(usual, np.zeros((len(usual), 2), int))


def test_the_score_of_quantiles_is_that_of_the_estimator(usual, targets):
    estimator = BSGDRegressor("pinball", quantile=[0.1, 0.9], budget=30, gamma=0.3, random_state=0)
    model = StreamPipeline(estimator).fit(usual, targets[:, 0])
    assert model.score(usual, targets[:, 0]) == model.estimator_.score(model.scaler_.transform(usual), targets[:, 0])
