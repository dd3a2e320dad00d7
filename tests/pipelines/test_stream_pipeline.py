"""A pipeline is what one would do by hand, in batches of any size, and refuses bad rows without a trace."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

from frugalsvm import ASSETClassifier, ASSETRegressor, BSGDClassifier
from frugalsvm.calibration import PlattCalibration
from frugalsvm.pipelines import ColumnEncoder, StreamingScaler, StreamPipeline


def bsgd(**params):
    return BSGDClassifier(**{"budget": 30, "alpha": 1e-3, "gamma": 0.5, "random_state": 0, **params})


@pytest.fixture(scope="module")
def rows():
    """Four features of very different scales, three classes of which the third is rare."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(1500, 4))
    y = (Z[:, 0] * Z[:, 1] + 0.3 * rng.normal(size=1500) > 0).astype(int)
    y[Z[:, 2] > 1.5] = 2
    return Z * [1, 100, 1e-3, 5] + [0, 50, 2, -5], y


@pytest.fixture(scope="module")
def two(rows):
    X, y = rows
    return X, np.where(y == 2, 1, y)


def in_batches(model, X, y, size, **params):
    for start in range(0, X.shape[0], size):
        model.partial_fit(X[start : start + size], y[start : start + size], **params)
    return model


def state(model):
    return pickle.dumps(vars(model))


# --- by hand -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("scale", [True, False])
def test_the_same_as_scaling_by_hand(two, kind, scale):
    X, y = kind(two[0]), two[1]
    model = in_batches(StreamPipeline(bsgd(), scale=scale, warmup_rows=300), X, y, 256)
    hand = bsgd()
    scaled = StreamingScaler().fit(X[:300]).transform(X) if scale else X
    for part in (slice(0, 300), slice(300, 512), *(slice(s, s + 256) for s in range(512, 1500, 256))):
        hand.partial_fit(scaled[part], y[part])
    np.testing.assert_array_equal(model.estimator_.support_vectors_, hand.support_vectors_)
    np.testing.assert_array_equal(model.decision_function(X), hand.decision_function(scaled))
    np.testing.assert_array_equal(model.predict(X), hand.predict(scaled))
    assert model.n_features_in_ == 4


def test_fit_takes_the_statistics_from_all_rows(two):
    X, y = two
    model = StreamPipeline(bsgd()).fit(X, y)
    scaler = StreamingScaler().fit(X)
    np.testing.assert_array_equal(model.scaler_.center_, scaler.center_)
    hand = bsgd().fit(scaler.transform(X), y)
    np.testing.assert_array_equal(model.decision_function(X), hand.decision_function(scaler.transform(X)))
    assert model.score(X, y) == hand.score(scaler.transform(X), y)
    assert model.n_held_ == 0
    seen = model.estimator_.t_
    assert model.partial_fit(X[:10], y[:10]).estimator_.t_ == seen + 10


def test_weights_reach_the_estimator_from_held_rows_too(two):
    X, y = two
    weights = np.random.default_rng(1).random(1500)
    model = StreamPipeline(bsgd(), warmup_rows=400)
    for part in (slice(0, 250), slice(250, 700), slice(700, 1500)):
        model.partial_fit(X[part], y[part], sample_weight=weights[part])
    scaled = StreamingScaler().fit(X[:400]).transform(X)
    hand = bsgd()
    for part in (slice(0, 400), slice(400, 700), slice(700, 1500)):
        hand.partial_fit(scaled[part], y[part], sample_weight=weights[part])
    np.testing.assert_array_equal(model.decision_function(X), hand.decision_function(scaled))


# --- batches -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 333, 1500])
def test_the_model_does_not_depend_on_batch_sizes(two, size):
    X, y = two
    reference = in_batches(StreamPipeline(bsgd(gamma="scale"), warmup_rows=200), X, y, 100)
    model = in_batches(StreamPipeline(bsgd(gamma="scale"), warmup_rows=200), X, y, size)
    # Few features: products are summed in the same order in batches of all sizes.
    np.testing.assert_array_equal(model.decision_function(X), reference.decision_function(X))


def test_rows_are_held_back_copied_and_flushed(two):
    X, y = two
    model = StreamPipeline(bsgd(), warmup_rows=1000)
    lent, labels = X[:40].copy(), y[:40].copy()
    model.partial_fit(lent, labels)
    lent[:], labels[:] = -1.0, 0
    assert model.n_held_ == 40
    assert not hasattr(model, "estimator_")
    flushed = model.flush()
    assert flushed is model
    assert model.n_held_ == 0
    assert model.estimator_.t_ == 40
    np.testing.assert_array_equal(model.scaler_.center_, StreamingScaler().fit(X[:40]).center_)
    assert model.flush().partial_fit(X[40:50], y[40:50]).estimator_.t_ == 50


