"""What holds of the online dual SVMs after any stream: gradients, boxes, the gap, slots, and what must not matter."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.bsgd import kernel_matrix
from oracles.lasvm import LASVMOracle
from support import blobs

from frugalsvm.core.kernels import RBF
from frugalsvm.dual.lasvm import LASVM
from frugalsvm.dual.lasvm_nc import HINGE_LOSS, LASVMNC, RAMP_FILTER, RAMP_LOSS
from frugalsvm.dual.online import finish, learn, new_solver, remembered

N_ROWS = 300
PLENTY = 10**7  # bytes of the cache


def online(loss=RAMP_LOSS, *, C=2.0, gamma=0.5, pairs=True, clean_every=20, max_idle=10, tau=1e-3):
    return LASVMNC(RBF(gamma), C, loss, -0.5, 5, tau, pairs, clean_every, max_idle, 0)


@dataclass(frozen=True)
class Stream:
    X: np.ndarray
    labels: np.ndarray
    boxes: np.ndarray

    @property
    def n_rows(self):
        return len(self.labels)


def stream(n_classes=2, seed=0, n_rows=N_ROWS, C=2.0, n_features=2, *, weighted=False):
    X, labels = blobs(n_rows, n_features, n_classes, seed)
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.1, 2.0, n_rows) * (rng.random(n_rows) < 0.9) if weighted else np.ones(n_rows)
    return Stream(X, labels, C * weights)


def trained(learner, data, *, n_outputs=1, dtype=float, cache=PLENTY, n_slots=1024, batch=None, X=None):
    """A machine that learned the stream, in several calls if ``batch`` is given."""
    X = data.X if X is None else X
    solver = new_solver(X.shape[1], n_outputs, dtype, cache, n_slots)
    for start in range(0, data.n_rows, batch or data.n_rows):
        part = slice(start, start + (batch or data.n_rows))
        solver = learn(learner, solver, X[part], data.labels[part], data.boxes[part])
    return solver


def by_example(solver, c=0):
    """Members of an output: the numbers of the examples in increasing order, alphas, gradients and ends of boxes."""
    state = solver.state
    slots = np.flatnonzero(state.bound[c, : state.working_set.counts[0]["n_slots"]])
    slots = slots[np.argsort(state.working_set.births[slots])]
    return (
        state.working_set.births[slots],
        state.working_set.coef[c, slots],
        state.gradient[c, slots],
        state.bound[c, slots],
    )


def assert_same(solver, other, c=0, d=0, *, tol=1e-9):
    """Output c of a machine is output d of another."""
    (births, *ours), (others, *theirs) = by_example(solver, c), by_example(other, d)
    np.testing.assert_array_equal(births, others)
    for mine, yours in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, yours, rtol=0, atol=tol)
    np.testing.assert_array_equal(solver.state.counts[c], other.state.counts[d])
    np.testing.assert_allclose(solver.state.sums[c]["bias"], other.state.sums[d]["bias"], atol=tol)


def assert_sound(solver, gamma, s=None, tol=1e-9):
    """The invariants of the state; with ``s``, also those of the gap without a bias."""
    state, members = solver.state, solver.state.working_set
    n = int(members.counts[0]["n_slots"])
    alpha, bound = members.coef[:, :n], state.bound[:, :n]
    rows = members.rows[:n].astype(float)
    gram = kernel_matrix(rows, rows, kernel="rbf", gamma=gamma)
    f = alpha @ gram
    is_member = bound != 0.0
    scale = 1.0 + np.abs(alpha).sum()

    np.testing.assert_allclose(state.gradient[:, :n][is_member], (state.labels[:, :n] - f)[is_member], atol=tol * scale)

    # Boxes
    high, low = np.maximum(bound, 0.0), np.minimum(bound, 0.0)
    assert np.all((low <= alpha) & (alpha <= high))
    for room, exact in ((state.up[:, :n], high - alpha), (state.down[:, :n], alpha - low)):
        np.testing.assert_allclose(room, exact, rtol=1e-6, atol=0)
        assert np.all((room == 0.0) == (exact == 0.0))
    np.testing.assert_array_equal(members.weights[:, :n], alpha.astype(members.weights.dtype))
    np.testing.assert_array_equal(state.counts["n_support"], np.count_nonzero(alpha, axis=1))
    np.testing.assert_array_equal(state.counts["n_members"], np.count_nonzero(bound, axis=1))

    # Slots
    n_free = int(state.pool[0]["n_free"])
    is_free = ~is_member.any(axis=0)
    np.testing.assert_array_equal(np.sort(state.free_slots[:n_free]), np.flatnonzero(is_free))
    assert np.all(state.row[:n][is_free] == -1)
    assert np.all(state.row[:n][~is_free] >= 0)
    for array in (state.bound, state.up, state.down, members.coef, members.weights):
        assert not array[:, n:].any()
    births = members.births[:n][~is_free]
    assert len(set(births)) == len(births)
    assert len(births) == 0 or 1 <= births.min() <= births.max() <= members.counts[0]["n_seen"]

    if s is not None:
        for c in range(len(bound)):
            m = is_member[c]
            assert_right_gap(state, c, alpha[c, m], f[c, m], state.labels[c, :n][m], bound[c, m], s, tol)


def assert_right_gap(state, c, alpha, f, y, bound, s, tol):
    """Primal minus dual from their definitions; what is flipped has the box of the other label, beta = c."""
    box, is_flipped = np.abs(bound), bound * y < 0.0
    beta = np.where(is_flipped, box, 0.0)
    primal = 0.5 * alpha @ f + box @ np.maximum(0.0, 1.0 - y * f) - beta @ (s - y * f)
    value = y @ alpha - 0.5 * alpha @ f + beta.sum() * (1.0 - s)
    gap = state.sums[c]["hinge"] - state.sums[c]["overlap"]
    size = 1.0 + abs(primal) + abs(value)
    assert gap == pytest.approx(primal - value, rel=1e-8, abs=tol * size)
    assert gap >= -tol * size


@settings(max_examples=60, derandomize=True)
@given(
    seed=st.integers(0, 1000),
    n_rows=st.integers(1, 250),
    n_outputs=st.sampled_from([1, 1, 3]),
    loss=st.sampled_from([HINGE_LOSS, RAMP_LOSS, RAMP_FILTER]),
    C=st.sampled_from([0.1, 1.0, 10.0]),
    gamma=st.sampled_from([0.05, 0.5, 5.0]),
    pairs=st.booleans(),
    cleaning=st.sampled_from([(0, 0), (1, 0), (7, 3), (50, 20)]),
    cache=st.sampled_from([0, 20_000, PLENTY]),
    n_passes=st.integers(1, 2),
)
def test_anything_without_a_bias(seed, n_rows, n_outputs, loss, C, gamma, pairs, cleaning, cache, n_passes):
    data = stream(max(2, n_outputs), seed, n_rows, C, weighted=True)
    learner = online(loss, C=C, gamma=gamma, pairs=pairs, clean_every=cleaning[0], max_idle=cleaning[1])
    solver = new_solver(2, n_outputs, float, cache, n_slots=16)
    slot_of_row = remembered(n_rows)
    for _ in range(n_passes):
        solver = learn(learner, solver, data.X, data.labels, data.boxes, slot_of_row=slot_of_row)
        assert_sound(solver, gamma, learner.s)
    assert solver.state.working_set.counts[0]["n_seen"] == n_passes * np.count_nonzero(data.boxes)
    rows = solver.state.row[solver.state.row >= 0]
    assert len(set(rows)) == len(rows)  # nobody is a member twice

    finish(learner, solver, 1e-3, max_steps=20_000)
    assert_sound(solver, gamma, learner.s)
    state = solver.state
    assert np.all(state.gradient[state.up > 0.0] <= 1e-3)
    assert np.all(state.gradient[state.down > 0.0] >= -1e-3)


@settings(max_examples=40, derandomize=True)
@given(
    seed=st.integers(0, 1000),
    n_rows=st.integers(1, 250),
    n_outputs=st.sampled_from([1, 1, 3]),
    C=st.sampled_from([0.1, 1.0, 10.0]),
    gamma=st.sampled_from([0.05, 0.5, 5.0]),
    pairs=st.booleans(),
    cache=st.sampled_from([0, 20_000, PLENTY]),
    n_passes=st.integers(1, 2),
)
def test_anything_with_a_bias(seed, n_rows, n_outputs, C, gamma, pairs, cache, n_passes):
    data = stream(max(2, n_outputs), seed, n_rows, C, weighted=True)
    learner = LASVM(RBF(gamma), C, 1e-3, pairs, 0)
    solver = new_solver(2, n_outputs, float, cache, n_slots=16)
    slot_of_row = remembered(n_rows)
    for _ in range(n_passes):
        solver = learn(learner, solver, data.X, data.labels, data.boxes, slot_of_row=slot_of_row)
        assert_sound(solver, gamma)
    state = solver.state
    np.testing.assert_allclose(
        state.working_set.coef.sum(axis=1), 0.0, atol=1e-9 * (1.0 + np.abs(state.working_set.coef).sum())
    )
    finish(learner, solver, 1e-3, max_steps=20_000)
    assert_sound(solver, gamma)
    for c in range(n_outputs):
        rise, fall = state.gradient[c, state.up[c] > 0.0], state.gradient[c, state.down[c] > 0.0]
        if len(rise) and len(fall):
            assert rise.max() - fall.min() <= 1e-3
            assert state.sums[c]["bias"] == pytest.approx(0.5 * (rise.max() + fall.min()), abs=2e-3)


# --- What must not matter ---------------------------------------------------------------------------------


LEARNERS = {
    "hinge": online(HINGE_LOSS),
    "ramp": online(RAMP_LOSS),
    "filter": online(RAMP_FILTER, clean_every=7, max_idle=2),
    "bias": LASVM(RBF(0.5), 2.0, 1e-3, True, 0),
}
each_learner = pytest.mark.parametrize("name", LEARNERS)


@pytest.mark.parametrize("name", ["hinge", "ramp", "filter"])  # with a bias there are ties, taken in the order of slots
def test_classes_are_machines_of_their_own(name):
    learner, data = LEARNERS[name], stream(n_classes=4)
    solver = trained(learner, data, n_outputs=4, cache=100_000)
    members = [set(by_example(solver, c)[0]) for c in range(4)]
    assert len(set.union(*members)) > max(len(some) for some in members)  # they share some of their slots only
    for c in range(4):
        one = Stream(data.X, (data.labels == c).astype(int), data.boxes)
        assert_same(solver, trained(learner, one), c, 0)


@each_learner
def test_room(name):
    data = stream()
    small, large = (trained(LEARNERS[name], data, n_slots=n_slots) for n_slots in (16, 1024))
    assert 16 < small.state.working_set.rows.shape[0] < large.state.working_set.rows.shape[0]
    assert_same(small, large)


@each_learner
def test_size_of_the_cache(name):
    data = stream()
    small, large = (trained(LEARNERS[name], data, cache=cache, n_slots=64) for cache in (0, PLENTY))
    assert len(small.cache.slot) == 4
    assert len(large.cache.slot) > 50
    assert_same(small, large)


@each_learner
@pytest.mark.parametrize("batch", [1, 37])
def test_batches(name, batch):
    data = stream()
    assert_same(trained(LEARNERS[name], data, batch=batch), trained(LEARNERS[name], data), tol=1e-12)


def test_order_is_that_of_the_rows():
    data, order = stream(), np.random.default_rng(0).permutation(N_ROWS)
    learner = LEARNERS["ramp"]
    solver = learn(learner, new_solver(2, 1, float, PLENTY), data.X, data.labels, data.boxes, order)
    sorted_rows = Stream(data.X[order], data.labels[order], data.boxes)
    assert_same(solver, trained(learner, sorted_rows), tol=1e-12)
    slots = np.flatnonzero(solver.state.bound[0])
    np.testing.assert_array_equal(solver.state.row[slots], order[solver.state.working_set.births[slots] - 1])


def test_examples_without_weight_are_not_seen():
    data = stream(weighted=True)
    has_weight = data.boxes > 0.0
    assert 10 < np.count_nonzero(~has_weight) < 100
    others = Stream(data.X[has_weight], data.labels[has_weight], data.boxes[has_weight])
    assert_same(trained(LEARNERS["ramp"], data), trained(LEARNERS["ramp"], others), tol=1e-12)


def test_sparse_is_dense():
    data = stream(n_features=8)
    zeros = np.random.default_rng(0).random(data.X.shape) < 0.6
    data = Stream(np.where(zeros, 0.0, data.X), data.labels, data.boxes)
    learner = online(gamma=0.1)
    sparse = trained(learner, data, X=scipy.sparse.csr_matrix(data.X), n_slots=16)
    assert_sound(sparse, 0.1, learner.s)
    assert_same(sparse, trained(learner, data))


def test_float32_in_blocks_is_close_to_the_oracle():
    data, learner = stream(n_features=12), online(gamma=0.05, tau=1e-2)
    X = data.X.astype(np.float32)
    solver = trained(learner, data, X=X, dtype=np.float32, n_slots=16, cache=20_000)
    assert_sound(solver, 0.05, learner.s, tol=1e-6)
    oracle = LASVMOracle("nc", 2.0, -0.5, gamma=0.05, tau=1e-2, clean_every=20, max_non_sv=10, warm_up=5)
    for x, label in zip(X.astype(float), data.labels, strict=True):
        oracle.learn_one(x, 2 * int(label) - 1)
    assert by_example(solver)[0].tolist() == oracle.ids
    np.testing.assert_allclose(by_example(solver)[1], oracle.alpha, atol=1e-3)
