"""Small models of many estimators, and what must be true of each call that is refused."""

from copy import deepcopy
from functools import cache

import joblib
import pytest
from sklearn.base import clone, is_regressor
from support import blobs

from frugalsvm import (
    ASSETClassifier,
    ASSETOneClassSVM,
    ASSETRegressor,
    BPAClassifier,
    BSGDClassifier,
    BSGDOneClassSVM,
    BSGDRegressor,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    TVMClassifier,
)

X, LABELS = blobs(200, 3, 2, seed=0)
VALUES = X[:, 0] + LABELS
IN_ORDER = {"gamma": 0.3, "shuffle": False, "random_state": 0}
ESTIMATORS = {
    "bsgd": BSGDClassifier(budget=10, alpha=0.01, **IN_ORDER),
    "perceptron": BudgetedPerceptron(budget=10, **IN_ORDER),
    "bpa": BPAClassifier(budget=10, **IN_ORDER),
    "lasvm-g": LASVMClassifier("g", cache_size=0.1, **IN_ORDER),
    "lasvm": LASVMClassifier("lasvm", cache_size=0.1, **IN_ORDER),
    "incremental": IncrementalSVC(gamma=0.3, cache_size=1),
    "asset": ASSETClassifier(n_components=10, gamma=0.3, random_state=0),
    "asset-regressor": ASSETRegressor(n_components=10, gamma=0.3, random_state=0),
    # Of these, nothing is learned here: their machine code is for other tests.
    "bsgd-regressor": BSGDRegressor(),
    "bsgd-one-class": BSGDOneClassSVM(),
    "asset-one-class": ASSETOneClassSVM(),
    "tvm": TVMClassifier(),
}
LEARNED = tuple(ESTIMATORS)[:8]
CLASSIFIERS = LEARNED[:7]


def targets_of(estimator):
    return VALUES if is_regressor(estimator) else LABELS


def new_model(name):
    return clone(ESTIMATORS[name])


@cache
def _fitted(name):
    model = new_model(name)
    return model.fit(X, targets_of(model))


def fitted_model(name):
    """A model of its own for each test, which is learned once."""
    return deepcopy(_fitted(name))


def assert_refused(model, call, message):
    """The call ends in a ValueError of this message, and every bit of the model is as it was; returns the sentence."""
    parameters, before = model.get_params(), joblib.hash(vars(model))
    with pytest.raises(ValueError, match=message) as error:
        call(model)
    model.set_params(**parameters)
    assert joblib.hash(vars(model)) == before
    return str(error.value)


def fitting_methods(estimator):
    return [name for name in ("fit", "partial_fit", "fit_batches") if hasattr(estimator, name)]


def learn(model, method, rows, y, **keywords):
    """Call one of the methods that learn."""
    if method == "fit_batches":
        return model.fit_batches([(rows, y)])
    return getattr(model, method)(rows, y, **keywords)
