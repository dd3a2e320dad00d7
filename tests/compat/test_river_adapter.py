"""The adapters to river: its own checks, labels and features that come and go, and its pipelines."""

import builtins
import importlib
import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

river = pytest.importorskip("river")
pandas = pytest.importorskip("pandas")

from river import datasets, evaluate, metrics, preprocessing  # noqa: E402
from river.checks import yield_checks  # noqa: E402
from sklearn.feature_extraction import FeatureHasher  # noqa: E402

from frugalsvm import (  # noqa: E402
    ASSETClassifier,
    ASSETRegressor,
    BPAClassifier,
    BSGDClassifier,
    BSGDOneClassSVM,
    BSGDRegressor,
)
from frugalsvm.compat._features import HashedFeatures  # noqa: E402
from frugalsvm.compat.river import RiverAnomalyDetector, RiverClassifier, RiverRegressor  # noqa: E402
from frugalsvm.pipelines import StreamPipeline  # noqa: E402


def bsgd(**params):
    return BSGDClassifier(**{"budget": 20, "alpha": 1e-3, "random_state": 0, **params})


MODELS = {
    "bare": RiverClassifier(bsgd(gamma=0.1)),
    "calibrated": RiverClassifier(StreamPipeline(bsgd(), warmup_rows=25, calibrate=True)),
    "hashed": RiverClassifier(StreamPipeline(bsgd(), warmup_rows=25), n_features=16),
    "budgeted-regressor": RiverRegressor(BSGDRegressor(budget=20, gamma=0.1)),
    "regressor": RiverRegressor(StreamPipeline(ASSETRegressor(n_components=16, random_state=0), warmup_rows=25)),
}


def checks():
    """Those of river; thousands of rows for a bound of the memory are slow tests but for one data set of each kind."""
    long = []
    for name, model in MODELS.items():
        for check in yield_checks(model):
            is_long = check.__name__ == "check_bounded_memory_growth"
            marks = pytest.mark.slow if is_long and type(model) in long else ()
            long += [type(model)] * is_long
            yield pytest.param(name, check, marks=marks, id=f"{name}-{check.__name__}")


@pytest.mark.parametrize(("name", "check"), list(checks()))
def test_checks_of_river(name, check):
    check(MODELS[name].clone())


@pytest.fixture(scope="module")
def examples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    dicts = [dict(zip("bca", row, strict=True)) for row in X.tolist()]
    return dicts, (X[:, 0] + X[:, 1] > 0).tolist()


def taught(model, dicts, labels):
    for x, y in zip(dicts, labels, strict=True):
        model.learn_one(x, y)
    return model


def test_the_same_model_as_the_pipeline_it_holds(examples):
    dicts, labels = examples
    model = taught(RiverClassifier(StreamPipeline(bsgd(), warmup_rows=50)), dicts, labels)
    matrix = np.array([[x["a"], x["b"], x["c"]] for x in dicts])
    hand = StreamPipeline(bsgd(new_classes="grow"), warmup_rows=50)
    codes = [labels.index(label) != 0 for label in labels]  # in the order of arrival
    for row, code in zip(matrix, codes, strict=True):
        hand.learn_one_row(row, int(code))
    np.testing.assert_array_equal(model._pipeline.decision_function(matrix), hand.decision_function(matrix))
    assert model._pipeline.score(matrix, np.array(codes, int)) > 0.9


LABELS = {
    "bool": (False, True),
    "text": ("no", "yes"),
    "numbers": (7, -2),
    "NumPy": (np.bool_(False), np.bool_(True)),
    "tuples": (("a", 1), None),
}


@pytest.mark.parametrize("names", LABELS.values(), ids=LABELS)
def test_labels_of_any_type(examples, names):
    dicts, labels = examples
    model = taught(
        RiverClassifier(StreamPipeline(bsgd(), warmup_rows=50, calibrate=True)), dicts, [names[y] for y in labels]
    )
    right = [model.predict_one(x) == names[y] for x, y in zip(dicts, labels, strict=True)]
    assert np.mean(right) > 0.9
    assert not isinstance(model.predict_one(dicts[0]), np.generic)
    shares = model.predict_proba_one(dicts[0])
    assert set(shares) == set(names)
    assert max(shares, key=shares.get) == model.predict_one(dicts[0])


def test_classes_grow_or_are_refused_without_a_trace(examples):
    dicts, labels = examples
    grown = taught(RiverClassifier(bsgd()), dicts[:150], labels[:150])
    grown.learn_one(dicts[0], "third")
    assert set(grown._labels) == {False, True, "third"}
    fixed = RiverClassifier(StreamPipeline(ASSETClassifier(n_components=16), warmup_rows=20))
    taught(fixed, dicts[:30], labels[:30])
    before = pickle.dumps((vars(fixed._pipeline), fixed._labels))
    with pytest.raises(ValueError, match=r"'third'.*ASSETClassifier.*`classes`"):
        fixed.learn_one(dicts[0], "third")
    with pytest.raises(ValueError, match="'third'"):
        fixed.learn_many(pandas.DataFrame(dicts[:2]), pandas.Series([True, "third"]))
    assert pickle.dumps((vars(fixed._pipeline), fixed._labels)) == before


