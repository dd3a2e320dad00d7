"""Machines that do not depend on each other learn side by side, with the same results as one after the other."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from support import blobs

from frugalsvm import BPAClassifier, BudgetedPerceptron, IncrementalSVC, TVMClassifier
from frugalsvm.compiling import threads
from frugalsvm.exact.memory import MemoryLimit

X, Y = blobs(240, 12, 4, seed=0)
ESTIMATORS = {
    "perceptron": BudgetedPerceptron("forgetron", budget=20, random_state=0),
    "bpa": BPAClassifier(budget=20, random_state=0),
    "incremental": IncrementalSVC(),
    "tvm": TVMClassifier(budget=10, random_state=0),
}
N_FEATURES = {"perceptron": 8, "bpa": 8}  # more are machine code for these tests alone


@pytest.fixture
def counted(monkeypatch):
    """How many items were run on several threads."""
    counts, take_items = [], threads._Job._take_items

    def counting(job):
        counts.append(len(job._items))
        take_items(job)

    monkeypatch.setattr(threads._Job, "_take_items", counting)
    return counts


def learned(name, n_jobs):
    model = clone(ESTIMATORS[name]).set_params(n_jobs=n_jobs)
    rows = X[:, : N_FEATURES.get(name)]
    model.fit(rows[:200], Y[:200]).partial_fit(rows[200:], Y[200:])
    return model


@pytest.mark.parametrize(("name", "n_machines"), [("perceptron", 4), ("bpa", 4), ("incremental", 6), ("tvm", 4)])
def test_the_same_model_bit_by_bit(name, n_machines, counted):
    one = pickle.dumps(learned(name, 1).set_params(n_jobs=None))
    assert not counted
    several = pickle.dumps(learned(name, 3).set_params(n_jobs=None))
    assert n_machines in counted
    assert several == one


def test_leave_one_out_and_another_C(counted):
    models = [learned("incremental", n_jobs) for n_jobs in (1, 3)]
    for model in models:
        model.set_C(0.3)
    counted.clear()
    expected, predicted = (model.loo_predict() for model in models)
    assert counted
    np.testing.assert_array_equal(predicted, expected)
    np.testing.assert_array_equal(models[1].dual_coef_, models[0].dual_coef_)


def test_within_a_limit_of_memory_pairs_learn_one_after_the_other(counted):
    """How much room one gets depends on what the others have."""
    IncrementalSVC(n_jobs=3, cache_size=1, max_memory=100).fit(X, Y)
    assert not counted


def test_a_failure_of_one_pair_leaves_all_as_they_were(monkeypatch):
    model = learned("incremental", 3)
    before = model.decision_function(X)
    next_room = MemoryLimit.next_room

    def fail(memory, solvers, m):
        if m == 4:
            raise KeyboardInterrupt
        return next_room(memory, solvers, m)

    monkeypatch.setattr(MemoryLimit, "next_room", fail)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X + 0.1, Y)
    monkeypatch.undo()
    np.testing.assert_allclose(model.decision_function(X), before, rtol=1e-9)
