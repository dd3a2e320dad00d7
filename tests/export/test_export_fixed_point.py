"""Models in whole numbers: the C code computes what Python says, and little accuracy is lost."""

import ctypes
import re

import numpy as np
import pytest
from export_support import compiled_with, random_model, rows_for

from frugalsvm import BSGDClassifier, BSGDOneClassSVM, BSGDRegressor
from frugalsvm.datasets import load, make_checkerboard
from frugalsvm.export import plain_model, to_c
from frugalsvm.export.fixed_c.model import fixed_model
from frugalsvm.pipelines import StreamingScaler, StreamPipeline

LEFT = {"int8": 1.0, "int16": 0.2}  # points of accuracy that may be lost


class InWholeNumbers:
    """The C code, compiled and called."""

    def __init__(self, model, folder, precision, **options):
        self.header, source = to_c(model, folder, precision=precision, **options)
        compiled_with("-Wconversion", "-shared", "-fPIC", "-o", str(folder / "model.so"), str(source))
        self.loaded = ctypes.CDLL(str(folder / "model.so"))
        self.n_outputs = len(plain_model(model).coefficients)

    def row(self, x):
        x, row = np.ascontiguousarray(x, np.float32), np.zeros(len(x), np.int16)
        self.code = self.loaded.model_quantize(x.ctypes, row.ctypes)
        return row

    def scores(self, X):
        out = np.zeros((len(X), self.n_outputs), np.int64)
        for x, scores in zip(X, out, strict=True):
            self.loaded.model_decision(self.row(x).ctypes, scores.ctypes)
        return out

    def predictions(self, X):
        return np.array([self.loaded.model_predict(self.row(x).ctypes) for x in X])


@pytest.mark.parametrize("precision", LEFT)
@pytest.mark.parametrize("decision", ["sign", "argmax", "value"])
def test_c_computes_what_python_says(decision, precision, tmp_path):
    model = random_model("rbf", decision).with_scaling(np.arange(5.0), np.full(5, 2.0), np.full(5, 3.0))
    model = model._replace(filling=np.ones(5))
    fixed = fixed_model(model, precision)
    X = 3 * rows_for(model, 300) + 2
    X[::5, 1] = np.nan
    X[::7, 2] = 1e20
    compiled = InWholeNumbers(model, tmp_path, precision)
    np.testing.assert_array_equal([compiled.row(x) for x in X], fixed.rows(X))
    np.testing.assert_array_equal(compiled.scores(X), fixed.scores(X))
    size = np.abs(model.coefficients).sum()
    assert np.abs(fixed.scores(X)[:, 0] * fixed.unit - model.values(X)[:, 0]).max() < size * (
        0.02 if precision == "int8" else 1e-4
    )
    assert compiled.code == 0
    compiled.row(np.full(5, np.inf))
    assert compiled.code == 1


def test_no_floats_in_scores(tmp_path):
    _, source = to_c(random_model("rbf", "argmax"), tmp_path, precision="int8")
    text = source.read_text()
    scoring, quantizing = text[text.index("static uint32_t power") :].split("int model_quantize")
    assert not re.search(r"\b(float|double)\b|\d\.", scoring + quantizing.split("int model_predict")[1])


def lost(model, X, y, precision, folder):
    """Points of accuracy that are lost, and the header that says so."""
    compiled = InWholeNumbers(model, folder, precision, judge=(X, y))
    right = plain_model(model).known_classes()[compiled.predictions(X)] == y
    text = compiled.header.read_text()
    found = re.search(r"Accuracy on (\d+) rows: ([\d.]+) %, in float ([\d.]+) %", text)
    assert found, text
    assert int(found[1]) == len(y)
    assert float(found[2]) == pytest.approx(100 * right.mean(), abs=0.01)
    return float(found[3]) - float(found[2])


@pytest.mark.parametrize("precision", LEFT)
def test_little_is_lost(precision, tmp_path):
    X, y = make_checkerboard(6000, random_state=0)
    model = BSGDClassifier(budget=100, gamma=8.0, alpha=1e-4, random_state=0).fit(X[:4000], y[:4000])
    assert lost(model, X[4000:], y[4000:], precision, tmp_path) <= LEFT[precision]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ijcnn1", "letter", "pendigits", "phoneme", "usps"])
@pytest.mark.parametrize("precision", LEFT)
def test_little_is_lost_on_real_data(name, precision, real_data, tmp_path):
    X, y = load(name)[:2]
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[4000:24_000], order[:4000]
    inner = BSGDClassifier(budget=200, random_state=0)
    model = StreamPipeline(inner, scale=StreamingScaler()).fit(X[train], y[train])
    difference = lost(model, X[test], y[test], precision, tmp_path)
    print(name, precision, difference)
    assert difference <= LEFT[precision]


def test_outliers_and_numbers(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    detector = BSGDOneClassSVM(alarm_rate=0.05, budget=30, gamma=0.5).partial_fit(X)
    compiled = InWholeNumbers(detector, tmp_path, "int16")
    assert np.mean(compiled.predictions(X) == detector.predict(X)) > 0.995
    y = X[:, 0] ** 2
    regressor = BSGDRegressor(budget=30, gamma=0.5, random_state=0).fit(X, y)
    to_c(regressor, tmp_path, name="square", precision="int16", judge=(X, y))
    found = re.search(r"error on 2000 rows: ([\d.]+), in float ([\d.]+)\. ", (tmp_path / "square.h").read_text())
    assert found is not None
    assert float(found[1]) == pytest.approx(float(found[2]), rel=0.02)


class TestRefusals:
    def test_precisions(self, tmp_path):
        with pytest.raises(ValueError, match="precision"):
            to_c(random_model("rbf", "sign"), tmp_path, precision="int4")
        with pytest.raises(ValueError, match="leave out precision"):
            to_c(random_model("rbf", "sign"), tmp_path, precision="int8", explain=True)

    @pytest.mark.parametrize(("kernel", "decision", "message"), [
        ("linear", "sign", "the kernel 'linear'; use 'rbf'"), ("rbf", "votes", "votes of pairs of classes"),
    ])  # fmt: skip
    def test_models(self, kernel, decision, message, tmp_path):
        with pytest.raises(ValueError, match=message):
            to_c(random_model(kernel, decision), tmp_path, precision="int8")
