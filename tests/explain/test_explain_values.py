"""Shapley values of fitted models: they add up, equal the definition, see through pipelines, or say why not."""

import numpy as np
import pandas as pd
import pytest
from oracles.shapley import by_subsets, factors_of
from scipy.sparse import csr_matrix
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frugalsvm import (
    ASSETClassifier,
    ASSETOneClassSVM,
    ASSETRegressor,
    AutoSVC,
    AutoSVR,
    BSGDClassifier,
    BSGDOneClassSVM,
    IncrementalSVC,
    LASVMClassifier,
    TrackingSVC,
    TVMClassifier,
)
from frugalsvm.compiling.threads import Threads
from frugalsvm.explain import has_exact_shares, partial_dependence, shapley_values
from frugalsvm.explain.columns import columns_for
from frugalsvm.explain.sampling import SampledModel
from frugalsvm.export import plain_model
from frugalsvm.pipelines import ColumnEncoder, MissingValueFiller, StreamPipeline

N_FEATURES = 5
rng = np.random.default_rng(0)
X = rng.normal(size=(300, N_FEATURES))
BINARY = np.where(X[:, 1] > 0.3 * X[:, 2], "yes", "no")
SEVERAL = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])

MODELS = {
    "bsgd": BSGDClassifier(budget=30, gamma=0.2, random_state=0),
    "lasvm": LASVMClassifier(gamma=0.2, C=1.0),
    "tracking": TrackingSVC(gamma=0.2),
    "incremental": IncrementalSVC(gamma=0.2),
    "tvm": TVMClassifier(gamma=0.2),
    "asset": ASSETClassifier(gamma=0.2, n_components=40, random_state=0),
    "laplacian in a metric": ASSETClassifier(kernel="laplacian", metric="diag", n_components=40, random_state=0),
    "linear": ASSETClassifier(kernel="linear", n_components=40, random_state=0),
}


@pytest.mark.parametrize("background", [None, X[:20]], ids=["baseline", "interventional"])
@pytest.mark.parametrize("name", MODELS)
def test_values_add_up_for_all_families(name, background):
    model = MODELS[name]
    for y in (BINARY,) if name == "tvm" else (BINARY, SEVERAL):
        model.fit(X, y)
        found = shapley_values(model, X[:30], background)
        expected = plain_model(model).values(X[:30])
        np.testing.assert_allclose(found.predictions.reshape(expected.shape), expected, rtol=1e-9, atol=1e-9)
        assert found.values.shape[:2] == (30, N_FEATURES)
    assert found.output_names == (["yes"] if name == "tvm" else found.output_names)


@pytest.mark.parametrize("background", [None, X[:4]], ids=["baseline", "interventional"])
def test_values_of_a_model_equal_the_definition(background):
    model = BSGDClassifier(budget=20, gamma=0.3, random_state=0).fit(X, SEVERAL)
    found = shapley_values(model, X[:3], background)
    plain = plain_model(model)
    vectors = plain.vectors.astype(np.float64)
    own = factors_of("rbf", 0.3, plain.scaled(X[:3]), vectors)
    others = np.ones((1, *own.shape[1:]))
    if background is not None:
        others = factors_of("rbf", 0.3, plain.scaled(background), vectors)
    for i in range(3):
        expected = by_subsets(plain.coefficients, own[i], others)
        np.testing.assert_allclose(found.values[i], expected, rtol=1e-9, atol=1e-11)


def test_regressors_and_novelty_detectors():
    y = X[:, 0] ** 2
    regressor = ASSETRegressor(n_components=40, gamma=0.2, random_state=0).fit(X, y)
    assert np.allclose(shapley_values(regressor, X[:9], X[:9]).predictions, regressor.predict(X[:9]), atol=1e-3)
    for detector in (BSGDOneClassSVM(gamma=0.2, random_state=0), ASSETOneClassSVM(gamma=0.2, random_state=0)):
        detector.fit(X)
        found = shapley_values(detector, X[:9])
        assert np.allclose(found.predictions, detector.decision_function(X[:9]), atol=1e-3)


def test_a_feature_without_a_factor_has_no_share():
    metric = np.array([1.0, 2.0, 0.0, 0.5, 1.0])
    model = ASSETClassifier(n_components=40, gamma=0.2, metric=metric, random_state=0).fit(X, BINARY)
    found = shapley_values(model, X[:10], X[:5])
    assert (found.values[:, 2] == 0.0).all()
    assert np.allclose(found.predictions, model.decision_function(X[:10]), atol=1e-4)


def test_scaled_features_have_the_same_values():
    rows = 100.0 * X + 7.0
    whole = make_pipeline(StandardScaler(), LASVMClassifier(gamma=0.2, C=1.0)).fit(rows, BINARY)
    found = shapley_values(whole, rows[:10])
    np.testing.assert_allclose(found.values, shapley_values(whole[-1], whole[0].transform(rows[:10])).values, atol=1e-9)
    np.testing.assert_array_equal(found.data, rows[:10])


