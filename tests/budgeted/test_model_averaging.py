"""Several models as one: nothing is lost without need, the order makes no difference, and what is lost is accounted."""

import numpy as np
import pytest
from oracles.bsgd import kernel_matrix
from oracles.model_averaging import combined_oracle
from support import Setting, blobs

from frugalsvm.budgeted.model_averaging import at_clock, combined, mean_coefficients, with_coefficients
from frugalsvm.core.expansion import coefficients
from frugalsvm.core.schedules import advance

SETTINGS = [
    Setting(n_outputs=1),
    Setting(n_outputs=3),
    Setting("norma", "project", kernel="poly"),
    Setting(maintenance="remove"),
    Setting("norma", n_outputs=3),
]


def models_of(setting, n_parts=3, n_rows=60):
    """Models of parts of a stream, each learned by itself."""
    X, labels = blobs(n_parts * n_rows, 3, setting.n_classes, seed=1)
    return [
        setting.trained(X[k * n_rows : (k + 1) * n_rows + 10 * k], labels[k * n_rows : (k + 1) * n_rows + 10 * k])
        for k in range(n_parts)
    ]


def joined(setting, models, budget="own", clock=None):
    parts = setting.parts()
    budget = setting.budget if budget == "own" else budget
    return combined(parts.kernel, parts.loss, parts.schedule, models, budget, type(parts.policy), clock)


def values(setting, model, n_probes=50):
    return setting.decisions(model, blobs(n_probes, 3, 2, seed=9)[0])


