"""Every kernel in every family against the same learner in the feature space of the oracle's kernel matrix.

A positive semidefinite matrix K is ``Phi Phi'``: a learner with the linear kernel that gets the rows of Phi has to do
what one with the kernel does, up to rounding, K(x, x) included. Exact solvers have to find what `SVC` finds for K.

Machine code for each pair takes seconds to compile. As ordinary Python none is needed: the fast suite runs a third of
the pairs so on fewer rows of counts, in a process of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from oracles import kernels as oracle
from scipy.sparse import csr_array
from sklearn.svm import SVC

from frugalsvm import (
    BPAClassifier,
    BSGDClassifier,
    BSGDOneClassSVM,
    BSGDRegressor,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    TrackingSVC,
)
from frugalsvm.core.kernels import KERNELS

GAMMA, BUDGET, N_ROWS = 0.3, 10, 40
FAMILIES = {
    "unlimited": lambda **kernel: BSGDClassifier(budget=None, random_state=0, **kernel),
    "remove": lambda **kernel: BSGDClassifier(maintenance="remove", budget=BUDGET, random_state=0, **kernel),
    "project": lambda **kernel: BSGDClassifier(maintenance="project", budget=BUDGET, random_state=0, **kernel),
    "regressor": lambda **kernel: BSGDRegressor(maintenance="remove", budget=BUDGET, random_state=0, **kernel),
    "one class": lambda **kernel: BSGDOneClassSVM(maintenance="remove", budget=BUDGET, random_state=0, **kernel),
    "forgetron": lambda **kernel: BudgetedPerceptron("forgetron", budget=BUDGET, random_state=0, **kernel),
    "projectron": lambda **kernel: BudgetedPerceptron("projectron++", budget=BUDGET, random_state=0, **kernel),
    "tightest": lambda **kernel: BudgetedPerceptron("tightest", budget=BUDGET, random_state=0, **kernel),
    "bpa": lambda **kernel: BPAClassifier("simple", budget=BUDGET, random_state=0, **kernel),
    "bpa neighbors": lambda **kernel: BPAClassifier("nn", budget=BUDGET, random_state=0, **kernel),
    "bpa projection": lambda **kernel: BPAClassifier("projecting", budget=BUDGET, random_state=0, **kernel),
    "lasvm": lambda **kernel: LASVMClassifier(random_state=0, **kernel),
    "lasvm nc": lambda **kernel: LASVMClassifier("nc", random_state=0, **kernel),
    "tracking": lambda **kernel: TrackingSVC(random_state=0, **kernel),
    "incremental": lambda **kernel: IncrementalSVC(**kernel),
}
KINDS = ("counts", "shares", "negative")


def table(kind, name):
    """Rows without duplicates: of two that are alike, rounding would tell which is removed."""
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=N_ROWS)
    means = np.where(y[:, None] == 1, [3, 3, 1, 1, 0.5, 2, 2, 2, 2], [1, 1, 3, 3, 0.5, 2, 2, 2, 2])
    X = rng.poisson(means).astype(float)
    X += rng.random(X.shape) * (X > 0)
    if kind == "shares":
        X /= X.sum(axis=1, keepdims=True)
    elif kind == "zeros and ones":
        X = (X > 1.5).astype(float)
    elif kind == "negative" and not getattr(KERNELS[name], "nonnegative", False):
        X -= 1.5
    return X, y


def parameters(name):
    return {"kernel": name} | ({"gamma": GAMMA} if "gamma" in KERNELS[name]._fields else {})


def kernel_matrix(name, X):
    if name == "linear":
        return X @ X.T
    return (GAMMA * X @ X.T + 1.0) ** 3 if name == "poly" else oracle.value(name, X, X, GAMMA)


def values(model, X):
    return model.predict(X) if isinstance(model, BSGDRegressor) else model.decision_function(X)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("kind", KINDS)
def test_learners_in_the_feature_space(kind, name, family):
    X, y = table(kind, name)
    y = y + X[:, 0] if family == "regressor" else y
    eigenvalues, vectors = np.linalg.eigh(kernel_matrix(name, X))
    Phi = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    expected = values(FAMILIES[family](kernel="linear").fit(Phi, y), Phi)
    for rows in (X, csr_array(X)):
        found = values(FAMILIES[family](**parameters(name)).fit(rows, y), rows)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("family", ["incremental", "lasvm"])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("kind", [*KINDS, "zeros and ones"])
def test_solutions_and_objectives_of_svc(kind, name, family):
    X, y = table(kind, name)
    K, C = kernel_matrix(name, X), 2.0
    exact = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, y)

    def objective(model):
        dual = np.zeros(len(X))
        dual[model.support_] = model.dual_coef_[0]
        return 0.5 * dual @ K @ dual - np.abs(dual).sum()

    if family == "incremental":
        model = IncrementalSVC(C=C, **parameters(name)).fit(X, y)
        assert model.kkt_violation_ < 1e-8
    else:
        model = LASVMClassifier("lasvm", C=C, tol=1e-9, max_iter=10, random_state=0, **parameters(name)).fit(X, y)
    by_matrix = type(model)(**model.get_params()).set_params(kernel="precomputed", gamma="scale").fit(K, y)
    if family == "incremental":
        assert objective(by_matrix) == pytest.approx(objective(exact), rel=1e-6)
    tolerance = 1e-6 * max(1.0, np.abs(exact.decision_function(K)).max())
    for found in (model.decision_function(X), by_matrix.decision_function(K)):
        np.testing.assert_allclose(found, exact.decision_function(K), rtol=0, atol=tolerance)


def third_of_pairs():
    """Each family with every third kernel, and each kernel with every third family."""
    kernels, families = enumerate(KERNELS), list(enumerate(FAMILIES))
    return [(name, family) for k, name in kernels for f, family in families if (k + f) % 3 == 0]


AS_PYTHON = """
import sys
sys.path[:0] = sys.argv[1:]
import test_kernel_oracles
from test_kernel_oracles import *

test_kernel_oracles.N_ROWS = 30

for name, family in third_of_pairs():
    print(name, family)
    test_learners_in_the_feature_space("counts", name, family)
solved = {"incremental": KERNELS, "lasvm": list(KERNELS)[::3]}
for family, name in [(family, name) for family, names in solved.items() for name in names]:
    print(name, family, "solutions")
    test_solutions_and_objectives_of_svc("counts", name, family)
"""


def test_pairs_as_ordinary_python():
    here = Path(__file__).parent
    command = [sys.executable, "-c", AS_PYTHON, str(here), str(here.parent)]
    done = subprocess.run(command, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-200:] + done.stderr[-3000:]
