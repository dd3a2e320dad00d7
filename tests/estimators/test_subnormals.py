"""No subnormal numbers in models: processors compute with them many times more slowly.

They would come from coefficients that shrink for ever, and from kernel values of rows that are far from each other.
"""

import numpy as np
import pytest
from support import blobs, count_subnormals

from frugalsvm import (
    BPAClassifier,
    BSGDClassifier,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    TrackingSVC,
    TVMClassifier,
)
from frugalsvm.core.fastmath import FARTHEST
from frugalsvm.core.kernels import RBF, kernel_value

X, Y = blobs(400, 12, 3, seed=0)
FAR = 1000 * X  # wide enough for blocks of rows; without the last four, features are looked at one by one
ESTIMATORS = {
    "pegasos": BSGDClassifier(budget=30, gamma=1.0, alpha=10.0, random_state=0),
    "norma": BSGDClassifier("norma", budget=30, gamma=1.0, alpha=0.9, random_state=0),
    "forgetron": BudgetedPerceptron("forgetron", budget=30, gamma=1.0, random_state=0),
    "silk": BudgetedPerceptron("silk", budget=30, gamma=1.0, random_state=0),
    "bpa": BPAClassifier(budget=30, gamma=1.0, random_state=0),
    "lasvm": LASVMClassifier(gamma=1.0, C=0.01, random_state=0),
    "tracking": TrackingSVC(n_steps=2, gamma=1.0, C=0.01, random_state=0),
    "incremental": IncrementalSVC(gamma=1.0, C=0.01),
    "tvm": TVMClassifier(budget=10, gamma=1.0, C=0.01, random_state=0),
}


def numbers_in(state):
    """All arrays of numbers with a point, however deep they are."""
    if isinstance(state, np.ndarray):
        if state.dtype.names:
            for name in state.dtype.names:
                yield from numbers_in(state[name])
        elif state.dtype.kind == "f":
            yield state
    elif isinstance(state, list | tuple | dict):
        for part in state.values() if isinstance(state, dict) else state:
            yield from numbers_in(part)


def n_subnormal(state):
    return count_subnormals(*numbers_in(state))


def test_counting():
    small = np.array([1e-40, 0.0, 1e-30], np.float32)
    record = np.zeros(1, [("a", float), ("n", int)])
    record["a"] = 1e-310
    assert n_subnormal({"a": [small, (record,)], "b": 3}) == 2


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore::frugalsvm.exceptions.PoorFitWarning")
def test_rows_far_from_each_other(name):
    rows = FAR[:, :8].copy()
    model = ESTIMATORS[name].fit(rows, Y)
    assert n_subnormal(vars(model)) == 0
    assert n_subnormal([model.decision_function(3 * rows)]) == 0


@pytest.mark.parametrize("name", ["pegasos", "lasvm"])
def test_rows_far_from_each_other_in_float32(name):
    rows = FAR.astype(np.float32)
    model = ESTIMATORS[name].fit(rows, Y)
    assert n_subnormal(vars(model)) == 0
    assert n_subnormal([model.decision_function(3 * rows)]) == 0


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])  # which has room
@pytest.mark.parametrize("average", [False, True])
def test_coefficients_that_shrink_for_ever(dtype, average):
    """By exp(-180): float32 has no numbers for that."""
    model = BSGDClassifier("norma", budget=None, gamma=1.0, alpha=0.9, average=average, max_iter=25, random_state=0)
    rows, labels = X[:, :2].astype(dtype), Y == 0
    model.fit(rows, labels)
    assert n_subnormal(vars(model)) == 0
    if not average:
        n = len(model.support_rows())
        assert (model._expansion.coef[0, :n] == 0).any()  # they ended at zero


def test_kernel_values_of_pairs():
    distances = np.linspace(35.0, 1000.0, 500)
    values = np.array([kernel_value(RBF(1.0), 0.0, distance, 0.0) for distance in distances])
    assert n_subnormal([values]) == 0
    is_far = distances > FARTHEST * np.log(2)
    assert 0 < is_far.sum() < len(values)
    np.testing.assert_allclose(values, np.where(is_far, 0.0, np.exp(-distances)))
