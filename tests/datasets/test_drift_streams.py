"""Streams that drift: no row depends on how it is read, and concepts are what they are said to be, when they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frugalsvm.datasets import DriftStream, list_drift_streams
from frugalsvm.datasets._blocks import BLOCK_SIZE
from frugalsvm.datasets._schedules import DRIFTS

NAMES = list_drift_streams()


def joined(chunks):
    X, y = zip(*chunks, strict=True)
    return np.concatenate(X), np.concatenate(y)


def rows_of(name, drift="abrupt", n_samples=20_000, **options):
    return DriftStream(name, drift, random_state=0, **options).take(n_samples)


@given(
    name=st.sampled_from(NAMES),
    drift=st.sampled_from(DRIFTS),
    start=st.integers(0, 2 * BLOCK_SIZE),
    n_samples=st.integers(1, BLOCK_SIZE + 100),
    chunk_size=st.integers(50, 2 * BLOCK_SIZE),
)
@settings(max_examples=40)
def test_rows_depend_on_their_position_only(name, drift, start, n_samples, chunk_size):
    options = {"changes": 5_000, "random_state": 7}
    X, y = DriftStream(name, drift, **options).take(start + n_samples)
    stream = DriftStream(name, drift, start=start, **options)
    X_part, y_part = joined(stream.chunks(n_samples, chunk_size))
    np.testing.assert_array_equal(X_part, X[start:])
    np.testing.assert_array_equal(y_part, y[start:])
    assert stream.position == start + n_samples


@pytest.mark.parametrize("name", NAMES)
class TestEveryPopulation:
    def test_position_can_be_set(self, name):
        stream = DriftStream(name, random_state=0)
        X, y = stream.take(300)
        stream.position = 100
        X_again, y_again = stream.take(200)
        np.testing.assert_array_equal(X_again, X[100:])
        np.testing.assert_array_equal(y_again, y[100:])

    def test_seed_decides(self, name):
        first, second = (DriftStream(name, random_state=seed).take(100)[0] for seed in (0, 1))
        assert not np.array_equal(first, second)

    def test_dtype_changes_only_the_rounding(self, name):
        X32, y32 = rows_of(name, n_samples=1000)
        X64, y64 = rows_of(name, n_samples=1000, dtype=np.float64)
        assert (X32.dtype, X64.dtype) == (np.float32, np.float64)
        np.testing.assert_array_equal(y32, y64)
        np.testing.assert_allclose(X32, X64, rtol=1e-5, atol=1e-6)

    def test_is_standardized_by_its_population(self, name):
        # Centers that move fill their cube in the long run only.
        steps = {"changes": 1_000, "n_centers": 500} if name == "moving_rbf" else {}
        X, _ = rows_of(name, "incremental", 200_000, dtype=np.float64, **steps)
        np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=0.1 if steps else 0.015)
        np.testing.assert_allclose(X.std(axis=0), 1.0, atol=0.05 if steps else 0.015)

    def test_the_first_concept_lasts_until_the_first_change(self, name):
        X, y = rows_of(name, "abrupt", changes=[12_345])
        X_same, y_same = rows_of(name, "none")
        np.testing.assert_array_equal(X[:12_345], X_same[:12_345])
        np.testing.assert_array_equal(y[:12_345], y_same[:12_345])
        assert not np.array_equal(y[12_345:12_445], y_same[12_345:12_445]) or not np.array_equal(X, X_same)

    def test_concepts_recur(self, name):
        _, y = rows_of(name, "recurring", changes=2_000, noise=0.0)
        _, y_same = rows_of(name, "none", noise=0.0)
        np.testing.assert_array_equal(y[4_000:6_000], y_same[4_000:6_000])

    def test_a_gradual_change_mixes_two_concepts(self, name):
        X_old, old = rows_of(name, "none", noise=0.0)
        X_new, new = rows_of(name, "abrupt", changes=[1], noise=0.0)
        X, y = rows_of(name, "gradual", changes=[5_000], width=10_000, noise=0.0)
        is_old = (X_old == X).all(axis=1) & (y == old)
        is_new = (X_new == X).all(axis=1) & (y == new)
        assert (is_old | is_new)[1:].all()
        assert is_old[:5_000].all()
        assert is_new[15_000:].all()
        differs = ((X_old != X_new).any(axis=1) | (old != new))[5_000:15_000]
        share_of_new = [is_new[5_000:15_000][part][differs[part]].mean() for part in np.split(np.arange(10_000), 5)]
        np.testing.assert_allclose(share_of_new, [0.1, 0.3, 0.5, 0.7, 0.9], atol=0.08)


class TestConcepts:
    def test_every_kind_of_drift(self):
        places = [0, 99, 100, 150, 199, 200, 250, 300]

        def concepts(drift, **options):
            return DriftStream("sea", drift, changes=100, width=50, **options).concepts(places).tolist()

        assert concepts("none") == [0.0] * 8
        assert concepts("abrupt") == [0, 0, 1, 1, 1, 2, 2, 3]
        assert concepts("recurring") == [0, 0, 1, 1, 1, 0, 0, 1]
        assert concepts("recurring", n_concepts=3) == [0, 0, 1, 1, 1, 2, 2, 0]
        assert concepts("incremental") == [0.0, 0.99, 1.0, 1.5, 1.99, 2.0, 2.5, 3.0]
        assert concepts("gradual") == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0]

    def test_changes_at_given_rows(self):
        stream = DriftStream("sea", "abrupt", changes=[10, 40])
        assert stream.concepts([9, 10, 39, 40, 10**9]).tolist() == [0, 1, 1, 2, 2]
        stream = DriftStream("sea", "incremental", changes=[10, 40])
        assert stream.concepts([0, 5, 10, 25, 40, 50]).tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.0]


class TestPopulations:
    def test_the_checkerboard_is_replaced_by_its_negative(self):
        _, before = rows_of("checkerboard", "none")
        _, after = rows_of("checkerboard", "abrupt", changes=[8_000])
        np.testing.assert_array_equal(after[:8_000], before[:8_000])
        np.testing.assert_array_equal(after[8_000:], -before[8_000:])

    def test_the_checkerboard_moves_by_parts_of_a_cell(self):
        X, y = rows_of("checkerboard", changes=[1], shift=0.5, noise=0.0, standardize=False)
        column, row = np.floor(X.astype(np.float64).T * 4 - [[0.5], [0.0]]).astype(int)
        np.testing.assert_array_equal(y[1:], np.where((column + row) % 2 == 0, 1, -1)[1:])

    def test_noise_is_what_was_asked_for(self):
        for name in ("checkerboard", "rotating_checkerboard", "sea", "hyperplane", "moving_rbf"):
            X, clean = rows_of(name, "incremental", 50_000, noise=0.0)
            X_noisy, noisy = rows_of(name, "incremental", 50_000, noise=0.2)
            np.testing.assert_array_equal(X, X_noisy)
            assert abs((clean != noisy).mean() - 0.2) < 0.01

    def test_a_quarter_turn_of_the_checkerboard_is_its_negative(self):
        _, before = rows_of("rotating_checkerboard", "none", noise=0.0)
        _, after = rows_of("rotating_checkerboard", "abrupt", changes=[1], noise=0.0)
        assert (after[1:] == -before[1:]).mean() > 0.9999  # all but points on an edge

    def test_half_a_quarter_turn_changes_half_of_the_checkerboard(self):
        _, before = rows_of("rotating_checkerboard", "none", noise=0.0)
        _, halfway = rows_of("rotating_checkerboard", "incremental", changes=2 * 20_000, noise=0.0)
        assert 0.3 < (halfway[19_000:] == before[19_000:]).mean() < 0.7

    @pytest.mark.parametrize(("number", "threshold"), [(0, 8.0), (1, 9.0), (2, 7.0), (3, 9.5), (4, 8.0)])
    def test_thresholds_of_sea(self, number, threshold):
        X, y = rows_of("sea", changes=1_000, noise=0.0, standardize=False, dtype=np.float64)
        part = slice(1_000 * number, 1_000 * (number + 1))
        np.testing.assert_array_equal(y[part] == 1, X[part, 0] + X[part, 1] <= threshold)

    def test_two_quarter_turns_of_the_hyperplane_are_its_negative(self):
        X, y = rows_of("hyperplane", changes=5_000, noise=0.0)
        normals = [np.linalg.lstsq(X[k : k + 5_000], y[k : k + 5_000])[0] for k in (0, 5_000, 10_000)]
        first, quarter, half = (normal / np.linalg.norm(normal) for normal in normals)
        assert abs(first @ quarter) < 0.1
        assert first @ half < -0.98

    def test_centers_move_at_their_speed(self):
        options = {"n_centers": 2, "spread": 0.01, "standardize": False, "distance": 0.05, "n_features": 50}
        X, y = rows_of("moving_rbf", changes=5_000, dtype=np.float64, **options)
        for label in (0, 1):
            before, after = X[:5_000][y[:5_000] == label], X[5_000:10_000][y[5_000:10_000] == label]
            # Less only where a wall reflects a center.
            assert 0.03 < np.linalg.norm(before.mean(axis=0) - after.mean(axis=0)) < 0.051

    def test_centers_stay_in_the_cube(self):
        X, _ = rows_of("moving_rbf", "incremental", changes=500, spread=0.0, standardize=False)
        assert X.min() >= 0.0
        assert X.max() <= 1.0

    def test_classes_of_moving_centers(self):
        _, y = rows_of("moving_rbf", n_classes=4, n_centers=8)
        np.testing.assert_allclose(np.bincount(y) / len(y), 0.25, atol=0.02)

    def test_friedman(self):
        X, y = rows_of("friedman", changes=[10_000], noise=0.0, standardize=False, dtype=np.float64)

        def target(x):
            return 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]

        np.testing.assert_allclose(y[:10_000], target(X[:10_000].T), atol=1e-5)
        np.testing.assert_allclose(y[10_000:], target(X[10_000:, 1:].T), atol=1e-5)
        assert y.dtype == np.float64


class TestBadInput:
    @pytest.mark.parametrize(
        ("bad", "word"),
        [
            ({"name": "lake"}, "unknown stream 'lake'"),
            ({"drift": "sudden"}, "drift must be one of"),
            ({"changes": 0}, "changes"),
            ({"changes": []}, "changes"),
            ({"changes": [5, 5]}, "increasing"),
            ({"changes": [0, 5]}, "positive"),
            ({"changes": [0.5]}, "changes"),
            ({"drift": "gradual", "changes": 100, "width": 101}, "width must be at most"),
            ({"n_concepts": 1}, "n_concepts"),
            ({"noise": 1.5}, "noise"),
            ({"start": -1}, "position"),
            ({"dtype": np.int32}, "dtype"),
            ({"name": "friedman", "n_features": 4}, "n_features"),
            ({"name": "friedman", "noise": -1.0}, "noise"),
        ],
    )
    def test_one_sentence(self, bad, word):
        with pytest.raises(ValueError, match=word):
            DriftStream(**{"name": "sea", **bad})

    def test_options_of_other_populations(self):
        with pytest.raises(TypeError, match="cells"):
            DriftStream("sea", cells=3)
