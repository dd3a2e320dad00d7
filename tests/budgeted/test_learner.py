"""A learner is a value: it learns, scores and is merged without the estimator it came from."""

import numpy as np
import pytest
from support import assert_same_estimator, blobs

from frugalsvm import BPAClassifier, BSGDClassifier, BudgetedPerceptron
from frugalsvm.budgeted.neighbors import nearest
from frugalsvm.budgeted.policy import oldest_of_the_least
from frugalsvm.core.expansion import coefficients
from frugalsvm.core.kernels import Linear
from frugalsvm.core.records import as_numbers


@pytest.fixture(scope="module")
def stream():
    X, labels = blobs(400, 3, 2, seed=0)
    return X, labels


def new_model(**settings):
    return BSGDClassifier(budget=12, gamma=0.3, alpha=0.01, random_state=0, **settings)


@pytest.mark.parametrize("make", [new_model, lambda: BudgetedPerceptron("random", 12, gamma=0.3, random_state=0)])
def test_it_learns_what_the_estimator_learns(stream, make):
    X, labels = stream
    once = make().partial_fit(X[:200], labels[:200]).partial_fit(X[200:], labels[200:])
    model = make().partial_fit(X[:200], labels[:200])
    (learner,) = model.learners
    model.set_learner(0, learner.learn(X[200:], labels[200:]))
    assert_same_estimator(model, once)
    np.testing.assert_array_equal(model.learners[0].scores(X)[:, 0], once.decision_function(X))


def test_the_state_is_another_object_when_the_model_was_replaced(stream):
    X, labels = stream
    model = new_model().partial_fit(X, labels)
    before = model.state
    assert model.partial_fit(X[:8], labels[:8]).state is before
    model.set_learner(0, model.learners[0].restarted(10))
    assert model.state is not before


def test_a_restart_is_a_copy_of_the_model_with_other_counters(stream):
    X, labels = stream
    learner = new_model().partial_fit(X, labels).learners[0]
    before = [array.copy() for array in learner.expansion]
    again = learner.restarted(30)
    np.testing.assert_allclose(again.scores(X), learner.scores(X), rtol=1e-12, atol=1e-12)
    assert (again.n_seen, again.budget) == (30, 12)
    counts = again.expansion.counts[0]
    assert counts["n_updates"] == counts["n_maintenance"] == counts["n_kernel_evals"] == 0
    again.learn(X, labels)
    for array, was in zip(learner.expansion, before, strict=True):
        np.testing.assert_array_equal(array, was)


def test_parts_learned_apart_are_one_model_with_all_counters(stream):
    X, labels = stream
    start = new_model().partial_fit(X[:100], labels[:100]).learners[0]
    parts = [start.restarted(100).learn(X[k : k + 100], labels[k : k + 100]) for k in (100, 200)]
    whole = start.advanced(start.merged([part.model_since(100) for part in parts], 200))
    assert whole.n_seen == 300
    assert whole.expansion.counts[0]["n_slots"] == 12
    n_updates = sum(int(each.expansion.counts[0]["n_updates"]) for each in (start, *parts))
    assert whole.expansion.counts[0]["n_updates"] == n_updates
    accuracy = [np.mean((each.scores(X)[:, 0] >= 0) == labels) for each in (start, whole)]
    assert accuracy[1] > accuracy[0] - 0.1


def test_averaging_keeps_the_support_vectors(stream):
    X, labels = stream
    learner = new_model(maintenance="project").partial_fit(X[:200], labels[:200]).learners[0]
    after = learner.averaging().learn(X[200:], labels[200:])
    np.testing.assert_array_equal(after.expansion.rows[:12], learner.expansion.rows[:12])
    assert np.abs(coefficients(after.expansion) - coefficients(learner.expansion)).max() > 0


def test_records_are_rows_of_numbers(stream):
    learner = new_model().partial_fit(*stream).learners[0]
    counts = learner.expansion.counts
    numbers = as_numbers(counts)
    assert numbers.shape == (1, len(counts.dtype.names))
    numbers[0, 1] = 7
    assert counts[0]["n_seen"] == 7


def test_choices_are_slots_where_numbers_overflowed():
    missing = np.full(16, np.nan)
    assert 0 <= oldest_of_the_least(missing, np.arange(16), 3) < 3
    far = np.full(16, 1e306)
    assert nearest(Linear(), -far, far, 3, 0) in (1, 2)
    assert nearest(Linear(), missing, far, 3, 1) in (0, 2)
    assert nearest(Linear(), far, far, 1, 0) == -1  # there is no other


def test_neighbors_of_rows_whose_kernel_values_are_nearly_too_large():
    X, labels = blobs(60, 3, 2, seed=0)
    model = BPAClassifier("nn", budget=8, kernel="linear").fit(np.asarray(X, np.float64) * 1e152, labels)
    neighbors = model.learners[0].parts.policy.neighbors
    assert (neighbors.slot[: neighbors.state["n_covered"][0]] >= 0).all()
