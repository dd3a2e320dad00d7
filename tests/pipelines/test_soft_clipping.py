"""Soft clipping: linear inside, smooth and in order beyond; the same in batches, single rows, files and sparse rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import scaling as oracle
from scipy.sparse import csr_matrix
from support import blobs

from frugalsvm import ASSETClassifier, BSGDClassifier
from frugalsvm.datasets import load as load_data
from frugalsvm.persist import ModelFileError, load, save
from frugalsvm.pipelines import StreamingScaler, StreamPipeline
from frugalsvm.pipelines.preparing import SCALERS, new_scaler
from frugalsvm.pipelines.statistics import clip

BSGD = BSGDClassifier(budget=20, alpha=1e-3, random_state=0)


def with_outliers(X, seed=1):
    wild = np.random.default_rng(seed).random(len(X)) < 0.008
    return np.where(wild[:, None], 100 * X, X)


def softly(distances, limit=3.0):
    out = np.array(distances, np.float64)
    clip(out, np.full_like(out, limit), is_soft=True)
    return out


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=30), st.floats(1e-3, 1e3))
def test_distances_are_what_the_formula_says(distances, limit):
    found = softly(distances, limit)
    np.testing.assert_allclose(found, [oracle.softly_clipped(each, limit) for each in distances], rtol=1e-12)
    assert (np.diff(found[np.argsort(distances)]) >= 0).all()
    assert (np.abs(found) <= limit * (1 + 1e-15)).all()


def test_values_inside_stay_and_larger_ones_stay_larger():
    inside = np.linspace(-2.0, 2.0, 41)
    np.testing.assert_array_equal(softly(inside), inside)
    beyond = softly(np.geomspace(2.0, 1e6, 100))
    assert (np.diff(beyond) > 0).all()
    assert beyond[-1] < 3.0
    assert softly([np.inf, -np.inf]).tolist() == [3.0, -3.0]
    step = 1e-6  # the slope has no jump
    np.testing.assert_allclose((softly([2.0 + step]) - softly([2.0 - step])) / (2 * step), 1.0, rtol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("soft", [False, True])
def test_scaled_rows_are_those_of_the_oracle(soft, kind):
    rng = np.random.default_rng(0)
    X = with_outliers(rng.normal([5.0, -100.0, 0.0], [1.0, 30.0, 1e-4], (700, 3)))
    scaler = StreamingScaler(soft_clip=soft).fit(X)
    expected = np.column_stack([oracle.scaled(column, column, soft=soft) for column in X.T])
    np.testing.assert_allclose(scaler.transform(kind(X)), expected, rtol=1e-12, atol=1e-12)


def test_sparse_rows_keep_their_zeros_and_are_clipped_alike():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4)) * (rng.random((500, 4)) < 0.3)
    scaler = StreamingScaler(soft_clip=True).fit(csr_matrix(X))
    found = scaler.transform(csr_matrix(with_outliers(X)))
    assert found.nnz == np.count_nonzero(X)
    np.testing.assert_allclose(found.toarray(), scaler.transform(with_outliers(X)))
    assert abs(found).max() <= (scaler.limit_ / scaler.scale_).max()


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_zeros", [4, 100, 3000])
def test_rare_ones_in_a_column_of_zeros_are_neither_lost_nor_larger_than_all_else(n_zeros, kind):
    """Hard limits leave them where they are: the rarer, the farther."""
    rare = (np.arange(9000) % n_zeros == 0).astype(float)[:, None]
    scaler = StreamingScaler(soft_clip=True).fit(kind(rare))
    assert scaler.scale_[0] == pytest.approx(rare.std(), rel=0.2)
    assert 1.9 < abs(scaler.transform(kind(rare))).max() < 3.0
    hard = StreamingScaler().fit(kind(rare))
    assert abs(hard.transform(kind(rare))).max() == pytest.approx(1 / hard.scale_[0])


@pytest.mark.parametrize("soft", [False, True])
def test_outliers_hardly_change_the_scaled_rows_of_others(soft):
    X = np.random.default_rng(0).normal(3.0, 2.0, (5000, 4))
    clean = StreamingScaler(soft_clip=soft).fit(X).transform(X)
    wild = StreamingScaler(soft_clip=soft).fit(with_outliers(X)).transform(X)
    assert np.abs(wild - clean).max() < 0.25
    plain = StreamingScaler("standard", clip=None)
    assert np.abs(plain.fit(with_outliers(X)).transform(X) - plain.fit(X).transform(X)).max() > 1.0


def test_float32_stays():
    X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    found = StreamingScaler(soft_clip=True).fit(X).transform(100 * X)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()


def test_single_rows_and_batches_learn_the_same():
    X, y = blobs(400, 4, 2, seed=0)
    X = with_outliers(X) + 3.0
    by_row, by_batch = (StreamPipeline(BSGD, scale="soft", warmup_rows=50) for _ in range(2))
    for i in range(len(y)):
        by_row.learn_one_row(X[i], y[i])
        by_batch.partial_fit(X[i : i + 1], y[i : i + 1])
    assert by_row._row_path() is not None
    np.testing.assert_array_equal(by_row.estimator_.support_vectors_, by_batch.estimator_.support_vectors_)
    np.testing.assert_array_equal(by_row.estimator_.dual_coef_, by_batch.estimator_.dual_coef_)


@pytest.mark.parametrize("n_first", [30, 200])
def test_a_pipeline_goes_on_from_a_file_bit_for_bit(n_first, tmp_path):
    X, y = blobs(400, 4, 2, seed=0)
    model = StreamPipeline(BSGD, scale="soft", warmup_rows=50)
    model.partial_fit(X[:n_first], y[:n_first], classes=[0, 1])
    save(model, tmp_path / "model.frugal")
    copy = load(tmp_path / "model.frugal")
    for each in (model, copy):
        each.partial_fit(with_outliers(X[n_first:]), y[n_first:])
    np.testing.assert_array_equal(copy.decision_function(100 * X), model.decision_function(100 * X))
    assert copy.scaler_.soft_clip


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_first", [900, 13_000])
def test_the_statistics_of_a_stream_go_on_from_a_file_bit_for_bit(n_first, kind, tmp_path):
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    scaler = StreamingScaler().partial_fit(kind(X[:n_first]))
    save(scaler, tmp_path / "scaler.frugal")
    copy = load(tmp_path / "scaler.frugal")
    for each in (scaler, copy):
        each.partial_fit(kind(X[n_first:]))
    for name in ("center_", "scale_", "limit_"):
        np.testing.assert_array_equal(getattr(copy, name), getattr(scaler, name))


def test_files_whose_numbers_do_not_fit_are_refused(tmp_path):
    X = np.random.default_rng(0).normal(size=(5000, 2))
    path = tmp_path / "scaler.frugal"
    scaler = StreamingScaler(soft_clip=True).partial_fit(X)
    whole = scaler._sketch
    for wrong in (
        whole._replace(n_blocks=3), whole._replace(n_blocks=-1), whole._replace(recent=whole.recent[:1]),
        whole._replace(summaries=np.full_like(whole.summaries, np.nan)), whole._replace(recent=whole.recent.T),
    ):  # fmt: skip
        scaler._sketch = wrong
        save(scaler, path)
        with pytest.raises(ModelFileError):
            load(path)
    fitted = StreamingScaler(soft_clip=True).fit(X)
    fitted.limit_ = np.zeros(2)
    nothing = StreamingScaler().partial_fit(X)
    del nothing._sketch  # and no statistics either
    for scaler in (fitted, nothing):
        save(scaler, path)
        with pytest.raises(ModelFileError, match="do not fit together"):
            load(path)


def test_dense_and_sparse_batches_may_follow_each_other():
    X = np.random.default_rng(0).normal(2.0, size=(2000, 3))
    dense = StreamingScaler().partial_fit(X[:1000]).partial_fit(csr_matrix(X[1000:]))
    np.testing.assert_array_equal(dense.center_, StreamingScaler().fit(X).center_)
    sparse = StreamingScaler().partial_fit(csr_matrix(X[:1000])).partial_fit(X[1000:])
    np.testing.assert_allclose(sparse.scale_, StreamingScaler().fit(csr_matrix(X)).scale_)


def test_pipelines_know_scalers_by_name():
    X, y = blobs(300, 4, 2, seed=0)
    for name, scaler in SCALERS.items():
        named = StreamPipeline(BSGD, scale=name).fit(X, y)
        given_ = StreamPipeline(BSGD, scale=scaler).fit(X, y)
        np.testing.assert_array_equal(named.decision_function(50 * X), given_.decision_function(50 * X))
    assert new_scaler(True).get_params() == new_scaler("robust").get_params()
    assert new_scaler("soft") is not new_scaler("soft")


def test_columns_keep_their_names():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 5.0]})
    scaler = StreamingScaler().set_output(transform="pandas").fit(X)
    assert scaler.get_feature_names_out().tolist() == ["a", "b"]
    assert list(scaler.transform(X).columns) == ["a", "b"]


def test_there_is_nothing_soft_without_a_limit():
    with pytest.raises(ValueError, match="soft_clip=True needs a limit"):
        StreamingScaler(clip=None, soft_clip=True).fit([[1.0], [2.0]])


@pytest.mark.parametrize("scale", ["robust", "soft"])
def test_wild_rows_change_accuracy_by_less_than_half_a_point(real_data, scale):
    """On rows of the training part; with means and standard deviations, six points are lost."""
    X, y = load_data("pendigits", "train")
    X, X_validation, y, y_validation = X[:5000], X[5000:], y[:5000], y[5000:]
    accuracy = {}
    for what, rows, way in (
        ("clean", X, scale),
        ("wild", with_outliers(X), scale),
        ("plain", with_outliers(X), "standard"),
    ):
        estimator = ASSETClassifier(n_components=200, gamma="scale", C=100.0, random_state=0)
        model = StreamPipeline(estimator, scale=way).fit(rows, y)
        accuracy[what] = model.score(X_validation, y_validation)
    assert accuracy["clean"] > 0.97
    assert accuracy["wild"] > accuracy["clean"] - 0.005
    assert accuracy["plain"] < accuracy["clean"] - 0.04


def test_rare_values_count_as_much_as_their_rows_tell():
    n_ones = np.array([0, 1, 10, 99, 150])
    X = (np.arange(300)[:, None] < n_ones).astype(float)
    X[200, 1] = np.nan  # says nothing
    scaler = StreamingScaler(soft_clip=True, clip=6.0).fit(np.nan_to_num(X)).freeze()
    before = scaler.transform(np.nan_to_num(X)).max(axis=0)
    scaler.widen_rare(X)
    after = scaler.transform(np.nan_to_num(X)).max(axis=0)
    np.testing.assert_allclose(before[1:] / after[1:], np.sqrt([20.8, 2.8, 1 + 20 / 99 - 0.2, 1.0]))
    assert before[1] > 5 > 1.3 > after[1]
    assert scaler.scale_[0] == 1.0
