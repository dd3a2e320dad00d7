"""The Dask regressor: as good as on one machine, with several targets and quantiles; and what it refuses."""

import numpy as np
import pytest

pytest.importorskip("distributed")  # a folder of this name is found as `dask` where Dask is missing

import dask.array as da
from dask import delayed
from sklearn.base import clone, is_regressor

from frugalsvm import ASSETRegressor, load, save
from frugalsvm.dask import DaskASSETRegressor

SETTINGS = {"n_components": 64, "C": 10.0, "gamma": 0.5, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    """Targets far from zero, and of two scales."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(4000, 2))
    y = 100 + 10 * np.sin(X[:, 0]) * X[:, 1] + rng.normal(size=4000)
    return X, np.column_stack([y, 80 + 5 * X[:, 0]])


def divided(X, y, n_rows=1000):
    return da.from_array(X, chunks=(n_rows, -1)), da.from_array(y, chunks=(n_rows, -1)[: y.ndim])


def result(client, lazy):
    return client.compute(lazy).result()


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared", "huber"])
def test_as_good_as_on_one_machine(client, rows, loss):
    X, y = rows[0], rows[1][:, 0]
    own = ASSETRegressor(loss=loss, epsilon=0.5, **SETTINGS).fit(X, y)
    model = DaskASSETRegressor(loss=loss, epsilon=0.5, client=client, **SETTINGS).fit(*divided(X, y, 700))
    local = model.to_local()
    assert is_regressor(model)
    assert type(local) is ASSETRegressor
    assert local.score(X, y) > own.score(X, y) - 0.003 > 0.9
    assert 0 <= local.suboptimality_bound_ < 0.05 * local.objective_
    assert model.history_[-1]["score"] > 0.9
    assert model.n_iter_ == len(model.history_) == local.n_iter_
    assert local.t_ == len(y)


def test_lazy_predictions_and_scores(client, rows):
    X, y = rows[0], rows[1][:, 0]
    dX, dy = divided(X, y)
    model = DaskASSETRegressor(client=client, **SETTINGS).fit(dX, dy)
    local, lazy = model.to_local(), model.predict(dX)
    assert isinstance(lazy, da.Array)
    assert lazy.chunks == ((1000,) * 4,)
    np.testing.assert_allclose(result(client, lazy), local.predict(X), rtol=1e-4)
    weights = np.arange(len(y)) % 3
    for weight in (None, weights):
        expected = local.score(X, y, weight)
        found = model.score(dX, dy, None if weight is None else da.from_array(weight, chunks=1000))
        assert result(client, found) == pytest.approx(expected, rel=1e-4)


def test_several_targets(client, rows):
    X, Y = rows
    model = DaskASSETRegressor(client=client, **SETTINGS).fit(*divided(X, Y))
    dX, dY = divided(X, Y)
    assert model.predict(dX).shape == Y.shape
    assert result(client, model.predict(dX)).shape == Y.shape
    own = ASSETRegressor(**SETTINGS).fit(X, Y)
    assert model.to_local().score(X, Y) > own.score(X, Y) - 0.003
    assert result(client, model.score(dX, dY)) == pytest.approx(model.to_local().score(X, Y), rel=1e-4)
    parts = [delayed(part) for part in np.split(X, 4)], [delayed(part) for part in np.split(Y, 4)]
    other = clone(model).fit(*parts)
    np.testing.assert_array_equal(other.to_local().dual_coef_, model.to_local().dual_coef_)


def test_several_quantiles(client, rows, tmp_path):
    X, y = rows[0], rows[1][:, 0]
    settings = {**SETTINGS, "loss": "pinball", "quantile": [0.1, 0.5, 0.9], "non_crossing": True}
    model = DaskASSETRegressor(client=client, **settings).fit(*divided(X, y))
    found = result(client, model.predict(divided(X, y)[0]))
    assert found.shape == (4000, 3)
    np.testing.assert_allclose(np.mean(y[:, None] <= found, axis=0), [0.1, 0.5, 0.9], atol=0.03)
    own = ASSETRegressor(**settings).fit(X, y)
    assert model.to_local().score(X, y) > own.score(X, y) - 0.01
    assert result(client, model.score(*divided(X, y))) == pytest.approx(model.to_local().score(X, y), rel=1e-3)
    save(model.to_local(), tmp_path / "model.frugal")
    np.testing.assert_array_equal(load(tmp_path / "model.frugal").predict(X), model.to_local().predict(X))


def test_epochs(client, rows):
    X, y = rows[0], rows[1][:, 1]
    model = DaskASSETRegressor(solver="asset", client=client, **SETTINGS).fit(*divided(X, y))
    assert model.to_local().score(X, y) > 0.9


def test_a_metric(client, rows):
    X, y = np.column_stack([rows[0], np.random.default_rng(1).normal(size=(4000, 3))]), rows[1][:, 0]
    local = (
        DaskASSETRegressor(metric="diag", client=client, **{**SETTINGS, "gamma": "scale"})
        .fit(*divided(X, y))
        .to_local()
    )
    assert local.feature_importances_[:2].sum() > 0.7


def test_weights_of_zero_and_empty_partitions(client, rows):
    X, y = rows[0], rows[1][:, 0].copy()
    y[::2] += 1e4
    weights = np.arange(4000) % 2
    model = DaskASSETRegressor(client=client, **SETTINGS)
    weighted = clone(model).fit(*divided(X, y), da.from_array(weights, chunks=1000)).to_local()
    assert weighted.score(X[1::2], y[1::2]) > 0.9
    parts = [[delayed(each) for each in (part[1::2], part[:0])] for part in (X, y)]
    model.fit(*parts)
    assert model.to_local().score(X[1::2], y[1::2]) > 0.9
    assert len(result(client, model.predict(parts[0]))) == 2000


def test_what_cannot_be_is_refused(client, rows):
    X, Y = rows
    model = DaskASSETRegressor(client=client, **SETTINGS)
    wrong = Y[:, 0].copy()
    wrong[2500] = np.nan
    with pytest.raises(ValueError, match=r"Partition 2: .*NaN"):
        model.fit(*divided(X, wrong))
    with pytest.raises(ValueError, match="for one target, but y has 2 columns"):
        clone(model).set_params(loss="pinball").fit(*divided(X, Y))
    with pytest.raises(ValueError, match="A list of C needs validation rows, or cv=5"):
        clone(model).set_params(C=[1.0, 10.0], validation_fraction=0.0).fit(*divided(X, Y))
    with pytest.raises(ValueError, match="targets of a row have the shape"):
        model.fit([delayed(X), delayed(X)], [delayed(Y), delayed(Y[:, 0])])
    with pytest.raises(ValueError, match="rows, but"):
        model.fit([delayed(X)], [delayed(Y[:10])])


@pytest.mark.parametrize(("k", "offset"), [(1.0, 1.7e9), (1e-7, 0.0)])
@pytest.mark.parametrize("settings", [{"loss": "squared"}, {"loss": "pinball", "quantile": [0.1, 0.9]}])
def test_the_unit_and_the_origin_of_the_target_do_not_matter(client, rows, k, offset, settings):
    X, y = rows[0], rows[1][:, 0]
    models = [
        DaskASSETRegressor(client=client, **SETTINGS | settings).fit(*divided(X, target)).to_local()
        for target in (y, k * y + offset)
    ]
    plain, found = (each.predict(X) for each in models)
    spread = y.std()
    assert np.abs((found - offset) / k - plain).max() < 0.1 * spread
    unit = k if settings["loss"] == "pinball" else k**2
    assert models[1].objective_ == pytest.approx(unit * models[0].objective_, rel=1e-2)
    most = 1.0 if settings["loss"] == "pinball" else 0.05  # bounds of kinks are loose
    assert 0 <= models[1].suboptimality_bound_ < most * models[1].objective_
