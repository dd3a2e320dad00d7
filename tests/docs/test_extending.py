"""The worked examples of docs/extending.rst: they are what the page shows, and they do what it says."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import frugalsvm
from frugalsvm import ASSETRegressor, BSGDClassifier, LASVMClassifier
from frugalsvm._compile import INTERPRETED
from frugalsvm.budgeted.sgd import run
from frugalsvm.checks import check_estimator
from frugalsvm.datasets import make_checkerboard
from frugalsvm.export import to_c
from frugalsvm.lowrank.losses.compiled import differentiate, total_losses
from frugalsvm.persist import register

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "extending"


def imported(name):
    """A module of the examples, imported once: Numba knows its parts from then on."""
    if name not in sys.modules:
        spec = spec_from_file_location(name, FOLDER / f"{name}.py")
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


def indices_of(vectors, X):
    """Which rows of X these are."""
    return {int(np.flatnonzero((vector == X).all(axis=1))[0]) for vector in vectors}


@pytest.fixture(scope="module")
def board():
    return make_checkerboard(4_000, random_state=0)


@pytest.fixture(scope="module")
def registered():
    """The kernel and the policy, by their names in the registries, for the tests of this file only."""
    from frugalsvm.budgeted.maintenance import POLICIES
    from frugalsvm.core.kernels import KERNELS

    kernel, policy = imported("cauchy_kernel").Cauchy, imported("remove_oldest").RemoveOldest
    assert KERNELS["cauchy"] is kernel
    assert POLICIES["oldest"] is policy
    yield
    del KERNELS["cauchy"], POLICIES["oldest"]
    del sys.modules["cauchy_kernel"], sys.modules["remove_oldest"]


@pytest.fixture(scope="module")
def model(board):
    """The worked example of an algorithm, fitted."""
    X, y = board
    return imported("passive_aggressive_two").PA2Classifier(50, C=1.0, gamma=8.0, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def sliding(registered, board):
    model = BSGDClassifier(kernel="cauchy", maintenance="oldest", budget=50, gamma=8.0, alpha=1e-3, shuffle=False)
    return model.fit(*board)


class TestKernelAndPolicy:
    """Together, so that they are compiled once."""

    def test_kernel_values_are_those_of_the_formula(self, sliding, board):
        rows = board[0][:200].astype(np.float64)
        squared_distances = ((rows[:, None] - sliding.support_vectors_[None]) ** 2).sum(axis=2)
        expected = (1.0 / (1.0 + 8.0 * squared_distances)) @ sliding.dual_coef_[0]
        np.testing.assert_allclose(sliding.decision_function(board[0][:200]), expected, rtol=1e-4, atol=1e-4)

    def test_the_youngest_stay(self, sliding, board):
        assert sliding.n_maintenance_ == sliding.n_updates_ - 50
        # What a model of a part of the stream held and the later one lost is older than all that stayed.
        X, y = board
        earlier = clone(sliding).fit(X[:3_990], y[:3_990])
        before, after = (indices_of(model.support_vectors_, X) for model in (earlier, sliding))
        lost, stayed = before - after, before & after
        assert lost
        assert stayed
        assert max(lost) < min(stayed)

    @pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
    def test_their_machine_code_is_not_kept_on_disk(self, sliding):
        # A process that cannot import these modules could not read the cache of the function at all.
        kept = run._cache._cache_file._load_index()
        assert len(run.overloads) > 0
        assert not [key for key in kept if "Cauchy" in str(key) or "RemoveOldest" in str(key)]

    def test_merging_refuses_the_kernel(self, registered, board):
        with pytest.raises(ValueError, match="kernel='rbf' only"):
            BSGDClassifier(kernel="cauchy").fit(*board)

    def test_exports_refuse_the_kernel(self, sliding, tmp_path):
        with pytest.raises(ValueError, match="Cauchy cannot be exported"):
            to_c(sliding, tmp_path)

    @pytest.mark.slow
    def test_the_dual_family_learns_with_the_kernel(self, registered, board):
        X, y = board
        model = LASVMClassifier(kernel="cauchy", C=100.0, gamma=8.0, random_state=0).fit(X[:2_000], y[:2_000])
        assert model.score(X[2_000:], y[2_000:]) > 0.95


@pytest.fixture(scope="module")
def huber():
    """The loss, by its name in the registry, for the tests of this file only."""
    from frugalsvm.lowrank.losses import LOSSES

    loss = imported("huber_loss").Huber
    assert LOSSES["huber"] is loss
    yield loss
    del LOSSES["huber"], sys.modules["huber_loss"]


@pytest.fixture(scope="module")
def outliers():
    """A curve, one of six points of which is far above it; rows, targets, and the curve itself."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(3_000, 1))
    curve = np.sin(2 * X[:, 0])
    y = curve + 0.1 * rng.normal(size=len(X))
    y[::6] += rng.uniform(2, 10, len(y[::6]))
    return X, y, curve


