"""Metrics on a cluster: the client learns one from a sample, and the workers have their rows in it."""

import numpy as np
import pytest

pytest.importorskip("distributed")  # a folder of this name is found as `dask` where Dask is missing

import dask.array as da
from scipy.sparse import csr_matrix

import frugalsvm
from frugalsvm import ASSETClassifier
from frugalsvm.dask import DaskASSETClassifier, DaskBSGDClassifier
from frugalsvm.datasets import make_checkerboard

ASSET = {"n_components": 64, "C": 10.0, "random_state": 0}
BSGD = {"budget": 60, "alpha": 1e-4, "random_state": 0, "max_iter": 3}
FACTORS = np.array([4.0, 0.0, 4.0, 0.0])
DIRECTIONS = 4.0 * np.array([[0.6, 0.0, 0.8, 0.0], [-0.8, 0.0, 0.6, 0.0]])


@pytest.fixture(scope="module")
def rows():
    """A checkerboard, with a column of noise after each of its own."""
    X, y = make_checkerboard(4000, random_state=0)
    noise = np.random.default_rng(1).normal(size=X.shape)
    return np.column_stack([X[:, 0], noise[:, 0], X[:, 1], noise[:, 1]]), y


def divided(X, y, n_rows=1000):
    return da.from_array(X, chunks=(n_rows, -1)), da.from_array(y, chunks=n_rows)


@pytest.mark.parametrize("metric", [FACTORS, DIRECTIONS], ids=["factors", "directions"])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_a_given_metric(client, rows, metric, offset, tmp_path):
    X, y = rows[0] + offset, rows[1]
    for model in (
        DaskASSETClassifier(client=client, metric=metric, gamma=0.5, **ASSET),
        DaskBSGDClassifier(client=client, metric=metric, gamma=0.5, **BSGD),
    ):
        dX, dy = divided(X, y)
        local = model.fit(dX, dy).to_local()
        np.testing.assert_array_equal(local.metric_, metric)
        assert local.n_features_in_ == 4
        assert local.score(X, y) > 0.88  # without the metric, noise brings it below .8
        expected = local.decision_function(X)
        assert model.history_[-1]["accuracy"] == pytest.approx(local.score(X, y), abs=0.06)
        np.testing.assert_allclose(model.decision_function(dX).compute(), expected, rtol=1e-4, atol=1e-4)
        frugalsvm.save(local, tmp_path / "model.frugal")
        loaded = frugalsvm.load(tmp_path / "model.frugal")
        np.testing.assert_allclose(loaded.decision_function(X), expected, rtol=1e-6, atol=1e-6)


def test_the_client_learns_it_from_a_sample(client, rows, monkeypatch):
    X, y = rows
    sizes = []

    def learned(estimator, X, targets, *arguments, **settings):
        sizes.append(X.shape)
        return right(estimator, X, targets, *arguments, **settings)

    base = frugalsvm.estimators.kernel_model
    right = base.metric_for
    monkeypatch.setattr(base, "metric_for", learned)
    monkeypatch.setattr(frugalsvm.dask._base, "most_rows", lambda n_features: 1500)
    model = DaskASSETClassifier(client=client, metric="diag", **ASSET).fit(*divided(X, y, 700))
    assert sizes == [(1500, 4)]
    local = model.to_local()
    assert local.feature_importances_[[0, 2]].sum() > 0.9
    assert local.score(X, y) > ASSETClassifier(**ASSET).fit(X, y).score(X, y) + 0.05
    again = DaskASSETClassifier(client=client, metric="diag", **ASSET).fit(*divided(X, y, 700))
    np.testing.assert_array_equal(again.to_local().metric_, local.metric_)


def test_sparse_rows_stay_sparse_with_factors(client, rows):
    X, y = np.maximum(rows[0], 0.0), rows[1]
    model = DaskASSETClassifier(client=client, metric=FACTORS, gamma=0.5, **ASSET)
    parts = [csr_matrix(X[start : start + 1000]) for start in range(0, 4000, 1000)]
    delayed = [client.submit(lambda part=part: part, pure=False) for part in parts]
    labels = [client.submit(lambda part=part: part, pure=False) for part in np.split(y, 4)]
    local = model.fit(delayed, labels).to_local()
    assert local._is_sparse
    np.testing.assert_allclose(local.decision_function(csr_matrix(X)), local.decision_function(X), rtol=1e-3, atol=1e-3)
    assert local.score(X, y) > 0.6


def test_a_metric_of_another_width_is_refused(client, rows):
    with pytest.raises(ValueError, match="metric has 2 columns, but X has 4 features"):
        DaskBSGDClassifier(client=client, metric=[1.0, 2.0], **BSGD).fit(*divided(*rows))


def test_what_is_auto_is_chosen_on_a_sample(client, rows):
    """The same choice as on one machine, where the sample is all rows."""
    X, y = rows[0][:, [0, 2]], rows[1]
    own = ASSETClassifier(n_components=64, gamma="auto", C="auto", random_state=0).fit(X, y)
    auto = {"gamma": "auto", "C": "auto"}
    model = DaskASSETClassifier(client=client, **{**ASSET, **auto}, validation_fraction=0.0).fit(*divided(X, y))
    local = model.to_local()
    assert local.gamma_ == pytest.approx(own.gamma_, rel=0.2)  # of rows in another order
    assert own.C_ / 3 <= local.C_ <= 3 * own.C_
    assert local.score(X, y) > own.score(X, y) - 0.02
    model = DaskBSGDClassifier(client=client, **{**BSGD, "alpha": "auto", "gamma": "auto"}).fit(*divided(X, y))
    assert 0 < model.to_local().alpha_ < 0.01
    assert model.to_local().score(X, y) > 0.85
