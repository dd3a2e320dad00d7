"""Probabilities of models that are trained on a cluster, against those of one machine."""

import numpy as np
import pytest

pytest.importorskip("distributed")  # a folder of this name is found as `dask` where Dask is missing

import dask.array as da
from sklearn.metrics import log_loss

from frugalsvm import ASSETClassifier, BSGDClassifier, load, save
from frugalsvm.dask import DaskASSETClassifier, DaskBSGDClassifier

ASSET = {"n_components": 48, "C": 3.0, "gamma": 0.5, "random_state": 0}
BSGD = {"budget": 60, "gamma": 0.5, "alpha": 1e-3, "random_state": 0}


def blobs(n_rows, n_classes, seed):
    """Classes that overlap: nobody can be sure."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    centers = 1.5 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    return centers[y] + rng.normal(size=(n_rows, 2)), y


def divided(X, y, n_rows=1000):
    return da.from_array(X, chunks=(n_rows, -1)), da.from_array(y, chunks=n_rows)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("make", "ordinary", "settings"),
    [
        (DaskASSETClassifier, ASSETClassifier, {**ASSET, "calibrate": "platt"}),
        (DaskASSETClassifier, ASSETClassifier, {**ASSET, "calibrate": "isotonic"}),
        (DaskBSGDClassifier, BSGDClassifier, {**BSGD, "calibrate": "platt"}),
    ],
    ids=["asset-platt", "asset-isotonic", "bsgd-platt"],
)
def test_as_good_as_on_one_machine(client, n_classes, make, ordinary, settings, tmp_path):
    X, y = blobs(6000, n_classes, 0)
    unseen, labels = blobs(4000, n_classes, 1)
    model = make(client=client, **settings, **({"max_iter": 3} if make is DaskBSGDClassifier else {}))
    local = model.fit(*divided(X, y)).to_local()
    own = ordinary(**settings).fit(X, y)
    losses = [log_loss(labels, each.predict_proba(unseen)) for each in (local, own)]
    assert losses[0] < losses[1] + 0.02
    np.testing.assert_array_equal(local.predict_proba(unseen).argmax(axis=1), local.predict(unseen))
    lazy = model.predict_proba(divided(unseen, labels)[0])
    assert isinstance(lazy, da.Array)
    assert lazy.shape == (4000, n_classes)
    np.testing.assert_allclose(client.compute(lazy).result(), local.predict_proba(unseen), atol=1e-3)
    save(local, tmp_path / "model.frugal")
    loaded = load(tmp_path / "model.frugal")
    np.testing.assert_allclose(loaded.predict_proba(unseen), local.predict_proba(unseen), atol=1e-6)


def test_held_out_rows_are_a_fifth_and_are_learned_in_the_end(client, monkeypatch):
    X, y = blobs(2000, 2, 0)
    sizes = []
    right = ASSETClassifier.calibrate_on

    def noted(self, values, labels, weights):
        sizes.append(values.shape)
        right(self, values, labels, weights)

    monkeypatch.setattr(ASSETClassifier, "calibrate_on", noted)
    local = DaskASSETClassifier(client=client, calibrate="platt", **ASSET).fit(*divided(X, y, 500)).to_local()
    assert sizes == [(400, 1)]
    assert local.t_ == 2000
    assert 0 <= local.suboptimality_bound_ < 0.05 * local.objective_
    uncalibrated = DaskASSETClassifier(client=client, **ASSET).fit(*divided(X, y, 500)).to_local()
    assert local.objective_ == pytest.approx(uncalibrated.objective_, rel=0.01)


@pytest.mark.parametrize("solver", ["asset", "newton"])
def test_weights_count_and_epochs_calibrate_too(client, solver):
    """Rows of weight zero, which say the contrary, change no probability."""
    X, y = blobs(4000, 2, 0)
    weights = np.arange(4000) % 2.0
    wrong = np.where(weights > 0, y, 1 - y)
    model = DaskASSETClassifier(client=client, calibrate="platt", solver=solver, **ASSET)
    local = model.fit(*divided(X, wrong), da.from_array(weights, chunks=1000)).to_local()
    unseen, labels = blobs(2000, 2, 1)
    assert log_loss(labels, local.predict_proba(unseen)) < 0.55  # sure of nothing: 0.69


def test_what_cannot_be_is_refused(client):
    X, y = divided(*blobs(400, 2, 0), 200)
    model = DaskASSETClassifier(client=client, **ASSET)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(ValueError, match="validation_fraction must be above 0"):
        model.set_params(calibrate="platt", validation_fraction=0.0).fit(X, y)
    with pytest.raises(ValueError, match="calibrate needs max_iter=2 or more"):
        model.set_params(validation_fraction=0.1, max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match="calibrate"):
        model.set_params(max_iter=None, calibrate="beta").fit(X, y)
