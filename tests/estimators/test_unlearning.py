"""IncrementalSVC after examples were unlearned, after another C, and with each example left out."""

import numpy as np
import pytest
from incremental_support import EQUAL, all_about, assert_all_equal, assert_same_values, new_model, noisy_xor
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import scale
from support import blobs

from frugalsvm.persist import load, save


@pytest.fixture(scope="module")
def binary():
    return blobs(80, 3, 2, seed=0)


@pytest.fixture(scope="module")
def four():
    return blobs(100, 3, 4, seed=0)


@pytest.fixture(params=["binary", "four"])
def data(request):
    return request.getfixturevalue(request.param)


LEFT_OUT = {
    "iris": lambda: (load_iris().data[::2], load_iris().target[::2]),
    "wine": lambda: (scale(load_wine().data)[::3], load_wine().target[::3]),
    "breast cancer": lambda: (scale(load_breast_cancer().data)[:80], load_breast_cancer().target[:80]),
    "blobs": lambda: blobs(60, 3, 4, seed=3),
    "noisy xor": lambda: noisy_xor(60, seed=0),
}


class TestProbabilities:
    """They are those of a `fit` on the examples that are held, whatever came before."""

    gone = np.arange(0, 60, 2)

    def model(self, **params):
        return new_model(calibrate="platt", **params)

    def test_after_unlearning(self, data):
        X, y = data
        weights = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
        left = np.setdiff1d(np.arange(len(y)), self.gone)
        for own in (None, weights):
            found = self.model().fit(X, y, own).unlearn(self.gone)
            never = self.model().fit(X[left], y[left], None if own is None else own[left])
            np.testing.assert_allclose(found.predict_proba(X), never.predict_proba(X), atol=1e-6)

    def test_after_another_C(self, data):
        X, y = data
        expected = self.model(C=30.0).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(self.model().fit(X, y).set_C(30.0).predict_proba(X), expected, atol=1e-6)
        moved = self.model().partial_fit(X[:60], y[:60], classes=np.unique(y)).set_params(C=30.0)
        moved.partial_fit(X[60:], y[60:])
        np.testing.assert_allclose(moved.predict_proba(X), expected, atol=1e-6)

    def test_rows_that_come_after_it_are_learned_with_all_others(self, data):
        X, y = data
        model = self.model().fit(X[:70], y[:70]).unlearn(self.gone).partial_fit(X[70:], y[70:])
        left = np.setdiff1d(np.arange(len(y)), self.gone)
        expected = self.model().fit(X[left], y[left]).predict_proba(X)
        np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)
        model.partial_fit(X[:5], y[:5])  # from here on it follows the stream
        assert "calibration_" in vars(model)

    @pytest.mark.parametrize("for_prediction", [False, True])
    def test_in_files(self, binary, tmp_path, for_prediction):
        X, y = binary
        model = self.model().fit(X, y).unlearn(self.gone)
        save(model, tmp_path / "model.frugal", for_prediction=for_prediction)
        np.testing.assert_array_equal(load(tmp_path / "model.frugal").predict_proba(X), model.predict_proba(X))

    def test_without_a_class_or_any_example_they_are_unsure(self, binary):
        X, y = binary
        model = self.model().fit(X, y)
        for gone in (np.flatnonzero(y == 0), np.flatnonzero(y == 1)):
            shares = model.unlearn(gone).predict_proba(X)
            assert np.isfinite(shares).all()
            np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X))


