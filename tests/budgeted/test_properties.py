"""What holds whatever the stream: budget, norm, degradation, scale."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.bsgd import kernel_matrix
from support import Setting, blobs

from frugalsvm.budgeted.sgd import learn
from frugalsvm.core.expansion import (
    averaged_coefficients,
    coefficients,
)

few_examples = settings(max_examples=25, derandomize=True)
seeds = st.integers(0, 2**32 - 1)


def rows_and_coefficients(model):
    n = model.counts[0]["n_slots"]
    return model.rows[:n].astype(np.float64), coefficients(model)


def squared_norm(setting, rows, coef):
    gram = kernel_matrix(rows, rows, kernel=setting.kernel, gamma=setting.gamma)
    return float(np.sum(coef * (gram @ coef)))


@few_examples
@given(seed=seeds, budget=st.integers(2, 20), n_features=st.integers(1, 8), batch_rows=st.integers(1, 120))
@pytest.mark.parametrize(
    ("learner", "maintenance"), [("pegasos", "remove"), ("norma", "project"), ("pegasos", "merge")]
)
def test_budget_is_never_exceeded(learner, maintenance, seed, budget, n_features, batch_rows):
    setting = Setting(learner, maintenance, 4, budget=budget, gamma=1.0 / n_features)
    X, labels = blobs(120, n_features, 4, seed)
    parts, model = setting.parts(), setting.empty_model(X)
    for start in range(0, 120, batch_rows):
        batch = slice(start, start + batch_rows)
        assert learn(parts, model, X[batch], labels[batch])[1] is model  # with a budget, nothing is ever allocated
        assert model.counts[0]["n_slots"] <= budget
    assert model.counts[0]["n_updates"] > budget
    assert model.counts[0]["n_maintenance"] >= model.counts[0]["n_updates"] - budget
    assert np.isfinite(coefficients(model)).all()


@few_examples
@given(seed=seeds, n_features=st.integers(2, 8))
@pytest.mark.parametrize(
    ("learner", "maintenance", "n_outputs"),
    [
        *(("norma", "remove", n_outputs) for n_outputs in (1, 4)),
        *(("pegasos", "project", 1), ("norma", "project", 4)),
        *(("pegasos", "merge", 1), ("norma", "merge", 4)),
    ],
)
def test_degradation_is_the_norm_of_the_difference(learner, maintenance, n_outputs, seed, n_features):
    """Learn until the budget is maintained for the first time, with and without it."""
    setting = Setting(learner, maintenance, n_outputs, budget=6, gamma=0.5 / n_features)
    X, labels = blobs(40, n_features, setting.n_classes, seed)
    for k in range(7, 40):
        model = setting.trained(X[:k], labels[:k])
        if model.counts[0]["n_maintenance"] == 1:
            break
    assert model.counts[0]["n_maintenance"] == 1
    assert model.counts[0]["n_slots"] == 6
    before = replace(setting, budget=7).trained(X[:k], labels[:k])
    assert before.counts[0]["n_slots"] == 7

    rows, coef = zip(rows_and_coefficients(before), rows_and_coefficients(model), strict=True)
    lost = squared_norm(setting, np.concatenate(rows), np.concatenate([coef[0], -coef[1]]))
    eta = setting.eta0 / np.sqrt(k) if learner == "norma" else 1.0 / (setting.alpha * k)
    # The reported norm comes from differences of sizes, the one computed here from differences of models
    size = squared_norm(setting, rows[0], coef[0])
    condition = np.linalg.cond(kernel_matrix(rows[0], rows[0], kernel="rbf", gamma=setting.gamma))
    tolerance = 1e-6 + (1e-12 * condition if maintenance == "project" else 0.0)
    assert (model.scalars[0]["error_sum"] * eta) ** 2 == pytest.approx(max(lost, 0.0), rel=tolerance, abs=1e-9 * size)


@few_examples
@given(seed=seeds, radius=st.floats(0.1, 5.0))
@pytest.mark.parametrize(
    "setting",
    [Setting("perceptron", "remove", 4), Setting("norma", "project", 1), Setting("pegasos", "merge", 4)],
    ids=str,
)
def test_norm_never_exceeds_the_radius(setting, seed, radius):
    setting = replace(setting, radius=radius)
    X, labels = blobs(150, 3, setting.n_classes, seed)
    parts, model = setting.parts(), setting.empty_model(X)
    norms = []
    for start in range(0, 150, 3):
        _, model = learn(parts, model, X[start : start + 3], labels[start : start + 3])
        norms.append(np.sqrt(squared_norm(setting, *rows_and_coefficients(model))))
    assert max(norms) <= radius * (1 + 1e-9)
    if radius < 0.5:  # a model that learns anything gets there
        assert max(norms) == pytest.approx(radius)


@pytest.mark.parametrize("average_from", [None, 100])
def test_scale_is_folded_and_nobody_notices(average_from):
    """Shrinking by half in the beginning: without folding, the scale would be 1e-40 in the end."""
    setting = Setting("norma", "remove", 1, alpha=0.9, eta0=1.0, average_from=average_from)
    X, labels = blobs(2000, 3, 2, seed=0)
    model = setting.trained(X, labels)
    t = np.arange(1, 2001)
    assert np.log10(1 - 0.9 / np.sqrt(t)).sum() < -30
    assert 1e-10 < model.scalars[0]["scale"] <= 1.0

    oracle = setting.oracle()
    for x, label in zip(X, labels, strict=True):
        oracle.learn_one(x, setting.oracle_label(label))
    np.testing.assert_array_equal(model.births[: model.counts[0]["n_slots"]], oracle.births)
    np.testing.assert_allclose(coefficients(model), oracle.coef, rtol=1e-9)
    if average_from is not None:
        np.testing.assert_allclose(averaged_coefficients(model), oracle.average_coef, rtol=1e-6, atol=1e-12)


@few_examples
@given(seed=seeds)
@pytest.mark.parametrize("n_outputs", [1, 4])
def test_gradient_error_of_removal_counts_removals(n_outputs, seed):
    """All support vectors of Pegasos are of one size, eta_t: what removal loses is always that of a newcomer."""
    setting = Setting("pegasos", "remove", n_outputs)
    X, labels = blobs(300, 3, setting.n_classes, seed)
    model = setting.trained(X, labels)
    assert model.counts[0]["n_maintenance"] > 0
    per_removal = 1.0 if n_outputs == 1 else np.sqrt(2.0)  # a newcomer has the coefficients 1 and -1
    mean_error = model.scalars[0]["error_sum"] / model.counts[0]["n_seen"]
    assert mean_error == pytest.approx(per_removal * model.counts[0]["n_maintenance"] / model.counts[0]["n_seen"])


class TestKeptQuantitiesHeal:
    """What is updated from step to step is computed afresh now and then, so that rounding errors cannot add up."""

    def test_norm(self):
        # At a radius that is reached, errors fade by themselves.
        setting = Setting("perceptron", "remove", 4, radius=1e6)
        X, labels = blobs(600, 3, 4, seed=0)
        parts = setting.parts()
        _, model = learn(parts, setting.empty_model(X), X[:200], labels[:200])
        model.scalars[0]["raw_norm"] *= 1.1
        before = model.counts[0]["n_updates"]
        learn(parts, model, X[200:], labels[200:])
        assert model.counts[0]["n_updates"] - before > 8 * setting.budget
        true = squared_norm(setting, *rows_and_coefficients(model))
        assert model.scalars[0]["scale"] ** 2 * model.scalars[0]["raw_norm"] == pytest.approx(true, rel=1e-9)

    def test_inverse(self):
        setting = Setting("pegasos", "project", 1)
        X, labels = blobs(600, 3, 2, seed=0)
        parts = setting.parts()
        _, model = learn(parts, setting.empty_model(X), X[:200], labels[:200])
        inverse = parts.policy.span.inverse[:10, :10]
        inverse += 1e-3 * np.diag(np.diag(inverse))
        learn(parts, model, X[200:], labels[200:])
        gram = kernel_matrix(model.rows[:10], model.rows[:10], kernel="rbf", gamma=setting.gamma)
        np.testing.assert_allclose(inverse @ gram, np.eye(10), atol=1e-8)
