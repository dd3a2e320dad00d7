"""Kernels other than the usual ones in all families: values of the oracle, solutions of `SVC`, dense as CSR, and files.

Each kernel is machine code of its own, which takes seconds to compile: one kernel for each family in the fast suite.
"""

import subprocess
import sys

import numpy as np
import pytest
from oracles import kernels as oracle
from scipy.sparse import csr_array
from sklearn.svm import SVC

from frugalsvm import (
    ASSETClassifier,
    ASSETRegressor,
    BPAClassifier,
    BSGDClassifier,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    TrackingSVC,
    TVMClassifier,
)
from frugalsvm.core.kernels import KERNELS
from frugalsvm.persist import load, save

pytestmark = pytest.mark.slow  # machine code for every kernel in every family is compiled

NAMES = ("laplacian", *oracle.ORDERS)
GAMMA = 0.3
FAMILIES = {
    "remove": lambda kernel: BSGDClassifier(maintenance="remove", budget=40, kernel=kernel, gamma=GAMMA),
    "project": lambda kernel: BSGDClassifier(maintenance="project", budget=40, kernel=kernel, gamma=GAMMA),
    "forgetron": lambda kernel: BudgetedPerceptron("forgetron", budget=40, kernel=kernel, gamma=GAMMA),
    "projectron": lambda kernel: BudgetedPerceptron("projectron++", budget=40, kernel=kernel, gamma=GAMMA),
    "bpa": lambda kernel: BPAClassifier("nn", budget=40, kernel=kernel, gamma=GAMMA),
    "lasvm": lambda kernel: LASVMClassifier(kernel=kernel, gamma=GAMMA),
    "tracking": lambda kernel: TrackingSVC(kernel=kernel, gamma=GAMMA),
    "incremental": lambda kernel: IncrementalSVC(kernel=kernel, gamma=GAMMA),
    "asset": lambda kernel: ASSETClassifier(n_components=60, kernel=kernel, gamma=GAMMA, C=1.0),
    "tvm": lambda kernel: TVMClassifier(budget=40, kernel=kernel, gamma=GAMMA),
}
FAST = {("remove", "laplacian"), ("bpa", "matern12"), ("lasvm", "laplacian"), *(("asset", name) for name in NAMES)}


def cases(families, fast=FAST):
    """All pairs of a family and a kernel that go together; those that are not fast are marked."""
    pairs = [(family, name) for family in families for name in NAMES if (family, name) != ("tvm", "laplacian")]
    return [pytest.param(*pair, marks=() if pair in fast else pytest.mark.slow) for pair in pairs]


@pytest.fixture(scope="module")
def table():
    """Rows of many features, few of which matter, along the axes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10)) * (rng.random((300, 10)) < 0.7)
    return X, (np.abs(X[:, :3]).sum(axis=1) > 1.7).astype(int)


@pytest.fixture(scope="module")
def histograms():
    """Rows of counts: what a row has most of is its class."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    X = rng.poisson(np.where(y[:, None] == 1, [3, 3, 1, 1, 0.5], [1, 1, 3, 3, 0.5]), size=(300, 5)).astype(float)
    X[7] = 0.0
    return X, y


def expected_scores(model, name, X):
    """What the model says by the oracle's kernel values."""
    vectors = model._map.landmarks if isinstance(model, ASSETClassifier) else model.support_vectors_
    return oracle.value(name, X, vectors.astype(np.float64), GAMMA) @ model.dual_coef_[0] + model.intercept_


@pytest.mark.parametrize(("family", "name"), cases(FAMILIES))
def test_scores_dense_and_sparse(table, family, name):
    X, y = table
    model = FAMILIES[family](name).set_params(random_state=0) if family != "incremental" else FAMILIES[family](name)
    model.fit(X, y)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, expected_scores(model, name, X), rtol=1e-5, atol=1e-5)
    tolerance = 2e-2 if family == "asset" else 1e-5  # which stops early, on slightly other numbers
    sparse = model.fit(csr_array(X), y).decision_function(csr_array(X))
    np.testing.assert_allclose(sparse, scores, rtol=tolerance, atol=tolerance)


FAST_OTHERS = {("lasvm", "tanimoto"), ("remove", "intersection"), *(("asset", name) for name in oracle.OTHERS)}
OTHER_CASES = [
    pytest.param(family, name, marks=() if (family, name) in FAST_OTHERS else pytest.mark.slow)
    for family in FAMILIES
    for name in oracle.OTHERS
    if not (family == "tvm" and name in ("chi2", "intersection"))
]


@pytest.mark.parametrize(("family", "name"), OTHER_CASES)
def test_kernels_of_histograms_and_angles(histograms, family, name):
    X, y = histograms
    model = FAMILIES[family](name)
    if family != "incremental":
        model.set_params(random_state=0)
    if "gamma" not in KERNELS[name]._fields:
        model.set_params(gamma="scale")
    scores = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(scores, expected_scores(model, name, X), rtol=1e-5, atol=1e-5)
    assert model.score(X, y) > 0.8
    tolerance = 2e-2 if family == "asset" else 1e-5
    sparse = model.fit(csr_array(X), y).decision_function(csr_array(X))
    np.testing.assert_allclose(sparse, scores, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["chi2", "intersection"])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_negative_features_are_refused(histograms, name, kind):
    X, y = histograms
    message = f"kernel='{name}' is for features that are not negative, .* and X has the value -2"
    model = ASSETClassifier(n_components=20, kernel=name, random_state=0)
    with pytest.raises(ValueError, match=message):
        model.fit(kind(X - 2.0), y)
    with pytest.raises(ValueError, match=message):
        model.fit(kind(X), y).predict(kind(X - 2.0))


