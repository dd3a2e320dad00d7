"""Explanations of machines in cells: exact where there is one cell, sampled where rows fall into several."""

import numpy as np
import pytest

from frugalsvm import LocalSVC, LocalSVR
from frugalsvm.explain import (
    has_exact_shares,
    partial_dependence,
    permutation_importance,
    prototypes,
    shapley_values,
    vector_importances,
)
from frugalsvm.export import plain_model

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
Y = np.where(X[:, 1] > 0.3 * X[:, 2], "yes", "no")
GIVEN = {"C": 10.0, "gamma": 0.2, "random_state": 0}
ONE, SEVERAL = LocalSVC(kernel="rbf", **GIVEN), LocalSVC(cell_size=60, n_trees=2, **GIVEN)


def test_one_cell_is_explained_exactly():
    model = ONE.fit(X, Y)
    assert has_exact_shares(model)
    for background in (None, X[:20], "auto"):
        found = shapley_values(model, X[:10], background)
        np.testing.assert_allclose(found.predictions.ravel(), plain_model(model).values(X[:10]).ravel(), atol=1e-9)
    assert found.background == "100 training rows of the model"
    assert prototypes(model, X[:2], examples=X)[0]["for"]


@pytest.mark.parametrize("model", [SEVERAL, LocalSVR(cell_size=60, **GIVEN)], ids=["classes", "values"])
def test_several_cells_are_explained_by_sampling(model):
    model.fit(X, Y if hasattr(model, "class_weight") else X[:, 1] + X[:, 0] ** 2)
    assert not has_exact_shares(model)
    found = shapley_values(model, X[:10], X[:50], n_permutations=3)
    expected = model.decision_function(X[:10]) if hasattr(model, "classes_") else model.predict(X[:10])
    np.testing.assert_allclose(found.predictions, expected, atol=1e-9)
    assert found.standard_errors is not None
    with pytest.raises(ValueError, match="cells"):
        shapley_values(model.set_params(kernel="rbf").fit(X, Y if hasattr(model, "class_weight") else X[:, 0]), X, None)


def test_what_needs_no_more_than_predictions():
    model = SEVERAL.fit(X, Y)
    weights = vector_importances(model)
    assert max(weights, key=weights.__getitem__) == "Feature 2"
    rising = partial_dependence(model, X[:40], 1).average
    assert rising[-1] > rising[0]
    found = permutation_importance(model, [(X[:100], Y[:100])], random_state=0)
    assert found.drops.argmax() == 1


def test_learned_rows_are_rows_of_users():
    far = X + 1e4
    model = LocalSVC(cell_size=60, metric=np.array([1.0, 2.0, 0.5]), **GIVEN).fit(far, Y)
    np.testing.assert_allclose(model.learned_rows(), far, atol=1e-3)
    assert model.learned_rows(7).shape == (7, 3)
