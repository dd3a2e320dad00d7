"""Novelty detection on a cluster, against one machine."""

import numpy as np
import pytest

pytest.importorskip("distributed")  # a folder of this name is found as `dask` where Dask is missing

import dask.array as da
from dask import delayed
from sklearn.base import is_outlier_detector

from frugalsvm import ASSETOneClassSVM, load, save
from frugalsvm.dask import DaskASSETOneClassSVM, DaskPipeline

SETTINGS = {"n_components": 48, "gamma": 0.3, "random_state": 0}


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(3000, 3)), 0.5 * rng.normal(size=(1000, 3)) + 3])[rng.permutation(4000)]


def divided(X, n_rows=1000):
    return da.from_array(X, chunks=(n_rows, -1))


@pytest.mark.parametrize("landmarks", ["border", "uniform"])
@pytest.mark.parametrize("nu", [0.02, 0.3])
def test_as_good_as_on_one_machine(client, X, nu, landmarks):
    model = DaskASSETOneClassSVM(nu, landmarks=landmarks, client=client, **SETTINGS).fit(divided(X, 700))
    local = model.to_local()
    own = ASSETOneClassSVM(nu, landmarks=local.landmarks_, **SETTINGS).fit(X)  # the same problem
    assert is_outlier_detector(model)
    assert type(local) is ASSETOneClassSVM
    assert np.mean(local.predict(X) < 0) == pytest.approx(nu, abs=0.01)
    assert local.objective_ == pytest.approx(own.objective_, rel=0.005)
    assert 0 <= local.suboptimality_bound_ < 0.03 * abs(local.objective_)
    assert np.corrcoef(local.score_samples(X), own.score_samples(X))[0, 1] > 0.99
    assert model.offset_ == local.offset_


def test_landmarks_at_the_border(client, X):
    """Where nu is small, they find a better model, as on one machine."""
    objectives = [
        DaskASSETOneClassSVM(0.02, landmarks=landmarks, client=client, **SETTINGS).fit(divided(X)).to_local().objective_
        for landmarks in ("border", "uniform")
    ]
    assert objectives[0] < objectives[1] - 0.1 * abs(objectives[1])


def test_landmarks_that_are_passed(client, X):
    settings = {"landmarks": X[:50], "gamma": 0.5, "random_state": 0}
    model = DaskASSETOneClassSVM(client=client, **settings).fit(divided(X)).to_local()
    assert model.objective_ == pytest.approx(ASSETOneClassSVM(**settings).fit(X).objective_, rel=0.01)


def test_the_objective_is_that_of_the_paper(client, X):
    """Evaluated directly, from scores and the norm of the weights."""
    model = DaskASSETOneClassSVM(0.1, client=client, **SETTINGS).fit(divided(X)).to_local()
    below = np.maximum(0.0, model.offset_ - model.score_samples(X))
    direct = 0.5 * (model.coef_**2).sum() - model.offset_ + below.mean() / 0.1
    assert model.objective_ == pytest.approx(direct, rel=1e-4)


def test_weights_of_zero_and_empty_partitions(client, X):
    far = np.concatenate([X, X + 20])
    weights = np.repeat([2.0, 0.0], len(X))
    model = DaskASSETOneClassSVM(0.1, client=client, **SETTINGS)
    local = model.fit(divided(far), sample_weight=da.from_array(weights, chunks=1000)).to_local()
    assert np.mean(local.predict(X) < 0) == pytest.approx(0.1, abs=0.02)
    assert (local.predict(X + 20) < 0).all()
    parts = [delayed(X[:2000]), delayed(X[:0]), delayed(X[2000:])]
    local = model.fit(parts).to_local()
    assert np.mean(local.predict(X) < 0) == pytest.approx(0.1, abs=0.02)
    assert client.compute(model.predict(parts)).result().shape == (4000,)


def test_lazy_scores_files_and_pipelines(client, X, tmp_path):
    model = DaskPipeline(DaskASSETOneClassSVM(0.1, client=client, **SETTINGS), scale="standard").fit(divided(100 * X))
    local = model.to_local()
    lazy = model.decision_function(divided(100 * X))
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(client.compute(lazy).result(), local.decision_function(100 * X), atol=1e-4)
    np.testing.assert_array_equal(client.compute(model.predict(divided(100 * X))).result(), local.predict(100 * X))
    save(local, tmp_path / "model.frugal")
    np.testing.assert_array_equal(load(tmp_path / "model.frugal").predict(100 * X), local.predict(100 * X))


def test_what_cannot_be_is_refused(client, X):
    with pytest.raises(ValueError, match="nu"):
        DaskASSETOneClassSVM(1.5, client=client).fit(divided(X))
    wrong = X.copy()
    wrong[2500] = np.nan
    with pytest.raises(ValueError, match=r"Partition 2: .*NaN"):
        DaskASSETOneClassSVM(client=client).fit(divided(wrong))