def test_default_gamma_of_chi2_goes_with_the_unit_of_the_features(histograms):
    X, y = histograms
    models = [ASSETClassifier(n_components=60, kernel="chi2", random_state=0).fit(k * X, y) for k in (1.0, 100.0)]
    assert models[0].gamma_ == pytest.approx(1.0 / (X.var(axis=0) / X.mean(axis=0)).sum())
    assert models[1].gamma_ == pytest.approx(models[0].gamma_ / 100.0)


@pytest.mark.parametrize(("family", "name"), cases(["lasvm", "incremental"], fast={("lasvm", "laplacian")}))
def test_solutions_of_svc(table, family, name):
    X, y = table
    C = 5.0
    if family == "lasvm":
        model = LASVMClassifier("lasvm", max_iter=10, tol=1e-6, C=C, kernel=name, gamma=GAMMA, random_state=0)
    else:
        model = IncrementalSVC(C=C, kernel=name, gamma=GAMMA)
    exact = SVC(C=C, kernel=lambda A, B: oracle.value(name, A, B, GAMMA), tol=1e-7).fit(X, y)
    np.testing.assert_allclose(model.fit(X, y).decision_function(X), exact.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("name", NAMES)
def test_default_gamma_goes_with_the_unit_of_the_features(table, name):
    X, y = table
    scores = []
    for factor in (1.0, 2.0**-10, 2.0**10):
        model = ASSETClassifier(n_components=60, kernel=name, gamma="scale", C=1.0, random_state=0).fit(factor * X, y)
        expected = 1.0 / X.std(axis=0).sum() if name == "laplacian" else 1.0 / X.var(axis=0).sum()
        unit = factor if name == "laplacian" else factor**2
        assert model.gamma_ * unit == pytest.approx(expected, rel=1e-9)
        scores.append(model.decision_function(factor * X))
    np.testing.assert_allclose(scores[1:], [scores[0]] * 2, atol=1e-2)


def test_merging_says_what_to_use_instead(table):
    message = (
        "maintenance='merge' works with kernel='rbf' only, not with 'laplacian'; use maintenance='project' or 'remove'"
    )
    with pytest.raises(ValueError, match=message):
        BSGDClassifier(kernel="laplacian").fit(*table)


def test_twins_need_products(table):
    with pytest.raises(ValueError, match=r"merge_space='input' works with .* not with 'laplacian'; use BSGDClassifier"):
        TVMClassifier(kernel="laplacian").fit(*table)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("structured", [False, True])
def test_fourier_features(table, name, structured):
    if (name, structured) == ("laplacian", True):
        return
    X, y = table
    model = ASSETClassifier(
        "fourier", n_components=4096, kernel=name, gamma=GAMMA, structured=structured, random_state=0
    )
    near, exact = model.fit(X, y), ASSETClassifier(n_components=300, kernel=name, gamma=GAMMA, random_state=0).fit(X, y)
    assert np.corrcoef(near.decision_function(X), exact.decision_function(X))[0, 1] > 0.97


@pytest.mark.parametrize("name", NAMES)
def test_regression(name):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(400, 2))
    y = np.abs(X).sum(axis=1)
    model = ASSETRegressor(n_components=100, C=100.0, kernel=name, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.95


@pytest.mark.parametrize(("family", "name"), cases(["asset", "remove"]))
def test_model_files(table, family, name, tmp_path):
    X, y = table
    model = FAMILIES[family](name).set_params(random_state=0).fit(X, y)
    save(model, tmp_path / "model.frugal")
    loaded = load(tmp_path / "model.frugal")
    assert loaded.kernel == name
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    batches = (
        [each.partial_fit(X[:50], y[:50]).decision_function(X) for each in (model, loaded)]
        if family == "remove"
        else []
    )
    if batches:
        np.testing.assert_array_equal(*batches)


@pytest.mark.parametrize("name", NAMES)
def test_far_from_zero(table, name):
    """Kernels of differences do not change when all rows move."""
    X, y = table
    near, far = (
        ASSETClassifier(n_components=60, kernel=name, gamma=GAMMA, C=1.0, random_state=0).fit(X + shift, y)
        for shift in (0.0, 2.0**20)
    )
    np.testing.assert_allclose(far.decision_function(X + 2.0**20), near.decision_function(X), atol=2e-2)


DEFAULT_FITS = """
import numpy as np
from frugalsvm import ASSETClassifier, BSGDClassifier
from frugalsvm.core import blocks, feature_sums, slopes

X = np.random.default_rng(0).normal(size=(100, 12))
for model in (BSGDClassifier(budget=10), ASSETClassifier(n_components=10)):
    model.fit(X, X[:, 0] > 0).predict(X)
own = [(module.__name__, each) for module in (blocks, feature_sums, slopes) for each in vars(module).values()]
print([each.__name__ for name, each in own if getattr(each, "overloads", None) and each.__module__ == name])
"""


@pytest.mark.slow
def test_those_who_do_not_use_them_do_not_wait_for_them():
    made = subprocess.run([sys.executable, "-c", DEFAULT_FITS], capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "[]"
