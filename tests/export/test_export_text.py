"""Models that have learned columns of text and missing values leave with them."""

import numpy as np
import pytest
from export_support import CompiledModel, assert_same_scores, exported_onnx

from frugalsvm import ASSETClassifier, ASSETRegressor, AutoSVC, AutoSVR, BSGDClassifier
from frugalsvm.export import plain_model, to_arrays, to_c, to_libsvm
from frugalsvm.pipelines import ColumnEncoder, MissingValueFiller, StreamPipeline

TOWNS = ["Aix", 'Bad "Ems" */', "Köln", "北京", ""]
KINDS = ["a", "b", "what??/", "9\n"]


def table(n=300, seed=0):
    """Numbers with gaps, columns of text with gaps, and a label that depends on all of them."""
    rng = np.random.default_rng(seed)
    X = 100.0 + 10.0 * rng.normal(size=(n, 3))
    town, kind = rng.integers(5, size=n), rng.integers(4, size=n)
    y = 1.0 * (town >= 2) + 0.1 * (X[:, 0] - 100.0) + (kind == 1)
    X[rng.random(n) < 0.2, 1] = np.nan
    columns = {"town": np.array(TOWNS, object)[town], "kind": np.array(KINDS, object)[kind]}
    columns["town"][rng.random(n) < 0.1] = None
    return (X, columns), y


def strange(n=200):
    """Rows with categories that training did not have, and values missing where training had none."""
    (X, columns), _ = table(n, seed=1)
    X[::7, 0] = np.nan
    X[::11, 2] *= 1e6
    columns["town"][::5] = "aix"
    columns["kind"][::9] = None
    return X, columns


def strings(columns):
    """A list for each row, in the order of names."""
    return [list(row) for row in zip(*(columns[name] for name in sorted(columns)), strict=True)]


def assert_exported(model, rows, folder, expected_scores, expected):
    X, columns = rows
    # Large coefficients that cancel leave fewer digits in float32.
    rounding = np.finfo(np.float32).eps * np.abs(plain_model(model).coefficients).sum() / np.abs(expected_scores).max()
    for dtype, tolerance in (("float32", max(2e-4, rounding)), ("float64", 1e-4)):
        compiled = CompiledModel(model, folder, name=f"m_{dtype}", dtype=dtype)
        for found in (
            (compiled.predictions(X, strings(columns)), compiled.scores(X, strings(columns))),
            exported_onnx(model, X, dtype, strings(columns)),
        ):
            assert_same_scores(found[1], expected_scores, tolerance)
            if compiled.model.classes is not None:
                np.testing.assert_array_equal(found[0], expected)


