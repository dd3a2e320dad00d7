"""Shapley values and explanations against shap and shapiq, where these are installed."""

import warnings

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from frugalsvm import ASSETClassifier, BSGDClassifier
from frugalsvm.explain import shapley_values
from frugalsvm.export import PlainModel, plain_model

rng = np.random.default_rng(0)


def library(name):
    """A peer; their own warnings are not about this library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def values_of(explainer, rows):
    """What an explainer of shapiq says of rows, as a matrix."""
    explained = [explainer.explain(row) for row in rows]
    return np.array([[each[(j,)] for j in range(rows.shape[1])] for each in explained])


@pytest.mark.parametrize(("n_features", "gamma"), [(2, 0.5), (10, 0.1), (30, 0.03), (60, 0.02), (60, 0.2)])
def test_equals_the_exact_explainer_of_shapiq(n_features, gamma):
    explainer_of = library("shapiq.explainer.product_kernel").ProductKernelExplainer
    X = rng.normal(size=(80, n_features))
    model = SVR(kernel="rbf", gamma=gamma, C=10.0).fit(X, np.sin(X[:, 0]) + X[:, 1])
    plain = PlainModel("rbf", model.support_vectors_, model.dual_coef_, model.intercept_, "value", gamma=gamma)
    found = shapley_values(plain, X[:3], background=None)
    expected = values_of(explainer_of(model=model, max_order=1, index="SV"), X[:3])
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_equals_the_exact_explainer_of_shapiq_for_two_classes():
    explainer_of = library("shapiq.explainer.product_kernel").ProductKernelExplainer
    X = rng.normal(size=(80, 12))
    model = SVC(kernel="rbf", gamma=0.1).fit(X, X[:, 0] * X[:, 1] > 0)
    parts = model.support_vectors_, model.dual_coef_, model.intercept_
    found = shapley_values(PlainModel("rbf", *parts, "sign", model.classes_, gamma=0.1), X[:3], None).values
    expected = values_of(explainer_of(model=model, max_order=1, index="SV"), X[:3])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("several", [False, True])
def test_equals_the_exact_explainer_of_shap_with_background_rows(several):
    shap = library("shap")
    X = rng.normal(size=(300, 7))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.5, 2.0] if several else [0.5])
    model = BSGDClassifier(budget=30, gamma=0.2, random_state=0).fit(X, y)
    background = X[100:130]
    plain = plain_model(model)
    masker = shap.maskers.Independent(background, max_samples=len(background))
    expected = shap.explainers.ExactExplainer(plain.decision_function, masker)(X[:4])
    found = shapley_values(model, X[:4], background).as_shap()
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.base_values, expected.base_values, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found.data, expected.data)


@pytest.fixture(scope="module")
def several():
    X = rng.normal(size=(300, 5))
    model = ASSETClassifier(n_components=40, gamma=0.2, random_state=0).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    return shapley_values(model, X[:50], X[:20])


def test_plots_of_shap_take_explanations(several):
    shap, pyplot = library("shap"), pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    whole = several.as_shap()
    assert whole.shape == (50, 5, 3)
    assert whole.output_names == several.output_names
    one = several.of_output(several.output_names[2]).as_shap()
    np.testing.assert_array_equal(one.values, whole[:, :, 2].values)
    np.testing.assert_array_equal(one.base_values, whole[:, :, 2].base_values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for draw, given in (
            (shap.plots.waterfall, one[0]),
            (shap.plots.waterfall, whole[0, :, 1]),
            (shap.plots.bar, one),
            (shap.plots.beeswarm, one),
            (shap.plots.scatter, one[:, 1]),
        ):
            pyplot.figure()
            draw(given, show=False)
            assert pyplot.gcf().axes
            pyplot.close("all")
