"""Tables with text and missing values on a cluster, against `StreamPipeline` on one machine."""

import numpy as np
import pytest

pytest.importorskip("distributed")  # a folder of this name is found as `dask` where Dask is missing
pd = pytest.importorskip("pandas")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from dask import delayed  # noqa: E402
from sklearn.base import clone, is_classifier, is_regressor  # noqa: E402

from frugalsvm import ASSETClassifier, load, save  # noqa: E402
from frugalsvm.dask import DaskASSETClassifier, DaskASSETRegressor, DaskPipeline  # noqa: E402
from frugalsvm.pipelines import ColumnEncoder, MissingValueFiller, StreamPipeline  # noqa: E402

ASSET = {"n_components": 64, "C": 10.0, "random_state": 0}
FEATURES = ["size", "color", "weight"]


@pytest.fixture(scope="module")
def table():
    """Numbers of different scales, some missing; categories, of which one is in the last rows only."""
    rng = np.random.default_rng(0)
    n_rows = 4000
    color = rng.choice(["red", "green", "blue"], n_rows).astype(object)
    color[-300:] = "black"
    size, weight = 1000 * rng.random(n_rows), 0.001 * rng.random(n_rows)
    label = np.where((size > 500) ^ np.isin(color, ["red", "black"]) ^ (weight > 0.0008), "yes", "no")
    table = pd.DataFrame({"size": size, "color": color, "weight": weight, "label": label, "price": size / 100})
    table.loc[::17, "size"], table.loc[::23, "color"] = np.nan, None
    return table


def pipeline(client, **settings):
    estimator = DaskASSETClassifier(client=client, **ASSET, **settings)
    return DaskPipeline(estimator, encoder=ColumnEncoder(), impute="median")


def test_statistics_are_those_of_one_machine(client, table):
    rows = dd.from_pandas(table, npartitions=4, sort=False)
    model = pipeline(client).fit(rows[FEATURES], rows["label"])
    local = model.to_local()
    assert type(local) is StreamPipeline
    assert type(local.estimator_) is ASSETClassifier
    own = StreamPipeline(ASSETClassifier(**ASSET), encoder=ColumnEncoder(), impute="median")
    own.fit(table[FEATURES], table["label"])
    np.testing.assert_allclose(local.estimator_rows(table[FEATURES]), own.estimator_rows(table[FEATURES]), rtol=1e-6)
    assert local.encoder_.categories_[0].tolist() == ["black", "blue", "green", "red"]
    assert local.score(table[FEATURES], table["label"]) > own.score(table[FEATURES], table["label"]) - 0.03 > 0.85
    assert is_classifier(model)
    assert model.n_iter_ == len(model.estimator_.history_)


def test_lazy_predictions_and_a_file(client, table, tmp_path):
    rows = dd.from_pandas(table, npartitions=3, sort=False)
    model = pipeline(client, calibrate="platt").fit(rows[FEATURES], rows["label"])
    local = model.to_local()
    for name in ("predict", "predict_proba", "decision_function"):
        lazy, expected = getattr(model, name)(rows[FEATURES]), getattr(local, name)(table[FEATURES])
        assert isinstance(lazy, da.Array)
        found = client.compute(lazy).result()
        if name == "predict":
            assert np.mean(found == expected) > 0.999
        else:
            np.testing.assert_allclose(found, expected, atol=1e-3)
    score = client.compute(model.score(rows[FEATURES], rows["label"])).result()
    assert score == pytest.approx(local.score(table[FEATURES], table["label"]), abs=1e-3)
    save(local, tmp_path / "model.frugal")
    loaded = load(tmp_path / "model.frugal")
    np.testing.assert_array_equal(loaded.predict(table[FEATURES]), local.predict(table[FEATURES]))


def test_parquet_is_read_in_place(client, table, tmp_path):
    """Text is Arrow's there, with missing values of its own."""
    pytest.importorskip("pyarrow")
    for number, part in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[part].to_parquet(tmp_path / f"part-{number}.parquet")
    rows = dd.read_parquet(tmp_path)
    model = pipeline(client).fit(rows[FEATURES], rows["label"])
    assert client.compute(model.score(rows[FEATURES], rows["label"])).result() > 0.9
    same = pipeline(client).fit(*(dd.from_pandas(table, npartitions=3, sort=False)[k] for k in (FEATURES, "label")))
    expected = same.to_local().estimator_rows(table[FEATURES])
    np.testing.assert_allclose(model.to_local().estimator_rows(table[FEATURES]), expected, rtol=1e-6)


def test_categories_of_pandas_and_empty_partitions(client, table):
    table = table.astype({"color": "category"})
    parts = [table.iloc[:0], table.iloc[:1500], table.iloc[1500:1500], table.iloc[1500:]]
    X, y = ([delayed(part[name]) for part in parts] for name in (FEATURES, "label"))
    model = pipeline(client).fit(X, y)
    assert model.to_local().score(table[FEATURES], table["label"]) > 0.9
    assert len(client.compute(model.predict(X)).result()) == len(table)


def test_numbers_to_predict_and_indicators(client, table):
    rows = dd.from_pandas(table, npartitions=4, sort=False)
    filler = MissingValueFiller(indicator=True)
    model = DaskPipeline(
        DaskASSETRegressor(client=client, **ASSET), scale="standard", encoder=ColumnEncoder("hash"), impute=filler
    )
    local = model.fit(rows[FEATURES], rows["price"]).to_local()
    assert is_regressor(model)
    assert local.indicates
    present = table["size"].notna()
    assert local.score(table.loc[present, FEATURES], table.loc[present, "price"]) > 0.99
    assert client.compute(model.predict(rows[FEATURES])).result().shape == (4000,)


def test_a_sample_serves_for_statistics(client):
    """The same sample whatever the number of workers: it comes from the numbers of the partitions."""
    rng = np.random.default_rng(0)
    X = 100 * rng.normal(size=(3000, 2)) + 7
    y = X[:, 0] > 7
    model = DaskPipeline(DaskASSETClassifier(client=client, **ASSET), scale="standard", statistics_rows=500)
    local = model.fit(da.from_array(X, chunks=(1000, -1)), da.from_array(y, chunks=1000)).to_local()
    np.testing.assert_allclose(local.scaler_.center_, X.mean(axis=0), atol=20)
    again = clone(model).fit(da.from_array(X, chunks=(1000, -1)), da.from_array(y, chunks=1000)).to_local()
    np.testing.assert_array_equal(again.decision_function(X), local.decision_function(X))
    assert local.score(X, y) > 0.97


def test_what_cannot_be_is_refused(client, table, monkeypatch):
    rows = dd.from_pandas(table, npartitions=2, sort=False)
    model = pipeline(client)
    with pytest.raises(ValueError, match="NaN"):
        clone(model).set_params(impute=None, scale=False).fit(rows[FEATURES], rows["label"])
    with pytest.raises(ValueError, match="no columns of text"):
        model.fit(rows[["size"]], rows["label"])
    monkeypatch.setattr("frugalsvm.dask.pipeline._MOST_CATEGORIES", 3)
    with pytest.raises(ValueError, match="column 'color' has 4 different texts"):
        model.fit(rows[FEATURES], rows["label"])
    assert not hasattr(model, "classes_")
