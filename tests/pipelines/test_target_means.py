"""Text of many values becomes means of the target, which no row of training sees its own target in."""

import numpy as np
import pytest

from frugalsvm import LocalSVC, LocalSVR, load, save
from frugalsvm.pipelines import ColumnEncoder, StreamPipeline
from frugalsvm.pipelines.target_means import N_FOLDS, class_indicators, means_of_categories, numbers_of


def towns(n_rows=3000, n_towns=200, seed=0):
    """A column of many texts, its codes, and a target that depends on them."""
    rng = np.random.default_rng(seed)
    codes, effects = rng.integers(n_towns, size=n_rows), rng.standard_normal(n_towns)
    y = effects[codes] + rng.standard_normal(n_rows)
    return np.array([f"town {k:03d}" for k in codes], object), codes, y


def test_means_are_shrunk_by_the_variances_that_made_them():
    _, codes, y = towns(40_000, 400)
    found = means_of_categories(codes, y[:, None], np.ones(len(y)), 401)
    counts = np.bincount(codes, minlength=400)
    plain = np.bincount(codes, y) / counts
    expected = y.mean() + (plain - y.mean()) * counts / (counts + 1.0)  # both variances are 1
    np.testing.assert_allclose(found.by_category[:400, 0], expected, atol=0.02)
    assert found.by_category[400, 0] == pytest.approx(y.mean())  # a category that was not there


def test_no_row_sees_its_own_target():
    _, codes, y = towns(300, 12)
    before = means_of_categories(codes, y[:, None], np.ones(300), 12).out_of_fold[:, 0]
    changed = y.copy()
    changed[7] += 100.0
    after = means_of_categories(codes, changed[:, None], np.ones(300), 12)
    shift = after.overall[0] - y.mean()  # the same for all rows
    assert after.out_of_fold[7, 0] - before[7] == pytest.approx(shift)
    others = (codes == codes[7]) & (np.arange(300) != 7)
    assert (np.abs(after.out_of_fold[others, 0] - before[others] - shift) > 0.01).mean() > 0.5


def test_means_of_noise_are_the_mean_of_all():
    rng = np.random.default_rng(1)
    encoder = ColumnEncoder("target")
    made = encoder.fit_transform({"town": rng.integers(100, size=2000).astype(str)}, rng.standard_normal(2000))
    assert made.shape == (2000, 1)
    assert not made.any()
    assert not encoder.means_[0].any()


def test_weights_count_like_rows_and_zero_like_none():
    town, _, y = towns(1000, 40)
    weights = np.ones(1000)
    weights[500:] = 0.0
    part = ColumnEncoder("target").fit({"town": town[:500]}, y[:500])
    found = ColumnEncoder("target").fit({"town": town}, y, weights)
    rows = {"town": np.unique(town[:500])}
    np.testing.assert_allclose(found.transform(rows), part.transform(rows), rtol=1e-5)
    own = ColumnEncoder("target").fit_transform({"town": town}, y, weights)[:500]
    np.testing.assert_allclose(own, ColumnEncoder("target").fit_transform({"town": town[:500]}, y[:500]), rtol=1e-5)
    doubled = ColumnEncoder("target").fit({"town": town}, y, 3.0 * weights)
    np.testing.assert_allclose(doubled.transform(rows), found.transform(rows), rtol=1e-5)


def test_few_categories_stay_features_of_their_own():
    town, _, y = towns()
    color = np.where(y > 0, "red", "blue")
    encoder = ColumnEncoder("target").fit({"town": town, "color": color}, y)
    assert encoder.widths_ == [2, 1]
    assert encoder.feature_names() == ["color=blue", "color=red", "town (mean)"]
    none = ColumnEncoder("target", cardinality_threshold=1).fit({"town": town, "color": color}, y)
    assert [len(known) for known in none.hot_categories_] == [0, 0]
    many = {f"c{k}": np.array([f"{each % 25}" for each in range(len(y))]) for k in range(7)}
    assert ColumnEncoder("target").fit(many, y).widths_ == [25] * 5 + [1] * 2  # rows are to stay dense


