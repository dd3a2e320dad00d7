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
from frugalsvm.budgeted.sgd import run
from frugalsvm.checks import check_estimator
from frugalsvm.compiling.crew import ALONE
from frugalsvm.compiling.functions import INTERPRETED
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
        kept = run._cache._on_disk._cache_file._load_index()
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
def expectile():
    """The loss, by its name in the registry, for the tests of this file only."""
    from frugalsvm.lowrank.losses import LOSSES

    loss = imported("expectile_loss").Expectile
    assert LOSSES["expectile"] is loss
    yield loss
    del LOSSES["expectile"], sys.modules["expectile_loss"]


@pytest.fixture(scope="module")
def noisy():
    """Rows of a curve with noise, and targets."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(3_000, 1))
    return X, np.sin(2 * X[:, 0]) + 0.5 * rng.normal(size=len(X))


class TestLoss:
    REGRESSOR = ASSETRegressor(n_components=64, C=10.0, gamma=1.0, loss="expectile", random_state=0)

    def test_both_forms_are_the_formula(self, expectile):
        errors = np.linspace(-1, 1, 40, dtype=np.float32)
        scores, weights = errors + np.float32(0.5), np.ones(40, np.float32)
        targets = np.full(40, 0.5, np.float32)
        shares = np.where(errors > 0, 0.1, 0.9)
        loss = expectile()
        np.testing.assert_allclose(loss.values(np, targets, scores), shares * errors**2, atol=1e-6)
        total, (slopes, curvatures) = np.empty((1, 1)), np.empty((2, 1, 40), np.float32)
        edges = np.array([0, 40])
        total_losses(ALONE, loss, targets[None], scores[None], weights, edges, total)
        assert total[0, 0] == pytest.approx((shares * errors**2).sum(), rel=1e-5)
        differentiate(ALONE, loss, 0.1, 0.0, targets[None], scores[None], weights, edges, slopes, curvatures)
        for found in ((slopes[0], curvatures[0]), loss.derivatives(np, 0.1, targets, scores)):
            np.testing.assert_allclose(found[0], 2 * shares * errors, atol=1e-6)
            np.testing.assert_allclose(found[1], 2 * shares, atol=1e-6)

    def test_errors_above_and_below_are_in_balance(self, expectile, noisy):
        X, y = noisy
        errors = y - clone(self.REGRESSOR).set_params(tol=1e-6).fit(X, y).predict(X)
        above, below = errors[errors > 0].sum(), -errors[errors < 0].sum()
        assert 0.9 * above == pytest.approx(0.1 * below, rel=0.01)

    def test_duality_tells_that_it_is_solved(self, expectile, noisy):
        model = clone(self.REGRESSOR).fit(*noisy)
        assert 0 <= model.suboptimality_bound_ < 0.01 * model.objective_

    def test_it_is_saved_with_a_stream(self, expectile, noisy, tmp_path):
        X, y = noisy
        model = clone(self.REGRESSOR).partial_fit(X, y)
        register(expectile)
        frugalsvm.save(model, tmp_path / "model.frugal")
        np.testing.assert_array_equal(frugalsvm.load(tmp_path / "model.frugal").predict(X), model.predict(X))

    def test_classifiers_refuse_it(self, expectile, board):
        with pytest.raises(ValueError, match="is not one of 'hinge', 'squared_hinge'"):
            frugalsvm.ASSETClassifier(loss="expectile").fit(*board)


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
