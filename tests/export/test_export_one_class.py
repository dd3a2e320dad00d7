"""Outlier detectors say 1 and -1 in every format."""

import numpy as np
import pytest
from export_support import CompiledModel, LibsvmReader, exported_onnx
from support import blobs

from frugalsvm import ASSETOneClassSVM, BSGDOneClassSVM
from frugalsvm.export import plain_model, to_libsvm
from frugalsvm.pipelines import StreamPipeline

DETECTORS = [
    BSGDOneClassSVM(nu=0.2, budget=30, gamma=0.05, random_state=0),
    ASSETOneClassSVM(nu=0.2, n_components=30, gamma=0.05, random_state=0),
]


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda each: type(each).__name__)
def test_every_format(detector, tmp_path):
    X, _ = blobs(400, 4, 2, seed=0)
    detector.fit(X)
    expected, scores = detector.predict(X), detector.decision_function(X)
    assert set(expected.tolist()) == {-1, 1}
    np.testing.assert_array_equal(plain_model(detector).predict(X), expected)
    compiled = CompiledModel(detector, tmp_path, dtype="float64")
    np.testing.assert_array_equal(compiled.predictions(X), expected)
    np.testing.assert_allclose(compiled.scores(X), scores, atol=1e-5)
    assert "one-class model" in compiled.header.read_text()
    labels, found = exported_onnx(detector, X, "float64")
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_allclose(found, scores, atol=1e-5)
    reader = LibsvmReader(to_libsvm(detector, tmp_path / "model.txt"))
    assert reader.fields["svm_type"] == ["one_class"]
    np.testing.assert_array_equal(np.where(reader.decision_values(X)[:, 0] > 0, 1, -1), expected)


def test_a_pipeline_of_a_detector(tmp_path):
    X, _ = blobs(400, 4, 2, seed=0)
    pipeline = StreamPipeline(DETECTORS[0], warmup_rows=100).fit(100.0 * X + 7.0)
    rows = 100.0 * X + 7.0
    np.testing.assert_array_equal(CompiledModel(pipeline, tmp_path).predictions(rows), pipeline.predict(rows))
    np.testing.assert_array_equal(exported_onnx(pipeline, rows, "float32")[0], pipeline.predict(rows))
