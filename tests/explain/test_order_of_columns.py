"""Explanations have the columns of a table in its order, and are arrays where one is wanted."""

import numpy as np
import pytest

from frugalsvm import ASSETClassifier, AutoSVC, BSGDRegressor
from frugalsvm.explain import (
    Explanation,
    partial_dependence,
    permutation_importance,
    prototypes,
    shapley_values,
    side_by_side,
)
from frugalsvm.pipelines import ColumnEncoder, StreamPipeline
from frugalsvm.plots import MetricDisplay


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


def test_indices_prototypes_and_shares_are_of_columns_in_the_order_of_the_table():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"c": rng.choice(["x", "y"], 200), "a": 50.0 + rng.normal(size=200)})
    model = StreamPipeline(
        ASSETClassifier(n_components=20, C=1.0, gamma=0.1, metric=[2.0, 1.0, 1.0]), encoder=ColumnEncoder()
    ).fit(table, table["a"] > 50)
    assert [partial_dependence(model, table, index).column for index in (0, 1)] == ["c", "a"]
    text, number = prototypes(model, table[:1])[0]["for"][0].values
    assert text in ("x", "y", None)
    assert 45.0 < number < 55.0
    permuted = permutation_importance(model, [(table, (table["a"] > 50).to_frame())], random_state=0)
    together = pd.DataFrame(side_by_side(model, shapley_values(model, table[:5]), permuted))
    assert together.index.tolist() == ["c", "a"]
    assert (together.idxmax() == "a").all()
    assert MetricDisplay.from_estimator(model).feature_names.tolist() == ["a", "c=x", "c=y"]
    with pytest.raises(ValueError, match="Labels like 'yes' do not mix with predictions like"):
        permutation_importance(model, [(table, np.full(200, "yes"))])


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
