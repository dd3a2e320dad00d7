"""Budgeted regression: targets of any scale, quantiles, several outputs, the last pass, and what is refused."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from frugalsvm import BSGDRegressor
from frugalsvm.export import plain_model, to_c, to_libsvm, to_onnx
from frugalsvm.pipelines import StreamPipeline

LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "huber", "squared", "pinball")
# All tests share two pieces of machine code: one output and several, merging.
MACHINE = {"budget": 40, "gamma": 0.4, "random_state": 0}
NOISE = 0.2


@pytest.fixture(scope="module")
def waves():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(6000, 2))
    y = np.sin(X[:, 0]) * X[:, 1] + NOISE * rng.normal(size=len(X))
    return X, y


def rmse(model, X, y):
    return float(np.sqrt(np.mean(np.square(model.predict(X) - y))))


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_learns_in_one_pass_and_comes_close_to_the_noise_after_the_last(loss, waves):
    X, y = waves
    model = BSGDRegressor(loss, **MACHINE).fit(X[:5000], y[:5000])
    assert rmse(model, X[5000:], y[5000:]) < 2.5 * NOISE
    model.set_params(average="post").fit(X[:5000], y[:5000])
    assert rmse(model, X[5000:], y[5000:]) < 1.35 * NOISE
    assert model.n_iter_ == 2
    assert len(model.support_vectors_) == 40


@pytest.mark.parametrize("average", [False, "post"])
def test_the_scale_of_the_target_does_not_matter(average, waves):
    X, y = waves
    model = BSGDRegressor(average=average, **MACHINE).fit(X, y)
    other = BSGDRegressor(average=average, **MACHINE).fit(X, 1e6 * y + 3e7)
    np.testing.assert_allclose((other.predict(X) - 3e7) / 1e6, model.predict(X), atol=1e-5)
    np.testing.assert_allclose(other.epsilon_, 1e6 * model.epsilon_, rtol=1e-6)


def test_predictions_are_the_expansion_of_published_attributes(waves):
    X, y = waves
    model = BSGDRegressor(**MACHINE).fit(X, 50 * y + 7)
    squares = np.square(X[:20, None] - model.support_vectors_).sum(axis=2)
    expected = np.exp(-model.gamma_ * squares) @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.predict(X[:20]), expected, rtol=1e-9)


def test_a_given_scale_makes_batches_of_any_size_the_same(waves):
    X, y = waves
    steps = {"epsilon": 0.1, "eta0": 5.0, "standardize": (float(y.mean()), float(y.std()))}
    whole = BSGDRegressor(**MACHINE, **steps).partial_fit(X[:300], y[:300])
    parts = BSGDRegressor(**MACHINE, **steps)
    for start in range(0, 300, 7):
        parts.partial_fit(X[start : min(start + 7, 300)], y[start : min(start + 7, 300)])
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-8)


class TestQuantiles:
    def test_as_many_rows_are_below_as_promised(self, waves):
        X, y = waves
        wanted = [0.9, 0.1, 0.5]
        model = BSGDRegressor("pinball", quantile=wanted, average="post", **MACHINE).fit(X[:5000], y[:5000])
        predicted = model.predict(X[5000:])
        assert predicted.shape == (1000, 3)
        below = (y[5000:, None] <= predicted).mean(axis=0)
        np.testing.assert_allclose(below, wanted, atol=0.04)  # three standard errors of 1000 rows are 0.03 to 0.05

    @pytest.mark.parametrize("weighted", [False, True])
    def test_of_few_rows_they_hold_for_others(self, waves, weighted):
        X, y = waves
        weights = np.ones(400) if weighted else None
        if weighted:
            weights[::4] = 0.0
        model = BSGDRegressor("pinball", quantile=[0.05, 0.95], average="post", **{**MACHINE, "budget": 100})
        low, high = model.fit(X[:400], y[:400], weights).predict(X[1000:]).T
        assert 0.84 < np.mean((low <= y[1000:]) & (y[1000:] <= high)) < 0.97

    def test_they_do_not_cross_on_demand(self, waves):
        X, y = waves
        wanted = [0.52, 0.48, 0.5]  # so near to each other that some are in the wrong order
        model = BSGDRegressor("pinball", quantile=wanted, **MACHINE).fit(X, y)
        crossing = model.predict(X)
        assert (np.diff(crossing[:, [1, 2, 0]], axis=1) < 0).any()
        model.set_params(non_crossing=True)
        sorted_ones = model.predict(X)
        assert (np.diff(sorted_ones[:, [1, 2, 0]], axis=1) >= 0).all()
        np.testing.assert_array_equal(np.sort(crossing, axis=1), np.sort(sorted_ones, axis=1))

    def test_one_has_no_columns_unless_asked_for_in_a_list(self, waves):
        X, y = waves
        assert BSGDRegressor("pinball", quantile=0.9, **MACHINE).fit(X[:300], y[:300]).predict(X).shape == (6000,)
        assert BSGDRegressor("pinball", quantile=[0.9], **MACHINE).fit(X[:300], y[:300]).predict(X).shape == (6000, 1)

    def test_the_first_guess_is_the_quantile_of_the_targets(self):
        X, y = np.zeros((100, 1)), np.arange(100.0)
        model = BSGDRegressor("pinball", quantile=[0.25, 0.75], eta0=1e-9, alpha=1e-3, **MACHINE).fit(X, y)
        np.testing.assert_allclose(model.intercept_, [24, 74], atol=1)


class TestSeveralTargets:
    def test_share_support_vectors(self, waves):
        X, y = waves
        targets = np.column_stack([y, 100 * X[:, 0], np.full(len(y), 5.0)])
        model = BSGDRegressor(average="post", **MACHINE).fit(X, targets)
        assert model.dual_coef_.shape == (3, 40)
        error = np.sqrt(np.mean(np.square(model.predict(X) - targets), axis=0))
        assert (error < [1.5 * NOISE, 10.0, 0.05]).all()

    def test_a_column_stays_a_column(self, waves):
        X, y = waves
        model = BSGDRegressor(**MACHINE).fit(X[:300], y[:300, None])
        assert model.predict(X).shape == (6000, 1)

    def test_their_number_stays(self, waves):
        X, y = waves
        model = BSGDRegressor(**MACHINE).partial_fit(X[:300], y[:300])
        with pytest.raises(ValueError, match="The model has 1 outputs, but the targets and parameters need 2"):
            model.partial_fit(X[:300], np.column_stack([y, y])[:300])


def test_epsilon_follows_the_noise(waves):
    X, y = waves
    model = BSGDRegressor(**MACHINE).fit(X, y)
    assert 0.4 * NOISE < model.epsilon_[0] < 0.65 * NOISE
    assert BSGDRegressor("huber", **MACHINE).fit(X, y).epsilon_[0] == pytest.approx(2.69 * model.epsilon_[0], rel=1e-3)
    clean = BSGDRegressor(**MACHINE).fit(X, X[:, 0])
    assert clean.epsilon_[0] < 0.1 * model.epsilon_[0]


def test_examples_without_weight_do_not_count(waves):
    X, y = waves
    wrong = y[:2000].copy()
    wrong[::2] = 1e6
    weights = np.tile([0.0, 1.0], 1000)
    for average in (False, "post"):
        model = BSGDRegressor(average=average, **MACHINE).fit(X[:2000], wrong, weights)
        assert rmse(model, X, y) < 0.6


def test_the_last_pass_of_sparse_rows_is_that_of_dense_ones(waves):
    X, y = waves
    machine = {**MACHINE, "average": "post", "epsilon": 0.1, "eta0": 30.0}
    dense = BSGDRegressor(**machine).fit(X[:1000], y[:1000])
    sparse = BSGDRegressor(**machine).fit(csr_matrix(X[:1000]), y[:1000])
    np.testing.assert_allclose(sparse.predict(X), dense.predict(X), atol=1e-6)


def test_a_budget_in_bytes(waves):
    X, y = waves
    model = BSGDRegressor(**{**MACHINE, "budget": "1KB"}).fit(X, y)
    assert model.model_bytes_ <= 1024 < model.model_bytes_ + 32
    assert model.budget_ == len(model.support_vectors_) == 32


def test_it_learns_on_after_the_last_pass(waves):
    X, y = waves
    model = BSGDRegressor(average="post", **MACHINE).fit(X[:3000], y[:3000])
    before = rmse(model, X[5000:], y[5000:])
    model.partial_fit(X[3000:5000], y[3000:5000])
    assert model.t_ == 5000
    assert rmse(model, X[5000:], y[5000:]) < 2 * before


def test_warm_start_goes_on(waves):
    X, y = waves
    model = BSGDRegressor(warm_start=True, **MACHINE).fit(X[:1000], y[:1000]).fit(X[1000:2000], y[1000:2000])
    assert model.t_ == 2000


def test_behind_a_scaler_in_a_pipeline(waves):
    X, y = waves
    model = StreamPipeline(BSGDRegressor(budget=40, gamma=1.0, random_state=0), warmup_rows=500)
    for start in range(0, 5000, 250):
        model.partial_fit(1000 * X[start : start + 250], y[start : start + 250])
    assert model.score(1000 * X[5000:], y[5000:]) > 0.85
    model.learn_one_row(1000 * X[0], y[0])
    assert model.predict_one_row(1000 * X[0]) == pytest.approx(model.predict(1000 * X[:1])[0])


class TestExports:
    @pytest.fixture
    def model(self, waves):
        X, y = waves
        return BSGDRegressor("pinball", quantile=[0.1, 0.9], **MACHINE).fit(X + 100, 50 * y)

    def test_plain_numbers(self, model, waves):
        X, _ = waves
        np.testing.assert_allclose(plain_model(model).predict(X[:50] + 100), model.predict(X[:50] + 100), rtol=1e-6)

    def test_onnx_has_a_column_for_each_output(self, model, waves):
        pytest.importorskip("onnx")
        reference = pytest.importorskip("onnx.reference")
        rows = waves[0][:50] + 100
        (scores,) = reference.ReferenceEvaluator(to_onnx(model, dtype="float64")).run(None, {"X": rows})
        np.testing.assert_allclose(scores, model.predict(rows), rtol=1e-6)

    def test_c_has_scores_of_all_outputs(self, model, tmp_path):
        header, _ = to_c(model, tmp_path, name="waves")
        assert "#define WAVES_N_SCORES 2" in header.read_text()

    def test_what_formats_have_no_words_for_is_refused(self, model, waves, tmp_path):
        with pytest.raises(ValueError, match="LIBSVM has regressions with one output"):
            to_libsvm(model, tmp_path / "model.txt")
        X, y = waves
        options = {"quantile": [0.1, 0.9], "non_crossing": True}
        with pytest.raises(ValueError, match="Sorted quantiles cannot be exported"):
            plain_model(BSGDRegressor("pinball", **options, **MACHINE).fit(X[:300], y[:300]))


QUANTILES = [0.05, 0.5, 0.95]


def shares_below(model, X, y):
    return (y[:, None] <= model.predict(X)).mean(axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_quantiles_hold_after_one_pass(seed, waves):
    X, y = waves
    n = len(y) // 2
    model = BSGDRegressor("pinball", quantile=QUANTILES, budget=50, gamma=0.5, random_state=seed).fit(X[:n], y[:n])
    np.testing.assert_allclose(shares_below(model, X[:n], y[:n]), QUANTILES, atol=0.01)
    np.testing.assert_allclose(shares_below(model, X[n:], y[n:]), QUANTILES, atol=0.03)


def test_quantiles_are_adjusted_on_rows_that_were_not_learned(waves):
    X, y = waves
    n = len(y) // 2
    model = BSGDRegressor("pinball", quantile=QUANTILES, budget=50, gamma=0.5, random_state=0)
    model.partial_fit(X[:n], y[:n]).adjust_quantiles(X[n:], y[n:])
    np.testing.assert_allclose(shares_below(model, X[n:], y[n:]), QUANTILES, atol=0.005)
    weights = (np.arange(len(y) - n) % 3 == 0).astype(float)
    model.adjust_quantiles(X[n:], y[n:], weights)
    some = np.flatnonzero(weights) + n
    np.testing.assert_allclose(shares_below(model, X[some], y[some]), QUANTILES, atol=0.005)
    model.partial_fit(X[:n], y[:n])  # it learns on
    with pytest.raises(ValueError, match="adjust_quantiles is for loss='pinball'"):
        BSGDRegressor(budget=50, gamma=0.5).fit(X, y).adjust_quantiles(X, y)


def test_refused_targets(waves):
    X, y = waves
    model = BSGDRegressor(**MACHINE).fit(X[:300], y[:300])
    before = model.predict(X)
    for bad in (np.full(10, np.nan), np.zeros(9), np.zeros((10, 2)), None):
        with pytest.raises(ValueError, match=r"NaN|inconsistent|outputs|None"):
            model.partial_fit(X[:10], bad)
    np.testing.assert_array_equal(model.predict(X), before)
    with pytest.raises(ValueError, match="loss='pinball' is for one target, but y has 2 columns"):
        BSGDRegressor("pinball").fit(X, np.column_stack([y, y]))
