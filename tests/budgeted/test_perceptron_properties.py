"""What holds for the budgeted perceptrons and passive-aggressive learners whatever the stream, after every example."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.bsgd import kernel_matrix
from support import blobs

from frugalsvm.budgeted.budget_perceptrons import REFRESH
from frugalsvm.budgeted.norm_constraint import Unconstrained
from frugalsvm.budgeted.perceptrons import FORGETRON_SHARE
from frugalsvm.budgeted.policy import oldest, weakest
from frugalsvm.budgeted.sgd import Parts, learn
from frugalsvm.budgeted.strategies import MULTI_CLASS, STRATEGIES, VARIANTS, new_strategy, new_variant
from frugalsvm.compiling.functions import entry
from frugalsvm.core.expansion import coefficients, new_expansion
from frugalsvm.core.kernels import RBF, Poly
from frugalsvm.core.losses import hinge_for
from frugalsvm.core.schedules import Implicit, PassiveAggressive, Perceptron

few_examples = settings(max_examples=8, derandomize=True)
seeds = st.integers(0, 2**32 - 1)

NAMES = (*STRATEGIES, *VARIANTS)
KERNELS = {"rbf": RBF(0.3), "poly": Poly(0.1, 1.0, 2)}
N_FEATURES = 3


def new_learner(name, budget=8, *, n_outputs=1, margin=1.0, C=0.7, kernel="rbf", seed=0, threshold=None):
    """Fresh parts and an empty model for a strategy of the perceptrons or a variant of BPA."""
    model = new_expansion(budget + 1, N_FEATURES, n_outputs, np.float64)
    capacity = model.rows.shape[0]
    if name in VARIANTS:
        schedule, policy = PassiveAggressive(C), new_variant(name, budget, capacity)
    else:
        schedule = Implicit(0.02, 0.5) if name == "silk" else Perceptron(1.0, 1.0 if name == "projectron++" else margin)
        policy = new_strategy(name, budget, capacity, seed=seed, threshold=threshold)
    return Parts(hinge_for(n_outputs), KERNELS[kernel], schedule, policy, Unconstrained()), model


def stream(n_rows, seed, *, n_classes=2, on_a_grid=False):
    """Noisy rows; on a grid many of them are equal, so that there are ties and newcomers in the span of others."""
    X, labels = blobs(n_rows, N_FEATURES, n_classes, seed)
    return (np.round(X) if on_a_grid else X), labels


def one_by_one(parts, model, X, labels):
    """Learn one row after the other, and stop after each of them to be looked at."""
    for i in range(len(labels)):
        learned, same = learn(parts, model, X[i : i + 1], labels[i : i + 1])
        assert learned is parts  # with a budget, nothing is ever allocated
        assert same is model
        yield i


def in_batches(parts, model, X, labels, n_rows):
    for start in range(0, len(labels), n_rows):
        learn(parts, model, X[start : start + n_rows], labels[start : start + n_rows])
    return model


def gram(parts, X, Z):
    kernel = "rbf" if isinstance(parts.kernel, RBF) else "poly"
    return kernel_matrix(X, Z, kernel=kernel, **parts.kernel._asdict())


def rows_of(model):
    return model.rows[: model.counts[0]["n_slots"]]


def value_at(parts, model, x):
    return float(gram(parts, x[None], rows_of(model))[0] @ coefficients(model)[:, 0])


def assert_same_model(model, reference):
    n = reference.counts[0]["n_slots"]
    np.testing.assert_array_equal(model.counts, reference.counts)
    np.testing.assert_array_equal(model.births[:n], reference.births[:n])
    np.testing.assert_array_equal(model.rows[:n], reference.rows[:n])
    np.testing.assert_allclose(coefficients(model), coefficients(reference), rtol=1e-9, atol=1e-9)


class TestEveryPolicy:
    @few_examples
    @given(seed=seeds, budget=st.integers(2, 12), on_a_grid=st.booleans())
    @pytest.mark.parametrize("name", NAMES)
    def test_budget_is_never_exceeded(self, name, seed, budget, on_a_grid):
        X, labels = stream(100, seed, on_a_grid=on_a_grid)
        parts, model = new_learner(name, budget)
        largest = max(model.counts[0]["n_slots"] for _ in one_by_one(parts, model, X, labels))
        assert largest == budget
        assert model.counts[0]["n_seen"] == 100
        assert np.isfinite(coefficients(model)).all()

    @few_examples
    @given(seed=seeds)
    @pytest.mark.parametrize(
        ("name", "n_outputs"), [*((name, 1) for name in NAMES), *((name, 4) for name in MULTI_CLASS)]
    )
    def test_batches_do_not_matter(self, name, n_outputs, seed):
        """What a policy remembers, such as a random generator's state, goes on from batch to batch."""
        X, labels = stream(120, seed, n_classes=max(2, n_outputs))
        whole_parts, whole = new_learner(name, n_outputs=n_outputs, seed=seed)
        learn(whole_parts, whole, X, labels)
        for n_rows in (1, 7):
            parts, model = new_learner(name, n_outputs=n_outputs, seed=seed)
            assert_same_model(in_batches(parts, model, X, labels, n_rows), whole)
            if name == "random":
                np.testing.assert_array_equal(parts.policy.rng, whole_parts.policy.rng)

    @few_examples
    @given(seed=seeds)
    @pytest.mark.parametrize(("name", "n_outputs"), [("random", 4), ("projectron++", 4), ("forgetron", 1), ("nn", 1)])
    def test_sparse_rows_do_not_matter(self, name, n_outputs, seed):
        X, labels = stream(120, seed, n_classes=max(2, n_outputs))
        X[np.abs(X) < 0.5] = 0.0
        dense, sparse = (new_learner(name, n_outputs=n_outputs) for _ in range(2))
        learn(*dense, X, labels)
        learn(*sparse, scipy.sparse.csr_matrix(X), labels)
        assert_same_model(sparse[1], dense[1])

    @few_examples
    @given(seed=seeds)
    @pytest.mark.parametrize("name", ["budget", "projectron", "nn", "projecting"])
    def test_caches_can_be_lost(self, name, seed):
        """Values, neighbors and inverses are those of the model: a policy that knows none of them finds them again."""
        X, labels = stream(120, seed)
        parts, model = new_learner(name)
        learn(parts, model, X, labels)
        ignorant, again = new_learner(name)
        learn(ignorant, again, X[:60], labels[:60])
        learn(new_learner(name)[0], again, X[60:], labels[60:])
        n = model.counts[0]["n_slots"]
        np.testing.assert_array_equal(again.births[:n], model.births[:n])
        np.testing.assert_allclose(coefficients(again), coefficients(model), rtol=1e-8, atol=1e-8)


