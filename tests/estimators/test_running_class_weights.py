"""``class_weight="balanced"`` on streams."""

import numpy as np
import pytest
from support import assert_same_estimator, blobs

from frugalsvm import BSGDClassifier
from frugalsvm.estimators._base import LARGEST_WEIGHT, balanced_weights
from frugalsvm.persist import load, save


def weights_by_definition(labels, n_classes, kept):
    counts, weights = np.zeros(n_classes), []
    for label in labels:
        counts *= kept
        counts[label] += 1
        weights.append((counts.sum() + n_classes) / (n_classes * (counts[label] + 1)))
    return np.minimum(weights, LARGEST_WEIGHT), counts


@pytest.mark.parametrize("kept", [1.0, 0.99])
def test_weights_are_as_defined_in_any_batches(kept):
    labels = np.random.default_rng(0).choice(3, p=[0.7, 0.29, 0.01], size=500)
    expected, counts_after = weights_by_definition(labels, 3, kept)
    weights, counts = balanced_weights(np.zeros(3), labels, kept)
    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    np.testing.assert_allclose(counts, counts_after, rtol=1e-12)
    first, between = balanced_weights(np.zeros(3), labels[:123], kept)
    second, _ = balanced_weights(between, labels[123:], kept)
    np.testing.assert_array_equal(np.concatenate([first, second]), weights)


def rare(n_rows=3000):
    """One row in twenty is of the second class, which overlaps with the first."""
    rng = np.random.default_rng(1)
    y = (rng.random(n_rows) < 0.05).astype(int)
    return rng.normal(size=(n_rows, 2)) + 1.2 * y[:, None], y


def bsgd(**params):
    return BSGDClassifier(**{"budget": 50, "gamma": 0.5, "class_weight": "balanced", "random_state": 0, **params})


@pytest.mark.parametrize("half_life", [None, 500, "auto"])
def test_the_rare_class_is_found(half_life):
    X, y = rare()
    recalls = {}
    for class_weight in ("balanced", None):
        model = bsgd(half_life=half_life, class_weight=class_weight).partial_fit(X[:2000], y[:2000])
        recalls[class_weight] = np.mean(model.predict(X[2000:])[y[2000:] == 1])
    assert recalls["balanced"] > recalls[None] + 0.2


def test_a_model_from_a_file_goes_on(tmp_path):
    X, y = rare(1024)
    whole = bsgd(half_life=300).partial_fit(X[:512], y[:512]).partial_fit(X[512:], y[512:])
    save(bsgd(half_life=300).partial_fit(X[:512], y[:512]), tmp_path / "model")
    assert_same_estimator(load(tmp_path / "model").partial_fit(X[512:], y[512:]), whole)


def test_classes_that_vanish_and_appear():
    X, y = blobs(900, 3, 3, seed=0)
    some = y < 2
    model = bsgd(half_life=100, new_classes="grow").partial_fit(X[some], y[some])
    model.partial_fit(X[y == 0], y[y == 0])  # the second vanishes
    model.partial_fit(X, y)  # and the third appears
    assert model._class_counts.shape == (3,)
    assert np.isfinite(model.decision_function(X)).all()


def test_a_failure_leaves_the_counts_as_they_were():
    X, y = rare(200)
    model = bsgd().partial_fit(X, y)
    before = model._class_counts
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.partial_fit(X, y, sample_weight=-np.ones(len(y)))
    assert model._class_counts is before
