"""Sets of labels: as many with the true label as promised, in every window, through every drift."""

import numpy as np
import pytest
from conformal_support import label_is_in, shares_in_windows
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from frugalsvm import BSGDClassifier
from frugalsvm.conformal import ConformalClassifier
from frugalsvm.datasets import DriftStream
from frugalsvm.exceptions import ParameterError
from frugalsvm.pipelines import StreamPipeline

CLASSES = np.arange(3)
BOARD = BSGDClassifier(budget=100, gamma=5.0, alpha=1e-4)


def covered(model, stream, n_rows, batch):
    """Whether the label of each row was in its set."""
    found = []
    for X, y in stream.chunks(n_rows, batch):
        sets = model.test_then_train(X, y)
        found.append(label_is_in(sets, model.classes_, y))
    return np.concatenate(found)


def clouds(n_rows, seed=0, n_classes=3, std=1.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    return np.stack([2.0 * y, 0.0 * y], axis=1) + std * rng.normal(size=(n_rows, 2)), y


class TestCoverage:
    @pytest.mark.parametrize("drift", ["abrupt", pytest.param("gradual", marks=pytest.mark.slow)])
    def test_of_a_checkerboard_that_is_replaced_by_its_negative(self, drift):
        stream = DriftStream("checkerboard", drift, changes=8_000, random_state=0)
        hits = covered(ConformalClassifier(BOARD), stream, 24_000, 40)
        shares = shares_in_windows(hits)
        assert shares.min() > 0.88
        assert shares.max() < 0.92

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["sea", "hyperplane", "moving_rbf"])
    @pytest.mark.parametrize("drift", ["abrupt", "incremental"])
    def test_of_other_models_and_streams(self, name, drift):
        stream = DriftStream(name, drift, changes=5_000, random_state=0)
        model = ConformalClassifier(SGDClassifier(random_state=0), coverage=0.9)
        model.partial_fit(*stream.take(100), classes=[0, 1] if name == "moving_rbf" else [-1, 1])
        shares = shares_in_windows(covered(model, stream, 20_000, 20))
        assert shares.min() > 0.88
        assert shares.max() < 0.92

    def test_of_a_model_that_does_not_learn(self):
        X, y = clouds(2_000)
        frozen = FrozenEstimator(GaussianNB().fit(X, y))
        model = ConformalClassifier(frozen, coverage=0.8)
        found = []
        for k in range(400):
            X, y = clouds(50, seed=k, std=1.0 + k / 100)  # it gets worse and worse
            found.append(label_is_in(model.test_then_train(X, y), model.classes_, y))
        shares = shares_in_windows(np.concatenate(found))
        assert 0.78 < shares.min() < shares.max() < 0.82

    def test_a_fixed_level_would_not_do(self):
        """The promise is kept by what is made up for: with endless patience, it is not."""
        stream = DriftStream("checkerboard", changes=8_000, random_state=0)
        model = ConformalClassifier(BOARD, window=5_000, patience=1e9)
        shares = shares_in_windows(covered(model, stream, 16_000, 40))
        assert shares.max() > 0.95

    def test_by_class(self):
        X, y = clouds(40_000)
        y = np.where(np.random.default_rng(0).random(len(y)) < 0.1, y, np.minimum(y, 1))  # class 2 is rare
        gains = {}
        for by_class in (False, True):
            model = ConformalClassifier(GaussianNB(), by_class=by_class)
            found = [
                label_is_in(model.test_then_train(X[k : k + 250], y[k : k + 250], CLASSES), CLASSES, y[k : k + 250])
                for k in range(0, len(y), 250)
            ]
            found = np.concatenate(found)[2_000:]
            gains[by_class] = [found[y[2_000:] == label].mean() for label in range(3)]
        np.testing.assert_allclose(gains[True], 0.9, atol=0.02)
        assert max(abs(share - 0.9) for share in gains[False]) > 0.04


