"""Low-rank machines with several outputs: quantiles, targets in columns, labels in columns."""

import re

import numpy as np
import pytest
from oracles import regression_losses as oracle
from oracles.low_rank import nystroem_features
from scipy.sparse import csr_array
from sklearn.metrics import accuracy_score, d2_pinball_score, hamming_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multioutput import MultiOutputClassifier

import frugalsvm
from frugalsvm import ASSETClassifier, ASSETRegressor
from frugalsvm.export import plain_model

SMALL = {"n_components": 32, "C": 5.0, "gamma": 0.5, "random_state": 0}
QUANTILES = [0.1, 0.5, 0.9]


@pytest.fixture(scope="module")
def wave():
    """Rows, and a wave whose noise depends on the row."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(1500, 2))
    return X, np.sin(2 * X[:, 0]) + (0.1 + 0.3 * np.abs(X[:, 1])) * rng.normal(size=1500)


@pytest.fixture(scope="module")
def columns(wave):
    X, y = wave
    return X, np.column_stack([y, np.cos(X[:, 1]), X[:, 0] * X[:, 1]])


@pytest.fixture(scope="module")
def labels():
    """Rows, and three labels, one of which no row has."""
    X = np.random.default_rng(0).uniform(-2, 2, size=(1500, 2))
    return X, np.column_stack([np.sin(3 * X[:, 0]) > 0, X[:, 0] * X[:, 1] > 0, np.zeros(1500)]).astype(int)


@pytest.fixture(scope="module")
def of_quantiles(wave):
    return ASSETRegressor(loss="pinball", quantile=QUANTILES, **SMALL).fit(*wave)


@pytest.fixture(scope="module")
def of_columns(columns):
    return ASSETRegressor(epsilon=0.05, tol=1e-3, **SMALL).fit(*columns)


@pytest.fixture(scope="module")
def of_labels(labels):
    return ASSETClassifier(**SMALL).fit(*labels)


class TestQuantiles:
    def test_as_many_rows_are_below(self, of_quantiles, wave):
        X, y = wave
        np.testing.assert_allclose((y[:, None] <= of_quantiles.predict(X)).mean(axis=0), QUANTILES, atol=0.02)

    def test_the_objective_is_that_of_the_oracle(self, of_quantiles, wave):
        X, y = wave
        V = nystroem_features(lambda A, B: rbf_kernel(A, B, 0.5), of_quantiles.landmarks_, X, 1e-7)
        optima = [oracle.optimum(V, y, np.ones(len(V)), 1 / (5 * len(V)), "pinball", q) for q in QUANTILES]
        assert of_quantiles.objective_ == pytest.approx(sum(optima), rel=5e-3)
        assert of_quantiles.objective_ - of_quantiles.suboptimality_bound_ <= sum(optima) * (1 + 1e-4)
        assert of_quantiles.suboptimality_bound_ < 0.02 * of_quantiles.objective_

    def test_each_is_that_of_a_machine_of_its_own(self, of_quantiles, wave):
        X, _ = wave
        for column, quantile in enumerate(QUANTILES):
            alone = ASSETRegressor(loss="pinball", quantile=quantile, **SMALL).fit(*wave).predict(X)
            assert alone.shape == (len(X),)
            np.testing.assert_allclose(of_quantiles.predict(X)[:, column], alone, atol=0.05)

    def test_the_score_is_the_share_of_the_loss_that_it_saves(self, of_quantiles, wave):
        X, y = wave
        weights = np.random.default_rng(1).integers(0, 3, len(y))
        scores = [
            d2_pinball_score(np.repeat(y, weights), np.repeat(p, weights), alpha=q)
            for q, p in zip(QUANTILES, of_quantiles.predict(X).T, strict=True)
        ]
        assert of_quantiles.score(X, y, sample_weight=weights) == pytest.approx(np.mean(scores), abs=1e-3)

    def test_sorted_quantiles_do_not_cross(self, wave):
        X, y = wave[0][:60], wave[1][:60]
        model = ASSETRegressor(loss="pinball", quantile=[0.6, 0.4, 0.5], **{**SMALL, "C": 1000.0}).fit(X, y)
        crossing = model.predict(X)
        assert (crossing[:, 1] > crossing[:, 0]).any()
        in_order = model.set_params(non_crossing=True).predict(X)
        assert (in_order[:, 1] <= in_order[:, 2]).all()
        assert (in_order[:, 2] <= in_order[:, 0]).all()
        np.testing.assert_array_equal(np.sort(in_order), np.sort(crossing))

    def test_the_best_C_has_the_least_pinball_loss(self, wave):
        X, y = wave
        settings = {**SMALL, "C": [1e-4, 1.0], "loss": "pinball"}
        model = ASSETRegressor(quantile=0.05, **settings).fit(X, y)
        assert model.C_ == 1.0
        assert model.path_["validation_score"][1] > model.path_["validation_score"][0]

    @pytest.mark.parametrize("quantile", [0.0, 1.0, [0.5, 1.5], [], "half", [[0.5]]])
    def test_refused(self, wave, quantile):
        with pytest.raises(ValueError, match="quantile must be between 0 and 1"):
            ASSETRegressor(loss="pinball", quantile=quantile, **SMALL).fit(*wave)

    def test_one_target_only(self, columns):
        with pytest.raises(ValueError, match="one target, but y has 3 columns"):
            ASSETRegressor(loss="pinball", **SMALL).fit(*columns)

    def test_other_quantiles_than_before(self, wave):
        model = ASSETRegressor(loss="pinball", quantile=QUANTILES, **SMALL).partial_fit(*wave)
        with pytest.raises(ValueError, match="The model has 3 outputs, but the targets and parameters need 1"):
            model.set_params(quantile=0.5).partial_fit(*wave)


def test_huber_needs_a_width(wave):
    with pytest.raises(ValueError, match="epsilon"):
        ASSETRegressor(loss="huber", epsilon=0.0, **SMALL).fit(*wave)


def test_huber_does_not_mind_outliers(wave):
    X, y = wave[0], np.sin(2 * wave[0][:, 0])
    far = y + 20 * (np.arange(len(y)) % 10 == 0)
    robust, squares = (ASSETRegressor(loss=loss, **SMALL).fit(X, far).predict(X) for loss in ("huber", "squared"))
    assert np.abs(robust - y).mean() < 0.1
    assert np.abs(squares - y).mean() > 1.0


class TestTargetsInColumns:
    def test_each_is_that_of_a_machine_of_its_own(self, of_columns, columns):
        X, Y = columns
        predicted = of_columns.predict(X)
        assert predicted.shape == Y.shape
        for column, y in enumerate(Y.T):
            alone = ASSETRegressor(epsilon=0.05, tol=1e-3, **SMALL).fit(X, y)
            np.testing.assert_array_equal(alone.landmarks_, of_columns.landmarks_)
            np.testing.assert_allclose(predicted[:, column], alone.predict(X), atol=0.03)

    def test_one_column_stays_one(self, columns):
        X, Y = columns
        assert ASSETRegressor(**SMALL).fit(X, Y[:, :1]).predict(X).shape == (len(X), 1)

    def test_weights_are_repetitions(self, columns):
        X, Y = columns[0][:400], columns[1][:400]
        weights = np.random.default_rng(0).integers(0, 3, 400)
        settings = {**SMALL, "n_components": 500, "alpha": 1e-3, "tol": 1e-5, "loss": "squared"}
        weighted = ASSETRegressor(**settings).fit(X, Y, sample_weight=weights)
        kept = weights > 0
        # The mean is over rows with a weight, and so is that of repetitions times their number.
        settings["alpha"] *= kept.sum() / weights.sum()
        repeated = ASSETRegressor(**settings).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=0.05)

    def test_path_of_C(self, columns):
        model = ASSETRegressor(**{**SMALL, "C": [1e-4, 5.0]}).fit(*columns)
        assert model.C_ == 5.0
        assert model.score(*columns) > 0.8

    def test_streams(self, columns):
        X, Y = columns
        model = ASSETRegressor(alpha=0.01, **SMALL)
        for start in range(0, len(X), 250):
            model.partial_fit(X[start : start + 250], Y[start : start + 250])
        assert model.score(X, Y) > 0.8
        with pytest.raises(ValueError, match="The model has 3 outputs, but the targets and parameters need 2"):
            model.partial_fit(X, Y[:, :2])

    def test_on_a_device(self, of_columns, columns):
        pytest.importorskip("torch")
        pytest.importorskip("array_api_compat")
        X, Y = columns
        there = ASSETRegressor(epsilon=0.05, device="torch", **SMALL).fit(X, Y)
        np.testing.assert_allclose(there.predict(X), of_columns.predict(X), atol=0.05)
        quantiles = ASSETRegressor(loss="pinball", quantile=QUANTILES, device="torch", **SMALL).fit(X, Y[:, 0])
        np.testing.assert_allclose((Y[:, :1] <= quantiles.predict(X)).mean(axis=0), QUANTILES, atol=0.03)


class TestLabelsInColumns:
    def test_each_is_that_of_a_machine_of_its_own(self, of_labels, labels):
        X, Y = labels
        alone = MultiOutputClassifier(ASSETClassifier(**SMALL)).fit(X, Y[:, :2])
        predicted = of_labels.predict(X)
        assert predicted.shape == Y.shape
        assert hamming_loss(predicted[:, :2], alone.predict(X)) < 0.01
        assert not predicted[:, 2].any()

    def test_scores(self, of_labels, labels):
        X, Y = labels
        values = of_labels.decision_function(X)
        np.testing.assert_array_equal(values >= 0, of_labels.predict(X))
        assert of_labels.score(X, Y) == accuracy_score(Y, of_labels.predict(X)) > 0.9
        assert of_labels.multilabel_
        np.testing.assert_array_equal(of_labels.classes_, [0, 1, 2])

    @pytest.mark.parametrize(
        "form", [lambda Y: Y.astype(bool), lambda Y: Y.astype(float), csr_array, np.ndarray.tolist]
    )
    def test_forms_of_labels(self, of_labels, labels, form):
        X, Y = labels
        again = ASSETClassifier(**SMALL).fit(X, form(Y))
        np.testing.assert_array_equal(again.predict(X), of_labels.predict(X))

    def test_classes_after_labels(self, labels):
        X, Y = labels
        model = ASSETClassifier(**SMALL).fit(X, Y).fit(X, Y[:, 0])
        assert not model.multilabel_
        assert model.predict(X).shape == (len(X),)

    def test_streams(self, labels):
        X, Y = labels
        model = ASSETClassifier(**SMALL)
        for start in range(0, len(X), 250):
            model.partial_fit(X[start : start + 250], Y[start : start + 250])
        assert hamming_loss(Y, model.predict(X)) < 0.1
        with pytest.raises(ValueError, match="labels in 3 columns, but y has 2 columns"):
            model.partial_fit(X, Y[:, :2])
        with pytest.raises(ValueError, match="labels in 3 columns, but y has none"):
            model.partial_fit(X, Y[:, 0])

    def test_labels_after_classes(self, labels):
        X, Y = labels
        with pytest.raises(ValueError, match="one class for each row, but y has 3 columns"):
            ASSETClassifier(**SMALL).fit(X, Y[:, 0]).partial_fit(X, Y)

    def test_path_of_C(self, labels):
        model = ASSETClassifier(**{**SMALL, "C": [1e-4, 5.0]}).fit(*labels)
        assert model.C_ == 5.0

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"class_weight": "balanced"}, "class_weight is for one class in each row"),
            ({"calibrate": "platt"}, "calibrate is for one class in each row"),
            ({"metric": "diag"}, "metric='diag' is learned from one class in each row"),
        ],
    )
    def test_refused(self, labels, parameters, message):
        with pytest.raises(ValueError, match=re.escape(message)):
            ASSETClassifier(**SMALL, **parameters).fit(*labels)

    def test_other_numbers_than_zero_and_one(self, labels):
        X, Y = labels
        with pytest.raises(ValueError, match="0 or 1"):
            ASSETClassifier(**SMALL).fit(X, 2 * Y - 1)
        with pytest.raises(ValueError, match="1d array"):
            ASSETClassifier(**SMALL).fit(X, Y + np.arange(3))

    def test_query_is_not_for_labels(self, of_labels, labels):
        with pytest.raises(ValueError, match="not for labels in columns"):
            of_labels.query(labels[0])


def models(wave, columns, labels):
    """Models of all kinds, with the rows to predict."""
    yield ASSETRegressor(loss="pinball", quantile=QUANTILES, **SMALL).fit(*wave)
    yield ASSETRegressor(loss="pinball", quantile=QUANTILES, **SMALL).partial_fit(*wave)
    yield ASSETRegressor(loss="huber", **SMALL).partial_fit(*wave)
    yield ASSETRegressor(**SMALL).fit(*columns)
    yield ASSETRegressor(**SMALL).partial_fit(*columns)
    yield ASSETClassifier(**SMALL).fit(*labels)
    yield ASSETClassifier(**SMALL).partial_fit(*labels)


def test_model_files(wave, columns, labels, tmp_path):
    X = wave[0]
    for model in models(wave, columns, labels):
        for for_prediction in (False, True):
            frugalsvm.save(model, tmp_path / "model.frugal", for_prediction=for_prediction)
            loaded = frugalsvm.load(tmp_path / "model.frugal")
            np.testing.assert_allclose(loaded.predict(X), model.predict(X), rtol=1e-4, atol=1e-4)


def test_files_whose_outputs_do_not_fit_are_refused(wave, labels, tmp_path):
    path = tmp_path / "model.frugal"
    for model, change in (
        (ASSETRegressor(loss="pinball", quantile=QUANTILES, **SMALL).fit(*wave), {"quantile": 0.5}),
        (ASSETRegressor(loss="pinball", quantile=QUANTILES, **SMALL).fit(*wave), {"loss": "squared", "_n_targets": 2}),
        (ASSETClassifier(**SMALL).fit(*labels), {"classes_": np.arange(4)}),
    ):
        vars(model).update(change)
        frugalsvm.save(model, path)
        with pytest.raises(frugalsvm.persist.ModelFileError):
            frugalsvm.load(path)


def test_exports_have_all_outputs(wave, columns, labels):
    X = wave[0][:50]
    for model in models(wave, columns, labels):
        expected = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
        np.testing.assert_allclose(plain_model(model).decision_function(X), expected, rtol=1e-3, atol=1e-3)


def test_sorted_quantiles_are_not_exported(wave):
    model = ASSETRegressor(loss="pinball", quantile=QUANTILES, non_crossing=True, **SMALL).fit(*wave)
    with pytest.raises(ValueError, match="Sorted quantiles cannot be exported"):
        plain_model(model)
