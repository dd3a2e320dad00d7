"""Classes are all the same, and scores to 1e-5, in Python, onnxruntime, C and LIBSVM's text, on real data."""

import numpy as np
import pytest
from export_support import CompiledModel, LibsvmReader, assert_same_scores, exported_onnx

from frugalsvm import ASSETClassifier, BSGDClassifier
from frugalsvm.datasets import make_checkerboard
from frugalsvm.export import to_libsvm

N_TRAIN, N_TEST = 1000, 300

MODELS = {
    "checkerboard": BSGDClassifier(budget=100, gamma=8.0, alpha=0.01, random_state=0),
    "ijcnn1": BSGDClassifier(budget=100, gamma=2.0, random_state=0),
    "a9a": BSGDClassifier(budget=100, gamma=0.05, random_state=0),
    "satimage": ASSETClassifier(n_components=100, random_state=0),
    "usps": ASSETClassifier("fourier", n_components=300, random_state=0),
}


def rows_of(name, request):
    if name == "checkerboard":
        X, y = make_checkerboard(N_TRAIN + N_TEST, random_state=0)
    else:
        with np.load(request.getfixturevalue("shared_data") / f"{name}.npz") as data:
            X, y = data["X_train"][: N_TRAIN + N_TEST], data["y_train"][: N_TRAIN + N_TEST].astype(int)
    X = X.astype(np.float32)
    if name == "satimage":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:]


@pytest.mark.parametrize("name", MODELS)
def test_all_forms_predict_the_same(name, request, tmp_path):
    X, y, X_test = rows_of(name, request)
    estimator = MODELS[name].fit(X, y)
    scores, labels = estimator.decision_function(X_test), estimator.predict(X_test)
    for dtype in ("float32", "float64"):
        onnx_labels, onnx_scores = exported_onnx(estimator, X_test, dtype)
        np.testing.assert_array_equal(onnx_labels, labels)
        assert_same_scores(onnx_scores, scores)
        compiled = CompiledModel(estimator, tmp_path, name=f"model_{dtype}", dtype=dtype)
        np.testing.assert_array_equal(compiled.predictions(X_test), labels)
        assert_same_scores(compiled.scores(X_test), scores)
    if len(estimator.classes_) == 2:
        reader = LibsvmReader(to_libsvm(estimator, tmp_path / "model.txt"))
        np.testing.assert_array_equal(reader.predictions(X_test), labels)
        assert_same_scores(-reader.decision_values(X_test)[:, 0], scores)
