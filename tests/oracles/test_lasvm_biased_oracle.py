"""Checks of the oracle of LASVM with its bias, against its optimality conditions and against LIBSVM."""

import numpy as np
import pytest
from sklearn.svm import SVC

from .bsgd import first_tied
from .lasvm_biased import BiasedLASVMOracle


def noisy_problem(n=60, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.9, 1, -1)  # a third of them positive: the bias matters
    return X, np.where(rng.random(n) < noise, -y, y)


def extremes(oracle):
    """g_max and g_min."""
    return oracle.g[oracle.alpha < oracle.high].max(), oracle.g[oracle.alpha > oracle.low].min()


def epochs(oracle, X, y, n):
    """Several epochs: members are visited again, the others are shown as new."""
    ids = [None] * len(y)
    for _ in range(n):
        for k in range(len(y)):
            if ids[k] in oracle.ids:
                oracle.relearn(ids[k])
            else:
                ids[k] = oracle.learn_one(X[k], y[k]).t


class AscendingOracle(BiasedLASVMOracle):
    """Fails as soon as a step does not raise the dual by what it should, or breaks a constraint."""

    n_moves = 0

    def _move(self, steps):
        (i, step), (j, opposite) = steps.items()
        assert step == -opposite
        assert step > 0.0
        before = self.dual_objective
        room = min(self.high[i] - self.alpha[i], self.alpha[j] - self.low[j])
        slope = self.g[i] - self.g[j]
        curvature = self.gram[i, i] + self.gram[j, j] - 2 * self.gram[i, j]
        best = min(slope / curvature, room) if curvature > 1e-9 else room
        assert step == pytest.approx(best)
        super()._move(steps)
        gained = self.dual_objective - before
        assert gained == pytest.approx(step * slope - 0.5 * step**2 * curvature, abs=1e-10)
        assert gained > 0.0
        assert np.sum(self.alpha) == pytest.approx(0.0, abs=1e-10)
        assert np.all((self.low <= self.alpha) & (self.alpha <= self.high))
        np.testing.assert_allclose(self.g, self.y - self.gram @ self.alpha, rtol=0, atol=1e-9)
        self.n_moves += 1