def test_predictions_before_the_first_rows_are_learned(two):
    X, y = two
    model = StreamPipeline(bsgd(), warmup_rows=1000)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.partial_fit(X[:45], y[:45])
    copy = StreamPipeline(bsgd(), warmup_rows=1000).partial_fit(X[:32], y[:32]).flush().partial_fit(X[32:45], y[32:45])
    np.testing.assert_array_equal(model.decision_function(X), copy.decision_function(X))
    assert model.predict_one_row(X[3]) == copy.predict(X[3:4])[0]
    assert model.n_held_ == 45
    model.partial_fit(X[45:64], y[45:64])
    copy = StreamPipeline(bsgd(), warmup_rows=64).partial_fit(X[:64], y[:64])
    np.testing.assert_array_equal(model.predict(X), copy.predict(X))


def test_one_class_so_far_is_predicted(two):
    X, y = two
    ones = np.flatnonzero(y == 1)[:3]
    model = StreamPipeline(bsgd(), calibrate=True).partial_fit(X[ones[:2]], y[ones[:2]])
    for labels in ([1], [0]):
        assert model.predict(X[:5]).tolist() == [1] * 5
        assert model.classes_.tolist() == [1]
        assert model.predict_proba(X[:5]).tolist() == [[1.0]] * 5
        model.partial_fit(X[:1], labels)
    assert model.classes_.tolist() == [0, 1]
    assert model.predict_proba(X[:5]).shape == (5, 2)


def test_announced_classes_and_classes_that_grow(rows):
    X, y = rows
    announced = StreamPipeline(bsgd(), warmup_rows=10).partial_fit(X[:20], np.arange(20) % 2, classes=[0, 1, 2])
    assert announced.classes_.tolist() == [0, 1, 2]
    growing = in_batches(StreamPipeline(bsgd(new_classes="grow"), warmup_rows=10), X[y < 2][:50], y[y < 2][:50], 25)
    assert growing.classes_.tolist() == [0, 1]
    assert growing.partial_fit(X[:50], y[:50] + 5).classes_.tolist() == [0, 1, 5, 6, 7]


# --- calibration ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_agree_with_predictions(rows, n_classes):
    X, y = rows
    y = np.minimum(y, n_classes - 1)
    model = in_batches(StreamPipeline(bsgd(), warmup_rows=200, calibrate=True), X, y, 100)
    shares = model.predict_proba(X)
    assert shares.shape == (1500, n_classes)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose([model.predict_proba_one_row(x) for x in X[:20]], shares[:20], rtol=1e-6)


@pytest.mark.parametrize("way", ["stream", "fit"])
def test_calibration_improves_the_log_loss_on_noisy_labels(two, way):
    X, y = two
    noisy = np.where(np.random.default_rng(5).random(1500) < 0.25, 1 - y, y)
    model = StreamPipeline(bsgd(alpha=1e-4), warmup_rows=200, calibrate=True)
    model = in_batches(model, X[:1000], noisy[:1000], 50) if way == "stream" else model.fit(X[:1000], noisy[:1000])
    values = model.decision_function(X[1000:])
    plain = 1 / (1 + np.exp(-values))
    assert log_loss(noisy[1000:], model.predict_proba(X[1000:])) < log_loss(noisy[1000:], plain)
    assert 0 < model.slope_ < 1


@pytest.mark.parametrize("half_life", [None, 1000.0])
def test_probabilities_on_a_stream_are_as_good_as_those_of_the_best_slopes(half_life):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 2))
    y = (rng.random(4000) < 1 / (1 + np.exp(-3 * X[:, 0]))).astype(int)
    estimator = BSGDClassifier(budget=30, random_state=0, half_life=half_life)
    model = StreamPipeline(estimator, warmup_rows=200, calibrate=True)
    values, shares = [], []
    for start in range(0, 4000, 50):
        rows = slice(start, start + 50)
        if start >= 2000:
            values.append(model.decision_function(X[rows]))
            shares.append(model.predict_proba(X[rows]))
        model.partial_fit(X[rows], y[rows])
    values, later = np.concatenate(values)[:, None], y[2000:]
    best = PlattCalibration.settled(values, later).probabilities(values)
    assert log_loss(later, np.concatenate(shares)) < 1.03 * log_loss(later, best)


def test_no_probabilities_without_calibration(two):
    model = StreamPipeline(bsgd(), warmup_rows=10).partial_fit(*(part[:20] for part in two))
    assert not hasattr(model, "predict_proba")
    with pytest.raises(ValueError, match="for classifiers"):
        StreamPipeline(ASSETRegressor(), calibrate=True).fit(*two)


