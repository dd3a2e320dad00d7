"""Importances, curves and prototypes: equal to what predictions say, for arrays and for tables."""

import numpy as np
import pandas as pd
import pytest

from frugalsvm import ASSETClassifier, ASSETRegressor, BSGDClassifier, LASVMClassifier
from frugalsvm.explain import (
    partial_dependence,
    permutation_importance,
    prototypes,
    shapley_values,
    side_by_side,
    vector_importances,
)
from frugalsvm.export import plain_model
from frugalsvm.pipelines import ColumnEncoder, StreamPipeline
from frugalsvm.streams import Batch

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 4))
Y = np.where(X[:, 1] > 0.3 * X[:, 2], "yes", "no")


@pytest.fixture(scope="module")
def model():
    return ASSETClassifier(n_components=40, gamma=0.2, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def table():
    frame = pd.DataFrame({"size": X[:, 0], "color": rng.choice(["red", "green", "blue"], len(X)), "age": X[:, 1]})
    y = (frame["age"] > 0) ^ (frame["color"] == "red")
    return frame, y.to_numpy()


@pytest.fixture(scope="module")
def pipeline(table):
    return StreamPipeline(LASVMClassifier(gamma=0.2, C=10.0), encoder=ColumnEncoder()).fit(*table)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
def test_curves_are_the_values_of_changed_rows(kernel):
    rows, labels = X.astype(np.float32), np.digitize(X[:, 0], [-0.5, 0.5])
    model = ASSETClassifier(kernel=kernel, n_components=30, random_state=0).fit(rows, labels)
    found = partial_dependence(model, X[:20], 2, grid=[-1.0, 0.3, 2.0])
    assert found.column == "Feature 3"
    assert found.individual.shape == (20, 3, 3)
    for k, point in enumerate(found.grid):
        changed = X[:20].copy()
        changed[:, 2] = point
        np.testing.assert_allclose(found.individual[:, k], plain_model(model).values(changed), atol=1e-9)
    np.testing.assert_allclose(found.average, found.individual.mean(axis=0))


def test_curves_along_columns_of_text(pipeline, table):
    frame = table[0][:30]
    found = partial_dependence(pipeline, frame, "color")
    assert sorted(found.grid) == ["blue", "green", "red"]
    for k, color in enumerate(found.grid):
        expected = pipeline.decision_function(frame.assign(color=color))
        np.testing.assert_allclose(found.individual[:, k], expected, atol=1e-4)
    ages = partial_dependence(pipeline, frame, "age", n_points=7)
    np.testing.assert_allclose(
        ages.individual[:, 3], pipeline.decision_function(frame.assign(age=ages.grid[3])), atol=1e-4
    )
    with pytest.raises(ValueError, match="no column 'weight'"):
        partial_dependence(pipeline, frame, "weight")


def test_permutation_finds_what_matters_batch_by_batch(model):
    whole = permutation_importance(model, [(X, Y)], n_repeats=2, random_state=0)
    batches = [Batch(X[start : start + 100], Y[start : start + 100], None, start, None) for start in range(0, 400, 100)]
    parts = permutation_importance(model, batches, n_repeats=2, random_state=0)
    assert whole.score == pytest.approx(model.score(X, Y)) == parts.score
    assert whole.n_rows == parts.n_rows == 400
    for found in (whole, parts):
        assert found.drops.argmax() == 1
        assert abs(found.drops[0]) < 5 * found.errors[0] + 0.02
    # Other permutations: they differ by chance, and the standard errors say by how much.
    assert (np.abs(whole.drops - parts.drops) < 4 * np.hypot(whole.errors, parts.errors)).all()


def test_permutation_of_a_regressor_is_about_its_squared_errors():
    y = X[:, 0] ** 2
    model = ASSETRegressor(n_components=60, gamma=0.3, C=100.0, random_state=0).fit(X, y)
    found = permutation_importance(model, [(X, y)], random_state=0)
    assert found.score == pytest.approx(model.score(X, y))
    order = np.random.default_rng(0).permutation(len(X))
    changed = X.copy()
    changed[:, 0] = X[order, 0]
    assert found.drops[0] == pytest.approx(model.score(X, y) - model.score(changed, y))


def test_permutation_of_columns_of_text(pipeline, table):
    found = permutation_importance(pipeline, [table], random_state=0)
    drops = dict(zip(found.feature_names, found.drops, strict=True))
    assert drops["color"] > drops["size"] + 0.1
    with pytest.raises(ValueError, match="no rows"):
        permutation_importance(pipeline, [])


def test_measures_side_by_side_are_shares():
    model = ASSETClassifier(n_components=40, gamma=0.2, metric=[0.5, 2.0, 0.5, 0.1], random_state=0).fit(X, Y)
    found = side_by_side(model, shapley_values(model, X[:50], X[:20]), permutation_importance(model, [(X, Y)]))
    assert list(found) == ["shapley", "permutation", "metric"]
    for shares in found.values():
        assert sum(shares.values()) == pytest.approx(1.0)
        assert max(shares, key=shares.get) == "Feature 2"
    np.testing.assert_allclose(list(found["metric"].values()), model.feature_importances_)


def test_prototypes_add_what_they_say(model):
    found = prototypes(model, X[:5], n_prototypes=40, examples=X)
    for row, sides in zip(X[:5], found, strict=True):
        assert all(a.contribution >= b.contribution for a, b in zip(sides["for"], sides["for"][1:], strict=False)) or (
            model.decision_function(row[None])[0] < 0
        )
        total = sum(each.contribution for each in sides["for"] + sides["against"])
        assert total + model.intercept_[0] == pytest.approx(model.decision_function(row[None])[0], abs=1e-4)
        nearest = max(sides["for"] + sides["against"], key=lambda each: each.similarity)
        distance = np.linalg.norm(nearest.values - row)
        assert nearest.similarity == pytest.approx(np.exp(-model.gamma_ * distance**2), abs=1e-6)
        assert np.allclose(X[nearest.example], nearest.values, atol=1e-5)  # landmarks are rows


def test_prototypes_speak_for_the_predicted_class(model):
    for row, sides in zip(X[:20], prototypes(model, X[:20], n_prototypes=2), strict=True):
        sign = 1.0 if model.predict(row[None])[0] == "yes" else -1.0
        assert all(sign * each.contribution > 0 for each in sides["for"])
        assert all(sign * each.contribution < 0 for each in sides["against"])
    with pytest.raises(ValueError, match="no output 3"):
        prototypes(model, X[:1], output=3)


def test_prototypes_of_a_pipeline_are_rows_of_its_table(pipeline, table):
    frame = table[0]
    found = prototypes(pipeline, frame[:3], examples=frame)[0]["for"][0]
    example = frame.iloc[found.example]
    values = dict(zip(frame.columns, found.values, strict=True))
    assert values["color"] == example["color"]
    assert np.allclose([values["size"], values["age"]], [example["size"], example["age"]], atol=1e-3)


def test_prototypes_of_features_without_a_factor_are_unknown_there():
    model = BSGDClassifier(budget=20, gamma=0.2, metric=[1.0, 1.0, 0.0, 1.0], random_state=0).fit(X, Y)
    values = prototypes(model, X[:1])[0]["for"][0].values
    assert np.isnan(values).tolist() == [False, False, True, False]


def test_vectors_alone_tell_what_matters(model, pipeline):
    found = vector_importances(model)
    assert max(found, key=found.get) == "Feature 2"
    assert sum(found.values()) == pytest.approx(1.0)
    vectors = model.landmarks_
    expected = shapley_values(model, vectors, vectors[np.unique(np.linspace(0, 39, 30).astype(int))]).importances
    np.testing.assert_allclose(list(found.values()), expected / expected.sum(), rtol=1e-3)
    assert min(vector_importances(pipeline), key=vector_importances(pipeline).get) == "size"
