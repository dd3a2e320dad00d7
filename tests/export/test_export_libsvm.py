"""LIBSVM's text means the same model by LIBSVM's rules, and arrays are those of `SVC`."""

import os
import shutil
import subprocess

import numpy as np
import pytest
from export_support import LibsvmReader, assert_same_scores, random_model, rows_for
from sklearn.datasets import dump_svmlight_file
from sklearn.svm import SVC
from support import blobs

from frugalsvm import IncrementalSVC
from frugalsvm.export import to_arrays, to_libsvm

KERNELS = ["rbf", "poly", "linear"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_two_classes(kernel, tmp_path):
    model = random_model(kernel, "sign")
    X = rows_for(model)
    reader = LibsvmReader(to_libsvm(model, tmp_path / "model.txt"))
    assert_same_scores(-reader.decision_values(X)[:, 0], model.decision_function(X), 1e-12)
    np.testing.assert_array_equal(reader.predictions(X), model.predict(X))


@pytest.mark.parametrize(
    "kernel", ["laplacian", "matern12", "matern32", "matern52", "intersection", "tanimoto", "cosine"]
)
def test_kernels_that_libsvm_does_not_have(kernel, tmp_path):
    model = random_model(kernel, "sign")
    with pytest.raises(ValueError, match=f"LIBSVM has no kernel '{kernel}': export the model to ONNX or C"):
        to_libsvm(model, tmp_path / "model.txt")
    assert not list(tmp_path.iterdir())
    arrays = to_arrays(model)
    values = model._replace(vectors=arrays["support_vectors_"]).kernel_values(rows_for(model))
    scores = values @ arrays["dual_coef_"][0] + arrays["intercept_"]
    assert_same_scores(scores, model.decision_function(rows_for(model)), 1e-12)


def test_a_decision_value_of_zero_is_the_same_class(tmp_path):
    model = random_model("linear", "sign")._replace(intercepts=np.zeros(1))
    nothing = np.zeros((1, 5))
    assert model.decision_function(nothing) == [0.0]
    reader = LibsvmReader(to_libsvm(model, tmp_path / "model.txt"))
    assert reader.predictions(nothing) == model.predict(nothing) == [7]


@pytest.mark.parametrize("kernel", KERNELS)
def test_pairs_of_classes(kernel, tmp_path):
    model = random_model(kernel, "votes")
    X = rows_for(model)
    reader = LibsvmReader(to_libsvm(model, tmp_path / "model.txt"))
    assert_same_scores(-reader.decision_values(X), model.values(X), 1e-12)
    votes = np.sort(reader.votes(X), axis=1)
    clear = votes[:, -1] > votes[:, -2]  # with as many votes, LIBSVM takes the first class
    assert clear.mean() > 0.5
    np.testing.assert_array_equal(reader.predictions(X)[clear], model.predict(X)[clear])


@pytest.mark.parametrize("kernel", KERNELS)
def test_regression(kernel, tmp_path):
    model = random_model(kernel, "value")
    X = rows_for(model)
    reader = LibsvmReader(to_libsvm(model, tmp_path / "model.txt"))
    assert_same_scores(reader.decision_values(X)[:, 0], model.predict(X), 1e-12)


def test_the_text_is_in_libsvms_order(tmp_path):
    model = random_model("poly", "sign", n=3, n_features=2)._replace(
        vectors=np.array([[0.0, 0.5], [1.0, 2.0], [0.0, 0.0]]), coefficients=np.array([[2.0, -0.25, 1.0]])
    )
    lines = to_libsvm(model._replace(intercepts=np.array([0.125])), tmp_path / "model.txt").read_text().split("\n")
    assert lines == [
        "svm_type c_svc",
        "kernel_type polynomial",
        "degree 3",
        "gamma 0.3",
        "coef0 1.0",
        "nr_class 2",
        "total_sv 3",
        "rho 0.125",
        "label -1 7",
        "nr_sv 1 2",
        "SV",
        "0.25 1:1.0 2:2.0 ",
        "-2.0 2:0.5 ",
        "-1.0 ",
        "",
    ]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_arrays_are_those_of_svc(n_classes):
    X, y = blobs(150, 3, n_classes, seed=0)
    reference = SVC(C=2.0, gamma=0.3, tol=1e-10).fit(X, y)
    arrays = to_arrays(IncrementalSVC(C=2.0, gamma=0.3).fit(X, y))
    np.testing.assert_array_equal(arrays["classes_"], reference.classes_)
    np.testing.assert_array_equal(arrays["n_support_"], reference.n_support_)
    np.testing.assert_array_equal(arrays["support_vectors_"], reference.support_vectors_)
    # LIBSVM computes kernel values in float32
    np.testing.assert_allclose(arrays["dual_coef_"], reference.dual_coef_, atol=1e-4)
    np.testing.assert_allclose(arrays["intercept_"], reference.intercept_, atol=1e-4)
    assert (arrays["kernel"], arrays["gamma"]) == ("rbf", 0.3)


def test_arrays_of_a_regression_are_those_of_svr():
    model = random_model("poly", "value")
    X = rows_for(model)
    arrays = to_arrays(model)
    kernel = (arrays["gamma"] * X @ arrays["support_vectors_"].T + arrays["coef0"]) ** arrays["degree"]
    scores = (kernel @ arrays["dual_coef_"].T + arrays["intercept_"])[:, 0]
    assert_same_scores(scores, model.predict(X), 1e-12)
    assert arrays["classes_"] is None


@pytest.mark.skipif(shutil.which("svm-predict") is None, reason="LIBSVM is not installed")
@pytest.mark.parametrize("decision", ["sign", "votes", "value"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_svm_predict_says_the_same(kernel, decision, tmp_path):
    model = random_model(kernel, decision)
    X = rows_for(model)
    to_libsvm(model, tmp_path / "model.txt")
    dump_svmlight_file(X, np.zeros(len(X)), str(tmp_path / "rows.txt"), zero_based=False)
    files = [str(tmp_path / name) for name in ("rows.txt", "model.txt", "out.txt")]
    subprocess.run([shutil.which("svm-predict"), *files], check=True, env=os.environ, stdout=subprocess.DEVNULL)
    predicted = np.loadtxt(tmp_path / "out.txt")
    if decision == "value":
        assert_same_scores(predicted, model.predict(X))  # printed with six digits or more
    else:
        np.testing.assert_array_equal(predicted, LibsvmReader(tmp_path / "model.txt").predictions(X))


# --- scaling ----------------------------------------------------------------------------------------------------


def svm_scaled(path, X):
    """What ``svm-scale -r`` makes of rows, from its source: single-valued features go, and numbers have six digits."""
    kind, limits, *features = path.read_text().splitlines()
    assert kind == "x"
    lower, upper = map(float, limits.split())
    scaled = np.zeros_like(X)
    for line in features:
        place, least, largest = int(line.split()[0]) - 1, *map(float, line.split()[1:])
        if least == largest:
            continue
        for row, value in enumerate(X[:, place]):
            if value == least:
                value = lower
            elif value == largest:
                value = upper
            else:
                value = lower + (upper - lower) * (value - least) / (largest - least)
            scaled[row, place] = float(f"{value:g}")
    return scaled


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("parts", ["mean and scale", "mean", "scale"])
def test_a_scaler_has_a_file_of_its_own(kernel, parts, tmp_path):
    rng = np.random.default_rng(3)
    mean, scale = rng.normal(size=5) * 100, np.exp(rng.normal(size=5))
    model = random_model(kernel, "sign").with_scaling(
        mean if "mean" in parts else None, scale if "scale" in parts else None
    )
    X = rng.normal(size=(200, 5)) * scale + (mean if "mean" in parts else 0.0)
    path = to_libsvm(model, tmp_path / "model.txt")
    scaled = svm_scaled(tmp_path / "model.txt.range", X)
    reader = LibsvmReader(path)
    assert_same_scores(-reader.decision_values(scaled)[:, 0], model.decision_function(X), 3e-5)
    clear = np.abs(model.decision_function(X)) > 1e-3
    np.testing.assert_array_equal(reader.predictions(scaled)[clear], model.predict(X)[clear])


def test_a_model_without_scaler_has_one_file(tmp_path):
    to_libsvm(random_model("rbf", "sign"), tmp_path / "model.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["model.txt"]


def test_a_spread_that_rounding_loses_is_refused(tmp_path):
    model = random_model("rbf", "sign").with_scaling(np.array([0, 0, 1e17, 0, 0]), np.ones(5))
    with pytest.raises(ValueError, match=r"feature 3, whose mean 1e\+17 is too large for its spread 1"):
        to_libsvm(model, tmp_path / "model.txt")
    assert not list(tmp_path.iterdir())


# --- refusals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("export", [to_arrays, lambda model: to_libsvm(model, "nowhere.txt")])
def test_what_libsvm_has_no_form_for_is_refused(export):
    with pytest.raises(ValueError, match="two classes or of pairs of classes only"):
        export(random_model("rbf", "argmax"))
    with pytest.raises(ValueError, match="no random Fourier features"):
        export(random_model("fourier", "sign"))


def test_arrays_have_no_place_for_a_scaler():
    with pytest.raises(ValueError, match="cannot hold a scaler"):
        to_arrays(random_model("rbf", "sign").with_scaling(np.ones(5), None))


@pytest.mark.parametrize("classes", [["a", "b"], [0.5, 1.0], [0, 2**40]])
def test_labels_that_are_no_integers_are_refused(classes, tmp_path):
    with pytest.raises(ValueError, match="LIBSVM's labels are integers"):
        to_libsvm(random_model("rbf", "sign", classes=classes), tmp_path / "model.txt")


def test_whole_numbers_and_truth_values_become_integers(tmp_path):
    for classes, written in (([1.0, 2.0], ["1", "2"]), ([False, True], ["0", "1"])):
        reader = LibsvmReader(to_libsvm(random_model("rbf", "sign", classes=classes), tmp_path / "model.txt"))
        assert reader.fields["label"] == written