@pytest.mark.parametrize("second_order", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_every_step_raises_the_dual_and_keeps_the_constraints(kernel, second_order):
    X, y = noisy_problem(60)
    X[30:40] = X[:10]  # equal rows, some of them with opposite labels
    y[30:35] = -y[:5]
    oracle = AscendingOracle(C=2.0, kernel=kernel, gamma=0.7, degree=2, second_order=second_order)
    n_moves = 0
    for row, label in zip(X, y, strict=True):
        step = oracle.learn_one(row, label)
        n_moves += (step.processed is not None) + (step.reprocessed is not None)
    assert oracle.n_moves == n_moves > 20


class WatchedOracle(BiasedLASVMOracle):
    """Keeps the members as they were just before the last REPROCESS."""

    def reprocess(self, tol):
        names = ("ids", "y", "alpha", "g", "low", "high", "gram")
        self.before = {name: getattr(self, name).copy() for name in names}
        return super().reprocess(tol)


@pytest.mark.parametrize("second_order", [True, False])
def test_which_pairs_are_taken_and_who_leaves(second_order):
    X, y = noisy_problem(80)
    oracle = WatchedOracle(C=2.0, gamma=0.7, second_order=second_order)
    n_processed = n_reprocessed = n_removed = n_first_order = 0
    for row, label in zip(X, y, strict=True):
        # PROCESS, from the members there were
        down = {id: g for id, g, a, low in zip(oracle.ids, oracle.g, oracle.alpha, oracle.low, strict=True) if a > low}
        up = {id: g for id, g, a, high in zip(oracle.ids, oracle.g, oracle.alpha, oracle.high, strict=True) if a < high}
        g_new = label - oracle.expansion(row)[0]
        step = oracle.learn_one(row, label)
        partners = down if label > 0 else up
        if partners:
            # Of those that are tied but for rounding, the first: a step that is not clipped ends in a tie.
            sign = 1 if label > 0 else -1
            partner = list(partners)[first_tied(sign * np.array(list(partners.values())))]
            violation = (g_new - partners[partner]) * label
            assert (step.processed is not None) == (violation > oracle.tau)
            if step.processed:
                assert step.processed[:2] == ((step.t, partner) if label > 0 else (partner, step.t))
                n_processed += 1
        else:
            assert step.processed is None

        # REPROCESS, from the state that was there before it
        members = oracle.before
        if step.reprocessed is None:
            assert step.removed == []
            continue
        n_reprocessed += 1
        g, alpha, gram = members["g"], members["alpha"], members["gram"]
        slot = {id: k for k, id in enumerate(members["ids"])}
        i, j = slot[step.reprocessed[0]], slot[step.reprocessed[1]]
        can_fall = alpha > members["low"]
        assert g[i] == pytest.approx(g[alpha < members["high"]].max(), rel=1e-11)
        if second_order:
            gain = (g[i] - g) ** 2 / np.maximum(np.diag(gram) + gram[i, i] - 2 * gram[i], 1e-12)
            assert gain[j] == pytest.approx(gain[can_fall & (g < g[i])].max(), rel=1e-11)
            n_first_order += g[j] == g[can_fall].min()
        else:
            assert g[j] == pytest.approx(g[can_fall].min(), rel=1e-11)

        # who leaves, and the bias, from the state after the step
        lam = step.reprocessed[2]
        alpha = alpha + lam * (np.arange(len(g)) == i) - lam * (np.arange(len(g)) == j)
        alpha[np.abs(alpha) < 1e-12] = 0.0
        g = g - lam * (gram[i] - gram[j])
        g_max = g[alpha < members["high"] - 1e-12].max()
        g_min = g[alpha > members["low"] + 1e-12].min()
        leaves = (alpha == 0) & np.where(members["y"] > 0, g <= g_min, g >= g_max)
        assert step.removed == [id for id, gone in zip(members["ids"], leaves, strict=True) if gone]
        assert oracle.ids == [id for id, gone in zip(members["ids"], leaves, strict=True) if not gone]
        assert oracle.b == pytest.approx((g_max + g_min) / 2)
        n_removed += len(step.removed)
    assert min(n_processed, n_reprocessed, n_removed) > 10
    assert not second_order or n_first_order < n_reprocessed


@pytest.mark.parametrize("second_order", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_epochs_and_finish_converge_to_libsvm(seed, second_order):
    X, y = noisy_problem(60, seed=seed)
    oracle = BiasedLASVMOracle(C=2.0, gamma=0.7, tau=1e-4, second_order=second_order)
    epochs(oracle, X, y, 12)
    oracle.finish(1e-7)
    reference = SVC(C=2.0, gamma=0.7, tol=1e-8).fit(X, y)
    assert np.any(np.abs(reference.dual_coef_) < 2.0 - 1e-6)  # there are free SVs: the bias is determined
    np.testing.assert_allclose(oracle.decision(X), reference.decision_function(X), atol=2e-3)
    alpha = reference.dual_coef_.ravel()
    support = X[reference.support_]
    gram = np.exp(-0.7 * np.sum((support[:, None] - support[None]) ** 2, axis=2))
    best = y[reference.support_] @ alpha - 0.5 * alpha @ gram @ alpha
    assert oracle.dual_objective == pytest.approx(best, rel=1e-4)


def test_one_epoch_is_near_and_finish_brings_all_pairs_below_its_tolerance():
    X, y = noisy_problem(80)
    oracle = BiasedLASVMOracle(C=2.0, gamma=0.7)
    epochs(oracle, X, y, 1)
    g_max, g_min = extremes(oracle)
    assert g_max - g_min > 0.05
    left = oracle.finish(0.01)
    g_max, g_min = extremes(oracle)
    assert g_max - g_min <= 0.01
    assert oracle.b == pytest.approx((g_max + g_min) / 2)
    assert not set(left) & set(oracle.ids)
    agree = np.sign(oracle.decision(X)) == np.sign(SVC(C=2.0, gamma=0.7).fit(X, y).decision_function(X))
    assert agree.mean() >= 0.95


@pytest.mark.parametrize("label", [1, -1])
def test_one_class_only_accumulates_until_the_other_comes(label):
    X = noisy_problem(10)[0]
    oracle = BiasedLASVMOracle(C=2.0)
    assert oracle.decision(X[:1])[0] == 0.0
    for row in X[:9]:
        step = oracle.learn_one(row, label)
        assert step.processed is None
        assert step.reprocessed is None
    assert oracle.ids == list(range(1, 10))
    assert oracle.n_sv == 0
    np.testing.assert_array_equal(oracle.decision(X), label)
    step = oracle.learn_one(X[9], -label)
    assert step.processed is not None
    assert oracle.n_sv >= 2
    oracle.finish(1e-4)
    assert np.sign(oracle.decision(X[9:])[0]) == -label


def test_visits_of_members_do_not_insert_them_again():
    X, y = noisy_problem(30)
    oracle = BiasedLASVMOracle(C=2.0, gamma=0.7)
    epochs(oracle, X, y, 1)
    members, seen = list(oracle.ids), oracle.t
    step = oracle.relearn(members[0])
    assert step.t == members[0]
    assert step.processed is None
    assert set(oracle.ids) == set(members) - set(step.removed)
    assert oracle.t == seen
    with pytest.raises(ValueError, match="not a member"):
        oracle.relearn(1000)
