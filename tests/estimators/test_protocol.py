"""What all estimators have in common where they learn: a second `fit` forgets the first."""

from types import FunctionType

import numpy as np
import pytest
from support import blobs

import frugalsvm
from frugalsvm._homes import ESTIMATORS

SMALL = {"random_state": 0, "n_components": 20, "gamma": 0.1}


def new(name):
    cls = getattr(frugalsvm, name)
    return cls(**{key: value for key, value in SMALL.items() if key in cls().get_params()})


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_a_second_fit_is_like_a_first(name):
    X, y = blobs(300, 8, 3, seed=1)
    fewer, labels = X[:200, :5].copy(), (y[:200] > 0).astype(np.int64)
    model = new(name).fit(X, y)
    # What learning leaves behind must not hide a method that the next fit calls.
    assert not [each for each in vars(model) if isinstance(getattr(type(model), each, None), FunctionType)]
    again, fresh = model.fit(fewer, labels), new(name).fit(fewer, labels)
    assert again.n_features_in_ == 5
    np.testing.assert_allclose(again.predict(fewer), fresh.predict(fewer), rtol=1e-4, atol=1e-5)
