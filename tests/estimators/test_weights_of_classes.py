"""Weights that are zero for all rows of a class are refused, as by `SVC`; and other silent breakdowns."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV

from frugalsvm import (
    ASSETClassifier,
    ASSETRegressor,
    AutoSVC,
    AutoSVR,
    BPAClassifier,
    BSGDClassifier,
    BSGDRegressor,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    LocalSVC,
    LocalSVR,
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
REGRESSORS = [
    ASSETRegressor(n_components=20, C=10.0), AutoSVR(kernel="rbf", metric=None), BSGDRegressor(budget=10), LocalSVR(),
    StreamPipeline(BSGDRegressor(budget=10), impute="mean"),
]  # fmt: skip


def in_order(model):
    """The model with all that makes results comparable."""
    names = {name for name in model.get_params() if name.rpartition("__")[2] in ("shuffle", "random_state")}
    return model.set_params(**{name: False if name.endswith("shuffle") else 0 for name in names})


@pytest.mark.parametrize("model", CLASSIFIERS + REGRESSORS, ids=lambda model: str(model)[:40])
def test_rows_of_weight_0_do_not_count_however_far_they_are(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] > 0).astype(int) if is_classifier(model) else X[:, 0]
    counts = np.arange(120) % 4 > 0
    far = np.where(counts[:, None], X, 300.0 + 50.0 * X)
    expected = in_order(clone(model)).fit(X[counts], y[counts])
    found = in_order(clone(model)).fit(far, np.where(counts, y, y[::-1]), sample_weight=counts.astype(float))
    ask = "decision_function" if is_classifier(model) else "predict"
    np.testing.assert_allclose(getattr(found, ask)(X), getattr(expected, ask)(X), atol=1e-5)


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