def test_sparse_rows_are_explained_as_dense_ones():
    sparse = np.where(np.abs(X) > 1.0, X, 0.0)
    model = BSGDClassifier(budget=30, gamma=0.2, random_state=0).fit(csr_matrix(sparse), BINARY)
    dense = shapley_values(model, sparse[:10], sparse[:5])
    np.testing.assert_allclose(
        shapley_values(model, csr_matrix(sparse[:10]), csr_matrix(sparse[:5])).values, dense.values
    )


def table(n_rows=400):
    made = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": made.normal(40.0, 10.0, n_rows),
            "color": made.choice(["red", "green", "blue"], n_rows),
            "income": np.where(made.random(n_rows) < 0.2, np.nan, made.lognormal(size=n_rows)),
        }
    )
    y = (frame["age"] > 40.0) ^ (frame["color"] == "red")
    return frame, np.where(y, "yes", "no")


def test_columns_of_text_and_missing_values_have_one_share_each():
    frame, y = table()
    model = StreamPipeline(
        LASVMClassifier(gamma=0.2, C=10.0), encoder=ColumnEncoder(), impute=MissingValueFiller(indicator=True)
    ).fit(frame, y)
    found = shapley_values(model, frame[:20], frame[50:80])
    assert found.feature_names == ["age", "color", "income"]
    assert np.allclose(found.predictions, model.decision_function(frame[:20]), atol=1e-4)
    assert found.data[0].tolist()[1] == frame["color"][0]
    sizes = dict(zip(found.feature_names, found.importances, strict=True))
    assert sizes["color"] > sizes["income"] < sizes["age"]


def test_tables_of_auto_svc_are_explained_by_their_columns():
    frame, y = table()
    frame.insert(0, "day", pd.date_range("2024-01-01", periods=len(frame)))
    model = AutoSVC(kernel="rbf", metric=None, n_components=64, random_state=0).fit(frame, y)
    found = shapley_values(model, frame[:10], frame[50:70])
    assert found.feature_names == ["day", "age", "color", "income"]
    # The model predicts in float32, with coefficients whose sizes add up to 2e5.
    assert np.allclose(found.predictions, model.decision_function(frame[:10]), atol=0.02)


def test_threads_change_nothing():
    model = MODELS["bsgd"].fit(X, BINARY)
    np.testing.assert_array_equal(shapley_values(model, X, n_jobs=2).values, shapley_values(model, X).values)


INSEPARABLE = pytest.mark.parametrize(
    ("model", "words"),
    [
        (ASSETClassifier(kernel="poly", gamma=0.2, degree=2), "'poly' is neither a product nor a sum over features"),
        (ASSETClassifier(kernel="matern32", gamma=0.2), "'matern32' is neither a product"),
        (ASSETClassifier(feature_map="fourier", gamma=0.2), "Random Fourier features mix all columns"),
        (ASSETClassifier(gamma=0.2, metric=np.eye(N_FEATURES)[:2] + 0.1), "mixes columns into directions"),
    ],
)


@INSEPARABLE
def test_refuses_what_has_no_factors_without_background_rows(model, words):
    model.fit(X, BINARY)
    with pytest.raises(ValueError, match=words) as caught:
        shapley_values(model, X[:2], background=None)
    assert str(caught.value).count(". ") == 0


@INSEPARABLE
def test_samples_what_has_no_factors(model, words):
    model.fit(X, BINARY)
    assert not has_exact_shares(model)
    found = shapley_values(model, X[:3], X[:20])
    assert found.standard_errors.shape == found.values.shape
    assert "Shares were sampled" in found.origin
    np.testing.assert_allclose(found.predictions, model.decision_function(X[:3]), atol=1e-5)
    np.testing.assert_allclose(found.base_values, model.decision_function(X[:20]).mean(), atol=1e-5)


def test_samples_sorted_quantiles_and_several_classes():
    quantiles = ASSETRegressor(quantile=[0.1, 0.5, 0.9], loss="pinball", gamma=0.2, non_crossing=True).fit(X, X[:, 0])
    found = shapley_values(quantiles, X[:3])
    np.testing.assert_allclose(found.predictions, quantiles.predict(X[:3]), atol=1e-4)
    several = ASSETClassifier(kernel="matern12", gamma=0.2, random_state=0).fit(X, SEVERAL)
    found = shapley_values(several, X[:3])
    assert found.output_names == ["0", "1", "2"]
    np.testing.assert_allclose(found.predictions, several.decision_function(X[:3]), atol=1e-5)