def test_a_full_stoptron_learns_no_more():
    X, labels = stream(100, seed=0)
    parts, model = new_learner("stop")
    n_updates = [int(model.counts[0]["n_updates"]) for _ in one_by_one(parts, model, X, labels)]
    assert n_updates[-1] == model.counts[0]["n_slots"] == 8
    np.testing.assert_array_equal(np.abs(coefficients(model)), 1.0)
    first_full = n_updates.index(8) + 1
    assert model.births[:8].max() == first_full < 60


def test_a_random_choice_is_never_the_newcomer():
    X, labels = stream(200, seed=0)
    parts, model = new_learner("random", budget=2)
    n_updates = 0
    for i in one_by_one(parts, model, X, labels):
        if model.counts[0]["n_updates"] > n_updates:
            assert i + 1 in model.births[: model.counts[0]["n_slots"]]
        n_updates = model.counts[0]["n_updates"]
    assert n_updates > 50


class TestForgetron:
    @few_examples
    @given(seed=seeds, budget=st.integers(2, 12))
    @pytest.mark.parametrize("margin", [0.0, 1.0])
    def test_bound_on_what_is_spoiled(self, margin, seed, budget):
        """Q <= 15/32 M is what the algorithm's bound on mistakes rests on; and memories only fade."""
        X, labels = stream(150, seed)
        parts, model = new_learner("forgetron", budget, margin=margin)
        sizes = {}
        for _ in one_by_one(parts, model, X, labels):
            assert parts.policy.spoiled[0] <= FORGETRON_SHARE * model.counts[0]["n_updates"] * (1 + 1e-12)
            present = dict(zip(model.births, np.abs(coefficients(model)[:, 0]), strict=False))
            assert all(size <= sizes.get(birth, 1.0) * (1 + 1e-12) for birth, size in present.items())
            sizes = present
        assert parts.policy.spoiled[0] > 0.0
        assert model.scalars[0]["scale"] < 1.0

    def test_the_oldest_goes(self):
        X, labels = stream(150, seed=0)
        parts, model = new_learner("forgetron")
        n_updates, learned = 0, []
        for i in one_by_one(parts, model, X, labels):
            if model.counts[0]["n_updates"] > n_updates:
                learned.append(i + 1)
            n_updates = model.counts[0]["n_updates"]
            assert sorted(model.births[: model.counts[0]["n_slots"]]) == learned[-8:]
        assert len(learned) > 20