def squared_norm(setting, rows, coef):
    gram = kernel_matrix(
        rows, rows, kernel=setting.kernel, gamma=setting.gamma, degree=setting.degree, coef0=setting.coef0
    )
    return float(np.sum(coef * (gram @ coef)))


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_one_part_stays_what_it_is(setting):
    (model,) = models_of(setting, 1)
    same = joined(setting, [model])
    np.testing.assert_array_equal(same.rows, model.rows)
    np.testing.assert_allclose(coefficients(same), coefficients(model), rtol=1e-14)
    np.testing.assert_allclose(values(setting, same), values(setting, model), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(same.counts, model.counts)
    assert same.scalars[0]["error_sum"] == model.scalars[0]["error_sum"]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_without_a_budget_it_is_the_mean_by_examples(setting):
    models = models_of(setting)
    mean = joined(setting, models, budget=None)
    seen = [model.counts[0]["n_seen"] for model in models]
    expected = np.average([values(setting, model) for model in models], axis=0, weights=seen)
    np.testing.assert_allclose(values(setting, mean), expected, rtol=1e-9, atol=1e-9)
    assert mean.counts[0]["n_seen"] == sum(seen)
    assert mean.scalars[0]["error_sum"] == pytest.approx(sum(model.scalars[0]["error_sum"] for model in models))


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_order_of_the_parts_makes_no_difference(setting):
    models = models_of(setting)
    one, other = joined(setting, models), joined(setting, models[::-1])
    for name in ("rows", "coef", "sizes", "counts", "scalars"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_parts_can_be_combined_two_by_two(setting):
    """What merging loses on the way bounds the difference; without a budget there is none."""
    first, second, third = models_of(setting)
    at_once, in_two = (
        joined(setting, [first, second, third], None),
        joined(setting, [joined(setting, [first, second], None), third], None),
    )
    np.testing.assert_allclose(values(setting, in_two), values(setting, at_once), rtol=1e-9, atol=1e-9)
    whole = values(setting, at_once)
    lost = [
        np.linalg.norm(values(setting, model) - whole)
        for model in (
            joined(setting, [first, second, third]),
            joined(setting, [joined(setting, [first, second]), third]),
        )
    ]
    removed_all = np.linalg.norm(whole)
    assert max(lost) < 0.75 * removed_all


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_what_is_lost_is_the_true_distance_in_units_of_the_step(setting):
    models = models_of(setting)
    clock = 40
    whole, model = joined(setting, models, budget=None), joined(setting, models, clock=clock)
    assert model.counts[0]["n_slots"] == setting.budget
    assert model.counts[0]["n_maintenance"] > sum(part.counts[0]["n_maintenance"] for part in models)
    n, n_whole = int(model.counts[0]["n_slots"]), int(whole.counts[0]["n_slots"])
    rows = np.concatenate([whole.rows[:n_whole], model.rows[:n]])
    difference = np.concatenate([coefficients(whole), -coefficients(model)])
    lost = np.sqrt(squared_norm(setting, rows, difference))
    eta = advance(setting.parts().schedule, clock, 1.0)[0]
    accounted = (model.scalars[0]["error_sum"] - sum(part.scalars[0]["error_sum"] for part in models)) * eta
    assert accounted == pytest.approx(lost, rel=1e-6)
    assert lost > 0
    norm = squared_norm(setting, model.rows[:n], coefficients(model))
    assert model.scalars[0]["raw_norm"] * model.scalars[0]["scale"] ** 2 == pytest.approx(norm, rel=1e-6)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_it_is_what_the_oracle_says(setting):
    """The first two parts share vectors, because the second went on from the first."""
    X, labels = blobs(200, 3, setting.n_classes, seed=2)
    first, third = setting.trained(X[:60], labels[:60]), setting.trained(X[120:], labels[120:])
    models = [first, with_coefficients(first, 2.0 * coefficients(first)), third, models_of(setting, 1)[0]]
    expansions = [(model.rows[: int(model.counts[0]["n_slots"])], coefficients(model)) for model in models]
    rows, coef, lost = combined_oracle(
        expansions,
        [int(model.counts[0]["n_seen"]) for model in models],
        setting.budget,
        setting.maintenance,
        kernel=setting.kernel,
        gamma=setting.gamma,
        degree=setting.degree,
        coef0=setting.coef0,
    )
    clock = 30
    model = joined(setting, models, clock=clock)
    n = int(model.counts[0]["n_slots"])
    order, own_order = np.lexsort(rows.T), np.lexsort(model.rows[:n].T)
    np.testing.assert_allclose(model.rows[:n][own_order], rows[order], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(coefficients(model)[own_order], coef[order], rtol=1e-6, atol=1e-9)
    eta = advance(setting.parts().schedule, clock, 1.0)[0]
    accounted = (model.scalars[0]["error_sum"] - sum(part.scalars[0]["error_sum"] for part in models)) * eta
    assert accounted == pytest.approx(lost, rel=1e-6)


def test_vectors_that_parts_share_cost_nothing():
    setting = Setting()
    (model,) = models_of(setting, 1)
    twice = joined(setting, [model, at_clock(model, setting.parts().schedule, 2 * int(model.counts[0]["n_seen"]))])
    assert twice.counts[0]["n_slots"] == model.counts[0]["n_slots"]
    np.testing.assert_allclose(values(setting, twice), values(setting, model), rtol=1e-12, atol=1e-12)
    assert twice.scalars[0]["error_sum"] == 2 * model.scalars[0]["error_sum"]


def test_another_clock_is_the_same_function():
    for setting in SETTINGS:
        (model,) = models_of(setting, 1)
        moved = at_clock(model, setting.parts().schedule, 1000)
        assert moved.counts[0]["n_seen"] == 1000
        np.testing.assert_allclose(values(setting, moved), values(setting, model), rtol=1e-12, atol=1e-12)
        scales = moved.scalars[0]["scale"] ** 2, model.scalars[0]["scale"] ** 2
        n = int(model.counts[0]["n_slots"])
        np.testing.assert_allclose(moved.sizes[:n] * scales[0], model.sizes[:n] * scales[1], rtol=1e-10)


def test_coefficients_of_the_same_vectors_are_averaged():
    setting = Setting(n_outputs=3)
    (model,) = models_of(setting, 1)
    other = with_coefficients(model, 3.0 * coefficients(model))
    mean = mean_coefficients([coefficients(model), coefficients(other)], [3, 1])
    np.testing.assert_allclose(mean, 1.5 * coefficients(model), rtol=1e-14)


def test_parts_that_do_not_go_together_are_refused():
    setting = Setting()
    (model,) = models_of(setting, 1)
    X, labels = blobs(50, 4, 2, seed=0)
    with pytest.raises(ValueError, match="Part 1 differs from the first"):
        joined(setting, [model, setting.trained(X, labels)])
    with pytest.raises(ValueError, match="no parts"):
        joined(setting, [])
    averaged = Setting(average_from=0)
    with pytest.raises(ValueError, match="Part 0 is an average"):
        joined(averaged, models_of(averaged, 2))
