"""Values of C and folds on a cluster, which share passes over the rows, against one machine."""

import threading

import numpy as np
import pytest

pytest.importorskip("distributed")  # a folder of this name is found as `dask` where Dask is missing

import dask.array as da
from sklearn.metrics import log_loss

from frugalsvm import ASSETClassifier, ASSETRegressor, load, save
from frugalsvm.dask import DaskASSETClassifier, DaskASSETRegressor, _asset_path
from frugalsvm.dask._cluster import Cluster
from frugalsvm.dask._side_by_side import solved_side_by_side

VALUES = [0.01, 1.0, 1000.0]
ASSET = {"n_components": 48, "gamma": 2.0, "random_state": 0, "C": VALUES}


def rows(n_rows=3000, seed=0):
    """Two classes with noise, for which neither a very small nor a very large C is good."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_rows, 2))
    y = (np.sin(2 * X[:, 0]) * X[:, 1] + 0.4 * rng.normal(size=n_rows) > 0).astype(int)
    return X, y


def divided(X, y, n_rows=800):
    return da.from_array(X, chunks=(n_rows, -1)), da.from_array(y, chunks=n_rows)


@pytest.mark.parametrize("cv", [None, 3])
def test_scores_are_those_of_one_machine(client, cv, tmp_path):
    X, y = rows()
    own = ASSETClassifier(cv=cv, **ASSET).fit(X, y)
    local = DaskASSETClassifier(client=client, cv=cv, validation_fraction=0.1, **ASSET).fit(*divided(X, y)).to_local()
    np.testing.assert_array_equal(local.path_["C"], VALUES)
    # Landmarks and validation rows are others; out of folds, all rows judge.
    tolerance = 0.05 if cv is None else 0.015
    np.testing.assert_allclose(local.path_["validation_score"], own.path_["validation_score"], atol=tolerance)
    assert set(local.path_) == set(own.path_)
    assert VALUES.index(local.C_) == int(np.argmax(local.path_["validation_score"]))
    unseen, labels = rows(seed=1)
    assert local.score(unseen, labels) > own.score(unseen, labels) - 0.01
    assert local.t_ == 3000
    alone = DaskASSETClassifier(client=client, validation_fraction=0.1, **{**ASSET, "C": local.C_})
    alone = alone.fit(*divided(X, y)).to_local()  # the same landmarks
    assert local.objective_ == pytest.approx(alone.objective_, rel=0.01)
    assert 0 <= local.suboptimality_bound_ < 0.05 * local.objective_
    save(local, tmp_path / "model.frugal")
    assert load(tmp_path / "model.frugal").C_ == local.C_


@pytest.mark.parametrize(("C", "cv"), [([300.0, 1000.0], None), ([300.0, 1000.0], 3), (1000.0, None)])
def test_the_bound_is_tight_where_there_is_little_regularization(client, C, cv):
    X, y = divided(*rows(1000))
    settings = {**ASSET, "n_components": 24, "C": C}
    local = DaskASSETClassifier(client=client, cv=cv, validation_fraction=0.1, **settings).fit(X, y).to_local()
    assert 0 <= local.suboptimality_bound_ < 0.05 * local.objective_


def test_out_of_fold_scores_are_those_of_models_without_the_fold(client, monkeypatch):
    """With landmarks as many as they can be, the same features: another estimator learns the other folds."""
    X, y = rows(400)
    seen = {}
    right = _asset_path._out_of_folds

    def noted(rounds, solutions, cv):
        seen["judged"], seen["map"] = right(rounds, solutions, cv), rounds.shared.feature_map
        seen["rows"] = [future.result() for future in rounds.training.rows]
        return seen["judged"]

    monkeypatch.setattr(_asset_path, "_out_of_folds", noted)
    model = DaskASSETClassifier(client=client, cv=2, tol=1e-5, **{**ASSET, "C": [1.0, 3.0]})
    local = model.fit(*divided(X, y, 200)).to_local()
    places = np.concatenate([np.arange(part.n_rows) for part in seen["rows"]])
    as_seen = np.concatenate([part.X for part in seen["rows"]])
    labels = np.concatenate([part.labels for part in seen["rows"]])
    own = ASSETClassifier(landmarks=seen["map"].landmarks, gamma=2.0, C=3.0, tol=1e-5, random_state=0)
    for fold in range(2):
        out = places % 2 == fold
        # The penalty is that of all rows: 1 / (C n), with half of the losses.
        own.set_params(alpha=1 / (3.0 * 400 * 0.5)).fit(as_seen[~out], labels[~out])
        expected = own.decision_function(as_seen[out])
        np.testing.assert_allclose(seen["judged"].scores[1, 0, out], expected, atol=0.05)
    assert local.C_ in (1.0, 3.0)


def test_passes_are_shared(client, monkeypatch):
    """Three values in three folds take about as many passes as one of them."""
    passes = []
    right = Cluster.reduced

    def counted(self, function, *arguments):
        passes.append(function.__name__)
        return right(self, function, *arguments)

    monkeypatch.setattr(Cluster, "reduced", counted)
    X, y = rows(2000)
    DaskASSETClassifier(client=client, cv=3, **ASSET).fit(*divided(X, y))
    shared = passes.count("answers_of")
    passes.clear()
    DaskASSETClassifier(client=client, **{**ASSET, "C": 1000.0}).fit(*divided(X, y))
    assert shared <= 2 * passes.count("evaluated") + 5


@pytest.mark.slow
def test_what_is_asked_together_makes_no_difference(client, monkeypatch):
    """All side by side, or one after the other: the same bits."""
    X, y = rows(1500)
    found = []
    for n_bytes in (_asset_path._MOST_BYTES, 1):
        monkeypatch.setattr(_asset_path, "_MOST_BYTES", n_bytes)
        model = DaskASSETClassifier(client=client, cv=2, **ASSET).fit(*divided(X, y)).to_local()
        found.append((model.path_["validation_score"], model.decision_function(X)))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("cv", [None, pytest.param(3, marks=pytest.mark.slow)])
def test_probabilities_come_from_the_same_scores(client, cv):
    X, y = rows()
    model = DaskASSETClassifier(client=client, cv=cv, calibrate="platt", **ASSET).fit(*divided(X, y)).to_local()
    own = ASSETClassifier(cv=cv, calibrate="platt", **ASSET).fit(X, y)
    unseen, labels = rows(seed=1)
    losses = [log_loss(labels, each.predict_proba(unseen)) for each in (model, own)]
    assert losses[0] < losses[1] + 0.03


def test_numbers(client):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(2000, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=2000)
    settings = {**ASSET, "landmarks": X[:48]}  # the same ones: how good they are by chance matters more than all else
    own = ASSETRegressor(cv=3, **settings).fit(X, y)
    local = DaskASSETRegressor(client=client, cv=3, **settings).fit(*divided(X, y)).to_local()
    np.testing.assert_allclose(local.path_["validation_score"], own.path_["validation_score"], atol=0.03)
    assert local.score(X, y) > own.score(X, y) - 0.02


def test_what_cannot_be_is_refused(client):
    X, y = divided(*rows(400))
    with pytest.raises(ValueError, match="A list of C needs validation rows, or cv=5"):
        DaskASSETClassifier(client=client, validation_fraction=0.0, **ASSET).fit(X, y)
    with pytest.raises(ValueError, match="needs solver='newton'"):
        DaskASSETClassifier(client=client, solver="asset", **ASSET).fit(X, y)
    with pytest.raises(ValueError, match="pass a list of them"):
        DaskASSETClassifier(client=client, cv=3, **{**ASSET, "C": 1.0}).fit(X, y)


# --- side by side ---------------------------------------------------------------------------------------------------


def counting(n_questions):
    def job(ask):
        return sum(ask(k) for k in range(n_questions))

    return job


def test_questions_are_asked_together():
    asked = []

    def answered(questions):
        asked.append(questions)
        return [10 * question for question in questions]

    assert solved_side_by_side([counting(3), counting(1), counting(0)], answered) == [30, 0, 0]
    assert asked == [[0, 0], [1], [2]]


def test_an_error_ends_all_threads():
    before = threading.active_count()

    def wrong(ask):
        ask(0)
        raise ZeroDivisionError

    def lost(questions):
        raise ConnectionError

    with pytest.raises(ZeroDivisionError):
        solved_side_by_side([counting(3), wrong, counting(3)], lambda questions: questions)
    with pytest.raises(ConnectionError):
        solved_side_by_side([counting(3), counting(3)], lost)
    assert threading.active_count() == before
