"""Single rows past validation: the same model as batches of one, bit for bit, and bad rows refused."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from frugalsvm import BSGDClassifier, BSGDOneClassSVM, BSGDRegressor, BudgetedPerceptron
from frugalsvm.pipelines import StreamingScaler, StreamPipeline
from frugalsvm.pipelines.one_row import NoveltyPath, RowPath, TargetPath


@pytest.fixture(scope="module", params=[4, 12], ids=["columns", "blocks"])
def rows(request):
    rng = np.random.default_rng(request.param)
    X = rng.normal(3.0, 2.0, (240, request.param))
    return X, (X[:, 0] * X[:, 1] > X[:, 2] * 3).astype(int)


def three(X, y):
    """A third class."""
    return y + (X[:, 3] > 4)


def one_by_one(model, X, y):
    for x, label in zip(X, y, strict=True):
        model.learn_one_row(x, label)
    return model


BSGD = BSGDClassifier(budget=20, alpha=1e-3, random_state=0)
PERCEPTRON = BudgetedPerceptron("budget", budget=20, random_state=0)  # learns three classes one against the rest


def assert_same_by_rows_and_batches(estimator, scale, X, y):
    fast, slow = (StreamPipeline(estimator, scale=scale, warmup_rows=50) for _ in range(2))
    one_by_one(fast, X, y)
    for i in range(len(y)):
        slow.partial_fit(X[i : i + 1], y[i : i + 1])
    assert isinstance(fast._row_path(), RowPath)
    np.testing.assert_array_equal(fast.estimator_.support_vectors_, slow.estimator_.support_vectors_)
    np.testing.assert_array_equal(fast.estimator_.dual_coef_, slow.estimator_.dual_coef_)
    assert fast.estimator_.t_ == slow.estimator_.t_ == len(y)
    expected = [slow.predict(X[i : i + 1])[0] for i in range(50)]
    assert [fast.predict_one_row(x) for x in X[:50]] == expected
    found = [fast.decision_function_one_row(x).tolist() for x in X[:50]]
    assert found == [np.ravel(slow.decision_function(X[i : i + 1])).tolist() for i in range(50)]
    return fast


@pytest.mark.parametrize("scale", [True, False])
def test_the_same_model_as_batches_of_one(rows, scale):
    assert_same_by_rows_and_batches(BSGD, scale, *rows)


def test_float32_is_rounded_alike(rows):
    X, y = rows
    if X.shape[1] == 4:  # one of the two is enough: compiling takes long
        model = assert_same_by_rows_and_batches(BSGD, True, X.astype(np.float32), y)
        assert model.estimator_.support_vectors_.dtype == np.float32


def test_a_store_that_grows(rows):
    if rows[0].shape[1] == 4:
        X, y = np.vstack([rows[0], rows[0] + 0.5]), np.tile(rows[1], 2)
        estimator = BSGDClassifier(budget=None, alpha=1e-3, gamma=50.0)  # nearly every row becomes a support vector
        model = assert_same_by_rows_and_batches(estimator, True, X, y)
        assert len(model.estimator_.support_vectors_) > 256


def test_a_store_that_grows_between_predictions(rows):
    X, y = rows
    if X.shape[1] != 4:  # one of the two is enough: compiling takes long
        return
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(700, 4)), rng.integers(0, 2, 700)  # nothing to learn: most rows are mistakes
    estimator = BudgetedPerceptron("stop", budget=None, gamma=5.0, random_state=0)
    fast, slow = (StreamPipeline(estimator, scale=False, warmup_rows=20) for _ in range(2))
    slow.partial_fit(X, y, classes=[0, 1])
    fast.partial_fit(X[:20], y[:20], classes=[0, 1])
    for x, label in zip(X[20:], y[20:], strict=True):
        fast.predict_one_row(x)
        fast.learn_one_row(x, label)
    assert len(fast.estimator_.support_vectors_) > 300
    assert [fast.predict_one_row(x) for x in X] == slow.predict(X).tolist()


def test_one_against_the_rest(rows):
    X, y = rows
    if X.shape[1] == 4:
        assert_same_by_rows_and_batches(PERCEPTRON, True, X, three(X, y))


def test_rows_batches_and_predictions_in_turn(rows):
    X, y = rows
    fast, slow = (StreamPipeline(BSGD, warmup_rows=20).partial_fit(X[:30], y[:30]) for _ in range(2))
    for start in range(30, 230, 40):
        one_by_one(fast, X[start : start + 10], y[start : start + 10])
        for i in range(start, start + 10):
            slow.partial_fit(X[i : i + 1], y[i : i + 1])
        assert fast.predict_one_row(X[start]) == slow.predict(X[start : start + 1])[0]
        for model in (fast, slow):
            model.partial_fit(X[start + 10 : start + 40], y[start + 10 : start + 40])
        assert fast.predict_one_row(X[start]) == slow.predict(X[start : start + 1])[0]
    np.testing.assert_array_equal(fast.decision_function(X), slow.decision_function(X))


def test_parameters_set_anew_count(rows):
    X, y = rows
    fast, slow = (StreamPipeline(BSGD, warmup_rows=20).partial_fit(X[:100], y[:100]) for _ in range(2))
    one_by_one(fast, X[100:110], y[100:110])
    for i in range(100, 110):
        slow.partial_fit(X[i : i + 1], y[i : i + 1])
    for model in (fast, slow):
        model.estimator_.set_params(alpha=0.1)
    one_by_one(fast, X[110:120], y[110:120])
    for i in range(110, 120):
        slow.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_array_equal(fast.decision_function(X), slow.decision_function(X))
    fast.estimator_.set_params(alpha=-1.0)
    with pytest.raises(ValueError, match="alpha"):
        fast.learn_one_row(X[0], y[0])


def test_classes_grow_row_by_row(rows):
    X, y = rows
    estimator = BSGDClassifier(budget=20, alpha=1e-3, new_classes="grow")
    model = one_by_one(StreamPipeline(estimator, scale=False, warmup_rows=1), X, np.array(["a", "b", "c"])[three(X, y)])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_one_row(X[0]) in ("a", "b", "c")
    assert model.estimator_.t_ > 220


def test_calibration_by_rows_is_that_of_batches_of_one(rows):
    X, y = rows
    fast, slow = (StreamPipeline(BSGD, warmup_rows=50, calibrate=True) for _ in range(2))
    one_by_one(fast, X, y)
    for i in range(len(y)):
        slow.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(fast.calibration_, slow.calibration_, rtol=1e-9)
    assert fast.slope_ != 1.0


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_an_estimator_that_calibrates_itself_does_the_same_by_rows(rows, method):
    X, y = rows
    fast, slow = (StreamPipeline(clone(BSGD).set_params(calibrate=method), warmup_rows=50) for _ in range(2))
    one_by_one(fast, X, y)
    for i in range(len(y)):
        slow.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(fast.predict_proba(X), slow.predict_proba(X), rtol=1e-6)


def test_calibration_begins_with_a_row_where_there_was_none(rows):
    X, y = rows
    fast, slow = (one_by_one(StreamPipeline(BSGD, warmup_rows=50), X[:200], y[:200]) for _ in range(2))
    for model in (fast, slow):
        model.estimator.set_params(calibrate="platt")
        model.estimator_.set_params(calibrate="platt")
    slow.partial_fit(X[200:201], y[200:201])
    np.testing.assert_allclose(one_by_one(fast, X[200:201], y[200:201]).predict_proba(X), slow.predict_proba(X))


def test_the_scaler_of_a_mapped_model_counts_rows(rows, tmp_path):
    X, y = rows
    joblib.dump(StreamingScaler().fit(X).freeze(), tmp_path / "scaler")
    scaler = joblib.load(tmp_path / "scaler", mmap_mode="r")
    model = StreamPipeline(BSGD, warmup_rows=50).partial_fit(X[:100], y[:100])
    model.scaler_ = scaler
    model.learn_one_row(X[100], y[100]).partial_fit(X[101:110], y[101:110])
    assert model.scaler_._watch.n_rows[0] == 10


BAD_ROWS = {
    "NaN": (lambda x: np.where(np.arange(len(x)) == 1, np.nan, x), 0, "NaN"),
    "infinity": (lambda x: x + np.inf, 0, "infinity"),
    "too short": (lambda x: x[:-1], 0, "features"),
    "scalar": (lambda x: x[0], 0, "."),
    "text": (lambda x: ["word"] * len(x), 0, "."),
    "label": (lambda x: x, 7, "not one of the classes"),
    "list as label": (lambda x: x, [1, 2], "1d array"),
}


@pytest.mark.parametrize(("bad", "label", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_rows_leave_no_trace(rows, bad, label, message):
    X, y = rows
    model = StreamPipeline(BSGD, warmup_rows=50).partial_fit(X[:100], y[:100])
    model.learn_one_row(X[100], y[100])
    before = pickle.dumps(vars(model))
    with pytest.raises(ValueError, match=message):
        model.learn_one_row(bad(X[101]), label)
    assert pickle.dumps(vars(model)) == before


def test_bad_rows_are_refused_by_prediction(rows):
    X, y = rows
    model = StreamPipeline(BSGD, warmup_rows=50).partial_fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="NaN"):
        model.predict_one_row(np.full(X.shape[1], np.nan))
    with pytest.raises(ValueError, match="features"):
        model.predict_one_row(X[0][:2])
    assert model.predict_one_row(X[0].tolist()) == model.predict(X[:1])[0]


def test_weighted_classes_take_the_validated_way(rows):
    X, y = rows
    estimator = BSGDClassifier(budget=20, alpha=1e-3, class_weight={0: 1.0, 1: 3.0})
    model = one_by_one(StreamPipeline(estimator, warmup_rows=50), X[:80], y[:80])
    assert model._row_path() is None
    assert model.estimator_.t_ == 80


@pytest.mark.parametrize("quantile", [None, [0.2, 0.8]], ids=["targets", "quantiles"])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_a_regressor_is_the_same_as_with_batches_of_one(rows, quantile, n_targets):
    X, y = rows[0], np.sin(rows[0][:, :n_targets]) * 100
    if quantile is not None and n_targets > 1:
        return
    y = y[:, 0] if n_targets == 1 else y
    loss = {} if quantile is None else {"loss": "pinball", "quantile": quantile, "non_crossing": True}
    estimator = BSGDRegressor(budget=20, gamma=0.1, random_state=0, **loss)
    fast, slow = (StreamPipeline(estimator, warmup_rows=50) for _ in range(2))
    one_by_one(fast, X, y)
    for i in range(len(y)):
        slow.partial_fit(X[i : i + 1], y[i : i + 1])
    assert isinstance(fast._row_path(), TargetPath)
    np.testing.assert_array_equal(fast.estimator_.support_vectors_, slow.estimator_.support_vectors_)
    np.testing.assert_array_equal(fast.estimator_.dual_coef_, slow.estimator_.dual_coef_)
    found = np.array([fast.predict_one_row(x) for x in X[:20]])
    np.testing.assert_allclose(found, slow.predict(X[:20]), rtol=1e-6)


def test_bad_targets_of_one_row_are_refused(rows):
    X, y = rows[0], rows[0][:, 0]
    model = StreamPipeline(BSGDRegressor(budget=20, gamma=0.1), warmup_rows=50).partial_fit(X, y)
    for wrong in (np.nan, "much", None, [1.0, 2.0]):
        with pytest.raises(ValueError, match=r"NaN|text, such as 'much'|None|bad input shape|1d array|outputs"):
            model.learn_one_row(X[0], wrong)
    assert model.estimator_.t_ == len(y)


def test_a_detector_is_the_same_as_with_batches_of_one(rows):
    """Over several looks at the latest scores; batches in between are noticed."""
    X = np.tile(rows[0], (3, 1)) + np.random.default_rng(1).normal(size=(720, rows[0].shape[1]))
    estimator = BSGDOneClassSVM(budget=20, alarm_rate=0.05, window=300)
    fast, slow = (StreamPipeline(estimator, warmup_rows=50) for _ in range(2))
    for x in X[:360]:
        fast.learn_one_row(x)
    fast.partial_fit(X[360:540])
    for x in X[540:]:
        fast.learn_one_row(x)
    for i in range(len(X)):
        slow.partial_fit(X[i : i + 1])
    assert isinstance(fast._row_path(), NoveltyPath)
    assert fast.estimator_.t_ == slow.estimator_.t_ == len(X)
    assert fast.offset_ == pytest.approx(slow.offset_)
    np.testing.assert_allclose(fast.score_samples(X), slow.score_samples(X), rtol=1e-6)
    assert [fast.predict_one_row(x) for x in X[:50]] == slow.predict(X[:50]).tolist()
    with pytest.raises(ValueError, match="NaN"):
        fast.learn_one_row(np.full(X.shape[1], np.nan))


def test_scores_of_single_rows_of_a_detector():
    X = np.random.default_rng(0).normal(size=(300, 4))
    model = StreamPipeline(BSGDOneClassSVM(budget=20, gamma=0.1), warmup_rows=50)
    for n_rows in (30, 300):  # while rows are held back, and after
        model.partial_fit(X[:n_rows])
        for i in range(5):
            assert model.score_samples_one_row(X[i]) == model.score_samples(X[i : i + 1])[0]
            assert model.decision_function_one_row(X[i]) == model.decision_function(X[i : i + 1])


@pytest.mark.parametrize("estimator", [BSGD, BSGDRegressor(budget=20)], ids=["classifier", "regressor"])
def test_far_rows_are_counted_and_followed_as_in_batches(estimator):
    """With a narrow kernel half of the rows are far. Runs of far ones move the origin, unless they are everywhere."""
    rng = np.random.default_rng(5)
    wide, far = rng.normal(0.0, 2.0, (100, 4)), 50.0 + rng.normal(size=(110, 4))
    X = np.concatenate([wide, rng.normal(0.0, 9.0, (45, 4)), far[:25], wide[:30], far[25:], wide[30:60]])
    X, y = X.astype(np.float32), (rng.random(len(X)) < 0.5).astype(int)
    model = clone(estimator).set_params(gamma=5.0)
    fast, slow = (StreamPipeline(model, scale=False, warmup_rows=50) for _ in range(2))
    paths, counts = set(), []
    for i in range(len(X)):
        fast.learn_one_row(X[i], y[i])
        slow.partial_fit(X[i : i + 1], y[i : i + 1])
        if i < 60:
            continue
        for one, other in zip(fast.estimator_.origin_, slow.estimator_.origin_, strict=True):
            np.testing.assert_array_equal(one, other)
        assert fast.predict_one_row(X[i]) == slow.predict(X[i : i + 1])[0]
        counts.append(slow.estimator_.origin_.n_far)
        if i < 200:
            paths.add(id(fast._row_path()))
    assert max(counts) > 25
    assert counts.count(0) > 50
    assert not slow.estimator_.origin_.is_zero
    assert len(paths) == 1  # nothing was prepared again
    np.testing.assert_array_equal(fast.estimator_.support_vectors_, slow.estimator_.support_vectors_)
    np.testing.assert_array_equal(fast.estimator_.dual_coef_, slow.estimator_.dual_coef_)


def test_far_rows_are_predicted_like_others():
    rng = np.random.default_rng(6)
    X, y = rng.normal(0.0, 2.0, (200, 4)).astype(np.float32), rng.integers(2, size=200)
    model = StreamPipeline(clone(BSGD).set_params(gamma=5.0), scale=False, warmup_rows=50).partial_fit(X, y)
    far = np.full(4, 30.0, np.float32)
    assert model._row_path().scores(far) is not None
    assert model.predict_one_row(far) == model.predict(far[None])[0]
    with pytest.raises(ValueError, match=r"infinity|too large|too far"):
        model.predict_one_row(np.full(4, np.inf, np.float32))