@pytest.mark.parametrize("scale", [True, "soft", False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_classifier(n_classes, scale, tmp_path):
    rows, y = table()
    labels = np.array(["no", "perhaps", "yes"])[np.digitize(y, [0.0, 1.0][: n_classes - 1])]
    estimator = ASSETClassifier(n_components=30, gamma=0.05 if scale else 1e-4, random_state=0)
    impute = MissingValueFiller(indicator=True)
    pipeline = StreamPipeline(estimator, scale=scale, encoder=ColumnEncoder(), impute=impute).fit(rows, labels)
    model = plain_model(pipeline)
    assert (model.n_numbers, model.n_features) == (3, 13)
    for some in (rows, strange()):
        assert_same_scores(model.decision_function(some), pipeline.decision_function(some), 1e-4)
        assert_exported(pipeline, some, tmp_path, pipeline.decision_function(some), pipeline.predict(some))


@pytest.mark.parametrize("metric", ["diag", "full"])
def test_a_regressor_with_a_metric(metric, tmp_path):
    rows, y = table()
    estimator = ASSETRegressor(n_components=30, gamma=0.05, metric=metric, random_state=0)
    pipeline = StreamPipeline(estimator, encoder=ColumnEncoder(), impute="median").fit(rows, y)
    for some in (rows, strange()):
        assert_exported(pipeline, some, tmp_path, pipeline.predict(some), None)


@pytest.mark.parametrize("scale", [True, "soft"])
def test_means_of_the_target(scale, tmp_path):
    """Of one column; the other has a feature for each category. A text that is missing is an empty one in exports."""
    (X, columns), y = table()
    columns["town"][columns["town"] == ""] = "Zug"
    estimator = ASSETClassifier(n_components=30, gamma=0.05, random_state=0)
    encoder = ColumnEncoder("target", cardinality_threshold=4)
    pipeline = StreamPipeline(estimator, scale=scale, encoder=encoder, impute=MissingValueFiller(indicator=True))
    pipeline.fit((X, columns), y > 1.0)
    assert [len(known) for known in pipeline.encoder_.hot_categories_] == [4, 0]
    assert pipeline.encoder_.means_[1].any()
    for numbers, text in ((X, columns), strange()):
        text["town"][text["town"] == ""] = None
        expected = pipeline.decision_function((numbers, text)), pipeline.predict((numbers, text))
        text["town"][text["town"] == None] = ""  # noqa: E711
        assert_exported(pipeline, (numbers, text), tmp_path, *expected)


def test_text_alone(tmp_path):
    (_, columns), y = table()
    pipeline = StreamPipeline(BSGDClassifier(budget=20, gamma=0.5, random_state=0), encoder=ColumnEncoder())
    rows = np.zeros((len(y), 0)), columns
    pipeline.fit((None, columns), y > 0.5)
    assert plain_model(pipeline).n_numbers == 0
    expected = pipeline.decision_function((None, columns)), pipeline.predict((None, columns))
    assert_exported(pipeline, rows, tmp_path, *expected)


def test_missing_values_that_tell_something(tmp_path):
    (X, _), y = table()
    pipeline = StreamPipeline(BSGDClassifier(budget=20, random_state=0), impute=MissingValueFiller(indicator=True))
    pipeline.fit(X, y > 0.5)
    compiled = CompiledModel(pipeline, tmp_path)
    np.testing.assert_array_equal(compiled.predictions(X), pipeline.predict(X))
    np.testing.assert_array_equal(exported_onnx(pipeline, X, "float32")[0], pipeline.predict(X))


class TestAuto:
    def frame(self):
        pandas = pytest.importorskip("pandas")
        (X, columns), y = table()
        return pandas.DataFrame({"first": X[:, 0], "second": X[:, 1], **columns, "third": X[:, 2]}), (X, columns), y

    def test_a_classifier(self, tmp_path):
        frame, rows, y = self.frame()
        model = AutoSVC(kernel="rbf", metric=None, random_state=0).fit(frame, y > 0.5)
        assert_exported(model, rows, tmp_path, model.decision_function(frame), model.predict(frame))
        numbers, columns = model.pipeline_input(frame)
        np.testing.assert_array_equal(numbers, rows[0])
        assert sorted(columns) == plain_model(model).encoder.names_

    def test_a_regressor(self, tmp_path):
        frame, rows, y = self.frame()
        model = AutoSVR(kernel="rbf", metric=None, random_state=0).fit(frame, y)
        assert_exported(model, rows, tmp_path, model.predict(frame), None)


def test_the_header_says_what_is_passed(tmp_path):
    rows, y = table(100)
    pipeline = StreamPipeline(BSGDClassifier(budget=20, random_state=0), encoder=ColumnEncoder(), impute="mean")
    header, source = to_c(pipeline.fit(rows, y > 0.5), tmp_path, name="town")
    text = header.read_text()
    assert "#define TOWN_N_FEATURES 3" in text
    assert "#define TOWN_N_TEXTS 2" in text
    assert "NaN where one is missing" in text
    assert "int town_predict(const float *x, const char *const *text);" in text
    assert '"kind", "town"' in source.read_text()


@pytest.mark.parametrize("export", [to_arrays, lambda model: to_libsvm(model, "nowhere/model.txt")])
def test_libsvm_takes_numbers_only(export):
    rows, y = table(100)
    pipeline = StreamPipeline(BSGDClassifier(budget=20, random_state=0), encoder=ColumnEncoder(), impute="mean")
    with pytest.raises(ValueError, match=r"LIBSVM takes rows of numbers.*ONNX or C"):
        export(pipeline.fit(rows, y > 0.5))


def test_what_cannot_be_exported(tmp_path):
    rows, y = table(100)
    pipeline = StreamPipeline(BSGDClassifier(budget=20, random_state=0), encoder=ColumnEncoder("hash"), impute="mean")
    with pytest.raises(ValueError, match=r"ColumnEncoder\('hash'\) cannot be exported"):
        plain_model(pipeline.fit(rows, y > 0.5))
    rows[1]["kind"][0] = "a\0b"
    pipeline = StreamPipeline(BSGDClassifier(budget=20, random_state=0), encoder=ColumnEncoder(), impute="mean")
    with pytest.raises(ValueError, match=r"'kind' has the category .* C's strings end at a zero"):
        to_c(pipeline.fit(rows, y > 0.5), tmp_path)
    with pytest.raises(ValueError, match="explain=True is for models of numbers"):
        to_c(pipeline, tmp_path, explain=True)
    assert not list(tmp_path.iterdir())