# --- other estimators ----------------------------------------------------------------------------------------


def test_a_classifier_without_a_fast_way_for_rows(two):
    X, y = two
    estimator = ASSETClassifier(n_components=40, random_state=0)
    model = in_batches(StreamPipeline(estimator, warmup_rows=100, calibrate=True), X, y, 500)
    assert is_classifier(model)
    assert model.score(X, y) > 0.6
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
    assert model.learn_one_row(X[0], 1) is model


def test_regressor(two):
    X, _ = two
    target = np.sin(X[:, 0]) + X[:, 1] / 100
    model = in_batches(StreamPipeline(ASSETRegressor(n_components=64, random_state=0), warmup_rows=300), X, target, 250)
    assert is_regressor(model)
    scaled = StreamingScaler().fit(X[:300]).transform(X)
    hand = ASSETRegressor(n_components=64, random_state=0)
    for part in (slice(0, 300), slice(300, 500), *(slice(s, s + 250) for s in range(500, 1500, 250))):
        hand.partial_fit(scaled[part], target[part])
    np.testing.assert_array_equal(model.predict(X), hand.predict(scaled))
    assert model.score(X, target) == hand.score(scaled, target)
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "decision_function")
    before = state(model)
    with pytest.raises(ValueError, match="NaN or infinity, the first in row 1"):
        model.partial_fit(X[:2], [1.0, np.nan])
    assert state(model) == before


@pytest.mark.parametrize("method", ["onehot", "hash"])
def test_columns_of_text(two, method):
    y = two[1]
    words = np.array(["no", "yes"], dtype=object)[y]
    other = np.array(["a", "b", "c"], dtype=object)[np.arange(1500) % 3]
    noise = np.random.default_rng(6).normal(size=(1500, 2))
    model = StreamPipeline(bsgd(), encoder=ColumnEncoder(method, n_features=200), warmup_rows=100)
    for start in range(0, 1500, 70):
        part = slice(start, start + 70)
        model.partial_fit((noise[part], {"word": words[part], "other": other[part]}), y[part])
    assert model.score((noise, {"word": words, "other": other}), y) > 0.95
    assert model.estimator_.n_features_in_ == (2 + 5 if method == "onehot" else 202)
    assert model.predict_one_row((noise[0], {"word": "yes", "other": "new"})) == 1
    with pytest.raises(ValueError, match="a pair of a matrix"):
        model.partial_fit(noise, y)
    with pytest.raises(ValueError, match="70 rows"):
        model.partial_fit((noise[:3], {"word": words[:70], "other": other[:3]}), y[:3])


def test_a_data_frame_of_text_alone(two):
    pandas = pytest.importorskip("pandas")
    y = two[1]
    frame = pandas.DataFrame({"word": np.array(["no", "yes"], dtype=object)[y]})
    model = StreamPipeline(bsgd(), encoder=ColumnEncoder(), warmup_rows=100).partial_fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert model.scaler_ is None


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_of_both_libraries(two, library):
    frames = pytest.importorskip(library)
    X, y = two
    words = np.array(["no", "yes", None], dtype=object)[np.where(np.arange(1500) % 7 == 0, 2, y)]
    frame = frames.DataFrame({"a": X[:, 0], "word": words, "b": X[:, 1], "n": np.arange(1500) % 5, "t": y == y[0]})
    model = StreamPipeline(bsgd(), encoder=ColumnEncoder(), warmup_rows=100)
    for start in range(0, 1500, 500):
        model.partial_fit(frame[start : start + 500], y[start : start + 500])
    matrix = np.column_stack([X[:, :2], np.arange(1500) % 5, y == y[0]])
    hand = StreamPipeline(bsgd(), encoder=ColumnEncoder(), warmup_rows=100)
    for start in range(0, 1500, 500):
        part = slice(start, start + 500)
        hand.partial_fit((matrix[part], {"word": words[part]}), y[part])
    np.testing.assert_array_equal(model.decision_function(frame), hand.decision_function((matrix, {"word": words})))
    text = frame[["word"]]
    np.testing.assert_array_equal(
        ColumnEncoder().fit(text).transform(text).toarray(),
        ColumnEncoder().fit({"word": words}).transform({"word": words}).toarray(),
    )


def test_decimals_of_polars_are_numbers(two):
    polars = pytest.importorskip("polars")
    y = two[1]
    frame = polars.DataFrame({"price": np.round(two[0][:, 0], 2), "word": np.where(y, "yes", "no")})
    frame = frame.with_columns(polars.col("price").cast(polars.Decimal(10, 2)))
    model = StreamPipeline(bsgd(), encoder=ColumnEncoder(), warmup_rows=100).partial_fit(frame, y)
    assert model.n_features_in_ == 1
    assert model.encoder_.names_ == ["word"]