def test_announced_classes(examples):
    dicts, labels = examples
    ones = [x for x, y in zip(dicts, labels, strict=True) if y]
    estimator = StreamPipeline(ASSETClassifier(n_components=16), warmup_rows=20)
    model = taught(RiverClassifier(estimator, classes=(True, False)), ones[:40], [True] * 40)
    assert model.predict_one(dicts[0]) in (True, False)
    with pytest.raises(ValueError, match="not in classes"):
        model.learn_one(dicts[0], "third")


def test_features_that_lack_are_zero(examples):
    dicts, labels = examples
    model = taught(RiverClassifier(bsgd()), dicts, labels)
    features = model._features
    assert features.names == ["a", "b", "c"]
    np.testing.assert_array_equal(features.row({"c": 3.0, "new": 9.0, "a": 1}), [1.0, 0.0, 3.0])
    np.testing.assert_array_equal(features.row({"c": None}), [0.0, 0.0, np.nan])
    frame = pandas.DataFrame({"new": [1.0], "c": [3.0]})
    np.testing.assert_array_equal(features.matrix(frame), [[0.0, 0.0, 3.0]])


def test_hashing_is_that_of_scikit_learn():
    x = {"a": 1.5, "b": -2, "colour": "red", "flag": True}
    theirs = FeatureHasher(8).transform([x]).toarray()[0]
    np.testing.assert_allclose(HashedFeatures(8).row(x), theirs)
    np.testing.assert_allclose(HashedFeatures(8).matrix(pandas.DataFrame([x, x])), [theirs, theirs])


@pytest.mark.parametrize("value", [float("nan"), "red", None])
def test_bad_values_are_refused_without_a_trace(examples, value):
    dicts, labels = examples
    model = taught(RiverClassifier(StreamPipeline(bsgd(), warmup_rows=20)), dicts[:50], labels[:50])
    before = pickle.dumps(vars(model._pipeline))
    with pytest.raises(ValueError, match=r"NaN|which is not a number"):
        model.learn_one({**dicts[0], "b": value}, True)
    with pytest.raises(ValueError, match=r"NaN|is not numeric"):
        model.learn_many(pandas.DataFrame([{**dicts[0], "b": value}]), pandas.Series([True]))
    assert pickle.dumps(vars(model._pipeline)) == before


def test_before_the_first_example():
    model = RiverClassifier(StreamPipeline(bsgd(), calibrate=True))
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.predict_many(pandas.DataFrame({"a": [1.0, 2.0]})).tolist() == [None, None]
    assert RiverRegressor(ASSETRegressor()).predict_one({"a": 1.0}) == 0.0
    with pytest.raises(NotImplementedError, match="calibrate=True"):
        RiverClassifier(bsgd()).predict_proba_one({"a": 1.0})


def test_in_a_pipeline_of_river():
    model = preprocessing.StandardScaler() | RiverClassifier(bsgd(budget=100))
    accuracy = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    assert accuracy.get() > 0.85


def test_wrong_kinds_of_models_and_parameters():
    with pytest.raises(ValueError, match="takes a classifier"):
        RiverClassifier(ASSETRegressor())
    with pytest.raises(ValueError, match="takes a regressor"):
        RiverRegressor(bsgd())
    with pytest.raises(ValueError, match="n_features"):
        RiverClassifier(bsgd(), n_features=0)