class TestUnlearning:
    @pytest.mark.parametrize("seed", range(5))
    def test_as_never_learned(self, data, seed):
        X, y = data
        rng = np.random.default_rng(seed)
        gone = rng.permutation(len(y))[: rng.integers(1, len(y) - 20)]
        model = new_model(10.0 ** rng.uniform(-1, 2)).fit(X, y)
        for part in np.array_split(gone, 3):
            model.unlearn(part)
        stay = np.setdiff1d(np.arange(len(y)), gone)
        assert_same_values(model, clone(model).partial_fit(X[stay], y[stay], classes=model.classes_), X)
        np.testing.assert_array_equal(model.example_ids_, stay)
        assert set(model.support_) <= set(stay)

    def test_relearning(self, data):
        X, y = data
        model, fresh = new_model(3.0).fit(X, y), new_model(3.0).fit(X, y)
        for _ in range(3):
            model.unlearn(X[10:40], y[10:40])
            assert model.n_examples_ == len(y) - 30
            model.partial_fit(X[10:40], y[10:40])
        assert_same_values(model, fresh, X)
        assert (model.n_examples_, model.t_) == (len(y), len(y) + 90)
        assert model.example_ids_.tolist() == [*range(10), *range(40, len(y)), *range(len(y) + 60, len(y) + 90)]
        for solver, other in zip(model._solvers, fresh._solvers, strict=True):  # slots are used again
            assert solver.state.points.counts[0]["n_slots"] == other.state.points.counts[0]["n_slots"]

    def test_rows(self, data):
        X, y = data
        X = np.where(np.abs(X) < 0.5, 0.0, X)
        rows = [5, 17, 30]
        by_id = new_model().fit(X, y).unlearn(rows)
        for what in (X[rows], csr_array(X[rows]), np.where(X[rows] == 0, -0.0, X[rows]), X[rows].tolist()):
            model = new_model().fit(X, y).unlearn(what)
            assert_all_equal(all_about(model, X), all_about(by_id, X))
        assert_all_equal(
            all_about(new_model().fit(csr_array(X), y).unlearn(X[rows], y[rows]), X)[0], by_id.example_ids_
        )

    def test_the_last_of_equal_rows_goes(self):
        X = np.array([[0.0], [1.0], [0.0], [0.0], [1.0], [-0.0]])
        y = np.array([0, 1, 1, 0, 1, 0])
        model = new_model().fit(X, y)
        assert model.unlearn([[0.0]]).example_ids_.tolist() == [0, 1, 2, 3, 4]
        assert model.unlearn([[0.0]], [1]).example_ids_.tolist() == [0, 1, 3, 4]
        assert model.unlearn([[1.0], [0.0], [1.0]]).example_ids_.tolist() == [0]
        assert model.unlearn([[-0.0]]).n_examples_ == 0

    def test_a_class_and_everything(self, data):
        X, y = data
        model = new_model().fit(X, y).unlearn(np.flatnonzero(y == 0))
        if len(model.classes_) == 2:
            assert set(model.predict(X)) == {1}
        else:
            np.testing.assert_array_equal(model.predict(X), new_model().fit(X[y > 0], y[y > 0]).predict(X))
        model.unlearn(model.example_ids_)
        assert (model.n_examples_, model.support_.size, model.dual_objective_, model.kkt_violation_) == (0, 0, 0.0, 0.0)
        assert np.isnan(model.loo_error_)
        assert model.predict(X).shape == y.shape
        assert_same_values(model.partial_fit(X, y), new_model().fit(X, y), X)

    def test_an_id_and_none(self, binary):
        X, y = binary
        assert new_model().fit(X, y).unlearn(7).n_examples_ == 79
        assert new_model().fit(X, y).unlearn([]).n_examples_ == 80

    @pytest.mark.parametrize(
        ("what", "y", "message"),
        [
            ([0, 99_999], None, "99999 is unknown: 80 examples"),
            ([-1], None, "-1 is unknown"),
            ([2, 4], None, "4 was unlearned before"),
            ([3, 6, 3], None, "3 is given twice"),
            ([1.5], None, "must be integers"),
            ([True, False], None, "must be integers"),
            ([3], [1], "y is for rows"),
            ("unknown row", None, "no example .* row 1"),
            ("too often", None, "no example .* row 1"),
            ("unlearned row", None, "no example .* row 0"),
            ("row", [0, 1], "row 1 and its label"),
            ("row", [0, 7], "Label 7"),
            ("row", [0], "inconsistent"),
            ([[1.0, 2.0]], None, "2 features"),
            ([[1.0, 2.0, np.nan]], None, "NaN"),
        ],
    )
    def test_refusals_change_nothing(self, binary, what, y, message):
        X, labels = binary
        rows = np.array([np.flatnonzero(labels == 0)[3], np.flatnonzero(labels == 0)[4]])
        known = {
            "unknown row": np.stack([X[0], X[0] + 1]),
            "too often": X[[0, 0]],
            "unlearned row": X[[4]],
            "row": X[rows],
        }
        model = new_model().fit(X, labels).unlearn([4])
        before = all_about(model, X)
        with pytest.raises(ValueError, match=message):
            model.unlearn(known[what] if isinstance(what, str) else what, y)
        assert_all_equal(all_about(model, X), before)


