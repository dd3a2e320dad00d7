"""Models with the intersection kernel: earlier versions took K(x, x) for the squared norm, and learned nonsense."""

import numpy as np
import pytest

from frugalsvm import BSGDClassifier
from frugalsvm.persist import ModelFileError, load, save


def trained(X):
    y = np.arange(len(X)) % 2
    return BSGDClassifier(maintenance="remove", budget=10, kernel="intersection", random_state=0).fit(X, y)


@pytest.mark.parametrize("for_prediction", [False, True])
def test_models_of_earlier_versions_are_refused(tmp_path, for_prediction):
    X = np.random.default_rng(0).poisson(2.0, size=(30, 4)).astype(float)
    model, path = trained(X), tmp_path / "model.fsvm"
    save(model, path, for_prediction=for_prediction)
    np.testing.assert_array_equal(load(path).decision_function(X), model.decision_function(X))
    n = len(model.support_vectors_)
    np.testing.assert_allclose(model._expansion.norms[:n], model.support_vectors_.sum(axis=1))
    model._expansion.norms[:n] = np.square(model.support_vectors_).sum(axis=1)  # as it was
    save(model, path, for_prediction=for_prediction)
    with pytest.raises(ModelFileError, match=r"kernel='intersection' by an earlier version.* Train it again"):
        load(path)


def test_models_of_earlier_versions_that_were_right_are_read(tmp_path):
    X = (np.random.default_rng(0).random((30, 4)) > 0.5).astype(float)  # squares are sums
    save(trained(X), tmp_path / "model.fsvm")
    assert load(tmp_path / "model.fsvm").kernel == "intersection"
