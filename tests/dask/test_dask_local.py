"""`DaskLocalSVC` and `DaskLocalSVR`: the model of one machine, bit for bit, and its predictions on the cluster."""

import pickle

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402
from dask import delayed  # noqa: E402
from scipy.sparse import csr_matrix  # noqa: E402

from frugalsvm import LocalSVC, LocalSVR, load, save  # noqa: E402
from frugalsvm.cells import trunk  # noqa: E402
from frugalsvm.dask import DaskLocalSVC, DaskLocalSVR, DaskPipeline, _cluster  # noqa: E402

SETTINGS = {"cell_size": 100, "random_state": 0}
GIVEN = {**SETTINGS, "C": 1.0, "gamma": 0.5}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) + 100.0
    return X, np.sin(2 * X[:, 0]) * (X[:, 1] - 100.0)


@pytest.fixture
def from_sample(monkeypatch):
    """Not all rows are drawn."""
    for name, value in (("_ALL_ROWS", 300), ("_LEAST_ROWS", 300), ("_CELLS_A_PART", 4), ("_DRAWN_A_PART", 40)):
        monkeypatch.setattr(trunk, name, value)


def divided(*arrays, n_rows=300):
    return [da.from_array(each, chunks=(n_rows, *(-1,) * (each.ndim - 1))) for each in arrays]


def in_batches(*arrays, n_rows=450):
    return [tuple(each[i : i + n_rows] for each in arrays) for i in range(0, len(arrays[0]), n_rows)]


def classes_of(y):
    return np.array(["low", "middle", "high"])[(y > -0.5).astype(int) + (y > 0.5)]


def assert_same(mine, other, X):
    assert type(mine) is type(other)
    assert (mine.C_, mine.gamma_, mine.loo_error_) == (other.C_, other.gamma_, other.loo_error_)
    np.testing.assert_array_equal(mine.loo_scores_, other.loo_scores_)
    np.testing.assert_array_equal(mine.scores_of(X), other.scores_of(X))


@pytest.mark.parametrize("kind", [DaskLocalSVC, DaskLocalSVR])
def test_few_rows_give_the_model_of_fit(client, table, kind):
    X, y = table
    y = y if kind is DaskLocalSVR else classes_of(y)
    model = kind(client=client, **SETTINGS).fit(*divided(X, y))
    assert_same(model.to_local(), model.new_local().fit(X, y), X)
    assert [each["step"] for each in model.history_] == ["sample", "shuffle", "choice", "cells"]


@pytest.mark.parametrize("others", [{}, {"n_trees": 2, "C": 1.0, "gamma": 0.5}])
@pytest.mark.parametrize("kind", [DaskLocalSVC, DaskLocalSVR])
def test_many_rows_give_the_model_of_fit_batches(client, table, from_sample, kind, others):
    X, y = table
    y = y if kind is DaskLocalSVR else classes_of(y)
    model = kind(client=client, **SETTINGS, **others).fit(*divided(X, y))
    assert_same(model.to_local(), model.new_local().fit_batches(in_batches(X, y)), X)
    again = kind(client=client, **SETTINGS, **others).fit(*divided(X, y, n_rows=777))
    assert_same(again.to_local(), model.to_local(), X)


def test_weights(client, table, from_sample):
    X, y = table
    X, y, weights = X - 100.0, classes_of(y), np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    model = DaskLocalSVC(client=client, class_weight="balanced", **SETTINGS).fit(*divided(X, y, weights))
    assert_same(model.to_local(), model.new_local().fit_batches(in_batches(X, y, weights)), X)
    weights[::3] = 0.0
    model = DaskLocalSVR(client=client, **SETTINGS).fit(*divided(X, table[1], weights))
    assert_same(model.to_local(), model.new_local().fit_batches(in_batches(X, table[1], weights)), X)


def test_predictions_on_the_cluster(client, table, monkeypatch):
    monkeypatch.setattr(_cluster, "_SMALL", 0)  # or the model travels inside of tasks
    X, y = table
    labels = classes_of(y)
    model = DaskLocalSVC(client=client, **GIVEN).fit(*divided(X, labels))
    local, (rows, targets) = model.to_local(), divided(X, labels)
    for method in ("predict", "decision_function", "predict_proba"):
        found = getattr(model, method)(rows)
        assert isinstance(found, da.Array)
        np.testing.assert_array_equal(client.compute(found).result(), getattr(local, method)(X))
    assert client.compute(model.score(rows, targets)).result() == pytest.approx(local.score(X, labels))
    alone = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(alone.predict(rows).compute(scheduler="synchronous"), local.predict(X))
    model = DaskLocalSVR(client=client, **GIVEN).fit(*divided(X, y))
    assert client.compute(model.score(*divided(X, y))).result() == pytest.approx(model.to_local().score(X, y))


def test_several_targets(client, table):
    X, y = table
    Y = np.column_stack([y, X[:, 2]])
    model = DaskLocalSVR(client=client, **GIVEN).fit(*divided(X, Y))
    assert_same(model.to_local(), LocalSVR(**GIVEN).fit(X, Y), X)
    assert client.compute(model.predict(divided(X)[0])).result().shape == (2000, 2)


def test_frames_and_empty_partitions(client, table, tmp_path):
    X, y = table
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    rows, labels = dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(y > 0), npartitions=3)
    model = DaskLocalSVC(client=client, **GIVEN).fit(rows, labels)
    local = model.to_local()
    assert list(local.feature_names_in_) == ["a", "b", "c"]
    assert_same(local, LocalSVC(**GIVEN).fit(frame, y > 0), frame)
    save(local, tmp_path / "model.frugal")
    np.testing.assert_array_equal(load(tmp_path / "model.frugal").predict(frame), local.predict(frame))
    parts = [delayed(X[:1200]), delayed(X[:0]), delayed(X[1200:])]
    model.fit(parts, [delayed(y[:1200] > 0), delayed(y[:0]), delayed(y[1200:] > 0)])
    assert_same(model.to_local(), LocalSVC(**GIVEN).fit(X, y > 0), X)


def test_pipeline(client, table):
    X, y = table
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]), npartitions=3)
    pipeline = DaskPipeline(DaskLocalSVC(client=client, **GIVEN)).fit(
        frame, dd.from_pandas(pd.Series(y > 0), npartitions=3)
    )
    expected = pipeline.to_local().predict(frame.compute())
    np.testing.assert_array_equal(client.compute(pipeline.predict(frame)).result(), expected)
    assert np.mean(expected == (y > 0)) > 0.9


def test_refusals(client, table):
    X, y = table
    model = DaskLocalSVC(client=client, **GIVEN)
    with pytest.raises(ValueError, match="takes dense rows"):
        model.fit([delayed(csr_matrix(X))], [delayed(y > 0)])
    with pytest.raises(ValueError, match="cell_size"):
        DaskLocalSVC(client=client, cell_size=0).fit(*divided(X, y > 0))
    with pytest.raises(ValueError, match="class_weight"):
        DaskLocalSVC(client=client, class_weight="even").fit(*divided(X, y > 0))
    with pytest.raises(ValueError, match="requires y"):
        model.fit(divided(X)[0], None)
    with pytest.raises(ValueError, match=r"Partition 1: .*NaN"):
        model.fit(*divided(np.where(np.arange(2000)[:, None] == 400, np.nan, X), y > 0))
