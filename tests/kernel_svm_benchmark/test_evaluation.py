"""What the benchopt benchmark measures, against direct calls of scikit-learn; benchopt itself is not needed."""

import ast
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from benchmarks.benchopt_kernel_svm.benchmark_utils import evaluation, models
from frugalsvm.datasets import make_checkerboard

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "benchopt_kernel_svm"
GAMMA, C = 5.0, 10.0


@pytest.fixture(scope="module")
def board():
    return make_checkerboard(300, noise=0.1, random_state=0)


def test_decision_values_and_norm_of_svc(board, monkeypatch):
    X, y = board
    model = SVC(C=C, gamma=GAMMA, tol=1e-8).fit(X, y)
    result = models.of_svc(model)
    intercept = result.pop("intercept")
    monkeypatch.setattr(evaluation, "KERNEL_VALUES_AT_A_TIME", 7 * len(result["coefficients"]) + 1)  # several blocks
    for rows in (X, csr_matrix(X)):
        values = evaluation.decision_values(rows, GAMMA, intercept=intercept, **result)
        np.testing.assert_allclose(values, model.decision_function(X), atol=1e-5)
    vectors, coefficients = result["vectors"], result["coefficients"]
    squared_norm = evaluation.squared_norm(GAMMA, **result)
    np.testing.assert_allclose(squared_norm, coefficients @ rbf_kernel(vectors, gamma=GAMMA) @ coefficients)
    # At the optimum the primal objective equals the dual one.
    primal = 0.5 * squared_norm + C * evaluation.hinge(y, values).sum()
    np.testing.assert_allclose(primal, np.abs(coefficients).sum() - 0.5 * squared_norm, rtol=1e-5)


def test_waves_have_values_but_no_finite_norm(board):
    X, y = board
    waves = RBFSampler(gamma=GAMMA, n_components=50, random_state=0).fit(X)
    model = SGDClassifier(random_state=0).fit(waves.transform(X), y)
    result = models.of_waves(waves, model)
    values = evaluation.decision_values(X, GAMMA, **result)
    np.testing.assert_allclose(values, model.decision_function(waves.transform(X)), rtol=1e-4, atol=1e-4)
    del result["intercept"]
    assert evaluation.squared_norm(GAMMA, **result) == np.inf


def test_nothing_learned_is_nothing(board):
    X, _ = board
    empty = {"vectors": X[:0], "coefficients": np.zeros(0)}
    assert not evaluation.decision_values(X, GAMMA, intercept=0.0, **empty).any()
    assert evaluation.squared_norm(GAMMA, **empty) == 0.0
    assert evaluation.model_bytes(**empty) == 0


@pytest.mark.parametrize("kind", ["Solver", "Dataset"])
def test_names_and_requirements_can_be_read_without_importing(kind):
    """benchopt reads them from the source where a package is missing: they must be literals; and names are unique."""
    names = []
    for path in sorted((FOLDER / f"{kind.lower()}s").glob("*.py")):
        (cls,) = (node for node in ast.parse(path.read_text()).body if getattr(node, "name", None) == kind)
        fields = {node.targets[0].id: node.value for node in cls.body if isinstance(node, ast.Assign)}
        assert ast.literal_eval(fields["requirements"]), path
        assert isinstance(ast.literal_eval(fields["parameters"]), dict), path
        names.append(ast.literal_eval(fields["name"]))
    assert len(set(names)) == len(names) > 3
    readme = (FOLDER / "README.md").read_text()
    assert not [name for name in names if f"`{name}`" not in readme]
