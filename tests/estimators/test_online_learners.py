"""What all online learners have in common: BSGD, the perceptrons, BPA and LASVM, with each of their strategies."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import compute_sample_weight
from support import assert_same_estimator, blobs

from frugalsvm import BPAClassifier, BSGDClassifier, BudgetedPerceptron, LASVMClassifier
from frugalsvm.budgeted.strategies import MULTI_CLASS, STRATEGIES, VARIANTS
from frugalsvm.estimators.lasvm import VARIANTS as LASVM_VARIANTS

BUDGET = 10
# They take rows in order, so that results can be compared.
IN_ORDER = {"gamma": 0.3, "shuffle": False, "random_state": 0}
PERCEPTRONS = {f"perceptron-{name}": BudgetedPerceptron(name, BUDGET, **IN_ORDER) for name in STRATEGIES}
BPA = {f"bpa-{name}": BPAClassifier(name, BUDGET, **IN_ORDER) for name in VARIANTS}
BUDGETED = {"bsgd": BSGDClassifier(budget=BUDGET, alpha=0.01, **IN_ORDER), **PERCEPTRONS, **BPA}
LASVM = {f"lasvm-{name}": LASVMClassifier(name, warm_up=20, finish=False, **IN_ORDER) for name in LASVM_VARIANTS}
# These learn several classes with the same support vectors; the others have a machine for each class.
TOGETHER = ("bsgd", *(f"perceptron-{name}" for name in MULTI_CLASS))
# Weights are sizes of steps, but these make none or whole ones.
WITH_WHOLE_STEPS = ("perceptron-forgetron", "perceptron-projectron++")
ONE_VS_REST = [name for name in BUDGETED if name not in TOGETHER]

each_learner = pytest.mark.parametrize("name", [*BUDGETED, *LASVM])
each_budgeted = pytest.mark.parametrize("name", BUDGETED)
each_family = pytest.mark.parametrize("name", ["bsgd", "perceptron-random", "bpa-nn", "lasvm-g"])
NAMES = np.array(list("abcd"))


def new_model(name, **parameters):
    return clone({**BUDGETED, **LASVM}[name]).set_params(**parameters)


def eager_model(name, **parameters):
    """A perceptron that learns from rows within its margin, too; the others do so anyhow."""
    return new_model(name, **({"margin": 1} if name in PERCEPTRONS else {}), **parameters)


@pytest.fixture(scope="module")
def binary():
    return blobs(200, 3, 2, seed=0)


@pytest.fixture(scope="module")
def four():
    return blobs(200, 3, 4, seed=0)


@each_learner
def test_two_classes(binary, name):
    X, y = binary
    model = new_model(name).fit(X, np.where(y == 1, "yes", "no"))
    values = model.decision_function(X)
    assert values.shape == (200,)
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.predict(X), np.where(values >= 0, "yes", "no"))
    assert (model.t_, model.n_iter_, model.n_features_in_, model.gamma_) == (200, 1, 3, 0.3)
    n_vectors = len(model.support_vectors_)
    assert (model.support_vectors_.shape, model.dual_coef_.shape) == ((n_vectors, 3), (1, n_vectors))
    if name in BUDGETED:
        assert n_vectors == model.budget_ == BUDGET
        assert model.intercept_.tolist() == [0.0]
        assert model.n_kernel_evals_ > BUDGET * 100


@each_learner
def test_several_classes(four, name):
    X, y = four
    labels = np.array(list("dbca"))[y]
    model = eager_model(name).fit(X, labels)
    values = model.decision_function(X)
    assert values.shape == (200, 4)
    np.testing.assert_array_equal(model.predict(X), NAMES[values.argmax(axis=1)])
    n_vectors = len(model.support_vectors_)
    assert (model.support_vectors_.shape, model.dual_coef_.shape) == ((n_vectors, 3), (4, n_vectors))
    assert model.intercept_.shape == (4,)
    assert model.t_ == 200
    if name in BUDGETED:
        assert n_vectors == BUDGET * (1 if name in TOGETHER else 4)
        assert model.intercept_.tolist() == [0.0] * 4


@pytest.mark.parametrize("name", ONE_VS_REST)
def test_one_against_the_rest(four, name):
    """Every machine is the binary model of its class."""
    X, y = four
    model = eager_model(name).fit(X, y)
    parts = [eager_model(name).fit(X, y == c) for c in range(4)]
    expected = np.stack([part.decision_function(X) for part in parts], axis=1)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.support_vectors_, np.concatenate([part.support_vectors_ for part in parts]))
    for count in ("n_updates_", "n_maintenance_", "n_kernel_evals_", "model_bytes_"):
        assert getattr(model, count) == sum(getattr(part, count) for part in parts)


@each_learner
def test_decision_function_is_the_published_expansion(binary, four, name):
    for X, y in (binary, four):
        model = new_model(name).fit(X, y)
        expected = rbf_kernel(X, model.support_vectors_, gamma=model.gamma_) @ model.dual_coef_.T + model.intercept_
        actual = model.decision_function(X).reshape(expected.shape)
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


@each_learner
def test_it_learns(name):
    """Far blobs, no noise: every strategy keeps what tells them apart."""
    centres = np.array([[0.0, 0.0, 3.0], [3.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    y = np.arange(300) % 3
    X = centres[y] + 0.5 * np.random.default_rng(0).normal(size=(300, 3))
    assert eager_model(name, **({"budget": 20} if name in BUDGETED else {})).fit(X, y).score(X, y) > 0.95


@each_budgeted
def test_pickled_models_continue_the_same_way(binary, four, name):
    for X, y in (binary, four):
        model = new_model(name).partial_fit(X[:123], y[:123])
        copy = pickle.loads(pickle.dumps(model))
        for each in (model, copy):
            each.partial_fit(X[123:], y[123:])
        assert_same_estimator(model, copy)
        np.testing.assert_array_equal(model.decision_function(X), copy.decision_function(X))


@each_learner
def test_warm_start_goes_on(binary, name):
    X, y = binary
    model = new_model(name, warm_start=True).fit(X[:120], y[:120]).fit(X[120:], y[120:])
    assert_same_estimator(model, new_model(name).partial_fit(X[:120], y[:120]).partial_fit(X[120:], y[120:]))
    assert model.t_ == 200
    one_class = y == 0
    model.fit(X[one_class], y[one_class])  # the model knows the other class already
    assert model.t_ == 200 + one_class.sum()


@each_learner
def test_batches_and_passes(binary, name):
    X, y = binary
    once = new_model(name).fit(X, y)
    assert_same_estimator(new_model(name).partial_fit(X, y), once)
    assert_same_estimator(new_model(name).partial_fit(X[:77], y[:77]).partial_fit(X[77:], y[77:]), once)
    assert_same_estimator(new_model(name).fit(X[:50], y[:50]).fit(X, y), once)
    if name in BUDGETED:
        twice = new_model(name, max_iter=2).fit(X, y)
        assert_same_estimator(new_model(name).partial_fit(X, y).partial_fit(X, y), twice)
        assert (twice.n_iter_, twice.t_) == (2, 400)


@each_learner
def test_random_state(binary, name):
    """Orders depend on the seed alone, and nothing else is random, except which vectors are removed at random."""
    X, y = binary
    first, again, other = (new_model(name, shuffle=True, random_state=seed).fit(X, y) for seed in (1, 1, 2))
    assert_same_estimator(first, again)
    assert not np.array_equal(first.support_vectors_, other.support_vectors_)
    first, other = (new_model(name, random_state=seed).fit(X, y) for seed in (1, 2))
    if name == "perceptron-random":
        assert_same_estimator(first, new_model(name, random_state=1).fit(X, y))
        assert not np.array_equal(first.support_vectors_, other.support_vectors_)
    else:
        assert_same_estimator(first, other)


@each_budgeted
def test_rows_of_weight_0_count_for_nothing(four, name):
    X, y = four
    keep = np.random.default_rng(0).random(200) < 0.6
    expected = new_model(name).fit(X[keep], y[keep])
    assert_same_estimator(new_model(name).fit(X, y, sample_weight=keep.astype(float)), expected)
    assert expected.t_ == keep.sum()


@each_budgeted
def test_class_weights_are_example_weights(binary, name):
    X, y = binary
    kept = (y == 1) | (np.arange(200) % 3 == 0)  # balanced classes would have weights of about 1
    X, y = X[kept], y[kept]
    expected = new_model(name).fit(X, y, sample_weight=np.where(y == 1, 3.0, 0.5))
    weighted = new_model(name, class_weight={0: 0.5, 1: 3.0})
    assert_same_estimator(clone(weighted).fit(X, y), expected)
    assert_same_estimator(clone(weighted).partial_fit(X, y), expected)
    some = new_model(name, class_weight={1: 3.0}).fit(X, y)  # classes without a weight have 1
    assert_same_estimator(some, new_model(name).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0)))
    balanced = new_model(name, class_weight="balanced").fit(X, y)
    assert_same_estimator(balanced, new_model(name).fit(X, y, compute_sample_weight("balanced", y)))
    if name not in WITH_WHOLE_STEPS:
        plain = new_model(name).fit(X, y)
        for model in (expected, balanced):
            assert not np.array_equal(model.dual_coef_, plain.dual_coef_)


@pytest.mark.parametrize("name", ["perceptron-random", "bpa-nn"])
def test_float32_stays(binary, name):
    X, y = binary
    model = new_model(name).fit(X.astype(np.float32), y)
    assert model.support_vectors_.dtype == np.float32
    assert (model.dual_coef_.dtype, model.decision_function(X).dtype) == (np.float64, np.float64)
    assert model.partial_fit(X, y).support_vectors_.dtype == np.float32


@pytest.mark.parametrize("name", ["perceptron-random", "bpa-nn"])
def test_sparse_rows(four, name):
    X, y = four
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, sparse = new_model(name).fit(X, y), new_model(name).fit(scipy.sparse.csr_matrix(X), y)
    np.testing.assert_array_equal(sparse.support_vectors_, dense.support_vectors_)
    values = sparse.decision_function(scipy.sparse.coo_array(X))
    np.testing.assert_allclose(values, dense.decision_function(X), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["perceptron-random", "perceptron-forgetron", "bpa-nn"])
def test_classes_that_come_later(four, name):
    X, y = four
    model = new_model(name).partial_fit(X[y < 2], y[y < 2], classes=[3, 1, 0, 2])
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.partial_fit(X, y).decision_function(X).shape == (200, 4)


@pytest.mark.parametrize(
    ("name", "n_classes", "dtype"),
    [
        ("perceptron-random", 4, np.float64),
        ("perceptron-forgetron", 4, np.float64),
        ("bpa-nn", 2, np.float64),
        ("bpa-nn", 4, np.float64),
        ("bpa-nn", 4, np.float32),
    ],
)
def test_budget_in_bytes(name, n_classes, dtype):
    """Where each class has a machine, it has a part of the bytes."""
    X, y = blobs(900, 3, n_classes, seed=0, dtype=dtype)
    model = eager_model(name, budget="4KB").fit(X, y)
    n_machines = n_classes if n_classes > 2 and name not in TOGETHER else 1
    n_coefficients = n_classes if n_classes > 2 and name in TOGETHER else 1
    per_vector = np.dtype(dtype).itemsize * (3 + 1 + n_coefficients)  # 3 features, a norm, coefficients
    assert model.budget_ == 4096 // (n_machines * per_vector)
    assert len(model.support_vectors_) == n_machines * model.budget_
    assert model.model_bytes_ == len(model.support_vectors_) * per_vector
    assert 4096 - n_machines * per_vector < model.model_bytes_ <= 4096


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("perceptron-projectron++", {"threshold": 0.5, "class_weight": {0: 2.0}}),
        ("bpa-projecting", {"C": 0.3, "class_weight": {0: 2.0}}),
    ],
)
def test_clones_have_the_parameters_and_nothing_else(binary, name, parameters):
    model = new_model(name, **parameters).fit(*binary)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert {key: copy.get_params()[key] for key in parameters} == parameters
    assert not hasattr(copy, "classes_")
    assert_same_estimator(copy.fit(*binary), model)


@each_family
def test_not_fitted(name):
    model = new_model(name)
    attributes = ("support_vectors_", "dual_coef_", "t_", "n_updates_", "gamma_", "model_bytes_")
    for attribute in (*attributes, "gradient_error_") if name == "bsgd" else attributes:
        with pytest.raises(NotFittedError):
            getattr(model, attribute)
    with pytest.raises(NotFittedError):
        model.predict(np.zeros((1, 3)))
