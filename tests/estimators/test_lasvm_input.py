"""LASVMClassifier: which examples it learns, their weights, and the forms in which they come."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC
from sklearn.utils import compute_sample_weight
from support import assert_same_estimator, blobs
from test_lasvm import GAMMA, alphas_of, new_model, noisy_rings

from frugalsvm import LASVMClassifier, TrackingSVC
from frugalsvm.dual.selective_sampling import PackedSupport
from frugalsvm.estimators.lasvm import VARIANTS


@pytest.fixture(scope="module")
def binary():
    return blobs(200, 3, 2, seed=0)


@pytest.fixture(scope="module")
def four():
    return blobs(200, 3, 4, seed=0)


@pytest.fixture(scope="module")
def bits():
    rng = np.random.default_rng(0)
    X = (rng.random((900, 40)) < 0.15).astype(np.float64)
    return X, (X[:, :20].sum(axis=1) > X[:, 20:].sum(axis=1)).astype(int)


class TestSelection:
    @pytest.mark.parametrize("selection", ["margin", "gradient"])
    @pytest.mark.parametrize("variant", ["g", "lasvm"])
    def test_few_chosen_examples(self, variant, selection):
        X, _, y = noisy_rings(600, 0.0, seed=1)
        settings = {"gamma": 4.0, "selection": selection, "pool_size": 20}
        chosen, again = (new_model(variant, 10.0, n_selected=80, **settings).fit(X, y) for _ in range(2))
        assert_same_estimator(chosen, again)
        assert (chosen.t_, chosen.n_admitted_[0]) == (80, 80)
        drawn = new_model(variant, 10.0, gamma=4.0).fit(X[:80], y[:80])
        assert chosen.score(X, y) > max(drawn.score(X, y) - 0.01, 0.9)
        assert chosen.n_support_[0] > 1.2 * drawn.n_support_[0]  # most of what was chosen matters
        assert new_model(variant, 10.0, n_selected=10**6, **settings).fit(X, y).t_ == 600

    def test_weight_0_is_never_chosen(self):
        X, _, y = noisy_rings(600, 0.0, seed=1)
        weights = (np.arange(600) % 3 == 0).astype(float)
        model = new_model(selection="margin", n_selected=50).fit(X, y, sample_weight=weights)
        assert model.t_ == 50

    def test_several_classes(self, four):
        X, y = four
        for selection in ("margin", "gradient"):
            model = new_model(selection=selection, n_selected=50).fit(X, y)
            assert (model.t_, model.decision_function(X).shape) == (50, (200, 4))

    def test_a_pool_of_one_is_a_random_order(self, binary):
        """Every row once, as often as there are passes."""
        model = new_model("full", selection="margin", pool_size=1, max_iter=2).fit(*binary)
        assert (model.t_, model.n_members_[0], model.n_iter_) == (400, 200, 2)

    def test_kernel_values_of_pools_are_counted(self, binary):
        """Those of each pool with the support vectors of that time: here, the first alone, then the first two."""
        X, y = binary
        models = [new_model("full", selection="margin", pool_size=size, n_selected=3).fit(X, y) for size in (1, 2, 20)]
        assert [model.n_support_[0] for model in models] == [3, 3, 3]
        counts = [model.n_kernel_evals_ for model in models]
        assert counts == [counts[0], counts[0] + 2 * (1 + 2), counts[0] + 20 * (1 + 2)]
        before = models[-1].n_kernel_evals_
        models[-1].predict(X)
        assert models[-1].n_kernel_evals_ == before  # that was no training

    @pytest.mark.parametrize(
        "model",
        [
            LASVMClassifier("g", 10.0, gamma=GAMMA, clean_every=5, max_idle=3),
            TrackingSVC(5, 10.0, gamma=GAMMA),
            TrackingSVC(5, 10.0, gamma=GAMMA, cached=True, average=False),
        ],
    )
    def test_pools_are_scored_with_the_present_support_vectors(self, four, model):
        """Whoever came and went, and whichever slots they left to others; the store grows on the way."""
        X, y = np.tile(four[0], (8, 1)), np.tile(four[1], 8)
        X = X + np.random.default_rng(0).normal(0.0, 0.5, X.shape)
        model = clone(model).set_params(random_state=0)
        support = None
        for start in range(0, len(X), 20):
            model.partial_fit(X[start : start + 20], y[start : start + 20], classes=range(4))
            members = model._solver.state.working_set
            support = support or PackedSupport(members)
            packed, expected = support.update(members, model._slot_coefficients()), model._expansion
            n = expected.counts[0]["n_slots"]
            assert packed.counts[0]["n_slots"] == n
            order, other = np.argsort(packed.births[:n]), np.argsort(expected.births[:n])
            np.testing.assert_array_equal(packed.rows[order], expected.rows[other])
            np.testing.assert_array_equal(packed.norms[order], expected.norms[other])
            np.testing.assert_allclose(packed.coef[:, order], expected.coef[:, other], rtol=1e-12, atol=1e-12)


class TestInput:
    def test_float32_stays(self, binary):
        X, y = binary
        model = new_model().fit(X.astype(np.float32), y)
        assert model.support_vectors_.dtype == np.float32
        assert (model.dual_coef_.dtype, model.decision_function(X).dtype) == (np.float64, np.float64)
        exact = new_model().fit(X.astype(np.float32).astype(float), y)
        np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=1e-2)
        assert model.partial_fit(X, y).support_vectors_.dtype == np.float32

    def test_sparse_rows(self, four):
        X, y = four
        X = np.where(np.abs(X) < 0.5, 0.0, X)
        dense, sparse = new_model().fit(X, y), new_model().fit(scipy.sparse.csr_matrix(X), y)
        np.testing.assert_array_equal(sparse.support_vectors_, dense.support_vectors_)
        values = sparse.decision_function(scipy.sparse.coo_array(X))
        np.testing.assert_allclose(values, dense.decision_function(X), rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_weight_0_is_as_if_it_were_not_there(self, four, variant):
        X, y = four
        keep = np.random.default_rng(0).random(200) < 0.6
        expected = new_model(variant).fit(X[keep], y[keep])
        assert_same_estimator(new_model(variant).fit(X, y, sample_weight=keep.astype(float)), expected)
        assert expected.t_ == keep.sum()

    @pytest.mark.parametrize("variant", ["full", "lasvm"])
    def test_weight_2_is_the_example_twice(self, binary, variant):
        """At the optimum: on the way there, it is one larger step instead of two."""
        X, y = binary
        weights = np.random.default_rng(0).integers(0, 3, 200)
        settings = {"max_iter": 10, "finish": True, "tol": 1e-9}
        weighted = new_model(variant, **settings).fit(X, y, sample_weight=weights)
        repeated = new_model(variant, **settings).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
        np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-7)

    def test_weights_are_factors_of_C(self, binary):
        """At the solution, as for SVC, and every coefficient is in its own box."""
        X, y = binary
        weights = np.random.default_rng(0).uniform(0.2, 5.0, 200)
        model = new_model("lasvm", max_iter=10).fit(X, y, sample_weight=weights)
        reference = SVC(gamma=GAMMA, tol=1e-6).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=1e-2)
        alphas = np.abs(alphas_of(model, X))
        assert (alphas <= weights).all()
        assert alphas.max() > 2

    @pytest.mark.parametrize("variant", ["g", "lasvm"])
    def test_class_weights_are_example_weights(self, binary, variant):
        X, y = binary
        expected = new_model(variant, finish=False).fit(X, y, sample_weight=np.where(y == 1, 3.0, 0.5))
        weighted = new_model(variant, finish=False, class_weight={0: 0.5, 1: 3.0})
        assert_same_estimator(clone(weighted).fit(X, y), expected)
        assert_same_estimator(clone(weighted).partial_fit(X, y), expected)
        balanced = new_model(variant, class_weight="balanced").fit(X, y)
        assert_same_estimator(balanced, new_model(variant).fit(X, y, compute_sample_weight("balanced", y)))
        assert expected.predict(X).sum() > new_model(variant, finish=False).fit(X, y).predict(X).sum()

    def test_not_fitted(self):
        for name in ("support_vectors_", "dual_coef_", "intercept_", "member_gap_", "n_support_", "n_members_", "t_"):
            with pytest.raises(NotFittedError):
                getattr(new_model(), name)
        with pytest.raises(NotFittedError):
            new_model().predict(np.zeros((1, 3)))

    def test_clones_have_the_parameters_and_nothing_else(self, binary):
        model = new_model("nc", s=-0.5, class_weight={0: 2.0}).fit(*binary)
        copy = clone(model)
        assert copy.get_params() == model.get_params()
        assert not hasattr(copy, "classes_")
        assert_same_estimator(copy.fit(*binary), model)


class TestManyZeros:
    """Rows that are mostly zero are taken feature by feature, whichever way they come."""

    # The original learns sparse rows with machine code of its own; rows of zeros and ones are the same for all.
    @pytest.mark.parametrize(
        "variant", [pytest.param(each, marks=pytest.mark.slow if each == "lasvm" else ()) for each in VARIANTS]
    )
    def test_dense_and_sparse(self, bits, variant):
        X, y = bits
        dense, sparse = (new_model(variant, 10.0, gamma=0.1).fit(rows, y) for rows in (X, scipy.sparse.csr_array(X)))
        assert_same_estimator(dense, sparse)

    @pytest.mark.parametrize("variant", ["g", "nc", "full"])
    def test_a_small_cache_changes_nothing(self, bits, variant):
        """The products of zeros and ones are exact, so a row that was evicted comes back the same."""
        X, y = bits
        large, small = (new_model(variant, 10.0, gamma=0.1, cache_size=size).fit(X, y) for size in (200, 0.1))
        assert small.n_kernel_evals_ > 1.1 * large.n_kernel_evals_
        np.testing.assert_array_equal(small.decision_function(X), large.decision_function(X))
