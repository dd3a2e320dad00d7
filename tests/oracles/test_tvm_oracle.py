"""Checks of the oracle of the Twin Vector Machine: the rules of its three routines, and what they keep."""

import numpy as np
import pytest

from .bsgd import kernel_matrix
from .test_exact_oracle import LIBSVM, svc_on_twins
from .tvm import TVM

BUDGET = 15
GAMMA = 1.35  # the paper's width of 0.37 for the standardised checkerboard
VARIANTS = {
    "default": {},
    "feature space": {"merge_space": "feature"},
    "global": {"one_sided": False},
    "no rejection": {"reject": None},
    "old twins": {"merge_newcomer": False},
}


def noisy_checkerboard(n=120, seed=0, noise=0.15):
    """4 x 4 fields, standardised."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 4.0, size=(n, 2))
    y = np.where(np.floor(X).sum(axis=1) % 2 == 0, 1, -1)
    return (X - 2.0) / np.sqrt(4.0 / 3.0), np.where(rng.random(n) < noise, -y, y)


def make_tvm(**changes):
    return TVM(**({"budget": BUDGET, "C0": 100.0, "gamma": GAMMA} | changes))


def weight_sums(tvm):
    return np.array([tvm.s_plus.sum(), tvm.s_minus.sum()])


def copy_of(tvm):
    return [row.copy() for row in tvm.rows], tvm.s_plus.copy(), tvm.s_minus.copy(), tvm.beta.copy(), tvm.b


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_step_keeps_its_promises(variant):
    tvm = make_tvm(**VARIANTS[variant])
    n_learned = {"added": 0, "replaced": 0, "merged": 0, "passed over": 0, "ignored": 0}
    for t, (x, y) in enumerate(zip(*noisy_checkerboard(), strict=True), start=1):
        f, values = tvm.decision(x)[0], tvm.decision(tvm.rows) if t > 1 else np.zeros(0)
        rows, s_plus, s_minus, *_ = before = copy_of(tvm)
        sums = weight_sums(tvm)
        step = tvm.learn(x, y)
        newcomer = np.array([1.0, 0.0] if y > 0 else [0.0, 1.0])
        n_learned[step.action] += 1

        assert step.f == f
        assert len(tvm.rows) == min(t, BUDGET)
        assert tvm.violation < 1e-8
        np.testing.assert_allclose(tvm.C * weight_sums(tvm).sum(), tvm.C0 * BUDGET)
        assert (step.action == "added") == (t <= BUDGET)
        if t > BUDGET:
            assert (step.action == "passed over") == (abs(f) > 1.0)
        if step.action in ("passed over", "ignored"):
            for old, new in zip(before, copy_of(tvm), strict=True):
                np.testing.assert_array_equal(old, new)
        if step.slot is not None:
            np.testing.assert_array_equal(tvm.rows[step.slot], x)
            assert [tvm.s_plus[step.slot], tvm.s_minus[step.slot]] == list(newcomer)
        if step.action == "replaced":
            assert abs(values[step.slot]) == np.abs(values).max() > 2.0
            gone = np.array([s_plus[step.slot], s_minus[step.slot]])
            np.testing.assert_array_equal(weight_sums(tvm), sums - gone + newcomer)
        elif step.action in ("merged", "ignored"):
            assert np.abs(values).max() <= 2.0
        if step.action in ("added", "merged"):
            np.testing.assert_array_equal(weight_sums(tvm), sums + newcomer)
        if step.action == "merged":
            assert step.trials[-1].accepted
            assert not any(trial.accepted for trial in step.trials[:-1])
            i, j = step.trials[-1][:2]
            assert step.merged_slot == i
            assert step.slot == (j if j < BUDGET else None)
            others = [k for k in range(BUDGET) if k not in (i, j)]
            np.testing.assert_array_equal([tvm.rows[k] for k in others], [rows[k] for k in others])
    assert n_learned["merged"] > 20
    assert n_learned["replaced"] > 0
    assert n_learned["passed over"] > 20


def printed_choice(rows, s, values, f, *, eta=0.2):
    """The pair by the default rules, from the formulas of section 4.2 (4.2.1, 4.2.3 and 4.2.4), and q_new."""
    distortions = {}
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            if np.sign(values[i]) == np.sign(values[j]):
                distortions[i, j] = s[i] * s[j] * np.sum((rows[i] - rows[j]) ** 2) / (s[i] + s[j])
    for i, j in sorted(distortions, key=distortions.get):
        q = (s[i] * rows[i] + s[j] * rows[j]) / (s[i] + s[j])
        ratio = f(q)[0] * (s[i] + s[j]) / (s[i] * values[i] + s[j] * values[j])
        if 1.0 - eta < ratio < 1.0 + eta:
            return i, j, q
    return None


@pytest.mark.parametrize("merge_newcomer", [True, False])
def test_the_pair_is_that_of_the_printed_formulas(merge_newcomer):
    tvm = make_tvm(merge_newcomer=merge_newcomer)
    n_merged = 0
    for x, y in zip(*noisy_checkerboard(120, seed=2), strict=True):
        if len(tvm.rows) == BUDGET:
            rows, s = list(tvm.rows), tvm.s_plus + tvm.s_minus
            expected = printed_choice(rows, s, tvm.decision(rows), tvm.decision)
            if merge_newcomer and expected is None:
                rows, s = [*rows, x], np.append(s, 1.0)
                expected = printed_choice(rows, s, tvm.decision(rows), tvm.decision)
        step = tvm.learn(x, y)
        if step.action == "merged":
            n_merged += 1
            assert step.trials[-1][:2] == expected[:2]
            np.testing.assert_allclose(tvm.rows[step.merged_slot], expected[2])
        elif step.action == "ignored":
            assert expected is None
    assert n_merged > 10


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_svm_of_the_weighted_twins(seed):
    tvm = make_tvm(C0=5.0)
    for x, y in zip(*noisy_checkerboard(150, seed=seed), strict=True):
        tvm.learn(x, y)
    assert np.any((tvm.s_plus > 0.0) & (tvm.s_minus > 0.0))
    K = kernel_matrix(tvm.rows, tvm.rows, kernel="rbf", gamma=GAMMA)
    beta, b = svc_on_twins(K, tvm.s_plus, tvm.s_minus, tvm.C)
    np.testing.assert_allclose(tvm.decision(tvm.rows), K @ beta + b, atol=5.0 * LIBSVM)


def test_merge_points_in_feature_space_are_nearest_to_the_mean():
    rng = np.random.default_rng(0)
    tvm = make_tvm(merge_space="feature")
    for _ in range(20):
        (q_i, q_j), (s_i, s_j) = rng.normal(size=(2, 2)), rng.integers(1, 9, size=2)
        q = tvm.merge_point(q_i, q_j, s_i, s_j)

        def distance(points, q_i=q_i, q_j=q_j, s_i=s_i, s_j=s_j):  # squared, to the mean, less a constant
            K = kernel_matrix(points, [q_i, q_j], kernel="rbf", gamma=GAMMA)
            return 1.0 - 2.0 * K @ [s_i, s_j] / (s_i + s_j)

        segment = np.linspace(0.0, 1.0, 2001)[:, None]
        nearby = q + 0.01 * rng.normal(size=(200, 2))
        assert distance(q)[0] <= distance(segment * q_i + (1.0 - segment) * q_j).min() + 1e-12
        assert distance(q)[0] <= distance(nearby).min() + 1e-12


def test_pairs_of_equal_distortion_are_taken_from_the_lowest_slots():
    tvm = make_tvm(budget=6, m1=np.inf, m2=np.inf, reject=None)
    for x in (0.0, 0.1, 5.0, 5.1, 10.0, 10.1):  # one class: f = 1 everywhere
        tvm.learn([x], 1)
    step = tvm.learn([20.0], 1)
    assert (step.merged_slot, step.slot) == (0, 1)
    np.testing.assert_allclose(np.ravel(tvm.rows), [0.05, 20.0, 5.0, 5.1, 10.0, 10.1])
    np.testing.assert_array_equal(tvm.s_plus, [2, 1, 1, 1, 1, 1])
    step = tvm.learn([20.1], 1)
    assert (step.merged_slot, step.slot) == (2, 3)  # tied with the newcomer and slot 1, which come last
    np.testing.assert_allclose(tvm.rows[2:4], [[5.05], [20.1]])


def test_one_class_goes_on_and_the_other_is_learned():
    X, y = noisy_checkerboard(150, seed=3)
    order = np.argsort(-y, kind="stable")
    tvm = make_tvm()
    for x, label in zip(X[order], y[order], strict=True):
        step = tvm.learn(x, label)
        assert tvm.violation < 1e-8
        if label > 0:
            assert step.action in ("added", "merged")
            assert np.all(tvm.decision(X) == 1.0)
    assert tvm.s_minus.sum() >= 5
    assert {-1.0, 1.0} == set(np.sign(tvm.decision(X)))


def test_no_deadlock():
    """Trying all pairs of old twins is not enough: refused once, they are for ever. A newcomer gets in at last."""
    X, y = noisy_checkerboard(400, seed=18)
    actions = {}
    for merge_newcomer in (True, False):
        tvm = make_tvm(merge_newcomer=merge_newcomer)
        actions[merge_newcomer] = [tvm.learn(row, label).action for row, label in zip(X, y, strict=True)][-200:]
    assert actions[True].count("ignored") == 0
    assert actions[True].count("merged") > 50
    assert set(actions[False]) == {"passed over", "ignored"}
