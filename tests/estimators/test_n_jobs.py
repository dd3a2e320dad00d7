"""``n_jobs`` counts threads as joblib does, and what is no number of threads is refused."""

import numpy as np
import pytest
from support import blobs

import frugalsvm

X, Y = blobs(60, 2, 2, seed=0)
ESTIMATORS = [name for name in frugalsvm.__all__ if name.endswith(("Classifier", "Regressor", "SVC", "Perceptron"))]


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_what_is_no_number_of_threads_is_refused(name, n_jobs):
    model = getattr(frugalsvm, name)(n_jobs=n_jobs)
    for method in filter(None, (model.fit, getattr(model, "partial_fit", None))):
        with pytest.raises(ValueError, match=r"n_jobs must be a number of threads, None for one"):
            method(X, Y)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_all_cores(name):
    model = getattr(frugalsvm, name)(n_jobs=-1).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()
