"""A column of many texts is one column in explanations, whatever it has become."""

import numpy as np
import pytest

from frugalsvm import ASSETRegressor
from frugalsvm.explain import permutation_importance, prototypes, shapley_values
from frugalsvm.pipelines import ColumnEncoder, StreamPipeline


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    codes = rng.integers(40, size=600)
    town, color = np.array([f"t{k:02d}" for k in codes], object), rng.choice(["red", "blue"], 600).astype(object)
    y = np.linspace(-2, 2, 40)[codes] + (color == "red") + 0.1 * rng.normal(size=600)
    rows = rng.normal(size=(600, 1)), {"town": town, "color": color}
    estimator = ASSETRegressor(n_components=40, gamma=0.3, kernel="rbf", random_state=0)
    return StreamPipeline(estimator, encoder=ColumnEncoder("target")).fit(rows, y), rows, y


def test_shares(model):
    pipeline, (X, text), _ = model
    some = X[:5], {name: values[:5] for name, values in text.items()}
    found = shapley_values(pipeline, some)
    assert found.feature_names == ["Feature 1", "color", "town"]
    assert found.labels(0)[2] == f"town = {text['town'][0]}"
    np.testing.assert_allclose(found.predictions, pipeline.predict(some), rtol=1e-3, atol=1e-3)


def test_importances(model):
    pipeline, rows, y = model
    found = permutation_importance(pipeline, [(rows, y)], random_state=0)
    drops = dict(zip(found.feature_names, found.drops, strict=True))
    assert drops["town"] > drops["color"] > 0.05 > drops["Feature 1"]


def test_of_which_town_a_mean_is_from_is_not_known(model):
    pipeline, (X, text), _ = model
    found = prototypes(pipeline, (X[:1], {name: values[:1] for name, values in text.items()}))[0]
    row = (found["for"] or found["against"])[0].values
    assert row[2] is None
    assert row[1] in ("red", "blue")
