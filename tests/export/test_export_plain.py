"""The plain numbers of every estimator give its scores and classes."""

import numpy as np
import pytest
from export_support import assert_same_scores, python_scores, random_model
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from support import blobs

from frugalsvm import (
    ASSETClassifier,
    ASSETRegressor,
    BPAClassifier,
    BSGDClassifier,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    TrackingSVC,
    TVMClassifier,
)
from frugalsvm.export import plain_model, to_arrays, to_c, to_libsvm
from frugalsvm.pipelines import StreamingScaler, StreamPipeline

N_TRAIN = 200

# In float64 both agree to rounding; ASSET computes in float32.
CLASSIFIERS = [
    (BSGDClassifier(budget=20, random_state=0), 1e-12),
    (BudgetedPerceptron("random", budget=20, random_state=0), 1e-12),
    (BPAClassifier("nn", budget=20, random_state=0), 1e-12),
    (LASVMClassifier("lasvm", random_state=0), 1e-12),
    (TrackingSVC(random_state=0), 1e-12),
    (IncrementalSVC(), 1e-12),
    (TVMClassifier(budget=20, random_state=0), 1e-12),
    (ASSETClassifier(n_components=40, random_state=0), 1e-5),
    (ASSETClassifier("fourier", n_components=100, structured=False, random_state=0), 1e-5),
    (ASSETClassifier("fourier", n_components=100, structured=True, random_state=0), 1e-5),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("estimator", "tolerance"), CLASSIFIERS)
def test_plain_numbers_are_the_classifier(estimator, tolerance, n_classes):
    X, labels = blobs(400, 6, n_classes, seed=n_classes)
    y = np.array(["one", "two", "three"])[labels]
    estimator = estimator.fit(X[:N_TRAIN], y[:N_TRAIN])
    model = plain_model(estimator)
    assert_same_scores(model.decision_function(X), estimator.decision_function(X), tolerance)
    np.testing.assert_array_equal(model.predict(X), estimator.predict(X))


@pytest.mark.parametrize("feature_map", ["nystroem", "fourier"])
def test_plain_numbers_are_the_regressor(feature_map):
    X = np.random.default_rng(0).normal(size=(400, 3))
    estimator = ASSETRegressor(feature_map, n_components=40, random_state=0).fit(X, np.sin(X[:, 0]))
    model = plain_model(estimator)
    assert model.decision == "value"
    assert_same_scores(model.predict(X), estimator.predict(X))


def test_structured_frequencies_beyond_one_block():
    """More components than a block of 64, wide rows, and a last block that is not full."""
    X, y = blobs(300, 70, 2, seed=0)
    estimator = ASSETClassifier("fourier", n_components=300, structured=True, random_state=0).fit(X, y)
    assert_same_scores(plain_model(estimator).decision_function(X), estimator.decision_function(X))


def test_a_scaler_becomes_part_of_the_model():
    X, y = blobs(400, 6, 2, seed=0)
    X = 100.0 + X * np.arange(1, 7)
    pipeline = make_pipeline(StandardScaler(), StandardScaler(), BSGDClassifier(budget=20, random_state=0)).fit(X, y)
    model = plain_model(pipeline)
    assert_same_scores(model.decision_function(X), python_scores(pipeline, X), 1e-10)
    np.testing.assert_array_equal(model.predict(X), pipeline.predict(X))


def test_a_model_of_nothing_is_a_vector_without_weight():
    X, y = blobs(50, 6, 2, seed=0)
    estimator = BSGDClassifier(budget=20, random_state=0).fit(X, y)
    estimator._expansion.counts[0]["n_slots"] = 0  # as if all had been removed again
    model = plain_model(estimator)
    assert model.vectors.shape == (1, 6)
    np.testing.assert_array_equal(model.decision_function(X), estimator.decision_function(X))


@pytest.mark.parametrize("scale", [True, False])
def test_stream_pipeline(scale):
    X, y = blobs(400, 6, 3, seed=0)
    pipeline = StreamPipeline(BSGDClassifier(budget=20, random_state=0), scale=scale, warmup_rows=100)
    pipeline.partial_fit(10 * X + 3, y)
    model = plain_model(pipeline)
    assert_same_scores(model.decision_function(10 * X + 3), pipeline.decision_function(10 * X + 3), 1e-5)
    np.testing.assert_array_equal(model.predict(10 * X + 3), pipeline.predict(10 * X + 3))


