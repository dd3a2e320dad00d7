"""Robust statistics, clipping, samples that do not depend on batches, and scalers from before there were limits."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

from frugalsvm.persist.registry import class_named, restored
from frugalsvm.pipelines import StreamingScaler
from frugalsvm.pipelines import sampling as sampling_module


@pytest.fixture(scope="module")
def normal():
    return np.random.default_rng(0).normal([5.0, -100.0, 0.0], [1.0, 30.0, 1e-4], (4000, 3))


def with_outliers(X, share=0.008):
    wild = np.random.default_rng(1).random(len(X)) < share
    return np.where(wild[:, None], 100 * X, X)


def test_a_normal_distribution_is_scaled_as_by_its_standard_deviation(normal):
    scaler = StreamingScaler().fit(normal)
    np.testing.assert_allclose(scaler.scale_, normal.std(axis=0), rtol=0.02)
    np.testing.assert_allclose(scaler.center_, normal.mean(axis=0), atol=0.05 * scaler.scale_.max(), rtol=0.05)
    np.testing.assert_allclose(scaler.limit_ / scaler.scale_, 3.0)


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["dense", "sparse"])
def test_outliers_change_the_statistics_little_and_are_clipped(normal, kind):
    if kind is csr_matrix:
        normal = normal * (np.random.default_rng(2).random(normal.shape) < 0.3)
    scaler, clean = StreamingScaler().fit(kind(with_outliers(normal))), StreamingScaler().fit(kind(normal))
    np.testing.assert_allclose(scaler.scale_, clean.scale_, rtol=0.3)  # the standard deviation is nine times as large
    assert (np.abs(scaler.center_ - clean.center_) < 0.1 * clean.scale_).all()
    assert abs(scaler.transform(kind(with_outliers(normal)))).max() <= (scaler.limit_ / scaler.scale_).max() + 1e-9


def test_clipping_is_at_the_limit_on_both_sides_and_nowhere_else(normal):
    scaler = StreamingScaler().fit(normal)
    inside = scaler.transform(normal)
    free = (normal - scaler.center_) / scaler.scale_
    most = scaler.limit_ / scaler.scale_
    np.testing.assert_allclose(inside, np.clip(free, -most, most), rtol=1e-12)
    far = scaler.transform(scaler.center_ + scaler.scale_ * [[1e9, -1e9, 0.0]])
    np.testing.assert_allclose(far, [[most[0], -most[1], 0.0]])
    none = StreamingScaler(clip=None).fit(normal)
    np.testing.assert_array_equal(none.scale_, scaler.scale_)
    np.testing.assert_allclose(none.transform(normal), free)
    assert none.limit_ is None


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["dense", "sparse"])
def test_rows_are_not_changed_in_place(normal, kind):
    X = kind(normal)
    before = X.copy()
    StreamingScaler().fit(X).transform(X)
    assert abs(X - before).max() == 0.0


def test_mostly_constant_features_keep_their_ones():
    """Quartiles of a feature that is 1 in 3 % of the rows would be 0."""
    rare = (np.arange(3000) % 33 == 0).astype(float)[:, None]
    scaler = StreamingScaler().fit(rare)
    assert scaler.scale_[0] == pytest.approx(rare.std(), rel=0.02)
    assert np.ptp(scaler.transform(rare)) == pytest.approx(1 / scaler.scale_[0])
    sparse = StreamingScaler().fit(csr_matrix(rare))
    assert sparse.scale_[0] == pytest.approx(rare.std())
    assert sparse.transform(csr_matrix(rare)).max() == pytest.approx(1 / rare.std())


def test_constant_features_have_scale_one():
    X = np.column_stack([np.full(50, 0.1), np.arange(50.0), np.zeros(50)])
    scaler = StreamingScaler().fit(X)
    assert scaler.constant_.tolist() == [True, False, True]
    assert scaler.scale_[[0, 2]].tolist() == [1.0, 1.0]
    assert StreamingScaler().fit(csr_matrix(X)).constant_.tolist() == [True, False, True]
    jitter = np.full((50, 1), 1e6, np.float32) * (1 + 1e-7 * (np.arange(50)[:, None] % 2)).astype(np.float32)
    assert StreamingScaler().fit(jitter).constant_.tolist() == [True]  # values that differ by rounding


def test_huge_values_do_not_overflow(normal):
    scaler = StreamingScaler().fit(1e200 * normal)
    np.testing.assert_allclose(scaler.transform(1e200 * normal), StreamingScaler().fit(normal).transform(normal))


def test_partial_fit_takes_a_sample_of_sparse_rows_that_does_not_depend_on_batches(normal, monkeypatch):
    monkeypatch.setattr(sampling_module, "SAMPLE_ROWS", 500)
    scalers = []
    for size in (1000, 7, 4000):
        scaler = StreamingScaler()
        for start in range(0, 4000, size):
            scaler.partial_fit(csr_matrix(normal[start : start + size]))
        scalers.append(scaler)
        np.testing.assert_array_equal(scaler.center_, scalers[0].center_)
        np.testing.assert_array_equal(scaler.scale_, scalers[0].scale_)
        assert scaler.n_seen_ == 4000
    sample = scalers[0]._sample.rows
    assert sample.shape == (500, 3)
    whole = StreamingScaler().fit(csr_matrix(normal))
    np.testing.assert_allclose(scalers[0].scale_, whole.scale_, rtol=0.15)
    assert not hasattr(scalers[0].freeze(), "_sample") or scalers[0]._sample is None


def test_a_sample_is_taken_from_all_of_the_stream(monkeypatch):
    monkeypatch.setattr(sampling_module, "SAMPLE_ROWS", 400)
    scaler = StreamingScaler()
    for start in range(0, 10_000, 100):
        scaler.partial_fit(csr_matrix(np.arange(start, start + 100.0)[:, None]))
    values = scaler._sample.rows.toarray()[:, 0]
    assert len(np.unique(values)) == 400
    np.testing.assert_allclose(np.quantile(values, [0.25, 0.5, 0.75]), [2500, 5000, 7500], atol=700)


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["dense", "sparse"])
def test_after_fit_a_stream_begins_anew_with_robust_statistics(normal, kind):
    scaler = StreamingScaler().fit(kind(normal)).partial_fit(kind(3 * normal[:100]))
    np.testing.assert_array_equal(scaler.scale_, StreamingScaler().fit(kind(3 * normal[:100])).scale_)
    assert scaler.n_seen_ == 100
    assert StreamingScaler("standard").fit(kind(normal)).partial_fit(kind(normal)).n_seen_ == 8000


def test_parameters():
    X = [[1.0], [2.0]]
    with pytest.raises(ValueError, match="method='mean' is not one of"):
        StreamingScaler("mean").fit(X)
    with pytest.raises(ValueError, match="clip must be"):
        StreamingScaler(clip=0).fit(X)
    assert clone(StreamingScaler("standard", clip=3.0, soft_clip=True, renew=False)).get_params() == {
        "method": "standard", "clip": 3.0, "soft_clip": True, "renew": False, "half_life": None,
    }  # fmt: skip


def test_scalers_saved_before_there_were_limits_scale_as_they_did(normal):
    state = {
        "mean_": normal.mean(axis=0), "var_": normal.var(axis=0), "scale_": normal.std(axis=0), "n_seen_": 4000,
        "centres_": True, "frozen_": True, "n_features_in_": 3,
    }  # fmt: skip
    old = restored(class_named("StreamingScaler"), state, True)
    expected = (100 * normal - normal.mean(axis=0)) / normal.std(axis=0)
    np.testing.assert_array_equal(old.transform(100 * normal), expected)
    assert not old.watches
