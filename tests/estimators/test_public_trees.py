"""``tree="public"``: nothing of a row that was forgotten is left in the structure, whatever came and went."""

import numpy as np
import pytest

from frugalsvm import LocalSVC, LocalSVR, load, save
from frugalsvm.exceptions import ParameterError


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(size=(n, 3)) * [1.0, 0.1, 5.0] + [0.0, 3.0, 0.0], -20.0, 20.0)
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 2] > 0, 1, 0), np.sin(2 * X[:, 0]) + X[:, 2]


def new_model(cls=LocalSVC, **others):
    settings = {
        "kernel": "rbf", "gamma": 0.3, "cell_size": 40, "dtype": "float64", "tree": "public", "ranges": (-20.0, 20.0),
        "random_state": 0,
    }  # fmt: skip
    if cls is LocalSVR:
        settings["intervals"] = None
    return cls(10.0, **{**settings, **others})


def assert_same(first, second, X):
    for mine, other in zip(first._cells, second._cells, strict=True):
        for name in ("directions", "cuts", "children", "starts"):
            np.testing.assert_array_equal(getattr(mine.tree, name), getattr(other.tree, name))
        np.testing.assert_array_equal(mine.coef, other.coef)
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


@pytest.mark.parametrize("n_trees", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(3))
def test_any_changes_give_the_model_of_the_rows_that_are_left(n_trees, dtype, seed):
    X, y, _ = table()
    rng = np.random.default_rng(seed)
    model = new_model(n_trees=n_trees, dtype=dtype).fit(X, y)
    rows = {i: (X[i], y[i]) for i in range(len(X))}
    for _ in range(8):
        ids = rng.choice(model.row_ids_, int(rng.choice([1, 5, 50])), replace=False)
        new, labels, _ = table(len(ids), int(rng.integers(2**31)))
        kind = rng.choice(["forget", "add", "update"])
        if kind == "forget":
            model.unlearn(ids)
            for i in ids.tolist():
                del rows[i]
            continue
        if kind == "add":
            ids = model._n_ids + np.arange(len(ids))
            model.partial_fit(new, labels)
        else:
            model.update(ids, new, labels)
        rows.update({i: (row, label) for i, row, label in zip(ids.tolist(), new, labels, strict=True)})
    left = [rows[i] for i in sorted(rows)]
    again = new_model(n_trees=n_trees, dtype=dtype).fit(np.array([row for row, _ in left]), [y for _, y in left])
    assert_same(model, again, X)
    np.testing.assert_allclose(model.loo_scores_, again.loo_scores_, atol=0 if n_trees == 1 else 1e-10)


def test_cells_are_small_and_every_cut_divides():
    X, y, _ = table(3000)
    model = new_model(LocalSVC, cell_size=100).fit(X, y)
    sizes = model._cells[0].tree.sizes
    assert 1 <= sizes.min() <= sizes.max() <= 100
    assert model.n_cells_ < 120
    assert model.score(*table(500, 1)[:2]) > 0.95


def test_rows_that_are_the_same_are_one_cell():
    X, y, _ = table(200)
    X[:120] = X[0]
    model = new_model().fit(X, y)
    assert model._cells[0].tree.sizes.max() >= 120


def test_no_row_is_in_the_structure(tmp_path):
    X, y, target = table()
    model = new_model(n_trees=2).fit(X, y)
    assert len(model.structure_rows_) == 0
    report = model.unlearn([3]).forget_report()
    assert report["structure"] == "made without rows"
    assert report["aggregates that stay"] == ["classes"]
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert_same(loaded.unlearn(np.arange(50, 150)), model.unlearn(np.arange(50, 150)), X)
    regressor = new_model(LocalSVR).fit(X, target)
    assert regressor.unlearn([3, 4]).score(X, target) > 0.9


@pytest.mark.parametrize("metric", [[1.0, 2.0, 0.5], [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]])
def test_with_a_metric(metric):
    X, y, _ = table()
    model = new_model(metric=np.array(metric)).fit(X, y)
    model.unlearn(np.arange(100)).partial_fit(X[:100], y[:100])
    assert model._cells[0].tree.sizes.max() <= 40


def test_rows_outside_of_the_ranges_are_refused():
    X, y, _ = table()
    model = new_model(ranges=([-20.0, 0.0, -20.0], [20.0, 10.0, 20.0])).fit(X, y)
    with pytest.raises(ValueError, match="outside of the ranges"):
        model.partial_fit([[0.0, -1.0, 0.0]], [1])
    with pytest.raises(ValueError, match="outside of the ranges"):
        new_model(ranges=(-1.0, 1.0)).fit(X, y)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"tree": "own"}, "tree"),
        ({"ranges": None}, "ranges"),
        ({"ranges": (1.0, -1.0)}, "not above"),
        ({"ranges": ([0.0, 0.0], [1.0, 1.0])}, "2 values for 3 features"),
        ({"metric": "diag"}, "pass an array"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(others, message):
    X, y, _ = table()
    with pytest.raises(ParameterError, match=message):
        new_model(**others).fit(X, y)


def test_batches_are_for_trees_of_rows():
    X, y, _ = table()
    with pytest.raises(ValueError, match="tree='public' is for fit"):
        new_model().fit_batches([(X, y)])
