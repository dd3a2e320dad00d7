"""`fit_batches` of `LocalSVC` and `LocalSVR`: the model of `fit`, within memory, whatever the batches are."""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

from frugalsvm import LocalSVC, LocalSVR, load, save
from frugalsvm.cells import trunk
from frugalsvm.streams import open_stream

SETTINGS = {"cell_size": 100, "random_state": 0}


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


def in_batches(*arrays, n_rows=300):
    return [tuple(each[i : i + n_rows] for each in arrays) for i in range(0, len(arrays[0]), n_rows)]


def assert_same(mine, other, X):
    assert (mine.C_, mine.gamma_, mine.loo_error_) == (other.C_, other.gamma_, other.loo_error_)
    np.testing.assert_array_equal(mine.loo_scores_, other.loo_scores_)
    np.testing.assert_array_equal(mine.scores_of(X), other.scores_of(X))


@pytest.mark.parametrize("others", [{}, {"n_trees": 2, "C": 1.0}, {"metric": [1.0, 2.0, 0.0], "C": 1.0}])
@pytest.mark.parametrize("kind", [LocalSVC, LocalSVR])
def test_few_rows_give_the_model_of_fit(table, kind, others):
    X, y = table
    y = y if kind is LocalSVR else np.where(y > 0, "yes", "no")
    model = kind(**SETTINGS, **others)
    assert_same(kind(**SETTINGS, **others).fit_batches(in_batches(X, y)), model.fit(X, y), X)


def test_weights(table):
    X, y = table[0] - 100.0, table[1]
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    model = LocalSVR(C=1.0, gamma=0.5, **SETTINGS)
    found = LocalSVR(C=1.0, gamma=0.5, **SETTINGS).fit_batches(in_batches(X, y, weights))
    assert_same(found, model.fit(X, y, weights), X)


@pytest.mark.parametrize("n_trees", [1, 2])
def test_trees_from_a_sample(table, from_sample, n_trees):
    X, y = table
    model = LocalSVR(n_trees=n_trees, **SETTINGS).fit_batches(in_batches(X, y))
    for cells in model._cells:
        assert cells.tree.is_sound(None)
        assert cells.tree.sizes.max() <= 100
        assert cells.tree.sizes.min() >= 60
    whole = LocalSVR(n_trees=n_trees, **SETTINGS).fit(X, y)
    assert model.loo_error_ == pytest.approx(whole.loo_error_, rel=0.5)  # its cells are not as full
    assert np.sqrt(np.mean((model.loo_scores_[:, 0] - y) ** 2)) == pytest.approx(model.loo_error_)
    assert_same(LocalSVR(n_trees=n_trees, **SETTINGS).fit_batches(in_batches(X, y, n_rows=77)), model, X)


def test_the_model_needs_no_file_and_none_is_left(table, from_sample, tmp_path):
    X, y = table
    folder = tmp_path / "rows"
    folder.mkdir()
    model = LocalSVC(C=1.0, **SETTINGS).fit_batches(in_batches(X, y > 0), folder=folder)
    assert list(folder.iterdir()) == []
    save(model, tmp_path / "model.frugal")
    for same in (pickle.loads(pickle.dumps(model)), load(tmp_path / "model.frugal")):
        np.testing.assert_array_equal(same.decision_function(X), model.decision_function(X))


def test_files(table, tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    from pyarrow import parquet

    X, y = table
    columns = {f"x{f}": X[:, f] for f in range(3)} | {"label": (y > 0).astype(int)}
    parquet.write_table(pa.table(columns), tmp_path / "rows.parquet")
    stream = open_stream(tmp_path / "rows.parquet", label="label", batch_rows=500)
    model = LocalSVC(C=1.0, **SETTINGS).fit_batches(stream)
    assert_same(model, LocalSVC(C=1.0, **SETTINGS).fit(X.astype(np.float32), y > 0), X)


def test_columns_of_text_are_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("size,color,label\n" + "1.5,red,0\n2.5,blue,1\n" * 20)
    with pytest.raises(ValueError, match="columns of text \\('color'\\)"):
        LocalSVC(**SETTINGS).fit_batches(open_stream(tmp_path / "rows.csv", label="label"))
    stream = open_stream(tmp_path / "rows.csv", label="label", ignore=["color"])
    assert LocalSVC(**SETTINGS).fit_batches(stream).n_features_in_ == 1


def test_memory_is_far_below_the_rows():
    """48 MB of rows, of which there is never more than a batch at a time."""
    n_rows, width, n_batches = 120_000, 100, 20

    def batches():
        for number in range(n_batches):
            rng = np.random.default_rng(number)
            X = rng.standard_normal((n_rows // n_batches, width), np.float32)
            yield X, X[:, 0] > 0

    tracemalloc.start()
    try:
        model = LocalSVC(C=1.0, gamma=0.01, cell_size=64, memory="16MB", random_state=0).fit_batches(batches)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert model._rows.nbytes == 4 * n_rows * width
    assert peak < 0.6 * model._rows.nbytes
    assert model.loo_error_ < 0.4


def test_refusals(table):
    X, y = table
    model = LocalSVC(**SETTINGS)
    with pytest.raises(ValueError, match="an iterator can be read only once"):
        model.fit_batches(iter(in_batches(X, y > 0)))
    with pytest.raises(ValueError, match="at least two classes"):
        model.fit_batches(in_batches(X, y > 100))
    with pytest.raises(ValueError, match="takes dense rows"):
        model.fit_batches([(csr_array(X), y > 0)])
    with pytest.raises(ValueError, match="All weights are zero"):
        LocalSVC(class_weight={False: 0, True: 0}, **SETTINGS).fit_batches(in_batches(X, y > 0))
    passes = iter([in_batches(X, y), in_batches(X, y), in_batches(X[:500], y[:500])])
    with pytest.raises(ValueError, match="had 2,000 rows at first, but 500"):
        LocalSVR(**SETTINGS).fit_batches(lambda: next(passes))
    assert not hasattr(model, "classes_")