def test_the_message_without_river_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without_river(name, *args, **kwargs):
        if name == "river" or name.startswith("river."):
            raise ImportError("No module named 'river'")
        return real(name, *args, **kwargs)

    for name in [name for name in sys.modules if name.startswith("frugalsvm.compat.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without_river)
    with pytest.raises(ImportError, match=r"frugalsvm\[river\]"):
        importlib.import_module("frugalsvm.compat.river")


def test_anomalies_have_high_scores():
    """The checks of river for detectors need a data set that it downloads."""
    rng = np.random.default_rng(0)
    model = RiverAnomalyDetector(BSGDOneClassSVM(gamma=0.5))
    scores = []
    for row in rng.normal(size=(600, 2)).tolist():
        x = dict(zip("ab", row, strict=True))
        scores.append(model.score_one(x))
        model.learn_one(x)
    assert scores[:100] == [0.0] * 100
    assert np.mean(scores[300:]) == pytest.approx(0.5, abs=0.1)
    assert model.score_one({"a": 8.0, "b": -8.0}) > 0.99
    pipeline = model._pipeline
    for row in rng.normal(size=(5, 2)):
        assert pipeline.p_values_one_row(row) == pipeline.p_values(row[None])[0]
    assert pickle.loads(pickle.dumps(model)).score_one({"a": 0.5, "b": 1.0}) == model.score_one({"a": 0.5, "b": 1.0})
    assert model.clone().score_one({"a": 8.0, "b": -8.0}) == 0.0
    with pytest.raises(ValueError, match="takes a BSGDOneClassSVM, not BSGDClassifier"):
        RiverAnomalyDetector(BSGDClassifier())


# --- keys that lack, and keys that come late -------------------------------------------------------------------------


def signals(n_rows=600, known_from=0):
    """Examples whose class is told by one key, which is there from some row on."""
    rng = np.random.default_rng(3)
    dicts = [{"noise": rng.normal(), "signal": rng.choice([-1.0, 1.0])} for _ in range(n_rows)]
    labels = [x["signal"] > 0 for x in dicts]
    return [x if k >= known_from else {"noise": x["noise"]} for k, x in enumerate(dicts)], labels


LATE = {
    "classifier": lambda **options: RiverClassifier(
        StreamPipeline(bsgd(gamma=0.5, budget=30), warmup_rows=100, **options)
    ),
    "three machines": lambda **options: RiverClassifier(
        StreamPipeline(BPAClassifier("nn", budget=30, gamma=0.5), warmup_rows=100, **options), classes=(False, True, 2)
    ),
    "regressor": lambda **options: RiverRegressor(
        StreamPipeline(BSGDRegressor(budget=30, gamma=0.5, random_state=0), warmup_rows=100, **options)
    ),
}


@pytest.mark.parametrize("impute", [None, "median"])
@pytest.mark.parametrize("known_from", [1, 50, 300])
@pytest.mark.parametrize("kind", LATE)
def test_features_that_come_late_are_taken_up(kind, known_from, impute, caplog):
    dicts, labels = signals(1200, known_from)
    model = LATE[kind](impute=impute)
    with caplog.at_level("INFO", "frugalsvm"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the scaler says that the new feature has left its range
        taught(model, dicts[:-200], labels[:-200])
    messages = [record.getMessage() for record in caplog.records]
    assert [words for words in messages if "ompil" not in words] == ["New features: 'signal'."]
    right = [(model.predict_one(x) > 0.5) == label for x, label in zip(dicts[-200:], labels[-200:], strict=True)]
    assert np.mean(right) > 0.9


def test_what_was_learned_stays_when_a_feature_comes():
    dicts, labels = signals(300, known_from=300)
    model = taught(RiverClassifier(StreamPipeline(bsgd(gamma=0.5), warmup_rows=100)), dicts, labels)
    before = [model._pipeline.decision_function_one_row(model._features.row(x)) for x in dicts]
    model._take_up(["late", "noise"])
    assert model._features.names == ["noise", "late"]
    after = [model._pipeline.decision_function_one_row(model._features.row(x)) for x in dicts]
    np.testing.assert_allclose(after, before, rtol=1e-9)
    assert model._pipeline.n_features_in_ == 2


def test_features_that_come_too_late_are_told_once(caplog):
    dicts, labels = signals(200, known_from=100)
    model = RiverClassifier(StreamPipeline(ASSETClassifier(n_components=8, random_state=0), warmup_rows=50))
    taught(model, dicts, labels)
    (record,) = caplog.records
    assert record.getMessage().startswith("New features are ignored: 'signal'. A pipeline with this ASSETClassifier")
    assert model._features.names == ["noise"]


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_an_absent_key_is_imputed_where_that_was_asked_for(kind):
    rng = np.random.default_rng(0)
    dicts = [{"temperature": 50 + rng.normal(), "b": rng.normal()} for _ in range(200)]
    model = taught(LATE[kind](impute="median"), dicts, [x["b"] > 0 for x in dicts])
    nan, none, absent = ({"b": 0.3, "temperature": float("nan")}, {"b": 0.3, "temperature": None}, {"b": 0.3})
    rows = [model._pipeline.estimator_rows(model._features.row(x)[None]) for x in (nan, none, absent)]
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows[0], rows[2])
    assert model.predict_one(absent) == model.predict_one(nan)
    many = model.predict_many(pandas.DataFrame([absent]))
    assert many[0] == model.predict_one(absent)


def test_warnings_name_the_key():
    rng = np.random.default_rng(0)
    dicts = [{"b": rng.normal(), "pressure": rng.normal() + 90 * (k > 200)} for k in range(500)]
    model = LATE["classifier"]()
    with pytest.warns(UserWarning, match="Feature 'pressure' has left the range"):
        taught(model, dicts, [x["b"] > 0 for x in dicts])


def test_a_default_regressor_learns_a_short_stream():
    """Of 1001 rows, 1000 are held back: what predicts meanwhile learns all of them."""
    model = RiverRegressor(StreamPipeline(BSGDRegressor(random_state=0)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    assert error.get() < 0.45  # 1.5 when it had learned the first 1, 2, 4, ... rows alone


def test_several_threads(examples):
    dicts, labels = examples
    model = taught(RiverClassifier(StreamPipeline(bsgd(), warmup_rows=50)), dicts, labels)
    expected = [model.predict_one(x) for x in dicts]
    with ThreadPoolExecutor(8) as pool:
        assert all(found == expected for found in pool.map(lambda _: [model.predict_one(x) for x in dicts], range(16)))
        list(pool.map(lambda pair: model.learn_one(*pair), zip(dicts, labels, strict=True)))
    assert model._pipeline.estimator_.t_ == 2 * len(dicts)