@pytest.mark.parametrize("scale", ["robust", "soft"])
@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["dense", "sparse"])
def test_a_stream_pipeline_clips_inputs_as_it_does_itself(kind, scale):
    X, y = blobs(400, 6, 2, seed=0)
    estimator = BSGDClassifier(budget=20, gamma=0.02, random_state=0)
    pipeline = StreamPipeline(estimator, scale=scale, warmup_rows=100).partial_fit(kind(X), y)
    far = X * np.where(np.arange(400) % 3 == 0, 50.0, 1.0)[:, None]
    model = plain_model(pipeline)
    assert_same_scores(model.decision_function(far), pipeline.decision_function(kind(far)), 1e-5)
    free = model._replace(bounds=None).decision_function(far)
    assert np.abs(free - model.decision_function(far)).max() > 0.01
    behind = make_pipeline(StandardScaler(), pipeline)
    behind.steps[0][1].fit(5 * X + 1)
    rows = StandardScaler().fit(5 * X + 1).transform(far)
    assert_same_scores(plain_model(behind).decision_function(far), pipeline.decision_function(kind(rows)), 1e-5)


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "scaler",
    [
        StreamingScaler(),
        StreamingScaler(soft_clip=True),
        StreamingScaler("symmetric", soft_clip=True),
        StreamingScaler("standard", clip=None),
    ],
)
def test_a_streaming_scaler_in_a_pipeline_of_scikit_learn(scaler, kind):
    X, y = blobs(400, 6, 2, seed=0)
    X[:, 5] = np.exp(X[:, 5])
    pipeline = make_pipeline(clone(scaler), BSGDClassifier(budget=20, gamma=0.02, random_state=0)).fit(kind(3 * X), y)
    far = X * np.where(np.arange(400) % 3 == 0, 50.0, 1.0)[:, None]
    assert_same_scores(plain_model(pipeline).decision_function(far), pipeline.decision_function(kind(far)), 1e-5)


def test_a_stream_pipeline_fills_missing_inputs_as_it_does_itself():
    X, y = blobs(400, 4, 2, seed=0)
    X[::5, 2] = np.nan
    estimator = BSGDClassifier(budget=20, gamma=0.02, random_state=0)
    for scale in (True, False):
        pipeline = StreamPipeline(estimator, scale=scale, impute="median", warmup_rows=100).partial_fit(X, y)
        assert_same_scores(plain_model(pipeline).decision_function(X), pipeline.decision_function(X), 1e-5)
        behind = plain_model(pipeline).with_scaling(np.full(4, 3.0), np.full(4, 2.0))
        assert_same_scores(behind.decision_function(2.0 * X + 3.0), pipeline.decision_function(X), 1e-5)


def test_scaling_after_clipping_is_exported_and_clipping_twice_refused():
    ones = np.ones(5)
    clipped = random_model("rbf", "sign").with_scaling(ones, ones, ones)
    with pytest.raises(ValueError, match="clipped twice"):
        clipped.with_scaling(ones, ones, ones)
    twice = random_model("rbf", "sign").with_scaling(ones, 2 * ones).with_scaling(3 * ones, ones, ones)
    np.testing.assert_array_equal(twice.scaled([[9.0] * 5, [3.5] * 5]), [[0.0] * 5, [-0.25] * 5])


def test_stream_pipeline_that_holds_rows_back_is_refused():
    X, y = blobs(50, 6, 2, seed=0)
    with pytest.raises(ValueError, match="flush"):
        plain_model(StreamPipeline(BSGDClassifier(budget=20)).partial_fit(X, y))


# --- refusals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("export", [plain_model, to_arrays, lambda estimator: to_c(estimator, "nowhere")])
@pytest.mark.parametrize("estimator", [BSGDClassifier(), ASSETRegressor(), IncrementalSVC()])
def test_an_unfitted_model_is_refused(export, estimator):
    with pytest.raises(NotFittedError, match="not fitted"):
        export(estimator)


@pytest.mark.parametrize("stranger", [LogisticRegression(), 3, None])
def test_a_stranger_is_refused(stranger):
    with pytest.raises(TypeError, match="Only fitted estimators of frugalsvm"):
        plain_model(stranger)


def test_a_pipeline_with_another_step_is_refused():
    X, y = blobs(100, 6, 2, seed=0)
    pipeline = make_pipeline(MinMaxScaler(), BSGDClassifier(budget=20)).fit(X, y)
    with pytest.raises(TypeError, match=r"'minmaxscaler'.*only StandardScaler"):
        plain_model(pipeline)


def test_one_class_is_refused():
    X, _ = blobs(20, 6, 2, seed=0)
    estimator = BSGDClassifier(budget=20, new_classes="grow").partial_fit(X, np.ones(20, int))
    with pytest.raises(ValueError, match="one class only, 1"):
        plain_model(estimator)


def test_rows_of_another_width_are_refused():
    with pytest.raises(ValueError, match="must have 5 columns"):
        random_model("rbf", "sign").predict(np.zeros((2, 4)))


def test_a_path_that_cannot_be_written_is_an_error_that_names_it(tmp_path):
    model = random_model("rbf", "sign")
    with pytest.raises(OSError, match=r"The model could not be saved.*nowhere"):
        to_libsvm(model, tmp_path / "nowhere" / "model.txt")
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"The model could not be saved.*file"):
        to_c(model, tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_failed_export_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.txt"
    path.write_text("old")
    with pytest.raises(ValueError, match="integers"):
        to_libsvm(random_model("rbf", "sign", classes=["a", "b"]), path)
    assert path.read_text() == "old"