class TestSelfScores:
    def assert_true(self, parts, model):
        n = model.counts[0]["n_slots"]
        true = gram(parts, rows_of(model), rows_of(model)) @ coefficients(model)[:, 0]
        assert parts.policy.scores.state[0]["n_covered"] == n
        np.testing.assert_allclose(parts.policy.scores.values[:n], true, rtol=0, atol=1e-11)

    @few_examples
    @given(seed=seeds, budget=st.integers(2, 8), on_a_grid=st.booleans())
    @pytest.mark.parametrize("name", ["budget", "tighter", "tightest"])
    def test_values_are_those_of_the_model(self, name, seed, budget, on_a_grid):
        X, labels = stream(150, seed, on_a_grid=on_a_grid)
        parts, model = new_learner(name, budget)
        for _ in one_by_one(parts, model, X, labels):
            self.assert_true(parts, model)

    def test_errors_heal(self):
        """The values are computed afresh now and then, so that rounding cannot add up."""
        X, labels = stream(800, seed=0)
        parts, model = new_learner("budget", 4)
        learn(parts, model, X[:200], labels[:200])
        before = model.counts[0]["n_updates"]
        parts.policy.scores.values[:] += 0.1
        learn(parts, model, X[200:], labels[200:])
        assert model.counts[0]["n_updates"] - before > 2 * REFRESH * 4
        self.assert_true(parts, model)

    @few_examples
    @given(seed=seeds, budget=st.integers(2, 8))
    @pytest.mark.parametrize("margin", [0.0, 1.0])
    def test_tightest_counts_every_example_once(self, margin, seed, budget):
        X, labels = stream(120, seed)
        parts, model = new_learner("tightest", budget, margin=margin)
        for i in one_by_one(parts, model, X, labels):
            counts = parts.policy.counts[:, : model.counts[0]["n_slots"]]
            np.testing.assert_allclose(counts.sum(axis=1), np.bincount(labels[: i + 1], minlength=2), rtol=1e-12)


@few_examples
@given(seed=seeds, budget=st.integers(2, 10), on_a_grid=st.booleans())
@pytest.mark.parametrize("kernel", KERNELS)
def test_neighbors_are_the_nearest_in_feature_space(kernel, seed, budget, on_a_grid):
    X, labels = stream(120, seed, on_a_grid=on_a_grid)
    parts, model = new_learner("nn", budget, kernel=kernel)
    neighbors = parts.policy.neighbors
    for _ in one_by_one(parts, model, X, labels):
        n = int(model.counts[0]["n_slots"])
        assert neighbors.state[0]["n_covered"] == n
        if n == 1:
            assert neighbors.slot[0] == -1
            continue
        values = gram(parts, rows_of(model), rows_of(model))
        distances = np.diag(values)[:, None] - 2.0 * values + np.diag(values)
        np.fill_diagonal(distances, np.inf)
        slots, everyone = neighbors.slot[:n], np.arange(n)
        assert np.all((slots >= 0) & (slots < n) & (slots != everyone))
        scale = np.abs(values).max()
        np.testing.assert_allclose(distances[everyone, slots], distances.min(axis=1), rtol=1e-9, atol=1e-11 * scale)
        np.testing.assert_allclose(neighbors.value[:n], values[everyone, slots], rtol=1e-9, atol=1e-11 * scale)
        if not on_a_grid:  # no ties
            np.testing.assert_array_equal(slots, distances.argmin(axis=1))


