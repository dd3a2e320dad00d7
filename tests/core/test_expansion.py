"""The support-vector store."""

import numpy as np
import pytest
from oracles.bsgd import kernel_matrix

from frugalsvm.compiling.functions import entry
from frugalsvm.core.expansion import (
    averaged_coefficients,
    coefficients,
    exact_kernel,
    fold_scale,
    free_slot,
    new_expansion,
    padded,
    raw_squared_norm,
    refresh_slot,
    resized,
    restart_average,
)
from frugalsvm.core.kernels import RBF
from frugalsvm.core.predict import decision_values

KERNEL = RBF(0.3)
FIELDS = ("rows", "norms", "births", "sizes")


@entry
def refresh_all(expansion, kernel):
    for j in range(expansion.counts[0]["n_slots"]):
        refresh_slot(expansion, kernel, j)


@entry
def free(expansion, slot):
    return free_slot(expansion, slot)


@entry
def fold(expansion):
    n = expansion.counts[0]["n_slots"]
    fold_scale(expansion.coef, expansion.weights, expansion.sizes, n, expansion.scalars)


@entry
def squared_norm(expansion, kernel):
    n = expansion.counts[0]["n_slots"]
    return raw_squared_norm(kernel, expansion.rows, expansion.weights, expansion.coef, n)


def random_model(n=9, *, n_outputs=2, averaged=True, dtype=np.float64):
    """A model as training might have left it, with rubbish in the empty slots."""
    rng = np.random.default_rng(0)
    model = new_expansion(n + 1, 3, n_outputs, dtype, 2 if averaged else None)
    model.rows[:] = rng.normal(size=model.rows.shape)
    model.norms[:] = np.square(model.rows).sum(axis=1)
    model.coef[:] = rng.normal(size=model.coef.shape)
    model.births[:] = rng.permutation(model.births.size)
    model.counts[0]["n_slots"], model.counts[0]["n_seen"] = n, 30
    for name, value in (("scale", 0.01), ("scale_sum", 0.7), ("raw_norm", 5.0)):
        model.scalars[0][name] = value
    refresh_all(model, KERNEL)
    return model


def contents(model):
    """What the slots in use hold, as a set of tuples: their order does not matter."""
    n = model.counts[0]["n_slots"]
    columns = [np.atleast_2d(getattr(model, name)[:n].T) for name in FIELDS]
    table = np.concatenate([*columns, model.coef[:, :n], model.weights[:, :n]])
    return sorted(map(tuple, table.T.tolist()))


def scores(model):
    probes = np.random.default_rng(1).normal(size=(20, 3)).astype(model.rows.dtype)
    return decision_values(KERNEL, model._replace(counts=model.counts.copy()), probes)


def test_new_model_is_empty():
    model = new_expansion(20, 3, 2, np.float32)
    assert model.rows.shape == (32, 3)
    assert model.rows.dtype == model.weights.dtype == np.float32
    assert model.coef.dtype == np.float64
    assert model.coef.shape == (2, 32)
    assert model.n_outputs == 2
    assert coefficients(model).shape == (0, 2)
    assert new_expansion(20, 3, 2, np.float32, average_from=5).coef.shape == (4, 32)


@pytest.mark.parametrize(("n_slots", "capacity"), [(1, 16), (16, 16), (17, 32), (1000, 1008)])
def test_capacity_is_a_multiple_of_16(n_slots, capacity):
    assert padded(n_slots) == capacity


@pytest.mark.parametrize(("n_slots", "capacity"), [(40, 48), (1, 16)])
def test_resized_copy_holds_the_same(n_slots, capacity):
    model = random_model()
    copy = resized(model, n_slots)  # never below what is in use
    assert copy.rows.shape[0] == copy.coef.shape[1] == copy.weights.shape[1] == capacity
    assert contents(copy) == contents(model)
    np.testing.assert_array_equal(copy.counts, model.counts)
    np.testing.assert_array_equal(copy.scalars, model.scalars)
    np.testing.assert_array_equal(scores(copy), scores(model))
    before = contents(model)
    copy.rows[0], copy.coef[:, 0], copy.counts[0]["n_seen"], copy.scalars[0]["scale"] = 9, 9, 9, 9
    assert contents(model) == before
    assert (model.counts[0]["n_seen"], model.scalars[0]["scale"]) == (30, 0.01)


