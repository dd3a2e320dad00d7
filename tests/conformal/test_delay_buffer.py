"""Labels that come late: rows are learned in the order of their labels, judged by what was said of them."""

import numpy as np
import pytest
from conformal_support import label_is_in, shares_in_windows
from scipy.sparse import csr_array
from sklearn.linear_model import SGDRegressor
from sklearn.naive_bayes import GaussianNB

from frugalsvm import BSGDClassifier
from frugalsvm.conformal import ConformalClassifier, ConformalRegressor, DelayBuffer
from frugalsvm.datasets import DriftStream
from frugalsvm.exceptions import ParameterError
from frugalsvm.persist import ModelFileError, load, save

BOARD = BSGDClassifier(budget=30, gamma=5.0, alpha=1e-4)


class Recorder:
    """A model that notes what it learns."""

    def __init__(self):
        self.learned = []

    def predict(self, X):
        return np.zeros(len(X))

    def partial_fit(self, X, y):
        self.learned += [(float(row[0]), int(label)) for row, label in zip(X, y, strict=True)]


def rows(*values):
    return np.array(values, float)[:, None]


class TestOrder:
    def test_rows_are_learned_in_the_order_of_their_labels(self):
        model = Recorder()
        buffer = DelayBuffer(model)
        buffer.predict(rows(1, 2, 3), keys=["a", "b", "c"])
        assert buffer.learn([30, 10], keys=["c", "a"]) == 2
        assert model.learned == [(3.0, 30), (1.0, 10)]
        assert buffer.n_waiting_ == 1

    def test_without_keys_labels_come_in_the_order_of_the_rows(self):
        model = Recorder()
        buffer = DelayBuffer(model)
        buffer.predict(rows(1, 2))
        buffer.predict(rows(3))
        buffer.learn([10])
        buffer.learn([20, 30])
        assert model.learned == [(1.0, 10), (2.0, 20), (3.0, 30)]

    def test_rows_without_keys_are_numbered(self):
        model = Recorder()
        buffer = DelayBuffer(model)
        buffer.predict(rows(1, 2))
        buffer.predict(rows(3))
        buffer.learn([30], keys=[2])
        assert model.learned == [(3.0, 30)]

    def test_rows_that_wait_are_copies(self):
        model = Recorder()
        buffer, X = DelayBuffer(model), rows(1, 2)
        buffer.predict(X)
        X[:] = 9.0
        buffer.learn([10, 20])
        assert model.learned == [(1.0, 10), (2.0, 20)]


class TestBounds:
    def test_the_oldest_rows_are_given_up(self):
        model = Recorder()
        buffer = DelayBuffer(model, max_rows=2)
        buffer.predict(rows(1, 2, 3), keys="abc")
        assert (buffer.n_waiting_, buffer.n_given_up_) == (2, 1)
        assert buffer.learn([10, 20], keys="ab") == 1
        assert model.learned == [(2.0, 20)]

    def test_a_label_that_comes_twice_is_learned_once(self):
        model = Recorder()
        buffer = DelayBuffer(model)
        buffer.predict(rows(1), keys=["a"])
        assert [buffer.learn([10], keys=["a"]) for _ in range(2)] == [1, 0]
        assert model.learned == [(1.0, 10)]


class TestConformal:
    def test_promises_are_about_what_was_said_at_first(self):
        """With one row at a time and no delay it is the same as learning at once."""
        stream = DriftStream("checkerboard", random_state=0)
        first = stream.take(200)
        direct, late = (ConformalClassifier(BOARD).partial_fit(*first) for _ in range(2))
        buffer = DelayBuffer(late, method="predict_set")
        for X, y in stream.chunks(300, 1):
            expected = direct.predict_set(X)
            np.testing.assert_array_equal(buffer.predict(X), expected)
            direct.partial_fit(X, y)
            buffer.learn(y)
        np.testing.assert_array_equal(direct.thresholds_, late.thresholds_)
        np.testing.assert_array_equal(direct.estimator_.dual_coef_, late.estimator_.dual_coef_)

    def test_scores_are_those_of_the_model_that_made_the_set(self):
        stream = DriftStream("checkerboard", random_state=0)
        model = ConformalClassifier(BOARD).partial_fit(*stream.take(200))
        buffer = DelayBuffer(model, method="predict_set")
        X, y = stream.take(50)
        buffer.predict(X)
        expected = model.outputs(X)[np.arange(50), np.searchsorted([-1, 1], y)]
        model.partial_fit(*stream.take(200))
        ring = model._reservoirs[0].ring
        n_before = int(model._reservoirs[0].counts[0]["n_scores"])
        buffer.learn(y)
        np.testing.assert_array_equal(ring[n_before : n_before + 50], expected)

    def test_coverage_of_sets_whose_labels_come_200_rows_late(self):
        stream = DriftStream("checkerboard", "gradual", changes=8_000, random_state=0)
        model = ConformalClassifier(BOARD).partial_fit(*stream.take(200))
        buffer, waiting, hits = DelayBuffer(model, method="predict_set"), [], []
        for X, y in stream.chunks(20_000, 50):
            hits.append(label_is_in(buffer.predict(X), model.classes_, y))
            waiting.append(y)
            if len(waiting) > 4:
                buffer.learn(waiting.pop(0))
        shares = shares_in_windows(np.concatenate(hits))
        assert shares.min() > 0.88
        assert shares.max() < 0.92

    def test_a_class_that_came_while_rows_waited(self):
        model = ConformalClassifier(BSGDClassifier(budget=20, gamma=1.0, alpha=1e-3, new_classes="grow"))
        rng = np.random.default_rng(0)
        model.partial_fit(rng.normal(size=(100, 2)), np.arange(100) % 2)
        buffer = DelayBuffer(model, method="predict_set")
        buffer.predict(rng.normal(size=(4, 2)))
        buffer.learn([2])
        assert buffer.learn([0, 1, 2]) == 3
        assert model.classes_.tolist() == [0, 1, 2]

    def test_numbers_that_come_late(self):
        rng = np.random.default_rng(0)
        model = ConformalRegressor(SGDRegressor(random_state=0)).partial_fit(rng.normal(size=(10, 1)), np.zeros(10))
        buffer = DelayBuffer(model, method="predict_interval")
        X = rng.normal(size=(30, 1))
        assert buffer.predict(X).shape == (30, 2)
        assert buffer.learn(X[:, 0]) == 30
        assert model._reservoirs[0].counts[0]["n_rows"] == 30

    def test_models_of_river(self):
        naive_bayes = pytest.importorskip("river.naive_bayes")
        model = ConformalClassifier(naive_bayes.GaussianNB())
        model.learn_one({"a": 0.0}, "x")
        buffer = DelayBuffer(model, method="predict_set")
        buffer.predict([{"a": 1.0}, {"a": 2.0}], keys=[7, 8])
        assert buffer.learn(["y"], keys=[8]) == 1
        assert model.classes_.tolist() == ["x", "y"]
        plain = DelayBuffer(naive_bayes.GaussianNB(), method="predict_one")
        with pytest.raises(ValueError, match="matrix"):
            plain.predict([1.0, 2.0])