class TestC:
    def test_set_C(self, data):
        X, y = data
        model = new_model(1.0).fit(X, y)
        for C in (30.0, 0.02, 1.0):
            assert_same_values(model.set_C(C), new_model(C).fit(X, y), X)
            assert (model.C, model.C_) == (C, C)

    def test_with_weights_and_later_examples(self, binary):
        X, y = binary
        weights = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
        model = new_model(0.1).fit(X[:40], y[:40], weights[:40]).set_C(5.0)
        model.partial_fit(X[40:], y[40:], sample_weight=weights[40:])
        assert_same_values(model, new_model(5.0).fit(X, y, weights), X)

    def test_the_parameter_counts_from_the_next_batch_on(self, binary):
        X, y = binary
        model = new_model(0.1).fit(X[:40], y[:40])
        before = model.decision_function(X)
        model.set_params(C=5.0)
        np.testing.assert_array_equal(model.decision_function(X), before)
        assert model.unlearn([3]).C_ == 0.1
        model.partial_fit(X[[*range(40, 80), 3]], y[[*range(40, 80), 3]])
        assert_same_values(model, new_model(5.0).fit(X, y), X)

    @pytest.mark.parametrize("C", [0.0, -1.0, np.inf, "1"])
    def test_refusals(self, binary, C):
        model = new_model().fit(*binary)
        with pytest.raises(ValueError, match="C must be a positive number"):
            model.set_C(C)
        assert (model.C, model.C_) == (1.0, 1.0)


class TestLeaveOneOut:
    @pytest.mark.parametrize("name", LEFT_OUT)
    def test_is_retraining_without(self, name):
        X, y = LEFT_OUT[name]()
        model = new_model(2.0, gamma=0.2).fit(X, y)
        before = all_about(model, X)
        predicted = model.loo_predict()
        expected = []
        for i in range(len(y)):
            without = new_model(2.0, gamma=0.2).fit(np.delete(X, i, axis=0), np.delete(y, i))
            scores = without.decision_function(X[[i]])
            np.testing.assert_allclose(model._left_out[i], scores.ravel(), atol=EQUAL)
            expected.append(without.predict(X[[i]])[0])
        np.testing.assert_array_equal(predicted, expected)
        assert model.loo_error_ == np.mean(np.array(expected) != y)
        assert 0 < model.loo_error_ < 0.5
        assert_all_equal(all_about(model, X), before)

    def test_follows_the_model(self, four):
        X, y = four
        model = new_model().fit(X, y)
        errors = [model.loo_error_, model.unlearn(np.arange(30)).loo_error_, model.set_C(100.0).loo_error_]
        errors.append(model.partial_fit(X[:30], y[:30]).loo_error_)
        expected = [new_model().fit(X, y), new_model().fit(X[30:], y[30:])]
        expected += [new_model(100.0).fit(X[30:], y[30:]), new_model(100.0).fit(X, y)]
        assert errors == [each.loo_error_ for each in expected]

    def test_no_example_inside_its_box(self):
        """All are at their bounds, so that the bias is a matter of choice, and each example has a say in it."""
        X, y = noisy_xor(30, seed=1)
        rows = np.concatenate([np.flatnonzero(y == label)[:10] for label in (0, 1)])
        X, y = X[rows], y[rows]
        model = new_model(0.01).fit(X, y)
        model.loo_predict()
        for i in range(20):
            without = new_model(0.01).fit(np.delete(X, i, axis=0), np.delete(y, i))
            np.testing.assert_allclose(model._left_out[i], without.decision_function(X[[i]]), atol=EQUAL)