@few_examples
@given(seed=seeds, budget=st.integers(2, 10), on_a_grid=st.booleans())
@pytest.mark.parametrize("name", ["projectron", "projectron++", "projecting"])
def test_inverse_is_that_of_the_kernel_matrix(name, seed, budget, on_a_grid):
    X, labels = stream(150, seed, on_a_grid=on_a_grid)
    parts, model = new_learner(name, budget)
    span = parts.policy.span
    for _ in one_by_one(parts, model, X, labels):
        n = model.counts[0]["n_slots"]
        matrix = gram(parts, rows_of(model), rows_of(model))
        assert span.state[0]["n_covered"] == n
        tolerance = 1e-13 * np.linalg.cond(matrix) + 1e-12
        np.testing.assert_allclose(span.inverse[:n, :n] @ matrix, np.eye(n), rtol=0, atol=tolerance)


@few_examples
@given(seed=seeds, threshold=st.floats(0.2, 0.8))
@pytest.mark.parametrize("name", ["projectron", "projectron++"])
def test_support_vectors_are_farther_apart_than_the_threshold(name, seed, threshold):
    """Each was farther than that from the span of those before it, and none is ever removed."""
    X, labels = stream(150, seed)
    parts, model = new_learner(name, 100, threshold=threshold)
    learn(parts, model, X, labels)
    assert 2 < model.counts[0]["n_slots"] < 100
    factor = np.linalg.cholesky(gram(parts, rows_of(model), rows_of(model)))
    assert np.diag(factor)[1:].min() > threshold * (1 - 1e-9)


@few_examples
@given(seed=seeds, C=st.floats(0.01, 20.0), on_a_grid=st.booleans())
@pytest.mark.parametrize(
    ("variant", "kernel"), [("simple", "rbf"), ("nn", "rbf"), ("nn", "poly"), ("projecting", "rbf")]
)
def test_newcomers_get_the_passive_aggressive_value(variant, kernel, seed, C, on_a_grid):
    """y f_new(x) = y f(x) + tau K(x, x) with or without a removal: others make up for it without a change at x."""
    X, labels = stream(100, seed, on_a_grid=on_a_grid)
    parts, model = new_learner(variant, C=C, kernel=kernel)
    before = value_at(parts, model, X[0])
    for i in one_by_one(parts, model, X, labels):
        x, y = X[i], 2 * labels[i] - 1
        own = gram(parts, x[None], x[None])[0, 0]
        tau = max(0.0, min(C, (1.0 - y * before) / own))
        size = 1.0 + np.abs(coefficients(model)).max(initial=0.0)
        assert y * value_at(parts, model, x) == pytest.approx(y * before + tau * own, rel=1e-8, abs=1e-8 * size)
        before = value_at(parts, model, X[i + 1]) if i + 1 < len(X) else 0.0
    assert model.counts[0]["n_updates"] > 20


@entry
def _found(births, coef, n):
    return oldest(births, n), weakest(coef, n)


@pytest.mark.parametrize("place", [0, 63, 64, 130])
def test_who_goes_is_found_among_many(place):
    """In whatever chunk the oldest and the weakest are; of equals, the first; none beyond the last slot."""
    births, coef = np.arange(200)[::-1] + 1000, np.where(np.arange(200) % 2, 2.0, -2.0)[None]
    births[place], coef[0, place : place + 2] = 5, (0.5, -0.5)
    births[199], coef[0, 199] = 0, 0.1
    assert _found(births, coef, 199) == (place, place)