class TestSets:
    def test_those_of_single_rows_are_those_that_are_counted(self):
        X, y = clouds(300)
        one, other = (ConformalClassifier(GaussianNB()).partial_fit(X[:50], y[:50], CLASSES) for _ in range(2))
        for k in range(50, 300):
            expected = one.predict_set(X[k : k + 1])
            one.partial_fit(X[k : k + 1], y[k : k + 1])
            np.testing.assert_array_equal(other.test_then_train(X[k : k + 1], y[k : k + 1]), expected)
        assert one.coverage_ == other.coverage_

    def test_scores_are_from_before_the_rows_are_learned(self):
        X, y = clouds(400)
        model = ConformalClassifier(GaussianNB()).partial_fit(X[:100], y[:100], CLASSES)
        before = model.outputs(X[100:])
        model.partial_fit(X[100:], y[100:])
        assert not np.array_equal(before, model.outputs(X[100:]))
        known = np.sort(before[np.arange(300), y[100:]])
        np.testing.assert_array_equal(model._reservoirs[0].ranked[:300], known)

    def test_a_label_is_in_the_set_if_its_p_value_is_above_the_level(self):
        X, y = clouds(5_000)
        model = ConformalClassifier(GaussianNB(), window=499, patience=1e9).partial_fit(X[:100], y[:100], CLASSES)
        model.partial_fit(X[100:], y[100:])
        rows, _ = clouds(200, seed=1)
        np.testing.assert_array_equal(model.predict_set(rows), model.p_values(rows) > 0.1 + 1e-9)

    def test_decision_values_of_two_and_of_three_classes(self):
        X, y = clouds(3_000)
        for labels in (np.minimum(y, 1), y):
            model = ConformalClassifier(LinearDiscriminantAnalysis()).fit(X, labels)
            values, best = model.estimator_.decision_function(X), model.predict(X)
            scores = model.outputs(X)
            np.testing.assert_array_equal(model.classes_[scores.argmin(axis=1)], best)
            if values.ndim == 1:
                np.testing.assert_array_equal(scores, np.stack([values, -values], axis=1))
            else:
                k = 1
                others = np.delete(values, k, axis=1).max(axis=1)
                np.testing.assert_allclose(scores[:, k], others - values[:, k])

    def test_decision_values_of_pairs_of_classes_are_refused(self):
        X, y = clouds(200, n_classes=4)
        with pytest.raises(ValueError, match="6 decision values for 4 classes"):
            ConformalClassifier(SVC(decision_function_shape="ovo")).fit(X, y)

    def test_sets_are_small_where_the_model_is_sure(self):
        X, y = clouds(6_000, std=0.3)
        model = ConformalClassifier(GaussianNB(), coverage=0.99).fit(X, y)
        sets = model.predict_set([[0.0, 0.0], [1.0, 0.0]])
        assert sets[0].tolist() == [True, False, False]
        assert sets.sum(axis=1)[0] == 1

    def test_fit_calibrates_with_rows_that_were_not_learned(self):
        X, y = clouds(4_000)
        model = ConformalClassifier(GaussianNB(), random_state=0).fit(X, y)
        assert model.estimator_.class_count_.sum() == 3_000
        rows, labels = clouds(20_000, seed=1)
        assert abs(label_is_in(model.predict_set(rows), model.classes_, labels).mean() - 0.9) < 0.03
        assert np.isnan(model.coverage_)

    def test_fit_begins_anew(self):
        X, y = clouds(1_000)
        model = ConformalClassifier(GaussianNB(), random_state=0)
        first = model.fit(X, y).thresholds_
        model.partial_fit(X, y)
        np.testing.assert_array_equal(model.fit(X, y).thresholds_, first)


class TestClassesThatComeAndGo:
    def test_a_new_class_is_in_no_set_until_it_is_learned(self):
        X, y = clouds(3_000)
        model = ConformalClassifier(BSGDClassifier(budget=50, gamma=1.0, alpha=1e-4, new_classes="grow"))
        early = y < 2
        model.partial_fit(X[early], y[early])
        assert model.predict_set(X).shape == (3_000, 2)
        due = float(model._reservoirs[0].scalars[0]["due"])
        sets = model.test_then_train(X[y == 2], y[y == 2])
        assert sets.shape[1] == 3
        assert not sets[:, 2].any()
        assert model._reservoirs[0].scalars[0]["due"] == due  # no set could have had it
        late = [model.test_then_train(*clouds(50, seed=k)) for k in range(1, 100)]
        assert np.concatenate(late)[:, 2].any()

    def test_a_new_class_with_a_promise_for_each_class(self):
        X, y = clouds(3_000)
        model = ConformalClassifier(
            BSGDClassifier(budget=50, gamma=1.0, alpha=1e-4, new_classes="grow"), by_class=True, window=200
        )
        model.partial_fit(X[y > 0][:500], y[y > 0][:500])
        model.partial_fit(X[y > 0][500:], y[y > 0][500:])
        kept = model._reservoirs[0]
        model.partial_fit(X[y == 0], y[y == 0])
        assert len(model._reservoirs) == 3
        assert model._reservoirs[1] is kept
        for k in range(1, 60):
            model.partial_fit(*clouds(50, seed=k))
        assert 0.88 < model.coverage_ < 0.92

    def test_a_class_that_vanishes(self):
        model = ConformalClassifier(GaussianNB())
        hits = []
        for k in range(300):
            X, y = clouds(50, seed=k, n_classes=3 if k < 100 else 2)
            hits.append(label_is_in(model.test_then_train(X, y, CLASSES), CLASSES, y))
        shares = shares_in_windows(np.concatenate(hits))
        assert 0.88 < shares.min() < shares.max() < 0.92

    def test_a_feature_that_goes_constant(self):
        model = ConformalClassifier(GaussianNB())
        hits = []
        for k in range(300):
            X, y = clouds(50, seed=k)
            if 100 <= k < 200:
                X[:, 0] = 1.0
            hits.append(label_is_in(model.test_then_train(X, y, CLASSES), CLASSES, y))
        shares = shares_in_windows(np.concatenate(hits))
        assert 0.88 < shares.min() < shares.max() < 0.92

    def test_labels_of_text(self):
        X, y = clouds(2_000)
        names = np.array(["a", "b", "c"])
        model = ConformalClassifier(GaussianNB()).partial_fit(X[:500], names[y[:500]], names)
        model.partial_fit(X[500:], names[y[500:]])
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert 0.88 < model.coverage_ < 0.92


