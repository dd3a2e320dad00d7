"""Machines in cells in pipelines: all rows at once, and no batches."""

import numpy as np
import pandas as pd
import pytest

from frugalsvm import LocalSVC, LocalSVR
from frugalsvm.persist import load, save
from frugalsvm.pipelines import ColumnEncoder, StreamPipeline

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3)) * [1.0, 1e3, 1e-3] + [0.0, 1e4, 0.0]
Y = (X[:, 0] * X[:, 2] > 0).astype(int)
GIVEN = {"C": 10.0, "gamma": 0.3, "cell_size": 100, "random_state": 0}


@pytest.mark.parametrize("estimator", [LocalSVC(**GIVEN), LocalSVR(**GIVEN)], ids=lambda each: type(each).__name__)
def test_fitted_saved_and_loaded(estimator, tmp_path):
    model = StreamPipeline(estimator).fit(X, Y)
    assert model.score(X, Y) > 0.8
    save(model, tmp_path / "model.frugal")
    loaded = load(tmp_path / "model.frugal")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.predict_one_row(X[3]) == pytest.approx(model.predict(X[3:4])[0])


def test_columns_of_text_and_missing_values():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(color=np.array(["red", "blue"])[Y])
    frame.loc[::9, "a"] = np.nan
    model = StreamPipeline(LocalSVC(**GIVEN), encoder=ColumnEncoder(), impute="median").fit(frame, Y)
    assert model.score(frame, Y) == 1.0


@pytest.mark.parametrize("learn", [lambda model: model.partial_fit(X, Y), lambda model: model.learn_one_row(X[0], 1)])
def test_batches_are_refused_before_any_row_is_held_back(learn):
    model = StreamPipeline(LocalSVC(**GIVEN))
    with pytest.raises(ValueError, match=r"LocalSVC learns all rows at once: call fit with them, or take an estimator"):
        learn(model)
    assert not hasattr(model, "n_features_in_")
