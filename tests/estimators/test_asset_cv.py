"""C from a list by cross-validation."""

import numpy as np
import pytest

from frugalsvm import ASSETClassifier, ASSETRegressor
from frugalsvm.datasets import make_checkerboard
from frugalsvm.exceptions import ParameterError

PATH = [0.01, 1.0, 100.0]
SETTINGS = {"C": PATH, "cv": 4, "n_components": 40, "gamma": 0.5, "loss": "squared_hinge", "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    X, y = make_checkerboard(1200, random_state=0)
    return X, np.where(np.random.default_rng(0).random(len(y)) < 0.1, -y, y)


@pytest.fixture(scope="module")
def model(rows):
    return ASSETClassifier(**SETTINGS).fit(*rows)


def test_every_value_has_a_score_of_all_rows(model, rows):
    assert set(model.path_) == {"C", "validation_score"}
    assert model.path_["C"].tolist() == PATH
    counts = model.path_["validation_score"] * len(rows[1])
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-6)
    best = int(np.argmax(model.path_["validation_score"]))
    assert PATH[best] == model.C_


def test_the_model_is_that_of_the_best_value_on_all_rows(model, rows):
    alone = ASSETClassifier(**{**SETTINGS, "C": model.C_, "cv": None}).fit(*rows)
    assert model.objective_ == pytest.approx(alone.objective_, rel=1e-2)


def test_scores_are_those_of_rows_that_were_not_learned(rows):
    """With all rows as landmarks and hardly any penalty, noise is learned by heart, but not told from."""
    X, y = rows[0][:300], rows[1][:300]
    model = ASSETClassifier(**{**SETTINGS, "C": [1e3], "n_components": 300, "max_iter": 100, "gamma": 50.0}).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.path_["validation_score"][0] < 0.9


def test_probabilities_are_calibrated_with_these(rows):
    model = ASSETClassifier(**SETTINGS, calibrate="platt").fit(*rows)
    found = model.predict_proba(rows[0])
    np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(rows[0]))
    assert 0.7 < found.max(axis=1).mean() < 0.95  # a tenth of the labels is wrong


def test_regression(rows):
    X = rows[0]
    y = np.sin(X[:, 0]) + X[:, 1] / 10
    settings = {**SETTINGS, "loss": "squared_epsilon_insensitive"}
    model = ASSETRegressor(**settings).fit(X, y)
    assert model.path_["validation_score"][-1] > model.path_["validation_score"][0]
    assert PATH[0] < model.C_


@pytest.mark.parametrize("cv", [1, 0, 2.5, "five"])
def test_what_is_no_number_of_folds(rows, cv):
    with pytest.raises(ParameterError, match="cv must be"):
        ASSETClassifier(**{**SETTINGS, "cv": cv}).fit(*rows)


def test_one_value_needs_no_folds(rows):
    with pytest.raises(ValueError, match=r"cv=4 compares values of C: pass a list"):
        ASSETClassifier(**{**SETTINGS, "C": 1.0}).fit(*rows)


def test_fewer_rows_than_folds(rows):
    X, y = np.concatenate([rows[0][:2]]), np.array([0, 1])
    with pytest.raises(ValueError, match="cv=4 folds need at least as many rows"):
        ASSETClassifier(**SETTINGS).fit(X, y)