@pytest.mark.parametrize("slot", [0, 4, 8])
def test_freed_slot_is_filled_by_the_last(slot):
    model = random_model()
    before = contents(model)
    row = model.rows[slot].copy()
    gone = next(held for held in before if held[:3] == tuple(row))
    others = [j for j in range(9) if j != slot]
    kernel = kernel_matrix(np.random.default_rng(1).normal(size=(20, 3)), model.rows, kernel="rbf", gamma=0.3)
    expected = kernel[:, others] @ model.weights[:, others].T

    assert free(model, slot) == (slot != 8)

    assert model.counts[0]["n_slots"] == 8
    assert contents(model) == sorted(set(before) - {gone})
    # Scoring runs over whole vectors of slots: the empty ones must not be heard.
    assert not model.weights[:, 8].any()
    np.testing.assert_allclose(scores(model), expected, rtol=1e-12)


def test_refreshed_slot():
    model = random_model(dtype=np.float32)
    n, n_outputs = 9, 2
    np.testing.assert_array_equal(model.weights[:, :n], model.coef[:n_outputs, :n].astype(np.float32))
    np.testing.assert_allclose(model.sizes[:n], np.square(model.coef[:n_outputs, :n]).sum(axis=0))  # K(x, x) = 1


@pytest.mark.parametrize("averaged", [False, True])
def test_folding_the_scale_changes_no_value(averaged):
    model = random_model(averaged=averaged)
    last, raw = coefficients(model), scores(model)
    sizes, norm = model.sizes.copy(), squared_norm(model, KERNEL)
    average = averaged_coefficients(model) if averaged else None
    model.scalars[0]["raw_norm"] = norm

    fold(model)

    assert model.scalars[0]["scale"] == 1.0
    np.testing.assert_allclose(coefficients(model), last, rtol=1e-14)
    np.testing.assert_allclose(scores(model), 0.01 * raw, rtol=1e-12)
    np.testing.assert_allclose(model.sizes[:9], 1e-4 * sizes[:9], rtol=1e-14)
    assert squared_norm(model, KERNEL) == pytest.approx(1e-4 * norm)
    assert model.scalars[0]["raw_norm"] == pytest.approx(1e-4 * norm)
    if averaged:
        np.testing.assert_allclose(averaged_coefficients(model), average, rtol=1e-12)
        # and it goes on right: three more iterates that are the same model
        model.scalars[0]["scale_sum"] += 3.0
        model.counts[0]["n_seen"] += 3
        np.testing.assert_allclose(averaged_coefficients(model), (average * 28 + 3 * last) / 31, rtol=1e-12)


def test_average_before_it_began_is_the_last_model():
    model = random_model()
    model.scalars[0]["averaged_from"] = 30
    np.testing.assert_array_equal(averaged_coefficients(model), coefficients(model))


def test_restarted_average():
    model = random_model()
    restart_average(model)
    np.testing.assert_array_equal(averaged_coefficients(model), coefficients(model))
    model.scalars[0]["scale_sum"] += model.scalars[0]["scale"]
    model.counts[0]["n_seen"] += 1
    np.testing.assert_allclose(averaged_coefficients(model), coefficients(model), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_raw_squared_norm(dtype):
    model = random_model(dtype=dtype)
    rows, coef = model.rows[:9].astype(np.float64), model.coef[:2, :9]
    gram = kernel_matrix(rows, rows, kernel="rbf", gamma=0.3)
    # float32 rows, but sums in float64
    assert squared_norm(model, KERNEL) == pytest.approx(np.sum(coef @ gram * coef), rel=1e-12)
    assert exact_kernel(KERNEL, model.rows, 2, 5) == pytest.approx(gram[2, 5], rel=1e-14)