def test_sampled_shares_are_as_far_from_exact_ones_as_they_say():
    model = BSGDClassifier(budget=40, gamma=0.3, random_state=0).fit(X, BINARY)
    rows, background = X[:40], X[100:130]
    exact = shapley_values(model, rows, background).values
    columns = columns_for(model)
    _, values, errors = SampledModel(columns).shapley_values(rows, background, 4, 0, Threads(1))
    deviations = (values[:, :, 0] - exact) / errors[:, :, 0]
    assert 0.7 < np.sqrt(np.mean(np.square(deviations))) < 1.4
    assert np.abs(values[:, :, 0] - exact).max() < 0.1 * np.abs(exact).max()


def test_columns_that_a_pipeline_encodes_are_sampled_together():
    frame, y = table()
    model = AutoSVC(kernel="matern32", metric=None, n_components=64, random_state=0).fit(frame, y)
    found = shapley_values(model, frame[:5], frame[50:80])
    np.testing.assert_allclose(found.predictions, model.decision_function(frame[:5]), atol=1e-4)
    assert set(found.feature_names) == set(frame.columns)
    curve = partial_dependence(model, frame[:7], "color", grid=["red", "blue"])
    np.testing.assert_allclose(
        curve.individual[:, 0], model.decision_function(frame[:7].assign(color="red")), atol=1e-4
    )


def test_models_have_background_rows_of_their_own():
    frame, y = table()
    auto = AutoSVC(kernel="rbf", metric=None, n_components=300, random_state=0).fit(frame, y)
    found = shapley_values(auto, frame[:10])
    assert found.background == "100 training rows that the model keeps"
    typical = auto.pipeline_.typical_rows_
    assert typical.shape[0] == 100
    np.testing.assert_allclose(found.base_values, auto.model_.decision_function(typical).mean(), atol=0.02)
    assert {str(row) for row in typical} <= {str(row) for row in auto.pipeline_.estimator_rows(
        auto.pipeline_input(frame)).astype(np.float32)}  # fmt: skip
    scaled = make_pipeline(StandardScaler(), LASVMClassifier(gamma=0.2, C=1.0)).fit(10 + 3 * X, BINARY)
    found = shapley_values(scaled, 10 + 3 * X[:5])
    assert found.background.endswith("support vectors of the model")
    vectors = scaled[0].inverse_transform(scaled[-1].support_vectors_)
    chosen = np.unique(np.linspace(0, len(vectors) - 1, 100).astype(int))
    np.testing.assert_allclose(found.values, shapley_values(scaled, 10 + 3 * X[:5], vectors[chosen]).values, atol=1e-9)
    assert "no amounts in the unit of the target" in shapley_values(scaled, X[:5], background=None).origin


def test_amounts_are_those_of_the_target():
    target = 2e5 + 1e5 * np.tanh(X[:, 0]) + 1e4 * X[:, 1]
    model = AutoSVR(kernel="rbf", metric=None, random_state=0).fit(X, target)
    found = shapley_values(model, X)
    assert abs(found.base_values[0] - target.mean()) < 0.2 * target.std()
    assert np.abs(found.values).max() < np.ptp(target)
    assert found.importances.argsort()[::-1][:2].tolist() == [0, 1]


def test_refuses_steps_that_mix_columns_and_unknown_words():
    model = make_pipeline(PCA(2), LASVMClassifier(gamma=0.2)).fit(X, BINARY)
    with pytest.raises(TypeError, match="Step 'pca' of the pipeline is a PCA"):
        shapley_values(model, X[:2])
    with pytest.raises(ValueError, match="background must be rows, 'auto' or None"):
        shapley_values(MODELS["lasvm"].fit(X, BINARY), X[:2], "usual")
    fourier = ASSETClassifier(feature_map="fourier", gamma=0.2).fit(X, BINARY)
    with pytest.raises(ValueError, match="keeps no rows that could be background rows: give some"):
        shapley_values(fourier, X[:2])


def test_refuses_bad_input_in_a_sentence():
    model = MODELS["bsgd"].fit(X, BINARY)
    bad = X[:3].copy()
    bad[1, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        shapley_values(model, bad)
    with pytest.raises(ValueError, match="NaN"):
        shapley_values(model, X[:3], bad)
    with pytest.raises(ValueError, match="4 features"):
        shapley_values(model, X[:3, :4])
    with pytest.raises(ValueError, match="tolerance"):
        shapley_values(model, X[:3], tolerance=0.0)
    with pytest.raises(NotFittedError):
        shapley_values(BSGDClassifier(), X)
    with pytest.raises(TypeError, match="Only fitted estimators"):
        shapley_values("model", X)
    hashed = StreamPipeline(LASVMClassifier(gamma=0.2), encoder=ColumnEncoder("hash"), impute="median").fit(*table())
    with pytest.raises(ValueError, match="Hashed columns of text share features"):
        shapley_values(hashed, table()[0][:2])