def test_unknown_text_is_as_the_mean_of_all_and_missing_text_a_category():
    town, _, y = towns()
    town[::3] = None
    y[::3] += 5.0
    encoder = ColumnEncoder("target").fit({"town": town}, y)
    known, missing, unknown = encoder.transform({"town": np.array(["town 000", None, "elsewhere"], object)})
    assert missing[0] > 0.5
    assert unknown[0] == pytest.approx(0.0, abs=1e-6)
    assert known[0] != 0.0


def test_classes():
    assert class_indicators(np.array(["b", "a", "b"])).tolist() == [[1.0], [0.0], [1.0]]
    labels = np.repeat(np.arange(20), np.arange(1, 21))
    assert class_indicators(labels).sum(axis=0).tolist() == list(range(13, 21))  # the largest
    assert numbers_of([1, 0, 2]).shape == (3, 3)
    assert numbers_of([1.0, 0.0, 2.0]).tolist() == [[1.0], [0.0], [2.0]]


def test_how_often_a_category_occurs_counts_where_it_tells_something():
    rng = np.random.default_rng(0)
    codes = np.minimum(rng.zipf(1.5, 4000), 300)
    common = codes < 5
    y = np.where(rng.random(4000) < 0.1, ~common, common)
    assert ColumnEncoder("target").fit({"c": codes.astype(str)}, y).widths_ == [2]


@pytest.mark.parametrize("n_rows", [1, 2, 3, 7])
def test_few_rows(n_rows):
    encoder = ColumnEncoder("target", cardinality_threshold=0)
    made = encoder.fit_transform({"c": np.array(list("abcabca"))[:n_rows]}, np.arange(float(n_rows)))
    assert np.isfinite(made).all()
    assert np.isfinite(encoder.transform({"c": np.array(["a", "z"])})).all()


def test_unit_and_origin_of_the_target_do_not_matter():
    town, _, y = towns()
    first = ColumnEncoder("target").fit_transform({"town": town}, y)
    np.testing.assert_allclose(ColumnEncoder("target").fit_transform({"town": town}, 1e9 + 1e3 * y), first, atol=1e-3)
    np.testing.assert_allclose(ColumnEncoder("target").fit_transform({"town": town}, 1e-9 * y), first, atol=1e-5)


def test_y_is_needed():
    with pytest.raises(ValueError, match="requires y"):
        ColumnEncoder("target").fit({"town": ["a", "b"]})


@pytest.mark.parametrize("kind", [LocalSVC, LocalSVR])
def test_in_a_pipeline(kind, tmp_path):
    town, _, y = towns(2000, 130)
    y = y > 0 if kind is LocalSVC else y
    noise = np.random.default_rng(1).standard_normal((2000, 1))
    model = StreamPipeline(kind(random_state=0), encoder=ColumnEncoder("target"))
    rows = model.prepare((noise[:1400], {"town": town[:1400]}), y[:1400])
    model.fit((noise[:1400], {"town": town[:1400]}), y[:1400])
    learned, later = rows.X, model.estimator_rows((noise[:1400], {"town": town[:1400]}))
    assert learned.shape == later.shape == (1400, 2)
    assert np.corrcoef(learned[:, 1], y[:1400])[0, 1] < np.corrcoef(later[:, 1], y[:1400])[0, 1]
    new = (noise[1400:], {"town": town[1400:]})
    assert model.score(new, y[1400:]) > (0.7 if kind is LocalSVC else 0.35)  # 0.75 and 0.5 with the true means
    save(model, tmp_path / "m.frugal")
    np.testing.assert_array_equal(load(tmp_path / "m.frugal").predict(new), model.predict(new))


def test_a_detector_has_no_target():
    from frugalsvm import BSGDOneClassSVM

    model = StreamPipeline(BSGDOneClassSVM(), encoder=ColumnEncoder("target"))
    with pytest.raises(ValueError, match="BSGDOneClassSVM learns without one"):
        model.fit((np.zeros((50, 1)), {"town": ["a", "b"] * 25}))


def test_folds_are_of_one_size():
    from frugalsvm.pipelines.target_means import _folds

    assert np.bincount(_folds(np.ones(50))).tolist() == [50 // N_FOLDS] * N_FOLDS
