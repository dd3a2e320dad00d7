"""Weights that are zero for all rows of a class are refused, as by `SVC`; and other silent breakdowns."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from frugalsvm import (
    ASSETClassifier,
    AutoSVC,
    BPAClassifier,
    BSGDClassifier,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    LocalSVC,
    TrackingSVC,
    TVMClassifier,
)
from frugalsvm.exceptions import PoorFitWarning
from frugalsvm.pipelines import StreamPipeline

CLASSIFIERS = [
    ASSETClassifier(n_components=20), AutoSVC(kernel="rbf", metric=None), BPAClassifier(budget=10),
    BSGDClassifier(budget=10), BudgetedPerceptron(budget=10), IncrementalSVC(), LASVMClassifier(), LocalSVC(),
    TrackingSVC(), TVMClassifier(budget=10), StreamPipeline(ASSETClassifier(n_components=20)),
    StreamPipeline(BSGDClassifier()),
]  # fmt: skip


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: str(model)[:40])
def test_a_class_without_weight_is_refused(model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat(["a", "b", "c"], 20)
    with pytest.raises(ValueError, match=r"All rows of class 'b' have weight 0 .* Leave these rows out"):
        model.fit(X, y, sample_weight=(y != "b").astype(float))


def test_an_indefinite_matrix_is_said_to_be_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    K = X @ X.T - 2.0 * np.eye(80)
    with pytest.raises(ValueError, match=r"kernel matrix .*not.* positive"):
        IncrementalSVC(kernel="precomputed").fit(K, X[:, 0] > 0)


@pytest.mark.parametrize("model", [ASSETClassifier(n_components=64, C=1.0), BSGDClassifier(budget=20)])
def test_a_constant_column_has_no_importance(model):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(300, 4)), np.full(300, 7.0)])
    model.set_params(metric="diag", random_state=0).fit(X, X[:, :4].sum(axis=1) > 0)
    assert model.feature_importances_[4] == 0.0
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_a_search_warns_of_the_model_that_it_returns_at_most():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), (np.arange(200) < 20).astype(int)
    search = GridSearchCV(BSGDClassifier(budget=10, gamma=1e-9, random_state=0), {"alpha": [1e-3, 1e-2, 1e-1]}, cv=3)
    with pytest.warns(PoorFitWarning) as told:
        search.fit(X, y)
    assert len([each for each in told if each.category is PoorFitWarning]) == 1