# --- contract ------------------------------------------------------------------------------------------------


def test_parameters_clones_and_pickles(two):
    X, y = two
    model = StreamPipeline(bsgd(), warmup_rows=100, calibrate=True)
    assert model.get_params()["estimator__budget"] == 30
    model.set_params(estimator__budget=20)
    assert clone(model).get_params()["estimator__budget"] == 20
    model.partial_fit(X[:300], y[:300]).learn_one_row(X[300], y[300])
    model.predict_one_row(X[0])
    assert not hasattr(clone(model), "estimator_")
    again = pickle.loads(pickle.dumps(model))
    assert state(again) == state(model)
    for each in (model, again):
        each.learn_one_row(X[301], y[301]).partial_fit(X[302:400], y[302:400])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    held = pickle.loads(pickle.dumps(StreamPipeline(bsgd(), warmup_rows=100).partial_fit(X[:60], y[:60])))
    assert held.partial_fit(X[60:100], y[60:100]).estimator_.t_ == 100


BAD = [
    ("NaN", lambda X, y: (np.where(np.arange(4) == 1, np.nan, X), y), "NaN"),
    ("width", lambda X, y: (X[:, :3], y), "features"),
    ("length", lambda X, y: (X, y[:-1]), "inconsistent"),
    ("label", lambda X, y: (X, np.where(np.arange(len(y)) == len(y) - 1, 9, y)), "not one of the classes"),
    ("text label", lambda X, y: (X, y.astype(str)), "."),
]


@pytest.mark.parametrize(("bad", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
@pytest.mark.parametrize("n_before", [50, 150])
def test_bad_rows_leave_no_trace(two, n_before, bad, message):
    """Also where the first rows of a bad batch would end the warm-up of 100 rows."""
    X, y = two
    model = StreamPipeline(bsgd(), warmup_rows=100).partial_fit(X[:n_before], y[:n_before], classes=[0, 1])
    before = state(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(*bad(X[n_before : n_before + 200], y[n_before : n_before + 200]))
    assert state(model) == before
    with pytest.raises(ValueError, match="differs from the classes of the first call"):
        model.partial_fit(X[:2], y[:2], classes=[0, 1, 2])
    assert state(model) == before


def test_a_label_unknown_to_the_first_rows_leaves_no_trace(two):
    X, y = two
    model = StreamPipeline(bsgd(), warmup_rows=100).partial_fit(X[:50], y[:50])
    before = state(model)
    with pytest.raises(ValueError, match="Label 9"):
        model.partial_fit(X[50:250], [*y[50:249], 9])
    assert state(model) == before
    with pytest.raises(ValueError, match="Labels of two kinds"):
        model.partial_fit(X[50:52], ["a", "b"])
    assert state(model) == before


def test_bad_parameters(two):
    with pytest.raises(ValueError, match="warmup_rows"):
        StreamPipeline(bsgd(), warmup_rows=0).partial_fit(*two)
    model = StreamPipeline(bsgd(), scale=False, warmup_rows=0).partial_fit(two[0][:5], two[1][:5], classes=[0, 1])
    assert model.estimator_.t_ == 5


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "auto"),
        ({"half_life": np.inf}, np.inf),
        ({"half_life": 100, "gamma": 0.5}, 100),
        ({"gamma": 0.5}, None),
        ({"alpha": 1e-3}, None),
        ({"average": True}, None),
        ({"learner": "norma", "maintenance": "remove"}, None),
        ({"kernel": "linear", "maintenance": "remove"}, None),
    ],
)
def test_streams_are_followed_unless_something_was_chosen(two, options, expected):
    X, y = two
    estimator = BSGDClassifier(budget=10, random_state=0, **options)
    model = StreamPipeline(estimator, warmup_rows=100).partial_fit(X[:120], y[:120])
    assert model.estimator_.half_life == expected
    assert model.get_params()["estimator"] is estimator
    assert estimator.half_life == options.get("half_life")
    assert StreamPipeline(estimator).fit(X[:120], y[:120]).estimator_.half_life == options.get("half_life")


def test_a_half_life_without_end_is_none(two):
    X, y = two
    plain, endless = (bsgd(half_life=each).partial_fit(X, y).decision_function(X) for each in (None, np.inf))
    np.testing.assert_array_equal(endless, plain)
    assert not np.array_equal(bsgd(half_life=50).partial_fit(X, y).decision_function(X), plain)
