"""`row_influence`: what the error on given rows would be without each row, by forgetting some of them in turn."""

import copy

import numpy as np
import pytest

from frugalsvm import LocalSVC, LocalSVR

SETTINGS = {"kernel": "rbf", "gamma": 0.5, "dtype": "float64", "random_state": 0}


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


def squared_errors(model, X, y):
    if isinstance(model, LocalSVC):
        targets = np.where(np.asarray(y)[:, None] == model.classes_, 1.0, -1.0)
        targets = targets if len(model.classes_) > 2 else targets[:, 1:]
        return np.square(model.scores_of(X) - targets).mean()
    return np.square(model.predict(X) - y).mean()


@pytest.mark.parametrize("n_trees", [1, 2])
@pytest.mark.parametrize("kind", ["two classes", "three classes", "values", "two values"])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_what_forgetting_each_row_changes(n_trees, kind, weighted):
    (X, y), (new, target) = table(150), table(30, 1)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 150) if weighted else None
    if kind.endswith("classes"):
        cuts = [0.0] if kind == "two classes" else [-0.5, 0.5]
        y, target = np.digitize(y, cuts), np.digitize(target, cuts)
        model = LocalSVC(10.0, cell_size=40, n_trees=n_trees, **SETTINGS)
    else:
        if kind == "two values":
            y, target = np.column_stack([y, 5 * y**2]), np.column_stack([target, 5 * target**2])
        model = LocalSVR(10.0, cell_size=40, n_trees=n_trees, intervals=None, **SETTINGS)
    model.fit(X, y, weights)
    model._is_of_sample = True  # trees stay as they are
    found = model.row_influence(new, target)
    before = squared_errors(model, new, target)
    some = range(0, 150, 9)  # of all cells
    expected = [squared_errors(copy.deepcopy(model).unlearn([i]), new, target) - before for i in some]
    assert len(found) == 150
    np.testing.assert_allclose(found[some], expected, atol=1e-9)


def test_rows_that_are_the_same():
    X, y = table(150)
    X[:60] = X[0]
    model = LocalSVR(10.0, cell_size=40, intervals=None, **SETTINGS).fit(X, y)
    model._is_of_sample = True
    found, before = model.row_influence(X[:10], y[:10]), squared_errors(model, X[:10], y[:10])
    for i in (3, 50, 120):
        expected = squared_errors(copy.deepcopy(model).unlearn([i]), X[:10], y[:10]) - before
        assert found[i] == pytest.approx(expected, abs=1e-9)


def test_wrong_labels_do_harm():
    (X, y), (new, target) = table(2000), table(1000, 1)
    y, target = (y > 0).astype(int), (target > 0).astype(int)
    wrong = np.random.default_rng(0).choice(2000, 100, replace=False)
    y[wrong] = 1 - y[wrong]
    model = LocalSVC(1.0, cell_size=500, **SETTINGS).fit(X, y)
    worst = model.row_ids_[np.argsort(model.row_influence(new, target))[:100]]
    assert len(np.intersect1d(worst, wrong)) >= 50  # five of a random hundred would be
