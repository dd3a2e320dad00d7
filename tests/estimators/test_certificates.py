"""Certificates are true sentences about the training problem: each against plain NumPy in float64."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import SVC
from support import blobs

from frugalsvm import (
    ASSETClassifier,
    ASSETRegressor,
    BSGDClassifier,
    IncrementalSVC,
    LASVMClassifier,
    TrackingSVC,
    TVMClassifier,
)
from frugalsvm.datasets import make_checkerboard
from frugalsvm.exact.incremental import REFRESH

GAMMA = 0.5


def rbf(A, B, gamma=GAMMA):
    A, B = np.asarray(A, np.float64), np.asarray(B, np.float64)
    return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def signs_of(model, y):
    """Labels +1 and -1, a row for each output."""
    if len(model.classes_) == 2:
        return np.where(y == model.classes_[1], 1.0, -1.0)[None]
    return np.where(y[None] == model.classes_[:, None], 1.0, -1.0)


def primal_and_dual(model, X, y, weights=1.0, C=None):
    """The objectives of the hinge loss on these rows, summed over outputs, from what the model publishes."""
    C = getattr(model, "C_", model.C) if C is None else C
    vectors, primal, dual = model.support_vectors_, 0.0, 0.0
    for alpha, bias, signs in zip(model.dual_coef_, model.intercept_, signs_of(model, y), strict=True):
        size = alpha @ rbf(vectors, vectors, model.gamma_) @ alpha
        f = rbf(X, vectors, model.gamma_) @ alpha + bias
        primal += 0.5 * size + C * np.sum(weights * np.maximum(0.0, 1.0 - signs * f))
        dual += np.abs(alpha).sum() - 0.5 * size  # alpha y is not negative
    return primal, dual


def largest_dual(X, signs, boxes, n_sweeps=2000):
    """The optimum without a bias, by coordinate steps."""
    gram, beta = rbf(X, X), np.zeros(len(X))
    f = np.zeros(len(X))
    for _ in range(n_sweeps):
        before = beta.copy()
        for i in range(len(X)):
            low, high = (0.0, boxes[i]) if signs[i] > 0 else (-boxes[i], 0.0)
            step = min(max(beta[i] + signs[i] - f[i], low), high) - beta[i]
            beta[i] += step
            f += step * gram[i]
        if np.abs(beta - before).max() < 1e-10:
            break
    return beta @ signs - 0.5 * beta @ f


@pytest.fixture(scope="module")
def best():
    """The optimum of the problem of `TestDualityGap` for C = 5."""
    X, y = TestDualityGap.X, TestDualityGap.Y
    return largest_dual(X, np.where(y == 1, 1.0, -1.0), np.full(len(y), 5.0))


class TestDualityGap:
    """Of `LASVMClassifier` and `TrackingSVC`."""

    X, Y = blobs(300, 3, 2, seed=0)

    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("variant", ["g", "full", "i", "lasvm"])
    def test_it_is_primal_minus_dual_on_all_rows(self, variant, n_classes):
        X, y = blobs(300, 3, n_classes, seed=0)
        model = LASVMClassifier(variant, C=10.0, gamma=GAMMA, clean_every=50, max_idle=5, random_state=0).fit(X, y)
        primal, dual = primal_and_dual(model, X, y)
        assert model.duality_gap(X, y) == pytest.approx(primal - dual, rel=1e-9)

    def test_the_gap_over_members_is_smaller(self):
        """Which made it no bound: dismissed examples have losses, too."""
        X, y = make_checkerboard(1500, noise=0.1, random_state=0, dtype=np.float64)
        model = LASVMClassifier("i", C=100.0, gamma=8.0, finish=True, random_state=0).fit(X, y)
        assert model.member_gap_ < 10 < 1000 < model.duality_gap(X, y)

    @pytest.mark.parametrize("finish", [False, True])
    @pytest.mark.parametrize("variant", ["g", "full", "i"])
    def test_it_bounds_the_distance_to_the_optimum(self, best, variant, finish):
        X, y, C = self.X, self.Y, 5.0
        model = LASVMClassifier(variant, C=C, gamma=GAMMA, finish=finish, random_state=0).fit(X, y)
        primal, dual = primal_and_dual(model, X, y)
        gap = model.duality_gap(X, y)
        assert primal - best <= gap + 1e-6
        assert best - dual <= gap + 1e-6

    def test_weights(self):
        X, y = self.X, self.Y
        weights = np.random.default_rng(0).uniform(0.0, 3.0, len(y)) * (np.arange(len(y)) % 5 > 0)
        model = LASVMClassifier("full", C=2.0, gamma=GAMMA, class_weight={0: 2.0}, random_state=0)
        model.fit(X, y, sample_weight=weights)
        primal, dual = primal_and_dual(model, X, y, weights * np.where(y == 0, 2.0, 1.0))
        assert model.duality_gap(X, y, weights) == pytest.approx(primal - dual, rel=1e-9)
        balanced = LASVMClassifier(C=2.0, gamma=GAMMA, class_weight="balanced", random_state=0).fit(X, y)
        primal, dual = primal_and_dual(balanced, X, y, len(y) / (2.0 * np.bincount(y))[y])
        assert balanced.duality_gap(X, y) == pytest.approx(primal - dual, rel=1e-9)

    def test_sparse_and_float32_rows(self):
        X, y = self.X.copy(), self.Y
        X[np.abs(X[:, 1]) < 1.0, 1] = 0.0  # no two rows are equal: their coefficients would count together
        for rows in (csr_array(X), X.astype(np.float32)):
            model = LASVMClassifier(C=10.0, gamma=GAMMA, random_state=0).fit(rows, y)
            same = X.astype(rows.dtype)
            primal, dual = primal_and_dual(model, same, y)
            assert model.duality_gap(csr_array(same), y) == pytest.approx(primal - dual, rel=1e-9)
            assert model.duality_gap(same, y) == pytest.approx(primal - dual, rel=1e-9)

    def test_equal_rows_count_together(self):
        X, y = np.repeat(self.X[:60], 3, axis=0), np.repeat(self.Y[:60], 3)
        y[::9] = 1 - y[::9]  # the same row with both labels
        best = largest_dual(X, np.where(y == 1, 1.0, -1.0), np.full(len(y), 1.0))
        model = LASVMClassifier("full", tol=1e-8, finish=True, gamma=GAMMA, random_state=0).fit(X, y)
        primal, _ = primal_and_dual(model, X, y)
        assert -1e-6 <= primal - best <= model.duality_gap(X, y) + 1e-6
        assert model.duality_gap(X, y) < 1e-3 * best

    def test_rows_that_came_in_batches(self):
        model = LASVMClassifier(C=10.0, gamma=GAMMA).partial_fit(self.X[:100], self.Y[:100])
        model.partial_fit(self.X[100:], self.Y[100:])
        primal, dual = primal_and_dual(model, self.X, self.Y)
        assert model.duality_gap(self.X, self.Y) == pytest.approx(primal - dual, rel=1e-9)

    def test_refusals(self):
        X, y = self.X, self.Y
        model = LASVMClassifier(C=10.0, gamma=GAMMA, random_state=0).fit(X, y)
        with pytest.raises(ValueError, match=r"all rows that the model has learned.*support vectors are not among"):
            model.duality_gap(X[:200], y[:200])
        with pytest.raises(ValueError, match=r"same weights and C: .* coefficients are larger than C"):
            model.duality_gap(X, 1 - y)
        with pytest.raises(ValueError, match="same weights and C"):
            model.set_params(C=1.0).duality_gap(X, y)
        with pytest.raises(ValueError, match="variant='nc' minimizes the ramp loss, which is not convex"):
            LASVMClassifier("nc", gamma=GAMMA).fit(X, y).duality_gap(X, y)

    def test_the_old_name_warns_where_it_was_no_bound(self):
        X, y = self.X, self.Y
        model = LASVMClassifier(C=10.0, gamma=GAMMA, random_state=0).fit(X, y)
        with pytest.warns(FutureWarning, match=r"now called member_gap_, and duality_gap\(X, y\) is such a bound"):
            assert model.duality_gap_ == model.member_gap_
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            full = LASVMClassifier("full", C=10.0, gamma=GAMMA, random_state=0).fit(X, y)
            assert full.duality_gap_ == pytest.approx(full.duality_gap(X, y), rel=1e-8)

    def test_float32_members_round(self):
        X, y = self.X.astype(np.float32), self.Y
        model = LASVMClassifier("full", C=10.0, gamma=GAMMA, finish=True, random_state=0).fit(X, y)
        assert model.duality_gap_ == pytest.approx(model.duality_gap(X, y), abs=1e-5 * model.C * len(y))


class TestTracking:
    X, Y = blobs(120, 3, 2, seed=1)

    @pytest.mark.parametrize("average", [False, True])
    def test_gap(self, average):
        X, y = self.X, self.Y
        model = TrackingSVC(3, C=10.0, gamma=GAMMA, average=average, random_state=0).fit(X, y)
        primal, dual = primal_and_dual(model, X, y)  # of the mean iterate, if average
        assert model.duality_gap(X, y) == pytest.approx(primal - dual, rel=1e-9)
        model.average = False
        primal, dual = primal_and_dual(model, X, y)
        assert model.duality_gap_ == pytest.approx(primal - dual, rel=1e-9)
        assert model.normalized_gap_ == pytest.approx((primal - dual) / (10.0 * len(y)), rel=1e-9)

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_the_mean_is_that_of_all_moments(self, n_classes):
        X, y = blobs(60, 3, n_classes, seed=1)
        y[:n_classes] = range(n_classes)
        model, gaps = TrackingSVC(3, C=2.0, gamma=GAMMA, average=False, random_state=0), []
        for t in range(1, len(y) + 1):
            model.partial_fit(X[t - 1 : t], y[t - 1 : t], classes=range(n_classes))
            primal, dual = primal_and_dual(model, X[:t], y[:t])
            gaps.append((primal - dual) / (2.0 * t * len(model.dual_coef_)))
        assert model.mean_normalized_gap_ == pytest.approx(np.mean(gaps), rel=1e-8)
        assert model.normalized_gap_ == pytest.approx(gaps[-1], rel=1e-8)

    def test_without_the_forgotten_there_is_no_bound(self):
        model = TrackingSVC(3, C=10.0, gamma=GAMMA, cached=True, random_state=0).fit(self.X, self.Y)
        with pytest.warns(FutureWarning, match="over the members only"):
            gap = model.duality_gap_
        model.average = False
        assert gap == model.member_gap_ < model.duality_gap(self.X, self.Y)


def worst_violation(betas, lo, kinks, hi, f):
    """How far decision values are from those that coefficients in [lo, kink] and [kink, hi] demand.

    The hinge loss of an example that stands for weights of both classes has its kinks at f = 1 and f = -1.
    """
    near = 1e-9 * np.abs(betas).max()
    at_least = np.where(betas < kinks - near, 1.0, np.where(betas < hi - near, -1.0, -np.inf))
    at_most = np.where(betas > kinks + near, -1.0, np.where(betas > lo + near, 1.0, np.inf))
    return max(0.0, float((at_least - f).max()), float((f - at_most).max()))


class TestIncremental:
    X, Y = blobs(150, 3, 2, seed=2)

    def learned(self, **settings):
        model = IncrementalSVC(C=2.0, gamma=GAMMA, **settings).fit(self.X, self.Y)
        return model.unlearn(np.arange(0, 150, 7)).set_C(5.0)

    def test_violation_and_objective(self):
        model = self.learned()
        kept = np.delete(np.arange(150), np.arange(0, 150, 7))
        X, signs = self.X[kept], np.where(self.Y[kept] == 1, 1.0, -1.0)
        betas = np.zeros(150)
        betas[model.support_] = model.dual_coef_[0]
        betas = betas[kept]
        g = rbf(X, X) @ betas
        lo, hi = np.where(signs > 0, 0.0, -5.0), np.where(signs > 0, 5.0, 0.0)
        direct = worst_violation(betas, lo, np.where(signs > 0, hi, lo), hi, g + model.intercept_[0])
        assert direct + abs(betas.sum()) == pytest.approx(model.kkt_violation_, abs=1e-12)
        assert model.kkt_violation_ < 1e-9
        assert model.dual_objective_ == pytest.approx(np.abs(betas).sum() - 0.5 * betas @ g, rel=1e-12)
        assert model.drift_ < 1e-9

    def test_a_violation_shows(self):
        model = self.learned()
        state = model._solvers[0].state
        inside = state.margin_slots[0]
        state.scores[inside] += 1e-3
        assert model.kkt_violation_ == pytest.approx(1e-3, rel=1e-3)

    def test_drift_is_the_error_that_was_found_when_all_was_computed_anew(self):
        model = self.learned()  # and unlearned: empty slots have no decision value that could be wrong
        state = model._solvers[0].state
        state.scores[1] += 1e-6
        state.counts[0]["n_since_refresh"] = REFRESH
        model.partial_fit(self.X[:1], self.Y[:1])
        assert model.drift_ == pytest.approx(1e-6, rel=1e-2)
        assert model.kkt_violation_ < 1e-9

    def test_leave_one_out(self):
        X, y = self.X[:40], self.Y[:40]
        model = IncrementalSVC(C=2.0, gamma=GAMMA).fit(X, y)
        wrong = 0
        for i in range(40):
            others = np.arange(40) != i
            peer = SVC(C=2.0, gamma=GAMMA, tol=1e-8).fit(X[others], y[others])
            wrong += peer.predict(X[i : i + 1])[0] != y[i]
        assert model.loo_error_ == wrong / 40


class TestTVM:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_violation_on_the_twins(self, n_classes):
        X, y = blobs(400, 3, n_classes, seed=3)
        model = TVMClassifier(budget=20, gamma=GAMMA, random_state=0).fit(X, y)
        vectors = model.twin_vectors_ if n_classes > 2 else [model.twin_vectors_]
        weights = model.twin_weights_ if n_classes > 2 else [model.twin_weights_]
        worst, start = 0.0, 0
        for k, (rows, (minus, plus)) in enumerate(zip(vectors, (w.T for w in weights), strict=True)):
            betas = model.dual_coef_[k, start : start + len(rows)]
            start += len(rows)
            f = rbf(rows, rows) @ betas + model.intercept_[k]
            C = model.C_[k]
            violation = worst_violation(betas, -C * minus, C * (plus - minus), C * plus, f)
            worst = max(worst, violation + abs(betas.sum()))
            assert C * (minus.sum() + plus.sum()) == pytest.approx(model.C * model.budget, rel=1e-9)
        assert model.kkt_violation_ == pytest.approx(worst, abs=1e-9)
        assert model.kkt_violation_ < 1e-8
        assert model.drift_ < 1e-8


class TestGradientError:
    """Of `BSGDClassifier`: what maintenance took, measured as the norm between a model and that without maintenance."""

    @pytest.mark.parametrize("maintenance", ["remove", "project", "merge"])
    def test_it_is_the_mean_norm_over_the_step_size(self, maintenance):
        X, y = blobs(80, 2, 2, seed=4)
        y[:2] = 0, 1
        alpha, errors = 0.05, []
        model = BSGDClassifier("pegasos", maintenance, 8, alpha=alpha, gamma=GAMMA, random_state=0)
        vectors, coef = np.zeros((0, 2)), np.zeros(0)
        for t in range(1, len(y) + 1):
            eta, sign = 1.0 / (alpha * t), 2.0 * y[t - 1] - 1.0
            row = X[t - 1 : t]
            margin = sign * float(rbf(row, vectors)[0] @ coef)
            coef = (1.0 - eta * alpha) * coef
            if margin < 1.0:
                vectors, coef = np.concatenate([vectors, row]), np.append(coef, eta * sign)
            model.partial_fit(row, y[t - 1 : t], classes=[0, 1])
            kept, own = model.support_vectors_, model.dual_coef_[0]
            both, difference = np.concatenate([vectors, kept]), np.concatenate([coef, -own])
            errors.append(np.sqrt(max(difference @ rbf(both, both) @ difference, 0.0)) / eta)
            vectors, coef = kept, own
        assert model.n_maintenance_ > 10
        assert model.gradient_error_ == pytest.approx(np.mean(errors), rel=1e-6, abs=1e-7)
        if maintenance == "remove":  # one for each
            assert model.gradient_error_ == pytest.approx(model.n_maintenance_ / len(y))


def low_rank_problem(model, X):
    """Features whose inner product is the kernel of a machine, in float64."""
    values = rbf(X, model.landmarks_, model.gamma_)
    return values, np.linalg.pinv(rbf(model.landmarks_, model.landmarks_, model.gamma_), rcond=1e-9, hermitian=True)


LOW_RANK = {"n_components": 20, "gamma": GAMMA, "random_state": 0}


class TestSuboptimalityBound:
    """Of `ASSETClassifier` and `ASSETRegressor`."""

    def objective_of(self, model, X, losses):
        penalty = 1.0 / (model.C * len(X))
        sizes = [a @ rbf(model.landmarks_, model.landmarks_) @ a for a in model.dual_coef_]
        return sum(0.5 * penalty * size + loss.mean() for size, loss in zip(sizes, losses, strict=True))

    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("settings", [{}, {"tol": 1e-5}, {"solver": "asset"}, {"max_iter": 1}, {"memory": "1KB"}])
    def test_the_optimum_is_between_bound_and_objective(self, settings, n_classes):
        X, y = blobs(600, 3, n_classes, seed=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ASSETClassifier(C=3.0, **LOW_RANK, **settings).fit(X, y)
        f = rbf(X, model.landmarks_) @ model.dual_coef_.T + model.intercept_
        losses = np.maximum(0.0, 1.0 - signs_of(model, y) * f.T)
        assert model.objective_ == pytest.approx(self.objective_of(model, X, losses), rel=1e-4)
        values, inverse = low_rank_problem(model, X)
        best = 0.0
        for signs in signs_of(model, y):
            peer = SVC(C=3.0, kernel="precomputed", tol=1e-6).fit(values @ inverse @ values.T, signs)
            alpha, support = peer.dual_coef_[0], peer.support_
            w = values[support].T @ alpha
            loss = np.maximum(0.0, 1.0 - signs * (values @ inverse @ w + peer.intercept_[0]))
            best += 0.5 * (w @ inverse @ w) / (3.0 * len(X)) + loss.mean()
        assert model.objective_ - model.suboptimality_bound_ <= best * (1 + 1e-5)
        assert best <= model.objective_ * (1 + 1e-4)

    def test_weights(self):
        X, y = blobs(600, 3, 2, seed=5)
        weights = np.random.default_rng(0).integers(0, 3, len(y))
        model = ASSETClassifier(C=3.0, **LOW_RANK).fit(X, y, sample_weight=weights)
        known = weights > 0  # rows of weight 0 are as if they were not there
        f = rbf(X[known], model.landmarks_) @ model.dual_coef_[0] + model.intercept_[0]
        losses = weights[known] * np.maximum(0.0, 1.0 - signs_of(model, y[known])[0] * f)
        assert model.objective_ == pytest.approx(self.objective_of(model, X[known], [losses]), rel=1e-4)

    @pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
    def test_regression(self, loss):
        X, _ = blobs(600, 3, 2, seed=5)
        y = np.sin(X[:, 0]) * X[:, 1]
        rough, fine = (
            ASSETRegressor(C=3.0, epsilon=0.05, loss=loss, tol=tol, **LOW_RANK).fit(X, y) for tol in (1e-1, 1e-6)
        )
        for model in (rough, fine):
            beyond = np.maximum(np.abs(rbf(X, model.landmarks_) @ model.dual_coef_[0] + model.intercept_ - y) - 0.05, 0)
            losses = beyond if loss == "epsilon_insensitive" else np.square(beyond)
            scale = model.objective_ / self.objective_of(model, X, [losses])
            assert scale == pytest.approx(1.0, rel=1e-4)
            assert rough.objective_ - rough.suboptimality_bound_ <= model.objective_ * (1 + 1e-5)
