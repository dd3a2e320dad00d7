"""Rows, weights and targets of all kinds for machines in cells: right answers, or a sentence and no change."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from support import blobs

from frugalsvm import LocalSVC, LocalSVR, load, save
from frugalsvm.cells import places
from frugalsvm.estimators.fit_warnings import warn_if_coefficients_cancel
from frugalsvm.exceptions import PoorFitWarning

X, Y = blobs(300, 3, 2, seed=0)
GIVEN = {"C": 10.0, "gamma": 0.3, "random_state": 0}
MODELS = [LocalSVC(cell_size=60, n_trees=2, **GIVEN), LocalSVR(cell_size=60, n_trees=2, **GIVEN)]
BOTH = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
EXACT = [LocalSVC(calibrate=None, dtype="float64", **GIVEN), LocalSVR(dtype="float64", **GIVEN)]


def values(model, rows):
    return model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)


def fitted(model, rows=X, targets=Y, weights=None):
    return clone(model).fit(rows, targets, weights)


# --- rows ---------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    "rows_of",
    [np.asfortranarray, lambda rows: np.repeat(rows, 2, axis=1)[:, ::2], np.ndarray.tolist, pd.DataFrame],
    ids=["columns first", "with gaps", "lists", "frame"],
)
def test_rows_in_any_layout(model, rows_of):
    expected = values(fitted(model), X)
    other = rows_of(X)
    if isinstance(other, pd.DataFrame):
        other.columns = ["a", "b", "c"]
    np.testing.assert_array_equal(values(fitted(model, other), other), expected)


def test_a_type_of_rows_may_be_that_of_numpy():
    scores = [LocalSVC(dtype=dtype, **GIVEN).fit(X, Y).decision_function(X) for dtype in ("float64", np.dtype(float))]
    np.testing.assert_array_equal(*scores)


@BOTH
def test_rows_that_cannot_be_written_stay_as_they_are(model):
    rows = X.astype(np.float32)
    before = rows.copy()
    rows.flags.writeable = False
    found = fitted(model, rows)
    np.testing.assert_array_equal(rows, before)
    assert not np.may_share_memory(found._rows, rows)
    np.testing.assert_array_equal(values(found, rows), values(fitted(model, before.copy()), before))


@BOTH
def test_whole_numbers_are_numbers(model):
    rows = np.round(4 * X).astype(np.int16)
    np.testing.assert_array_equal(values(fitted(model, rows), rows), values(fitted(model, rows.astype(float)), rows))


@BOTH
def test_names_of_columns(model):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    found = fitted(model, frame)
    assert found.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        found.predict(frame[["c", "b", "a"]])


@BOTH
@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (np.where(X > 1, np.nan, X), "NaN"),
        (np.where(X > 1, np.inf, X), "infinity"),
        (np.where(X > 1, 1e30, X), "values as large as 1.0e.30"),
        (csr_array(X), "takes dense rows"),
        (X[:5], "inconsistent"),
    ],
    ids=["NaN", "infinity", "huge", "sparse", "too few"],
)
def test_wrong_rows_change_nothing(model, rows, told):
    found = fitted(model)
    before = values(found, X)
    with pytest.raises(ValueError, match=told):
        found.fit(rows, Y)
    np.testing.assert_array_equal(values(found, X), before)


@BOTH
def test_rows_of_another_width(model):
    with pytest.raises(ValueError, match="2 features"):
        fitted(model).predict(X[:, :2])


@BOTH
def test_sparse_rows_are_refused_in_predictions(model):
    with pytest.raises(ValueError, match="takes dense rows, and X is a sparse matrix"):
        fitted(model).predict(csr_array(X))


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least two classes"):
        LocalSVC().fit(X, np.zeros(300))


# --- few rows, equal rows, constant columns -----------------------------------------------------------------------


@BOTH
def test_as_many_cells_as_rows_at_most(model):
    found = fitted(clone(model).set_params(cell_size=2), X[:9], Y[:9])
    assert found.n_cells_ <= 2 * 9
    assert np.isfinite(found.loo_scores_).all()
    assert np.isfinite(values(found, X)).all()


@BOTH
def test_cells_larger_than_the_table_are_one(model):
    found, one = (fitted(clone(model).set_params(cell_size=size, n_trees=1)) for size in (10**7, 300))
    assert found.n_cells_ == 1
    np.testing.assert_array_equal(values(found, X), values(one, X))


@BOTH
def test_two_rows(model):
    found = fitted(model, X[[0, 1]], [0, 1])
    assert np.isfinite(found.loo_scores_).all()
    assert found.predict(X[[0, 1]]).tolist() == pytest.approx([0, 1], abs=0.3)


@BOTH
@pytest.mark.filterwarnings("ignore::frugalsvm.exceptions.PoorFitWarning")
def test_rows_that_are_all_the_same_have_the_mean(model):
    same = np.ones((300, 3))
    found = fitted(model, same, np.arange(300) % 3 == 0)
    assert found.n_cells_ == 2
    np.testing.assert_allclose(found.predict(same), 0 if hasattr(found, "classes_") else 1 / 3, atol=1e-6)


@BOTH
def test_a_constant_column_changes_nothing(model):
    wider = np.column_stack([X, np.full(300, 7.0)])
    found, expected = values(fitted(model, wider), wider), values(fitted(model), X)
    # Another number of columns draws other directions: each machine is that of its cell.
    assert np.corrcoef(found, expected)[0, 1] > 0.9


def test_a_useless_model_is_told():
    y = np.random.default_rng(0).integers(0, 2, 300)
    with pytest.warns(PoorFitWarning, match=r"LocalSVC is no better .* of 300 left-out training rows, where"):
        LocalSVC(gamma=1e-9, C=1e-3, random_state=0).fit(X, y)


# --- units and offsets --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("offset", "dtype"), [(1e6, np.float64), (1e3, np.float32)])
@BOTH
def test_offsets_of_features(model, offset, dtype):
    near, far = X.astype(dtype), (X + offset).astype(dtype)
    model = clone(model).set_params(gamma="auto", C="auto")
    one, other = fitted(model, near), fitted(model, far)
    assert other.gamma_ == pytest.approx(one.gamma_, rel=1e-3)
    np.testing.assert_allclose(values(other, far), values(one, near), atol=0.02)


@BOTH
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_unit_of_all_features(model, unit):
    model = clone(model).set_params(gamma="auto", C="auto")
    one, other = fitted(model), fitted(model, unit * X)
    assert other.gamma_ * unit**2 == pytest.approx(one.gamma_, rel=1e-3)
    np.testing.assert_allclose(values(other, unit * X), values(one, X), atol=0.01)


def test_leave_one_out_is_in_the_unit_of_the_target():
    t = np.sin(X[:, 0])
    one, other = fitted(MODELS[1], X, t), fitted(MODELS[1], X, 1e6 * t + 1e9)
    assert other.loo_error_ == pytest.approx(1e6 * one.loo_error_, rel=1e-4)
    np.testing.assert_allclose(other.loo_scores_, 1e6 * one.loo_scores_ + 1e9, rtol=1e-7)


# --- weights ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", EXACT, ids=lambda model: type(model).__name__)
def test_weights_are_repetitions(model):
    """Of one cell, whose machine has no choice: also for the leave-one-out scores of rows that are there once."""
    counts = np.random.default_rng(1).integers(0, 4, 300)
    weighted, repeated = fitted(model, X, Y, counts), fitted(model, np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    np.testing.assert_allclose(values(weighted, X), values(repeated, X), atol=1e-8)
    once = counts == 1
    np.testing.assert_allclose(weighted.loo_scores_[once], repeated.loo_scores_[np.cumsum(counts)[once] - 1], atol=1e-8)


@BOTH
def test_rows_without_weight_are_as_if_they_were_not_there(model):
    weights = np.ones(300)
    weights[::3] = 0.0
    kept = weights > 0
    weighted, without = fitted(model, X, Y, weights), fitted(model, X[kept], Y[kept], weights[kept])
    np.testing.assert_allclose(values(weighted, X), values(without, X), atol=1e-5)
    np.testing.assert_allclose(weighted.loo_scores_[kept], without.loo_scores_, atol=1e-5)
    np.testing.assert_allclose(weighted.loo_scores_[~kept].ravel(), values(weighted, X[~kept]), atol=1e-5)
    assert weighted.loo_error_ == pytest.approx(without.loo_error_, abs=1e-5)


@BOTH
def test_no_weight_at_all_is_refused(model):
    with pytest.raises(ValueError, match="weight"):
        fitted(model, X, Y, np.zeros(300))


# --- interruptions ------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_leaves_the_model_that_was_there(model, n_jobs, monkeypatch):
    found = fitted(clone(model).set_params(n_jobs=n_jobs))
    before, attributes = values(found, X), set(vars(found))

    def interrupt(count, number):
        raise KeyboardInterrupt

    monkeypatch.setattr(places._Count, "reach", interrupt)
    with pytest.raises(KeyboardInterrupt):
        found.fit(X[:, ::-1], Y)
    np.testing.assert_array_equal(values(found, X), before)
    assert set(vars(found)) == attributes


def too_smooth():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    settings = {"kernel": "rbf", "gamma": 0.01, "cell_size": 200, "random_state": 0}
    return X, np.sin(3 * X[:, 0]) + X[:, 1] > 0, settings


def test_a_c_too_large_for_float32_is_solved_and_scored_in_float64(tmp_path):
    X, y, settings = too_smooth()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, exact = (LocalSVC(1e9, dtype=dtype, **settings).fit(X, y) for dtype in ("float32", "float64"))
        LocalSVC(10.0, **settings).fit(X, y)
    np.testing.assert_allclose(found.decision_function(X), exact.decision_function(X), atol=0.05)
    save(found, tmp_path / "model.frugal")
    np.testing.assert_array_equal(load(tmp_path / "model.frugal").decision_function(X), found.decision_function(X))


def test_coefficients_that_leave_few_digits_are_told():
    X, y, settings = too_smooth()
    model = LocalSVC(10.0, **settings).fit(X, y)
    trees = [cells._replace(coef=1e9 * cells.coef) for cells in model._cells]
    with pytest.warns(ConvergenceWarning, match="lower C, or set dtype='float64'"):
        warn_if_coefficients_cancel(model, trees)


@pytest.mark.parametrize("kind", [LocalSVC, LocalSVR])
@pytest.mark.parametrize("unit", [1e-6, 1000.0])
def test_the_unit_of_weights_does_not_matter_where_c_is_chosen(kind, unit):
    weights = np.random.default_rng(0).uniform(1.0, 3.0, len(Y))
    one, other = (fitted(kind(random_state=0), weights=factor * weights) for factor in (1.0, unit))
    assert other.C_ * unit == pytest.approx(one.C_)
    np.testing.assert_allclose(values(other, X), values(one, X), atol=1e-3)


def test_a_regressor_that_is_no_better_than_the_mean_says_so():
    y = X[:, 0].copy()
    y[3] = 1e4
    with pytest.warns(PoorFitWarning, match=r"^LocalSVR is no better .* 17 standard deviations away"):
        fitted(LocalSVR(random_state=0), targets=y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(LocalSVR(random_state=0), targets=X[:, 0])
        fitted(LocalSVR(1e-6, random_state=0), targets=y)  # as it was asked for
