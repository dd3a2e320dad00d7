"""Models that a format cannot hold are refused with a sentence, before a file is written. Nothing is trained here."""

import sys

import numpy as np
import pytest

from frugalsvm.export import PlainModel, to_c, to_libsvm, to_onnx


def model_of(classes=("a", "b"), **fields):
    """A linear model of two features; fields replace its own."""
    plain = PlainModel("linear", np.eye(2), np.array([[1.0, -1.0]]), np.zeros(1), "sign", np.array(classes))
    return plain._replace(**fields)


class TestPlainModel:
    def test_rows_of_another_width(self):
        with pytest.raises(ValueError, match=r"X must have 2 columns, but its shape is \(1, 3\)"):
            model_of().predict([[1.0, 2.0, 3.0]])

    def test_a_scaling_of_another_width(self):
        with pytest.raises(ValueError, match="The scaling is for 3 features, but the model has 2"):
            model_of().with_scaling(np.zeros(3), None)

    def test_a_decision_without_classes(self):
        with pytest.raises(ValueError, match="A model that decides by 'sign' needs classes"):
            model_of()._replace(classes=None).predict([[1.0, 2.0]])

    def test_scalings_add_up(self):
        """A scaler before a scaler: the outer one comes first."""
        inner = model_of().with_scaling([1.0, 2.0], [3.0, 4.0])
        both = inner.with_scaling([5.0, 6.0], [7.0, 8.0])
        X = np.array([[9.0, -3.0]])
        expected = inner.decision_function((X - [5.0, 6.0]) / [7.0, 8.0])
        np.testing.assert_allclose(both.decision_function(X), expected, rtol=1e-12)


class TestC:
    def test_labels_that_are_too_large(self, tmp_path):
        with pytest.raises(ValueError, match=f"The label {2**64 - 1} is too large for C"):
            to_c(model_of(np.array([0, 2**64 - 1], np.uint64)), tmp_path / "c")
        assert not (tmp_path / "c").exists()

    def test_labels_that_are_no_numbers_or_text(self, tmp_path):
        with pytest.raises(TypeError, match="Labels must be numbers or strings to be exported, not "):
            to_c(model_of(np.array(["2026-11-17", "2026-11-18"], "M8[D]")), tmp_path / "c")

    def test_a_folder_that_cannot_be_made(self, tmp_path):
        with pytest.raises(OSError, match="The model could not be saved to "):
            to_c(model_of(), tmp_path / "missing" / "c")


class TestLibsvm:
    def test_random_features(self, tmp_path):
        with pytest.raises(ValueError, match="LIBSVM has no random Fourier features"):
            to_libsvm(model_of([0, 1], kernel="fourier", offsets=np.zeros(2)), tmp_path / "m.txt")
        assert not (tmp_path / "m.txt").exists()

    def test_several_outputs(self, tmp_path):
        outputs = {"coefficients": np.eye(2), "intercepts": np.zeros(2), "decision": "value"}
        with pytest.raises(ValueError, match="regressions with one output, and this one has 2"):
            to_libsvm(model_of(**outputs), tmp_path / "m.txt")

    def test_labels_of_text(self, tmp_path):
        with pytest.raises(ValueError, match="LIBSVM's labels are integers, but this model has labels like 'a'"):
            to_libsvm(model_of(), tmp_path / "m.txt")

    def test_a_mean_that_its_scaling_file_cannot_hold(self, tmp_path):
        far = model_of([0, 1]).with_scaling([1e17, 0.0], [1.0, 1.0])
        with pytest.raises(ValueError, match="LIBSVM's scaling file cannot hold feature 1"):
            to_libsvm(far, tmp_path / "m.txt")


def test_onnx_without_its_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'frugalsvm\[onnx\]'"):
        to_onnx(model_of(), tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()
