"""`IncrementalSVC` that forgets: certificates, reports, and files without a trace of the rows."""

import pickle
import zipfile

import numpy as np
import pytest
from support import blobs

from frugalsvm import IncrementalSVC, load, save
from frugalsvm.estimators.forget_reports import is_signed_by
from frugalsvm.persist.checkpoint import save_checkpoint


def test_reports_have_certificates_and_a_signature(tmp_path):
    X, y = blobs(100, 3, 2, seed=1)
    model = IncrementalSVC(gamma=0.3).fit(X, y).unlearn([3, 5]).unlearn(X[7:8], y[7:8], certify=True)
    save(model, tmp_path / "model")
    report = load(tmp_path / "model").forget_report(key=b"secret")
    first, second = report["forgotten"]
    assert (first["ids"], second["ids"], report["rows"]) == ([3, 5], [7], 97)
    assert second["digest before"] != second["digest after"] == report["digest"]
    assert max(first["residual"], second["residual"]) < 1e-8
    assert is_signed_by(report, b"secret")
    np.testing.assert_array_equal(model.row_ids_, model.example_ids_)
    assert model.fit(X, y).forget_report()["forgotten"] == []


@pytest.mark.parametrize("n_classes", [2, 3])
def test_files_have_no_byte_of_a_row_that_was_unlearned(tmp_path, n_classes):
    X, y = blobs(100, 3, n_classes, seed=1)
    gone = [0, 50, 99]
    model = IncrementalSVC(gamma=0.3).fit(X, y).unlearn(gone)
    save(model, tmp_path / "model")
    save(model, tmp_path / "small", for_prediction=True)
    save_checkpoint(model, tmp_path / "checkpoint")
    for content in (*(unpacked(tmp_path / each) for each in ("model", "small", "checkpoint")), pickle.dumps(model)):
        assert not any(value.tobytes() in content for value in X[gone].ravel())
    assert any(value.tobytes() in content for value in X[1])


def unpacked(path):
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())
