"""Weighted sums of kernels over groups of columns: values, machines, copies, model files and refusals."""

import pickle

import numpy as np
import pytest
from oracles import kernels as oracle
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from frugalsvm import (
    ASSETClassifier,
    ASSETOneClassSVM,
    ASSETRegressor,
    BSGDClassifier,
    KernelSum,
    KernelTerm,
    NystroemMap,
    describe,
    explain,
    export,
    load,
    save,
)
from frugalsvm.core.kernels import KERNELS
from frugalsvm.lowrank.own_kernel import OwnKernel
from frugalsvm.persist import ModelFileError

COUNTS = range(3, 7)
SUM = KernelSum(
    [
        KernelTerm("rbf", columns=(0, 2), gamma=0.7),
        KernelTerm("chi2", columns=COUNTS, weight=0.5, gamma=0.2),
        KernelTerm("linear", weight=0.01),
    ]
)
SMALL = {"n_components": 60, "random_state": 0}
MACHINES = {"classifier": ASSETClassifier, "regressor": ASSETRegressor, "one-class": ASSETOneClassSVM}


@pytest.fixture(scope="module")
def rows():
    """Measurements, and counts."""
    rng = np.random.default_rng(0)
    X = np.hstack([rng.normal(size=(400, 3)), rng.poisson(2.0, size=(400, 4))])
    return X, (np.sin(2.0 * X[:, 0]) + X[:, 3] > 2.0).astype(int)


def plain_value(term, A, B):
    """Values of one term in plain NumPy."""
    columns = list(range(A.shape[1])) if term.columns is None else list(term.columns)
    A, B = A[:, columns], B[:, columns]
    if term.kernel == "linear":
        return A @ B.T
    if term.kernel == "poly":
        return (term.gamma * (A @ B.T) + term.coef0) ** term.degree
    return oracle.value(term.kernel, A, B, term.gamma)


def plain_sum(kernel, A, B):
    return sum(term.weight * plain_value(term, A, B) for term in kernel.terms)


class TestValues:
    @pytest.mark.parametrize("as_rows", [np.asarray, csr_array, csr_matrix])
    @pytest.mark.parametrize("name", KERNELS)
    def test_each_kernel_with_another(self, rows, name, as_rows):
        X = np.abs(rows[0])
        own = KernelTerm(name, columns=(5, 1, 3), weight=2.5, gamma=0.3, degree=2, coef0=0.5)
        kernel = KernelSum([own, KernelTerm("laplacian", columns=[0], gamma=1.5)])
        found = kernel(as_rows(X[:30]), X[30:50])
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, plain_sum(kernel, X[:30], X[30:50]), rtol=1e-6, atol=1e-9)

    def test_rows_far_from_zero(self, rows):
        X = rows[0] + 1000.0
        kernel = KernelSum([KernelTerm("rbf", gamma=0.1)])
        np.testing.assert_allclose(kernel(X[:20], X), plain_sum(kernel, X[:20], X), rtol=1e-6, atol=1e-8)

    def test_gamma_is_not_asked_of_kernels_that_have_none(self, rows):
        X, _ = rows
        np.testing.assert_allclose(KernelSum([KernelTerm("linear")])(X, X[:5]), X @ X[:5].T)


class TestMachines:
    @pytest.mark.parametrize("as_rows", [np.asarray, csr_matrix])
    @pytest.mark.parametrize("name", MACHINES)
    def test_scores_are_sums_over_landmarks(self, rows, name, as_rows):
        X, y = rows
        model = MACHINES[name](kernel=SUM, **SMALL).fit(as_rows(X), y)
        found = model.predict(as_rows(X)) if name == "regressor" else model.decision_function(as_rows(X))
        expected = plain_sum(SUM, X, model.landmarks_) @ model.dual_coef_[0] + model.intercept_
        np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())

    def test_it_learns_what_needs_all_terms(self, rows):
        X, y = rows
        whole = ASSETClassifier(kernel=SUM, C=10.0, **SMALL).fit(X[:300], y[:300])
        assert whole.score(X[300:], y[300:]) > 0.85
        for term in SUM.terms[:2]:
            part = ASSETClassifier(kernel=KernelSum([term]), C=10.0, **SMALL).fit(X[:300], y[:300])
            assert part.score(X[300:], y[300:]) < whole.score(X[300:], y[300:])

    def test_features(self, rows):
        X, _ = rows
        made = NystroemMap(kernel=SUM, **SMALL).fit(X)
        F, Z = made.transform(X), made.components_
        K = plain_sum(SUM, X, Z)
        expected = K @ np.linalg.pinv(plain_sum(SUM, Z, Z), rcond=1e-7) @ K.T
        np.testing.assert_allclose(F @ F.T, expected, atol=5e-3)

    def test_a_stream(self, rows):
        X, y = rows
        model = ASSETClassifier(kernel=SUM, **SMALL)
        for start in range(0, 400, 50):
            model.partial_fit(X[start : start + 50], y[start : start + 50], classes=[0, 1])
        expected = plain_sum(SUM, X, model.landmarks_) @ model.dual_coef_[0] + model.intercept_
        np.testing.assert_allclose(model.decision_function(X), expected, atol=2e-3 * np.abs(expected).max())

    def test_scale_is_that_of_the_columns(self, rows):
        X, y = rows
        kernel = KernelSum([KernelTerm("rbf", columns=(0, 2)), KernelTerm("laplacian"), KernelTerm("cosine")])
        expected = [1.0 / X[:, [0, 2]].var(axis=0).sum(), 1.0 / X.std(axis=0).sum()]
        in_memory = ASSETClassifier(kernel=kernel, C=1.0, **SMALL).fit(X, y)
        batches = ASSETClassifier(kernel=kernel, C=1.0, **SMALL).fit_batches([(X[:150], y[:150]), (X[150:], y[150:])])
        for model in (in_memory, batches):
            terms = model.kernel_.function.terms
            np.testing.assert_allclose([term.gamma for term in terms[:2]], expected, rtol=1e-6)
            assert model.kernel == kernel  # the parameter stays as it is


