"""Rows that are there several times are left out as one."""

import warnings

import numpy as np
import pytest

from frugalsvm import AutoSVC, AutoSVR, LocalSVC
from frugalsvm.auto.tables import weights_without_copies
from frugalsvm.exceptions import PoorFitWarning
from frugalsvm.pipelines.rows import LabeledRows

SETTINGS = {"kernel": "rbf", "metric": None, "random_state": 0}


@pytest.fixture
def noisy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return X, X[:, 0] + rng.normal(size=200)


@pytest.mark.parametrize("kind", [AutoSVC, AutoSVR])
def test_three_times_all_rows_are_learned_as_once(noisy, kind):
    X, y = noisy
    y = (y > 0).astype(int) if kind is AutoSVC else y
    once = kind(**SETTINGS).fit(X, y)
    thrice = kind(**SETTINGS).fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    assert thrice.best_score_ == pytest.approx(once.best_score_)
    assert thrice.best_params_ == pytest.approx(once.best_params_)
    np.testing.assert_allclose(thrice.predict(X), once.predict(X), rtol=1e-4)
    assert any("copies of others" in note for note in thrice.report(output_dict=True)["notes"])
    assert not any("copies of others" in note for note in once.report(output_dict=True)["notes"])


def test_a_class_that_was_drawn_several_times_is_weighted():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"a": rng.normal(size=300), "town": [f"t{k}" for k in rng.integers(20, size=300)]})
    y = rng.random(300) < 0.1  # nothing can be learned
    drawn = np.concatenate([np.arange(300), rng.choice(np.flatnonzero(y), 240)])
    model = AutoSVC(**SETTINGS).fit(X.iloc[drawn], y[drawn])
    assert model.best_score_ < 0.7  # 1.0 if copies stay where one of them is left out


def test_which_rows_are_copies(noisy):
    X, y = noisy
    drawn = np.random.default_rng(0).integers(200, size=200)
    rows = LabeledRows(X[drawn], None, y[drawn], None)
    weights = weights_without_copies(rows, {})
    assert weights.sum() == 200
    assert np.count_nonzero(weights) == len(np.unique(drawn))
    np.testing.assert_array_equal(weights_without_copies(rows._replace(weights=np.full(200, 0.5)), {}), weights / 2)
    assert weights_without_copies(rows, {"name": np.arange(200).astype(str)}) is None
    assert weights_without_copies(rows._replace(y=np.arange(200.0)), {}) is None
    few = LabeledRows(np.rint(X), None, y > 0, None)  # alike by chance: not all of these are of one class
    assert weights_without_copies(few, {}) is None


def test_machines_in_cells_warn_where_they_choose(noisy):
    X, y = noisy
    thrice, labels = np.repeat(X, 3, axis=0), np.repeat(y > 0, 3)
    with pytest.warns(PoorFitWarning, match="67% of the rows are the same as others"):
        LocalSVC().fit(thrice, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LocalSVC(C=1.0, gamma=0.1).fit(thrice, labels)
        LocalSVC().fit(thrice, labels, sample_weight=np.tile([3.0, 0.0, 0.0], len(X)))
