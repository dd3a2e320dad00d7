"""The synthetic streams: their populations, and that an example never depends on how it is read."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frugalsvm.datasets import (
    list_streams,
    make_checkerboard,
    make_two_gaussians,
    make_waveform,
    stream,
)
from frugalsvm.datasets._blocks import BLOCK_SIZE

MAKERS = {
    "checkerboard": make_checkerboard,
    "two_gaussians": make_two_gaussians,
    "waveform": make_waveform,
}


def joined(chunks):
    X, y = zip(*chunks, strict=True)
    return np.concatenate(X), np.concatenate(y)


def assert_same_examples(left, right):
    np.testing.assert_array_equal(left[0], right[0])
    np.testing.assert_array_equal(left[1], right[1])


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
class TestEveryPopulation:
    def test_is_standardized_by_its_population(self, make):
        X, _ = make(200_000, random_state=0, dtype=np.float64)
        np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=0.015)
        np.testing.assert_allclose(X.std(axis=0), 1.0, atol=0.015)

    def test_standardizing_is_one_affine_map(self, make):
        raw, _ = make(500, standardize=False, random_state=0, dtype=np.float64)
        X, _ = make(500, random_state=0, dtype=np.float64)
        for column in range(X.shape[1]):
            slope, intercept = np.polyfit(raw[:, column], X[:, column], 1)
            np.testing.assert_allclose(X[:, column], slope * raw[:, column] + intercept, atol=1e-10)

    def test_dtype_changes_only_the_rounding(self, make):
        X32, y32 = make(1000, random_state=0)
        X64, y64 = make(1000, random_state=0, dtype="float64")
        assert X32.dtype == np.float32
        assert X64.dtype == np.float64
        assert y32.dtype == np.int64
        np.testing.assert_array_equal(y32, y64)
        np.testing.assert_allclose(X32, X64, rtol=1e-5, atol=1e-6)

    def test_seed_decides(self, make):
        assert_same_examples(make(100, random_state=3), make(100, random_state=np.int64(3)))
        assert not np.array_equal(make(100, random_state=3)[0], make(100, random_state=4)[0])
        assert not np.array_equal(make(100)[0], make(100)[0])

    @pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
    def test_generator_as_seed(self, make, kind):
        generator = kind(0)
        first, second = make(100, random_state=generator), make(100, random_state=generator)
        assert_same_examples(first, make(100, random_state=kind(0)))
        assert not np.array_equal(first[0], second[0])

    def test_more_samples_extend_fewer(self, make):
        X, y = make(BLOCK_SIZE + 10, random_state=0)
        assert_same_examples(make(50, random_state=0), (X[:50], y[:50]))

    def test_no_samples(self, make):
        X, y = make(0)
        assert len(X) == len(y) == 0

    @pytest.mark.parametrize("bad", [{"n_samples": -1}, {"dtype": np.int32}, {"random_state": -1}])
    def test_rejects_wrong_values(self, make, bad):
        with pytest.raises(ValueError, match=next(iter(bad))):
            make(**bad)

    @pytest.mark.parametrize("bad", [{"n_samples": 1.5}, {"n_samples": True}, {"random_state": "zero"}])
    def test_rejects_wrong_types(self, make, bad):
        with pytest.raises(TypeError, match=next(iter(bad))):
            make(**bad)


class TestCheckerboard:
    @pytest.mark.parametrize("cells", [1, 2, 3, 4, 5, 7])
    def test_labels_alternate_exactly(self, cells):
        X, y = make_checkerboard(50_000, cells=cells, standardize=False, random_state=0)
        column, row = np.floor(X.astype(np.float64) * cells).astype(int).T
        np.testing.assert_array_equal(y, np.where((column + row) % 2 == 0, 1, -1))

    def test_rounded_features_stay_in_their_cell(self):
        # The claim that the board is free of noise must hold for the float32 features that a learner sees.
        X, y = make_checkerboard(200_000, random_state=0)
        edges = ((np.array([1, 2, 3], dtype=np.float32) / 4) - np.float32(0.5)) * np.float32(np.sqrt(12))
        cell = (X[:, :, None] >= edges).sum(axis=2)
        np.testing.assert_array_equal(y, np.where(cell.sum(axis=1) % 2 == 0, 1, -1))

    def test_fills_its_square_evenly(self):
        X, y = make_checkerboard(160_000, random_state=1)
        assert np.sqrt(3) - 1e-3 < X.max() < np.sqrt(3)
        assert -np.sqrt(3) <= X.min() < -np.sqrt(3) + 1e-3
        counts, *_ = np.histogram2d(*X.T, bins=4, range=[[-np.sqrt(3), np.sqrt(3)]] * 2)
        np.testing.assert_allclose(counts, 10_000, rtol=0.05)
        assert abs(y.mean()) < 0.01

    def test_noise_flips_labels_and_nothing_else(self):
        X, y = make_checkerboard(100_000, random_state=0)
        X_noisy, y_noisy = make_checkerboard(100_000, noise=0.15, random_state=0)
        np.testing.assert_array_equal(X, X_noisy)
        assert abs((y != y_noisy).mean() - 0.15) < 0.005

    def test_full_noise_flips_all_labels(self):
        _, y = make_checkerboard(1000, random_state=0)
        _, y_noisy = make_checkerboard(1000, noise=1.0, random_state=0)
        np.testing.assert_array_equal(y, -y_noisy)

    def test_noisy_stream_has_the_noise_of_the_paper(self):
        assert_same_examples(
            joined(stream("noisy_checkerboard", 1000, random_state=0)),
            make_checkerboard(1000, noise=0.15, random_state=0),
        )

    def test_examples_are_the_same_in_every_release(self):
        X, y = make_checkerboard(5, standardize=False, random_state=0)
        np.testing.assert_allclose(X[:3], [[0.0172, 0.5651], [0.9095, 0.9354], [0.9023, 0.4799]], atol=1e-4)
        assert y.tolist() == [1, 1, 1, -1, 1]

    @pytest.mark.parametrize("bad", [{"noise": -0.1}, {"noise": 1.1}, {"noise": np.nan}, {"cells": 0}])
    def test_rejects_wrong_values(self, bad):
        with pytest.raises(ValueError, match=next(iter(bad))):
            make_checkerboard(**bad)


class TestTwoGaussians:
    def test_class_moments(self):
        X, y = make_two_gaussians(200_000, standardize=False, random_state=0)
        np.testing.assert_allclose(X[y == -1].mean(axis=0), [0, 0], atol=0.02)
        np.testing.assert_allclose(X[y == 1].mean(axis=0), [2, 0], atol=0.03)
        np.testing.assert_allclose(np.cov(X[y == -1].T), np.eye(2), atol=0.02)
        np.testing.assert_allclose(np.cov(X[y == 1].T), 4 * np.eye(2), atol=0.06)
        assert abs(y.mean()) < 0.01

    def test_best_accuracy_is_that_of_the_papers(self):
        # The best classifiers in both papers reach some 81.5 percent.
        X, y = make_two_gaussians(200_000, standardize=False, random_state=0)
        log_odds = (X**2).sum(axis=1) / 2 - ((X - [2, 0]) ** 2).sum(axis=1) / 8 - np.log(4)
        assert 0.81 < (np.sign(log_odds) == y).mean() < 0.825


class TestWaveform:
    def test_class_means_are_half_sums_of_the_waves(self):
        X, y = make_waveform(150_000, standardize=False, random_state=0)
        feature = np.arange(1, 22)
        wave_1 = np.maximum(6 - np.abs(feature - 11), 0)
        wave_2, wave_3 = np.roll(wave_1, 4), np.roll(wave_1, -4)
        for label, pair in enumerate([(wave_1, wave_2), (wave_1, wave_3), (wave_2, wave_3)]):
            np.testing.assert_allclose(X[y == label].mean(axis=0), np.mean(pair, axis=0), atol=0.04)

    def test_noise_is_standard_normal_where_the_waves_vanish(self):
        # Wave 3 ends at feature 12 and waves 1 and 2 begin after feature 5, so few places are free of waves.
        X, y = make_waveform(100_000, standardize=False, random_state=0)
        first_feature_of_class_0 = X[y == 0, 0]
        assert abs(first_feature_of_class_0.mean()) < 0.02
        assert abs(first_feature_of_class_0.std() - 1) < 0.02

    def test_one_weight_mixes_both_waves_of_an_example(self):
        # In class 0, feature 7 is 2 u + noise and feature 15 is 6 - 4 u + noise: covariance -8 / 12.
        X, y = make_waveform(200_000, standardize=False, random_state=0)
        covariance = np.cov(X[y == 0][:, [6, 14]].T)[0, 1]
        assert abs(covariance - (-8 / 12)) < 0.03

    def test_classes_are_equally_likely(self):
        _, y = make_waveform(90_000, random_state=0)
        np.testing.assert_allclose(np.bincount(y), 30_000, rtol=0.03)


class TestStream:
    @given(
        name=st.sampled_from(list_streams()),
        start=st.integers(0, 2 * BLOCK_SIZE),
        n_samples=st.integers(1, BLOCK_SIZE + 100),
        chunk_size=st.integers(50, 2 * BLOCK_SIZE),
    )
    @settings(max_examples=30)
    def test_examples_depend_on_their_index_only(self, name, start, n_samples, chunk_size):
        whole = joined(stream(name, start + n_samples, chunk_size=10**6, random_state=7))
        part = joined(stream(name, n_samples, start=start, chunk_size=chunk_size, random_state=7))
        assert_same_examples(part, (whole[0][start:], whole[1][start:]))

    @pytest.mark.parametrize("name", MAKERS)
    def test_agrees_with_the_maker(self, name):
        assert_same_examples(
            joined(stream(name, 100, chunk_size=33, random_state=5, standardize=False)),
            MAKERS[name](100, random_state=5, standardize=False),
        )

    def test_single_examples(self):
        one_by_one = joined(stream("waveform", 40, chunk_size=1, random_state=0))
        assert_same_examples(one_by_one, make_waveform(40, random_state=0))

    def test_never_ends_without_a_number_of_samples(self):
        sizes = [len(y) for _, y in islice(stream("checkerboard", chunk_size=9000, random_state=0), 5)]
        assert sizes == [9000] * 5

    def test_far_start_is_immediate(self):
        [(X, y)] = stream("two_gaussians", 3, start=10**15 + 1, random_state=0)
        [(X_before, _)] = stream("two_gaussians", 3, start=10**15, random_state=0)
        assert len(y) == 3
        np.testing.assert_array_equal(X[:2], X_before[1:])

    def test_chunks_are_writable_and_independent(self):
        chunks = stream("checkerboard", 20, chunk_size=10, random_state=0)
        X, _ = next(chunks)
        X[:] = np.nan
        X_next, _ = next(chunks)
        assert np.isfinite(X_next).all()

    def test_populations_differ_under_one_seed(self):
        X, _ = make_two_gaussians(100, random_state=0, standardize=False)
        unit, _ = make_checkerboard(100, random_state=0, standardize=False)
        assert abs(np.corrcoef(X[:, 0], unit[:, 0])[0, 1]) < 0.5

    def test_no_samples_no_chunks(self):
        assert list(stream("checkerboard", 0)) == []

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"name": "chess"}, ValueError, "checkerboard, noisy_checkerboard"),
            ({"chunk_size": 0}, ValueError, "chunk_size"),
            ({"start": -1}, ValueError, "start"),
            ({"n_samples": -1}, ValueError, "n_samples"),
            ({"cells": -4}, ValueError, "cells"),
            ({"colour": "red"}, TypeError, "colour"),
        ],
    )
    def test_rejects_wrong_arguments_at_once(self, arguments, error, message):
        with pytest.raises(error, match=message):
            stream(**{"name": "checkerboard", **arguments})