class TestCopies:
    def test_equal_sums_are_equal(self):
        assert KernelSum(iter(SUM.terms)) == SUM
        assert hash(KernelSum(SUM.terms)) == hash(SUM)
        assert KernelTerm("rbf", columns=np.arange(2), weight=np.float32(0.5)) == KernelTerm("rbf", [0, 1], 0.5)
        assert pickle.loads(pickle.dumps(SUM)) == SUM

    def test_clones_and_pickles(self, rows):
        X, y = rows
        model = ASSETClassifier(kernel=SUM, **SMALL).fit(X, y)
        assert clone(model).kernel == SUM
        again, pickled = clone(model).fit(X, y), pickle.loads(pickle.dumps(model))
        for each in (again, pickled):
            np.testing.assert_array_equal(each.decision_function(X), model.decision_function(X))
        assert "KernelTerm(kernel='rbf', columns=(0, 2)" in repr(model)

    def test_a_search_over_sums(self, rows):
        others = KernelSum(SUM.terms[:1])
        found = GridSearchCV(ASSETClassifier(C=1.0, **SMALL), {"kernel": [others, SUM]}, cv=2).fit(*rows)
        assert found.best_params_ == {"kernel": SUM}


class TestModelFiles:
    @pytest.mark.parametrize("for_prediction", [False, True])
    @pytest.mark.parametrize("name", MACHINES)
    def test_models_say_the_same(self, rows, tmp_path, name, for_prediction):
        X, y = rows
        kernel = KernelSum([*SUM.terms, KernelTerm("matern32", columns=[1])])  # with a gamma that `fit` takes from rows
        model = MACHINES[name](kernel=kernel, **SMALL).fit(X, y)
        save(model, tmp_path / "model.frugal", for_prediction=for_prediction)
        loaded = load(tmp_path / "model.frugal")
        assert loaded.kernel == kernel
        assert loaded.kernel_ == model.kernel_
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))

    def test_a_stream_goes_on(self, rows, tmp_path):
        X, y = rows
        model = ASSETClassifier(kernel=SUM, **SMALL)
        for start in (0, 50, 100):
            save(model, tmp_path / "model.frugal")
            loaded = load(tmp_path / "model.frugal")
            for each in (model, loaded):
                each.partial_fit(X[start : start + 50], y[start : start + 50], classes=[0, 1])
            np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))

    def test_what_files_tell(self, rows, tmp_path):
        save(ASSETClassifier(kernel=SUM, **SMALL).fit(*rows), tmp_path / "model.frugal")
        told = describe(tmp_path / "model.frugal").parameters["kernel"]
        assert [(term["kernel"], term["weight"]) for term in told["terms"]] == [
            ("rbf", 1.0), ("chi2", 0.5), ("linear", 0.01),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        "term",
        [
            KernelTerm("rbf", columns=[7], gamma=1.0),
            KernelTerm("rbf"),  # whose gamma was never found
            KernelTerm("poly", gamma=1.0, degree=900, coef0=1e10),
            KernelTerm("rbf", gamma=1.0)._replace(weight=-1.0),
            KernelTerm("rbf", gamma=1.0)._replace(kernel="system"),
        ],
        ids=["column", "no gamma", "overflow", "weight", "name"],
    )
    def test_files_with_other_sums_are_refused(self, rows, tmp_path, term):
        model = ASSETClassifier(kernel=SUM, **SMALL).fit(*rows)
        model._kernel = OwnKernel(KernelSum([term]))
        model._map = model._map._replace(kernel=model._kernel)
        save(model, tmp_path / "model.frugal")
        with pytest.raises(ModelFileError, match="malformed"):
            load(tmp_path / "model.frugal")

    def test_parameters_are_for_the_rows(self, rows, tmp_path):
        model = ASSETClassifier(kernel=SUM, **SMALL).fit(*rows)
        save(model.set_params(kernel=KernelSum([KernelTerm("rbf", columns=[7])])), tmp_path / "model.frugal")
        with pytest.raises(ModelFileError, match="uses column 7, but X has 7 columns"):
            load(tmp_path / "model.frugal")

    def test_files_of_other_machines_have_none(self, rows, tmp_path):
        model = BSGDClassifier(budget=20, random_state=0).fit(*rows)
        model._kernel = OwnKernel(KernelSum([KernelTerm("linear")]))
        save(model, tmp_path / "model.frugal")
        with pytest.raises(ModelFileError, match="malformed"):
            load(tmp_path / "model.frugal")


