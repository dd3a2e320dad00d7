"""The compiled tracking algorithms follow their oracle, and TrackingSVC publishes what they do."""

import numpy as np
import pytest
from oracles.tracking import TrackingOracle, normalised_gap
from sklearn.metrics.pairwise import rbf_kernel
from support import blobs

from frugalsvm import TrackingSVC
from frugalsvm.core.kernels import RBF
from frugalsvm.core.rng import below, new_rng
from frugalsvm.dual.online import learn, new_solver
from frugalsvm.dual.tracking import new_tracking

C, GAMMA, K = 2.0, 0.4, 5


def stream():
    X, labels = blobs(120, 3, 2, seed=2)
    return X, labels, 2 * labels - 1


@pytest.mark.parametrize("process", [True, False])
def test_follows_the_oracle(process):
    X, labels, y = stream()
    rng = new_rng(4)
    oracle = TrackingOracle(C, K, process, gamma=GAMMA, draw=lambda n: below(rng, n))
    learner = new_tracking(RBF(GAMMA), C, K, process, False, 1, new_rng(4))
    solver = new_solver(3, 1, np.float64, 2**20, n_slots=16)
    gaps = []
    for t in range(len(X)):
        oracle.learn_one(X[t], y[t])
        solver = learn(learner, solver, X[t : t + 1], labels[t : t + 1], np.full(1, C))
        state = solver.state
        n = state.working_set.counts[0]["n_slots"]
        assert n == t + 1
        np.testing.assert_allclose(state.working_set.coef[0, :n], oracle.alpha * y[:n], atol=1e-10)
        mean = state.working_set.coef[0, :n].copy()
        for slot, lag in zip(learner.moved[0], learner.lag[0], strict=True):
            if slot >= 0:
                mean[slot] -= lag
        np.testing.assert_allclose(mean, oracle.mean_alpha * y[:n], atol=1e-10)
        gap = (state.sums[0]["hinge"] - state.sums[0]["overlap"]) / (C * (t + 1))
        np.testing.assert_allclose(gap, oracle.normalised_gap, rtol=1e-8, atol=1e-12)
        gaps.append(gap)
    np.testing.assert_allclose(list(learner.trace[0]), [np.sum(gaps), len(X)], rtol=1e-8)


class TestTrackingSVC:
    def test_gap_is_that_of_the_last_iterate(self):
        X, _, y = stream()
        model = TrackingSVC(K, C, gamma=GAMMA, average=False, random_state=0).fit(X, y)
        alpha = np.zeros(len(X))
        for vector, coef in zip(model.support_vectors_, model.dual_coef_[0], strict=True):
            alpha[np.flatnonzero((vector == X).all(axis=1))[0]] = abs(coef)
        expected = normalised_gap(rbf_kernel(X, gamma=GAMMA), y, alpha, C)
        assert model.normalized_gap_ == pytest.approx(expected, rel=1e-8)
        assert 0 < model.normalized_gap_ < 0.2
        assert model.duality_gap_ == pytest.approx(C * len(X) * expected, rel=1e-8)

    def test_more_steps_come_nearer(self):
        X, _, y = stream()
        gaps = [TrackingSVC(k, C, gamma=GAMMA, random_state=0).fit(X, y).mean_normalized_gap_ for k in (1, 5, 25)]
        assert gaps[0] > 2 * gaps[1] > 4 * gaps[2]

    def test_average_is_another_model(self):
        X, _, y = stream()
        values = [
            TrackingSVC(K, C, gamma=GAMMA, average=a, random_state=0).fit(X, y).decision_function(X)
            for a in (True, False)
        ]
        assert 0 < np.abs(values[0] - values[1]).max() < 1

    def test_cached_keeps_support_vectors_only(self):
        X, _, y = stream()
        model = TrackingSVC(K, C, gamma=GAMMA, cached=True, average=False, random_state=0).fit(X, y)
        state = model._solver.state
        n = state.working_set.counts[0]["n_slots"]
        is_member = state.bound[0, :n] != 0
        assert is_member.sum() == model.n_support_[0] < len(X)
        assert (state.working_set.coef[0, :n][is_member] != 0).all()
        assert model.score(X, y) > 0.65

    def test_batch_reads_all_first(self):
        X, _, y = stream()
        model = TrackingSVC(20, C, gamma=GAMMA, batch=True, random_state=0).fit(X, y)
        assert model.t_ == len(X)
        assert model.normalized_gap_ < TrackingSVC(20, C, gamma=GAMMA, random_state=0).fit(X, y).normalized_gap_

    def test_several_classes(self):
        X, labels = blobs(200, 3, 4, seed=2)
        model = TrackingSVC(K, C, gamma=GAMMA, random_state=0).fit(X, labels)
        assert model.decision_function(X).shape == (200, 4)
        assert model.score(X, labels) > 0.6

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_steps": 0}, "n_steps must be an integer of at least 1"),
            ({"cached": True, "process": False}, "cached=True needs process=True"),
            ({"batch": True, "selection": "margin"}, "batch=True reads all examples first"),
            ({"selection": "nearest"}, "selection='nearest' is not one of"),
        ],
    )
    def test_refusals(self, parameters, message):
        X, _, y = stream()
        with pytest.raises(ValueError, match=message):
            TrackingSVC(**parameters).fit(X, y)


def test_query_and_teach():
    """The rows nearest to the boundary are asked for, and learning them is what partial_fit does."""
    X, _, y = stream()
    model = TrackingSVC(K, C, gamma=GAMMA, random_state=0)
    np.testing.assert_array_equal(model.query(X, 3), [0, 1, 2])  # nothing is known yet
    model.teach(X[:40], y[:40], classes=[-1, 1])
    pool = X[40:]
    asked = model.query(pool, 10)
    np.testing.assert_array_equal(asked, np.argsort(np.abs(model.decision_function(pool)), kind="stable")[:10])
    assert model.teach(pool[asked], y[40:][asked]) is model
    assert model.t_ == 50
    with pytest.raises(ValueError, match="n must be an integer of at least 1"):
        model.query(pool, 0)