class TestLoss:
    REGRESSOR = ASSETRegressor(n_components=64, C=10.0, gamma=1.0, epsilon=0.2, random_state=0)

    def fitted(self, loss, outliers):
        X, y, _ = outliers
        return clone(self.REGRESSOR).set_params(loss=loss).fit(X, y)

    def test_both_forms_are_the_formula(self, huber):
        errors = np.linspace(-1, 1, 41, dtype=np.float32)
        scores, weights = errors + np.float32(0.5), np.ones(41, np.float32)
        targets = np.full(41, 0.5, np.float32)
        expected = np.where(np.abs(errors) < 0.2, errors**2 / 2, 0.2 * (np.abs(errors) - 0.1))
        loss = huber(0.2)
        np.testing.assert_allclose(loss.values(np, targets, scores), expected, atol=1e-6)
        total, (slopes, curvatures) = np.empty(1), np.empty((2, 1, 41), np.float32)
        total_losses(loss, targets[None], scores[None], weights, 0, 41, total)
        assert total[0] == pytest.approx(expected.sum(), rel=1e-6)
        differentiate(loss, 0.1, 0.0, targets[None], scores[None], weights, 0, 41, slopes, curvatures)
        for found in ((slopes[0], curvatures[0]), loss.derivatives(np, 0.1, targets, scores)):
            np.testing.assert_allclose(found[0], np.clip(errors, -0.2, 0.2), atol=1e-6)
            inside = np.abs(np.abs(errors) - 0.2) > 1e-3  # at the ends, rounding decides
            np.testing.assert_array_equal(found[1][inside], (np.abs(errors) < 0.2)[inside])

    def test_outliers_count_little(self, huber, outliers):
        X, _, curve = outliers
        robust, squares = (self.fitted(loss, outliers) for loss in ("huber", "squared_epsilon_insensitive"))
        assert np.abs(robust.predict(X) - curve).mean() < 0.1
        assert np.abs(squares.predict(X) - curve).mean() > 0.5

    def test_duality_tells_that_it_is_solved(self, huber, outliers):
        model = self.fitted("huber", outliers)
        assert 0 <= model.suboptimality_bound_ < 0.01 * model.objective_

    def test_it_learns_streams_and_is_saved(self, huber, outliers, tmp_path):
        X, y, curve = outliers
        model = self.fitted("huber", outliers).partial_fit(X, y)
        assert np.abs(model.predict(X) - curve).mean() < 0.2
        register(huber)
        frugalsvm.save(model, tmp_path / "model.frugal")
        np.testing.assert_array_equal(frugalsvm.load(tmp_path / "model.frugal").predict(X), model.predict(X))

    def test_classifiers_refuse_it(self, huber, board):
        with pytest.raises(ValueError, match="is not one of 'hinge', 'squared_hinge'"):
            frugalsvm.ASSETClassifier(loss="huber").fit(*board)


class TestAlgorithm:
    def test_it_learns(self, model):
        assert model.support_vectors_.shape == (50, 2)
        assert model.score(*make_checkerboard(2_000, random_state=1)) > 0.85

    def test_the_first_step_is_that_of_the_formula(self, model):
        first = clone(model).partial_fit(np.array([[0.5, 0.5]], np.float32), [1], classes=[-1, 1])
        assert first.dual_coef_[0, 0] == pytest.approx(1.0 / (1.0 + 0.5))

    def test_a_model_file_holds_it(self, model, tmp_path, board):
        frugalsvm.save(model, tmp_path / "model.frugal")
        again = frugalsvm.load(tmp_path / "model.frugal")
        np.testing.assert_array_equal(again.decision_function(board[0]), model.decision_function(board[0]))

    @pytest.mark.slow
    def test_it_keeps_the_promises_of_all_estimators(self):
        check_estimator(imported("passive_aggressive_two").PA2Classifier(20, gamma=0.5, random_state=0))

    @pytest.mark.slow
    def test_sparse_rows(self, model, board):
        X, y = board
        sparse = clone(model).fit(csr_array(X[:1_000]), y[:1_000])
        dense = clone(model).fit(X[:1_000], y[:1_000])
        np.testing.assert_allclose(sparse.decision_function(X), dense.decision_function(X), rtol=1e-3, atol=1e-3)
