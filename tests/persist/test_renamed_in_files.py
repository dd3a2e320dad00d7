"""Model files with former names of parameters are read."""

import numpy as np
import pytest
from mutating import with_document
from support import blobs

from frugalsvm import LASVMClassifier
from frugalsvm.persist import describe, load, save


def with_former_name(document):
    state = document["model"]["state"]
    state["steps"] = state.pop("step_type")


@pytest.mark.parametrize("caches", [True, False])
def test_old_model_files_are_read(caches, tmp_path):
    X, y = blobs(60, 3, 2, seed=1)
    model = LASVMClassifier(step_type="single").fit(X, y)
    path = tmp_path / "old.frugal"
    save(model, path, caches=caches)
    path.write_bytes(with_document(path.read_bytes(), with_former_name))
    old = load(path)
    assert old.step_type == "single"
    assert not hasattr(old, "steps")
    np.testing.assert_array_equal(old.decision_function(X), model.decision_function(X))
    assert describe(path).parameters["step_type"] == "single"
