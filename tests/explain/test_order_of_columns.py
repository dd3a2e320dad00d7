"""Explanations have the columns of a table in its order, and are arrays where one is wanted."""

import numpy as np
import pytest

from frugalsvm import AutoSVC, BSGDRegressor
from frugalsvm.explain import Explanation, permutation_importance, shapley_values


def test_columns_come_in_the_order_of_the_table():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=300), "c": rng.choice(["x", "y"], 300), "b": rng.normal(size=300)})
    y = (table["c"] == "x").to_numpy().astype(int)
    model = AutoSVC(kernel="rbf", metric=None, random_state=0).fit(table, y)
    found = shapley_values(model, table[:5], background=table[:50])
    assert found.feature_names == ["a", "c", "b"]
    assert found.importances.argmax() == 1
    assert found.data[0].tolist() == table.iloc[0].tolist()
    # Scores are sums of large coefficients in float32.
    np.testing.assert_allclose(found.predictions, model.decision_function(table[:5]), atol=1e-3)
    permuted = permutation_importance(model, [(table, y)], random_state=0)
    assert permuted.feature_names == ["a", "c", "b"]
    assert permuted.drops.argmax() == 1


def test_an_explanation_is_an_array_of_its_shares():
    found = Explanation([[0.5, -0.2]], 0.1, [[3.0, 7.0]], ["age", "income"])
    np.testing.assert_array_equal(np.asarray(found), [[0.5, -0.2]])
    assert np.asarray(found, dtype=np.float32).dtype == np.float32
    copied = np.array(found)
    copied[0, 0] = 9.0
    assert found.values[0, 0] == 0.5


def test_permutation_importances_of_targets_with_an_offset():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    drops = []
    for offset in (0.0, 1e9):
        model = BSGDRegressor(budget=50, random_state=0).fit(X, X[:, 0] + offset)
        drops.append(permutation_importance(model, [(X, X[:, 0] + offset)], random_state=0).drops)
    np.testing.assert_allclose(drops[1], drops[0], atol=1e-3)