class TestBadInput:
    def test_what_is_wrong_changes_nothing(self):
        buffer = DelayBuffer(Recorder())
        buffer.predict(rows(1, 2), keys="ab")
        for bad, word in (
            (lambda: buffer.predict(rows(3, 4), keys="bc"), "the key 'b'"),
            (lambda: buffer.predict(rows(3, 4), keys="cc"), "keys must be different"),
            (lambda: buffer.predict(rows(3, 4), keys="c"), "a key for each row"),
            (lambda: buffer.learn([1], keys="ab"), "a key for each label"),
            (lambda: buffer.learn([1, 2, 3]), "2 rows wait"),
            (lambda: buffer.predict(csr_array(rows(3))), "dense"),
        ):
            with pytest.raises(ValueError, match=word):
                bad()
        assert buffer.n_waiting_ == 2
        assert buffer.model.learned == []

    def test_rows_wait_on_if_they_cannot_be_learned(self):
        model = GaussianNB().fit([[0.0], [1.0]], [0, 1])
        buffer = DelayBuffer(model)
        buffer.predict(rows(1, 2))
        with pytest.raises(ValueError, match="initial classes"):
            buffer.learn([0, 5])
        assert buffer.n_waiting_ == 2

    @pytest.mark.parametrize(
        "bad", [{"model": object()}, {"max_rows": 0}, {"method": "predict_interval"}], ids=lambda bad: next(iter(bad))
    )
    def test_parameters(self, bad):
        with pytest.raises(ParameterError, match=next(iter(bad))):
            DelayBuffer(**{"model": GaussianNB(), **bad})


def test_a_saved_buffer_goes_on_as_if_nothing_had_happened(tmp_path):
    stream = DriftStream("checkerboard", random_state=0)
    buffer = DelayBuffer(ConformalClassifier(BOARD).partial_fit(*stream.take(200)), 50, method="predict_set")
    X, y = stream.take(80)
    buffer.predict(X)
    save(buffer, tmp_path / "buffer.frugal")
    again = load(tmp_path / "buffer.frugal")
    assert (again.n_waiting_, again.n_given_up_) == (50, 30)
    for each in (buffer, again):
        each.learn(y[40:60], keys=range(40, 60))
        each.learn(y[30:40])
    np.testing.assert_array_equal(again.predict(X), buffer.predict(X))
    np.testing.assert_array_equal(again.model.thresholds_, buffer.model.thresholds_)
    np.testing.assert_array_equal(again.model.estimator_.dual_coef_, buffer.model.estimator_.dual_coef_)


@pytest.mark.parametrize(
    "damage",
    [{"_keys": [1]}, {"_rows": None}, {"method": "__init__"}, {"method": "no_method"}, {"max_rows": 1}, {"model": 3}],
    ids=lambda damage: next(iter(damage)),
)
def test_damaged_buffers_are_refused(damage, tmp_path, monkeypatch):
    buffer = DelayBuffer(BSGDClassifier(budget=5).partial_fit(rows(0, 1, 2, 3), [0, 1, 0, 1]))
    buffer.predict(rows(1, 2))
    state = {**buffer.__getstate__(), **damage}
    monkeypatch.setattr(DelayBuffer, "__getstate__", lambda self: state)
    save(buffer, tmp_path / "buffer.frugal")
    with pytest.raises(ModelFileError):
        load(tmp_path / "buffer.frugal")