BAD_TERMS = {
    "name": (("sigmoid",), {}, "kernel='sigmoid' is not one of 'rbf', "),
    "no name": ((None,), {}, "kernel=None is not one of 'rbf', "),
    "negative weight": (("rbf",), {"weight": -1.0}, "weight must be a positive number, not -1.0"),
    "no weight": (("rbf",), {"weight": 0}, "weight must be a positive number, not 0"),
    "nan": (("rbf",), {"weight": np.nan}, "weight must be a positive number, not nan"),
    "gamma": (("rbf",), {"gamma": "auto"}, "gamma must be a positive number or 'scale', not 'auto'"),
    "coef0": (("poly",), {"coef0": -1.0}, "coef0 must be a number of at least 0, not -1.0"),
    "degree": (("poly",), {"degree": 1.5}, "degree must be an integer from 1 to 1000, not 1.5"),
    "columns from the end": (("rbf", [-1]), {}, "columns must be distinct column numbers from 0 on"),
    "columns twice": (("rbf", [1, 1]), {}, "columns must be distinct"),
    "no columns": (("rbf", []), {}, "columns must be distinct"),
    "names of columns": (("rbf", ["a"]), {}, "columns must be distinct"),
    "one column": (("rbf", 3), {}, "columns must be distinct"),
}


@pytest.mark.parametrize("case", BAD_TERMS)
def test_terms_that_are_refused(case):
    arguments, options, message = BAD_TERMS[case]
    with pytest.raises(ValueError, match=message):
        KernelTerm(*arguments, **options)


@pytest.mark.parametrize("terms", [[], ["rbf"], KernelTerm("rbf")])
def test_sums_that_are_refused(terms):
    with pytest.raises(ValueError, match="terms must be a sequence of at least one KernelTerm"):
        KernelSum(terms)


BAD_ROWS = {
    "column": (KernelTerm("rbf", columns=[2, 7]), "'rbf' of the sum uses column 7, but X has 7 columns"),
    "negative": (KernelTerm("chi2"), "'chi2' of the sum is for features that are not negative, and X has the value -"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_rows_that_are_refused(rows, case):
    (X, y), (term, message) = rows, BAD_ROWS[case]
    model = ASSETClassifier(kernel=KernelSum([term]), **SMALL)
    for learn in (model.fit, lambda X, y: model.partial_fit(X[:5], y[:5], classes=[0, 1])):
        with pytest.raises(ValueError, match=message):
            learn(X, y)
    with pytest.raises(ValueError, match=message):
        KernelSum([term])(X, X)


def test_rows_to_predict_that_are_refused(rows):
    X, y = rows
    for as_rows in (np.asarray, csr_matrix):
        with pytest.raises(ValueError, match="'chi2' of the sum is for features that are not negative"):
            ASSETClassifier(kernel=SUM, **SMALL).fit(X, y).predict(as_rows(-X))


def test_gamma_must_be_known_to_call_it(rows):
    with pytest.raises(ValueError, match="gamma='scale' of the kernel 'rbf' is for `fit`"):
        KernelSum([KernelTerm("rbf")])(rows[0], rows[0])


REFUSED = {
    "metric": ({"metric": "auto"}, "A KernelSum .* needs metric=None"),
    "device": ({"device": "cuda"}, "A KernelSum .* needs device='cpu'"),
    "fourier": ({"feature_map": "fourier"}, "spectrum of a KernelSum .* is not known: use feature_map='nystroem'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_with_sums(rows, case):
    parameters, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        ASSETClassifier(kernel=SUM, **SMALL, **parameters).fit(*rows)


def test_machines_on_a_budget_have_no_sums(rows):
    with pytest.raises(ValueError, match=r"kernel=KernelSum\(.*is not one of 'rbf'"):
        BSGDClassifier(kernel=SUM).fit(*rows)


def test_exports_and_explanations_refuse_them(rows, tmp_path):
    model = ASSETClassifier(kernel=SUM, **SMALL).fit(*rows)
    for write in (export.to_onnx, export.to_c, export.to_libsvm):
        with pytest.raises(ValueError, match=r"A model with a KernelSum .* cannot be exported"):
            write(model, tmp_path / "model")
    with pytest.raises(ValueError, match=r"A model with a KernelSum .* cannot be explained"):
        explain.shapley_values(model, rows[0][:2], background=None)
    sampled = explain.shapley_values(model, rows[0][:2])
    np.testing.assert_allclose(sampled.predictions, model.decision_function(rows[0][:2]), atol=1e-6)
