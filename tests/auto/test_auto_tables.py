"""Tables as they come: outliers, missing values, text, constant columns, many or rare classes, few rows."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix, hstack, random_array
from sklearn.metrics import roc_auc_score

from frugalsvm import AutoSVC, AutoSVR, load, save
from frugalsvm.exceptions import PoorFitWarning

QUICK = {"kernel": "rbf", "metric": None, "random_state": 0}


def rows(n_rows, n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    return X, X[:, 0] * X[:, 1] > 0


def test_outliers():
    X, y = rows(800)
    X[:600:75] *= 1e6
    model = AutoSVC(**QUICK).fit(X[:600], y[:600])
    assert model.score(X[600:], y[600:]) > 0.85


def test_missing_values_are_filled_and_indicated(tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(500, 2)), rng.random(500) < 0.5
    X[rng.random(500) < np.where(y, 0.9, 0.1), 1] = np.nan  # that it is missing says all there is to say
    model = AutoSVC(**QUICK).fit(X[:300], y[:300])
    assert "Missing values in 1 column were filled with the median" in model.report()
    assert model.score(X[300:], y[300:]) > 0.8
    save(model, tmp_path / "model.frugal")
    assert np.array_equal(load(tmp_path / "model.frugal").predict_proba(X), model.predict_proba(X))


def test_missing_values_are_refused_if_told():
    X, y = rows(60)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        AutoSVC(missing="refuse", **QUICK).fit(X, y)


def test_values_may_be_missing_later():
    X, y = rows(200)
    model = AutoSVC(**QUICK).fit(X, y)
    X[0, 0] = np.nan
    assert model.predict(X[:1]) in (True, False)


def test_constant_columns():
    X, y = rows(500)
    X[:, 3] = 7.0
    X[:, 4] = 1e9
    model = AutoSVC(**QUICK).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.85


def test_all_columns_constant():
    with pytest.warns(PoorFitWarning):
        model = AutoSVC(**QUICK).fit(np.ones((60, 2)), np.arange(60) % 3 > 0)
    assert model.predict(np.ones((1, 2))).tolist() == [True]


def test_many_classes():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(26, 4)) * 4
    y = rng.integers(0, 26, 1000)
    X = centers[y] + rng.normal(size=(1000, 4))
    model = AutoSVC(n_components=128, **QUICK).fit(X[:800], y[:800])
    assert model.score(X[800:], y[800:]) > 0.85
    assert model.predict_proba(X[800:]).shape == (200, 26)


def test_a_class_in_a_thousand():
    rng = np.random.default_rng(0)
    y = np.arange(8000) % 1000 == 0
    X = rng.normal(size=(8000, 3))
    X[y] += 4.0
    model = AutoSVC(n_components=128, **QUICK).fit(X[:6000], y[:6000])
    assert roc_auc_score(y[6000:], model.predict_proba(X[6000:])[:, 1]) > 0.95
    assert model.predict_proba(X)[:, 1].mean() < 0.02


def test_balanced_classes_find_the_rare_one():
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 100 == 0
    X = rng.normal(size=(4000, 2))
    X[y] += 2.0
    model = AutoSVC(n_components=128, class_weight="balanced", **QUICK).fit(X[:3000], y[:3000])
    assert model.predict(X[3000:][y[3000:]]).mean() > 0.6


@pytest.mark.parametrize("n_rows", [4, 12, 200])
def test_few_rows(n_rows):
    X, y = rows(n_rows)
    model = AutoSVC(random_state=0).fit(X, y)
    assert model.model_.n_cells_ == 1
    assert np.isfinite(model.predict_proba(X)).all()


def test_too_few_rows():
    with pytest.raises(ValueError, match="needs at least 4 rows, but n_samples = 3"):
        AutoSVC().fit(np.eye(3), [0, 1, 0])


def test_frames_without_rows_or_columns():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"a": range(20), "word": ["x"] * 20})
    for some, words in ((X[:0], "0 rows and 2 columns"), (X[[]], "20 rows and 0 columns")):
        with pytest.raises(ValueError, match=f"X has {words}: there is nothing to learn from"):
            AutoSVC().fit(some, np.arange(len(some)) % 2)


@pytest.mark.parametrize("n_components", ["auto", 2])
def test_too_few_rows_with_a_weight(n_components):
    X, weights = np.random.default_rng(0).normal(size=(6, 2)), np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    for kind in (AutoSVC, AutoSVR):
        with pytest.raises(ValueError, match="at least 4 rows with a positive sample_weight, and 3 have one"):
            kind(n_components=n_components, **QUICK).fit(X, [0, 1, 0, 1, 0, 1], weights)


def test_one_class():
    with pytest.raises(ValueError, match="one class"):
        AutoSVC().fit(np.eye(5), np.zeros(5))


def test_a_class_with_one_row():
    X, y = rows(100)
    labels = np.where(np.arange(100) == 50, 2, y)
    model = AutoSVC(**QUICK).fit(X, labels)
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(model.predict_proba(X)).all()


def test_ten_thousand_sparse_features():
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.5
    told = np.eye(20)[rng.integers(0, 20, 400)] * np.where(y[:, None], 1.0, -1.0)
    others = random_array((400, 9980), density=0.001, random_state=0, format="csr")
    X = hstack([csr_matrix(told), others], format="csr")
    model = AutoSVC(n_components=128, **QUICK).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.75


# --- data frames ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def frame():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 500
    frame = pandas.DataFrame(
        {
            "size": rng.normal(size=n),
            "count": pandas.array(rng.integers(0, 5, n), dtype="Int64"),
            "color": rng.choice(["red", "green", "blue"], n),
            "shape": pandas.Categorical(rng.choice(["round", "square"], n)),
            "name": [f"row {i}" for i in range(n)],
            "day": pandas.date_range("2020-01-01", periods=n),
        }
    )
    frame.loc[::9, "size"] = np.nan
    frame.loc[1::9, "count"] = pandas.NA
    frame.loc[2::9, "color"] = None
    return frame, ((frame["color"] == "red") ^ (frame["shape"] == "round")).to_numpy()


@pytest.fixture(scope="module")
def model(frame):
    X, y = frame
    return AutoSVC(**QUICK).fit(X[:400], y[:400])


def test_columns_of_all_kinds(frame, model):
    X, y = frame
    assert model.score(X[400:], y[400:]) > 0.9
    assert model.n_features_in_ == 6
    assert model.feature_names_in_.tolist() == list(X.columns)


def test_text_that_differs_in_every_row_is_left_out(model):
    words = "Left out, with another text in almost every row, and words that tell nothing: name."
    assert words in model.report()


def test_new_categories_and_missing_text_are_no_error(frame, model):
    X = frame[0][400:410].copy()
    X.loc[400, "color"] = "violet"
    X.loc[401, "shape"] = None
    assert len(model.predict(X)) == 10


def test_columns_are_found_by_name(frame, model):
    X = frame[0]
    turned = X[["color", "size", "day", "count", "shape"]]  # the name was left out in training
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(X))


def test_other_columns_are_refused(frame, model):
    with pytest.raises(ValueError, match="lacks the column 'size'"):
        model.predict(frame[0].rename(columns={"size": "sizes"}))
    with pytest.raises(ValueError, match="has the column 'sizes'"):
        model.predict(frame[0].assign(sizes=1.0))
    with pytest.raises(ValueError, match="must be a data frame"):
        model.predict(np.zeros((3, 6)))
    with pytest.raises(ValueError, match="'size' has 500 values that are not numbers, such as 'large'"):
        model.predict(frame[0].assign(size="large"))
    with pytest.raises(ValueError, match="'day' has 500 values that are not dates, such as 'someday'"):
        model.predict(frame[0].assign(day="someday"))


def test_numbers_as_text_are_numbers(frame, model):
    X = frame[0]
    text = X.assign(size=X["size"].astype("string"), day=X["day"].dt.strftime("%Y-%m-%d"))
    np.testing.assert_allclose(model.predict_proba(text), model.predict_proba(X), rtol=1e-6)


def test_numbers_with_blanks_are_numbers():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    charges = rng.normal(size=300).round(3)
    text = [" " if k % 50 == 0 else f"{value}" for k, value in enumerate(charges)]
    for kind in (object, "string"):
        X = pandas.DataFrame({"charges": pandas.Series(text, dtype=kind), "noise": rng.normal(size=300)})
        model = AutoSVC(**QUICK).fit(X[:200], charges[:200] > 0)
        assert model.layout_.numbers == ("noise", "charges")
        assert model.score(X[200:], charges[200:] > 0) > 0.9


@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M %p", "%d %b %Y %H:%M:%S", None])
def test_dates_are_numbers(form, tmp_path):
    """Only the weekday, or only the hour, says what the class is."""
    pandas = pytest.importorskip("pandas")
    when = pandas.Series(pandas.date_range("2021-01-01", periods=600, freq="7h"))
    X = pandas.DataFrame({"when": when if form is None else when.dt.strftime(form)})
    weekend, morning = (when.dt.day_of_week >= 5).to_numpy(), (when.dt.hour < 12).to_numpy()
    is_test = np.random.default_rng(0).random(600) < 0.25  # every fourth row would have hours that no other has
    for y in (weekend, morning):
        model = AutoSVC(**QUICK).fit(X[~is_test], y[~is_test])
        assert model.score(X[is_test], y[is_test]) > 0.85
    assert model.layout_.number_names[:4] == ["when", "when (month)", "when (weekday)", "when (hour)"]
    assert model.layout_.number_names[-2:] == ["when (sin of day)", "when (cos of day)"]
    assert "Dates in when became days" in model.report()
    save(model, tmp_path / "model.frugal")
    assert np.array_equal(load(tmp_path / "model.frugal").predict_proba(X), model.predict_proba(X))


def test_text_of_pandas_with_missing_values():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    color = rng.choice(["red", "blue"], 200)
    X = pandas.DataFrame({"color": pandas.Series(color, dtype="string"), "noise": rng.normal(size=200)})
    X.loc[::20, "color"] = pandas.NA
    assert AutoSVC(**QUICK).fit(X, color == "red").score(X, color == "red") > 0.9


def test_what_is_left_out_is_told_once_by_name(frame):
    X, y = frame
    with pytest.warns(UserWarning, match=r"tell nothing: name\..*astype\('category'\)") as told:
        AutoSVC(**QUICK).fit(X, y)
    assert sum("Left out" in str(each.message) for each in told) == 1
    kept = AutoSVC(**QUICK).fit(X.assign(name=X["name"].astype("category")), y)
    assert kept.layout_.ignored == ()


def test_models_of_frames_can_be_saved(frame, model, tmp_path):
    save(model, tmp_path / "model.frugal")
    again = load(tmp_path / "model.frugal")
    assert np.array_equal(again.predict_proba(frame[0]), model.predict_proba(frame[0]))


def test_nothing_but_names(frame):
    with pytest.raises(
        ValueError, match="different text in almost every row, such as 'name', and their words tell nothing"
    ):
        AutoSVC(**QUICK).fit(frame[0][["name"]], frame[1])


def test_text_alone(frame):
    X, y = frame[0][["color", "shape"]], frame[1]
    assert AutoSVC(**QUICK).fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.9


def test_polars(frame):
    polars = pytest.importorskip("polars")
    columns = {"size": frame[0]["size"].to_list(), "shape": frame[0]["shape"].to_list()}
    X, y = polars.DataFrame(columns), (frame[0]["shape"] == "round").to_numpy()
    assert AutoSVC(**QUICK).fit(X, y).score(X, y) > 0.95


def test_regression_of_frames(frame):
    X, _ = frame
    y = np.where(X["color"] == "red", 3.0, 1.0) + X["count"].fillna(0).to_numpy(float)
    model = AutoSVR(**QUICK).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.9


def test_dates_can_be_explained():
    pandas = pytest.importorskip("pandas")
    from frugalsvm.explain import permutation_importance, shapley_values

    when = pandas.Series(pandas.date_range("2021-01-01", periods=200, freq="7h"))
    X = pandas.DataFrame({"when": when, "noise": np.random.default_rng(0).normal(size=200)})
    y = (when.dt.hour < 12).to_numpy()
    model = AutoSVC(**QUICK).fit(X, y)
    assert sorted(shapley_values(model, X[:3]).feature_names) == ["noise", "when"]
    found = permutation_importance(model, [(X, y)], random_state=0)
    assert dict(zip(found.feature_names, found.drops, strict=True))["when"] > 0.1


def test_warnings_point_at_the_line_of_the_user(frame):
    with pytest.warns(UserWarning, match="Left out") as told:
        model = AutoSVC(**QUICK).fit(frame[0][:200], frame[1][:200])
    assert [each.filename for each in told] == [__file__]
    changed = frame[0][:5].assign(color="violet")
    with pytest.warns(UserWarning, match="violet") as told:
        model.predict(changed)
    assert [each.filename for each in told] == [__file__]


def test_values_that_are_far_out_tell_classes_apart():
    """Clipped at a distance, they would all be one value."""
    X = np.random.default_rng(2).standard_cauchy((3000, 2))
    y = np.abs(X[:, 0]) > 40
    model = AutoSVC(**QUICK).fit(X[:2000], y[:2000])
    assert (model.predict(X[2000:]) != y[2000:]).mean() < 0.3 * y[2000:].mean()