class TestPipelines:
    def test_rows_that_a_pipeline_holds_back(self):
        stream = DriftStream("checkerboard", changes=[6_000], random_state=0)
        model = ConformalClassifier(StreamPipeline(BOARD, warmup_rows=300))
        hits = covered(model, stream, 12_000, 20)
        assert 0.88 < shares_in_windows(hits).min() < shares_in_windows(hits).max() < 0.92

    def test_a_feature_that_is_missing_for_a_while(self):
        stream = DriftStream("checkerboard", changes=[6_000], random_state=0)
        model = ConformalClassifier(StreamPipeline(BOARD, warmup_rows=300, impute="mean"))
        hits = []
        for X, y in stream.chunks(14_000, 20):
            if 8_000 < stream.position < 10_000:
                X[:, 0] = np.nan
            hits.append(label_is_in(model.test_then_train(X, y), model.classes_, y))
        shares = shares_in_windows(np.concatenate(hits))
        assert 0.88 < shares.min() < shares.max() < 0.92


class TestRiver:
    def test_row_by_row(self):
        naive_bayes = pytest.importorskip("river.naive_bayes")
        model = ConformalClassifier(naive_bayes.GaussianNB(), coverage=0.9)
        assert model.predict_set_one({"a": 0.0}) == set()
        X, y = clouds(3_000)
        names, hits = ["x", "y", "z"], []
        for row, label in zip(X, y, strict=True):
            x = dict(enumerate(row.tolist()))
            hits.append(names[label] in model.predict_set_one(x))
            model.learn_one(x, names[label])
        assert model.classes_.tolist() == names
        assert np.mean(hits) == pytest.approx(model.coverage_)
        assert 0.89 < model.coverage_ < 0.91

    @pytest.mark.parametrize("by_class", [False, True])
    def test_batches_are_the_same_as_rows(self, by_class):
        naive_bayes = pytest.importorskip("river.naive_bayes")
        one, other = (ConformalClassifier(naive_bayes.GaussianNB(), by_class=by_class, window=50) for _ in range(2))
        X, y = clouds(300)
        rows = [dict(enumerate(row.tolist())) for row in X]
        sets = one.test_then_train(rows, y.tolist())
        for x, label in zip(rows, y.tolist(), strict=True):
            other.learn_one(x, label)
        np.testing.assert_array_equal(one.thresholds_, other.thresholds_)
        for mine, theirs in zip(one._reservoirs, other._reservoirs, strict=True):
            np.testing.assert_array_equal(mine.ring, theirs.ring)
        assert sets.shape == (300, 3)
        expected = set(one.classes_[one.predict_set(rows[:1])[0]].tolist())
        assert other.predict_set_one(rows[0]) == expected
        np.testing.assert_array_equal(one.predict_set(rows), other.predict_set(rows))

    def test_single_rows_are_for_river(self):
        assert not hasattr(ConformalClassifier(GaussianNB()), "learn_one")


class TestBadInput:
    @pytest.mark.parametrize(
        ("bad", "name"),
        [
            ({"coverage": 1.0}, "coverage"),
            ({"coverage": 0.0}, "coverage"),
            ({"coverage": "high"}, "coverage"),
            ({"window": 5}, "window"),
            ({"patience": 0.0}, "patience"),
            ({"estimator": object()}, "estimator"),
        ],
    )
    def test_parameters(self, bad, name):
        X, y = clouds(100)
        with pytest.raises(ParameterError, match=name):
            ConformalClassifier(**{"estimator": GaussianNB(), **bad}).partial_fit(X, y)

    def test_a_batch_that_cannot_be_learned_changes_nothing(self):
        X, y = clouds(500)
        model = ConformalClassifier(GaussianNB()).partial_fit(X, y, CLASSES).partial_fit(X, y)
        before, coverage = model.thresholds_, model.coverage_
        with pytest.raises(ValueError, match="NaN"):
            model.partial_fit(np.full((3, 2), np.nan), [0, 1, 2])
        with pytest.raises(ValueError, match="do not exist in the initial classes"):
            model.partial_fit(X[:2], [0, 7])
        np.testing.assert_array_equal(model.thresholds_, before)
        assert model.coverage_ == coverage

    @pytest.mark.parametrize("outputs", [np.zeros((10, 3)), np.zeros((5, 4)), np.zeros(5)])
    def test_outputs_that_do_not_fit_the_rows(self, outputs):
        X, y = clouds(500)
        model = ConformalClassifier(GaussianNB()).partial_fit(X, y, CLASSES)
        with pytest.raises(ValueError, match="outputs has the shape"):
            model.partial_fit(X[:5], y[:5], outputs=outputs)

    def test_the_estimator_that_was_given_stays_as_it_is(self):
        estimator = GaussianNB()
        ConformalClassifier(estimator).partial_fit(*clouds(100), CLASSES)
        assert not hasattr(estimator, "classes_")
        assert clone(ConformalClassifier(estimator, 0.8)).coverage == 0.8
