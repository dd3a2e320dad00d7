"""A feature map between scaler and estimator: fitted once on the first rows, the same in batches and single rows."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import (
    AdditiveChi2Sampler,
    Nystroem,
    PolynomialCountSketch,
    RBFSampler,
    SkewedChi2Sampler,
)
from sklearn.preprocessing import PolynomialFeatures

from frugalsvm import BSGDClassifier
from frugalsvm.export import to_c, to_libsvm, to_onnx
from frugalsvm.pipelines import ColumnEncoder, StreamingScaler, StreamPipeline

# One width of features for all maps: each width may compile the learner anew.
MAPS = {
    "rbf": RBFSampler(gamma=0.3, n_components=32, random_state=0),
    "rbf-scale": RBFSampler(gamma="scale", n_components=32, random_state=0),
    "nystroem": Nystroem(gamma=0.3, n_components=32, random_state=0),
    "sketch": PolynomialCountSketch(degree=2, n_components=32, random_state=0),
    "skewed-chi2": SkewedChi2Sampler(n_components=32, skewedness=9.0, random_state=0),
    "additive-chi2": AdditiveChi2Sampler(sample_steps=2),
    "polynomial": PolynomialFeatures(2, include_bias=False),
}
POSITIVE = ("skewed-chi2", "additive-chi2")  # these maps take no negative numbers


def linear(**params):
    defaults = {"budget": 30, "alpha": 1e-3, "kernel": "linear", "maintenance": "remove", "random_state": 0}
    return BSGDClassifier(**{**defaults, **params})


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(600, 4))
    y = (Z[:, 0] * Z[:, 1] > 0.1 * rng.normal(size=600)).astype(int)
    return Z * [1, 100, 1e-3, 5] + [0, 50, 2, -5], y


def in_batches(model, X, y, size):
    for start in range(0, X.shape[0], size):
        model.partial_fit(X[start : start + size], y[start : start + size])
    return model


@pytest.mark.parametrize("name", MAPS)
def test_the_same_as_mapping_by_hand(rows, name):
    X, y = rows
    scale = name not in POSITIVE
    X = X if scale else np.abs(X)
    given = clone(MAPS[name])
    model = StreamPipeline(linear(), scale=scale, feature_map=given, warmup_rows=200)
    in_batches(model, X, y, 150)
    scaled = StreamingScaler().fit(X[:200]).transform(X) if scale else X
    features = clone(given).fit(scaled[:200]).transform(scaled)
    hand = linear()
    for part in (slice(0, 200), slice(200, 300), slice(300, 450), slice(450, 600)):
        hand.partial_fit(features[part], y[part])
    np.testing.assert_array_equal(model.decision_function(X), hand.decision_function(features))
    np.testing.assert_array_equal(model.predict(X), hand.predict(features))
    assert model.score(X, y) == hand.score(features, y)
    assert model.estimator_.n_features_in_ == features.shape[1]
    assert model.n_features_in_ == 4
    # The object of the user stays as it was.
    assert vars(given) == vars(clone(given))
    assert type(model.feature_map_) is type(given)


def test_a_map_makes_a_linear_model_learn_products(rows):
    X, y = rows
    plain = in_batches(StreamPipeline(linear(), warmup_rows=200), X, y, 100)
    with_map = StreamPipeline(linear(budget=300), feature_map=MAPS["polynomial"], warmup_rows=200)
    in_batches(with_map, X, y, 100)
    assert with_map.score(X, y) > plain.score(X, y) + 0.2


@pytest.mark.parametrize("size", [1, 70])
def test_the_model_does_not_depend_on_batch_sizes(rows, size):
    X, y = rows
    models = [StreamPipeline(linear(), feature_map=MAPS["polynomial"], warmup_rows=100) for _ in range(2)]
    reference, model = in_batches(models[0], X[:300], y[:300], 300), in_batches(models[1], X[:300], y[:300], size)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), rtol=1e-9, atol=1e-9)


def test_single_rows_go_through_the_map(rows):
    X, y = rows
    fast, slow = (StreamPipeline(linear(), feature_map=MAPS["rbf"], warmup_rows=50, calibrate=True) for _ in range(2))
    for i in range(120):
        fast.learn_one_row(X[i], y[i])
        slow.partial_fit(X[i : i + 1], y[i : i + 1])
    assert fast._row_path() is None
    np.testing.assert_array_equal(fast.decision_function(X), slow.decision_function(X))
    assert [fast.predict_one_row(x) for x in X[:20]] == slow.predict(X[:20]).tolist()
    shares = slow.predict_proba(X[:20])
    np.testing.assert_allclose([fast.predict_proba_one_row(x) for x in X[:20]], shares, rtol=1e-9)
    np.testing.assert_array_equal(fast.classes_[shares.argmax(axis=1)], fast.predict(X[:20]))


def test_float32_stays_float32(rows):
    X, y = rows[0].astype(np.float32), rows[1]
    model = in_batches(StreamPipeline(linear(), feature_map=MAPS["rbf"], warmup_rows=100), X, y, 200)
    assert model.estimator_.support_vectors_.dtype == np.float32


@pytest.mark.parametrize(
    "name",
    ["nystroem", "sketch", pytest.param("polynomial", marks=pytest.mark.slow)],  # compiles for sparse features
)
def test_sparse_rows_are_mapped(rows, name):
    X, y = rows
    sparse, dense = (
        in_batches(StreamPipeline(linear(), scale=False, feature_map=MAPS[name], warmup_rows=100), kind(X), y, 200)
        for kind in (csr_matrix, np.asarray)
    )
    expected = dense.decision_function(X)
    np.testing.assert_allclose(sparse.decision_function(csr_matrix(X)), expected, atol=1e-7 * np.abs(expected).max())


def test_fit_fits_the_map_on_all_rows(rows):
    X, y = rows
    model = StreamPipeline(linear(), feature_map=MAPS["nystroem"]).fit(X, y)
    scaled = StreamingScaler().fit(X).transform(X)
    features = clone(MAPS["nystroem"]).fit(scaled).transform(scaled)
    np.testing.assert_array_equal(model.decision_function(X), linear().fit(features, y).decision_function(features))


def test_encoded_columns_are_mapped_too(rows):
    _, y = rows
    words = np.array(["no", "yes"], dtype=object)[y]
    noise = np.random.default_rng(6).normal(size=(600, 2))
    model = StreamPipeline(linear(), encoder=ColumnEncoder(), feature_map=MAPS["nystroem"], warmup_rows=100)
    model.partial_fit((noise, {"word": words}), y)
    assert model.score((noise, {"word": words}), y) > 0.95
    assert model.feature_map_.n_features_in_ == 4
    assert model.predict_one_row((noise[0], {"word": words[0]})) == model.predict((noise[:1], {"word": words[:1]}))[0]


# --- the first rows ------------------------------------------------------------------------------------------


def test_predictions_before_the_map_is_fitted(rows):
    """Nystroem takes as many landmarks as there are rows then, without a warning, and all of them later."""
    X, y = rows
    model = StreamPipeline(linear(), feature_map=MAPS["nystroem"], warmup_rows=100)
    model.partial_fit(X[:10], y[:10])
    assert model.predict(X).shape == (600,)
    assert not hasattr(model, "feature_map_")
    model.partial_fit(X[10:100], y[10:100])
    assert model.feature_map_.components_.shape == (32, 4)


def test_too_few_first_rows_for_the_map(rows):
    X, y = rows
    with pytest.raises(ValueError, match=r"n_components=32 landmarks .* 20 only: make warmup_rows"):
        StreamPipeline(linear(), feature_map=MAPS["nystroem"], warmup_rows=20).partial_fit(X, y)
    with pytest.raises(ValueError, match="10 only"):
        StreamPipeline(linear(), scale=False, feature_map=MAPS["nystroem"], warmup_rows=0).partial_fit(X[:10], y[:10])
    with pytest.raises(ValueError, match="10 only"):
        StreamPipeline(linear(), feature_map=MAPS["nystroem"]).fit(X[:10], y[:10])
    held = StreamPipeline(linear(), feature_map=MAPS["nystroem"]).partial_fit(X[:10], y[:10])
    before = pickle.dumps(vars(held))
    with pytest.raises(ValueError, match="10 only"):
        held.flush()
    assert pickle.dumps(vars(held)) == before
    with pytest.raises(ValueError, match="feature_map=PCA cannot be fitted on the first 3 rows"):
        StreamPipeline(linear(), scale=False, feature_map=PCA(4), warmup_rows=0).partial_fit(X[:3], y[:3])


# --- contract ------------------------------------------------------------------------------------------------


def test_parameters_clones_and_pickles(rows):
    X, y = rows
    model = StreamPipeline(linear(), feature_map=RBFSampler(random_state=0), warmup_rows=50)
    assert model.get_params()["feature_map__n_components"] == 100
    model.set_params(feature_map__n_components=32)
    copy = clone(model)
    assert copy.feature_map is not model.feature_map
    assert copy.get_params()["feature_map__n_components"] == 32
    model.partial_fit(X[:100], y[:100])
    assert model.feature_map_.random_weights_.shape == (4, 32)
    assert not hasattr(clone(model), "feature_map_")
    again = pickle.loads(pickle.dumps(model))
    for each in (model, again):
        each.partial_fit(X[100:200], y[100:200])
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert model.set_params(feature_map=None).fit(X, y).feature_map_ is None


BAD = {
    "width": (lambda X: X[:, :3], "X has 3 features, but StreamPipeline is expecting 4 features"),
    "NaN": (lambda X: np.where(np.arange(4) == 1, np.nan, X), "NaN"),
    "negative": (lambda X: X - 100.0, "negative|-skewedness"),
}


@pytest.mark.parametrize(("bad", "message"), BAD.values(), ids=BAD)
def test_bad_rows_leave_no_trace(rows, bad, message):
    X, y = np.abs(rows[0]), rows[1]
    model = StreamPipeline(linear(), scale=False, feature_map=MAPS["skewed-chi2"], warmup_rows=50)
    model.partial_fit(X[:100], y[:100])
    before = pickle.dumps(vars(model))
    for call in (
        lambda: model.partial_fit(bad(X[100:110]), y[100:110]),
        lambda: model.learn_one_row(bad(X[100:101])[0], y[100]),
        lambda: model.predict(bad(X[100:110])),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert pickle.dumps(vars(model)) == before


def test_what_is_no_map(rows):
    with pytest.raises(TypeError, match=r"not a class: write RBFSampler\(\)"):
        StreamPipeline(linear(), feature_map=RBFSampler).fit(*rows)
    with pytest.raises(TypeError, match="has no fit"):
        StreamPipeline(linear(), feature_map="rbf").fit(*rows)

    class Halving(RBFSampler):
        def transform(self, X):
            return super().transform(X)[::2]

    with pytest.raises(ValueError, match=r"Halving gave features of shape \(300, 100\) for 600 rows"):
        StreamPipeline(linear(), feature_map=Halving()).fit(*rows)


@pytest.mark.parametrize("export", [to_onnx, to_c, to_libsvm], ids=["onnx", "c", "libsvm"])
def test_exports_name_the_map(rows, export, tmp_path):
    model = StreamPipeline(linear(), scale=False, feature_map=MAPS["rbf"]).fit(*rows)
    with pytest.raises(ValueError, match="feature map of this pipeline, RBFSampler, cannot be exported"):
        export(model, tmp_path / "model")
