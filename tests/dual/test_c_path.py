"""A path of C with cross-validation: the values out of fold are those of machines that are fitted one by one."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.svm import SVC
from support import blobs

from frugalsvm import LASVMClassifier
from frugalsvm.core.kernels import RBF, Laplacian
from frugalsvm.core.outputs import signs
from frugalsvm.dual.c_path import out_of_fold_values
from frugalsvm.persist import load, save

ALL_C = [0.5, 2.0, 8.0]
CACHE = 2**22


def some_rows(n_classes, n_rows=120):
    X, y = blobs(n_rows, 3, n_classes, seed=1)
    folds = np.arange(n_rows) % 3
    folds[:2] = -1  # always learned
    return X, y, signs(y, 1 if n_classes == 2 else n_classes), folds


def fitted_apart(X, labels, weights, C, out):
    """Decision values of some rows by an exact machine of the others, without a bias."""
    model = LASVMClassifier("full", C=C, gamma=0.5, finish=True, tol=1e-9, max_iter=3, random_state=0)
    learned = ~out
    model.fit(X[learned], labels[learned], None if weights is None else weights[learned])
    return model.decision_function(X[out])


def path(kernel, X, labels, weights, folds, cache_bytes=CACHE):
    return out_of_fold_values(kernel, X, labels, weights, ALL_C, folds, cache_bytes, tol=1e-9, share=1e-9)


@pytest.mark.parametrize(("n_classes", "weighted"), [(2, False), (2, True), (3, False)])
def test_values_out_of_fold_are_those_of_machines_fitted_one_by_one(n_classes, weighted):
    X, _, labels, folds = some_rows(n_classes)
    weights = np.random.default_rng(0).uniform(0.2, 2.0, len(X)) if weighted else None
    found = path(RBF(0.5), X, labels, weights, folds)
    for C, values in zip(ALL_C, found, strict=True):
        for fold in range(3):
            out = folds == fold
            for own, each in zip(labels, values, strict=True):
                np.testing.assert_allclose(each[out], fitted_apart(X, own, weights, C, out), atol=1e-5)


def test_kernel_rows_that_do_not_fit_into_the_cache_are_computed_again():
    X, _, labels, folds = some_rows(2)
    whole, little = (path(RBF(0.5), X, labels, None, folds, n) for n in (CACHE, 8 * 128 * 5))
    np.testing.assert_allclose(little, whole, atol=1e-6)


@pytest.mark.parametrize("kernel", [RBF(0.5), Laplacian(0.5)])
@pytest.mark.parametrize("sparse", [csr_matrix, csr_array])
def test_sparse_rows_give_the_same(kernel, sparse):
    X, _, labels, folds = some_rows(2)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, found = path(kernel, X, labels, None, folds), path(kernel, sparse(X), labels, None, folds)
    np.testing.assert_allclose(found, dense, atol=1e-6)


def test_the_gap_of_lasvm_is_precise_enough_to_choose():
    X, y, labels, folds = some_rows(2, 600)
    rough = out_of_fold_values(RBF(0.5), X, labels, None, ALL_C, folds, 2**24)
    exact = path(RBF(0.5), X, labels, None, folds, 2**24)
    for own, best in zip(rough[:, 0], exact[:, 0], strict=True):
        assert np.mean((own > 0) != (best > 0)) < 0.02
    assert abs(np.mean((rough[0, 0] > 0) == y) - np.mean((exact[0, 0] > 0) == y)) < 0.01


# --- the estimator ------------------------------------------------------------------------------------------


def noisy_board(n_rows=900):
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, 2))
    y = np.floor(3 * X).sum(axis=1).astype(int) % 2
    return X, np.where(rng.random(n_rows) < 0.1, 1 - y, y)


def test_a_list_of_C_gives_the_model_of_the_best_one(tmp_path):
    X, y = noisy_board()
    model = LASVMClassifier(C=[100.0, 0.01, 1.0], gamma=20.0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.path_["C"], [0.01, 1.0, 100.0])
    assert model.path_["C"][model.path_["validation_score"].argmax()] == model.C_
    alone = LASVMClassifier(C=model.C_, gamma=20.0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
    save(model, tmp_path / "model.frugal")
    again = load(tmp_path / "model.frugal")
    assert again.C_ == model.C_
    np.testing.assert_array_equal(again.path_["validation_score"], model.path_["validation_score"])


def test_scores_of_a_path_are_like_those_of_a_search():
    X, y = noisy_board()
    model = LASVMClassifier(C=[1.0, 10.0, 100.0], gamma=20.0, random_state=0).fit(X, y)
    rng = np.random.default_rng(1).permutation(len(y))
    for C, score in zip(model.path_["C"], model.path_["validation_score"], strict=True):
        errors = [
            SVC(C=C, gamma=20.0).fit(X[others], y[others]).predict(X[out]) != y[out]
            for out, others in ((rng[k::5], np.delete(rng, np.s_[k::5])) for k in range(5))
        ]
        assert score == pytest.approx(1 - np.concatenate(errors).mean(), abs=0.04)


def test_a_list_goes_with_several_classes_weights_and_warm_starts():
    X, y = blobs(200, 3, 3, seed=2)
    weights = np.where(np.arange(200) % 4 == 0, 0.0, 1.0)
    model = LASVMClassifier(C=(0.1, 1.0), random_state=0, warm_start=True).fit(X, y, weights)
    C = model.C_
    alone = LASVMClassifier(C=C, random_state=0).fit(X, y, weights)
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
    assert model.fit(X[:, ::-1].copy(), y).C_ == C  # goes on
    assert model.partial_fit(X[:10], y[:10]).C_ == C


def test_what_a_list_is_not_for():
    X, y = blobs(60, 3, 2, seed=2)
    with pytest.raises(ValueError, match="A list of C is for fit"):
        LASVMClassifier(C=[1.0, 2.0]).partial_fit(X, y)
    for variant in ("nc", "i", "lasvm"):
        with pytest.raises(ValueError, match="A list of C is for variant='g' or 'full'"):
            LASVMClassifier(variant, C=[1.0, 2.0]).fit(X, y)
    for kernel, rows in (("chi2", np.abs(X)), ("precomputed", X @ X.T)):
        with pytest.raises(ValueError, match=f"A list of C cannot be combined with kernel='{kernel}'"):
            LASVMClassifier(C=[1.0, 2.0], kernel=kernel).fit(rows, y)
    for wrong in ([], None, [1.0, -1.0], ["a"]):
        with pytest.raises(ValueError, match="C must be a positive number"):
            clone(LASVMClassifier()).set_params(C=wrong).fit(X, y)
