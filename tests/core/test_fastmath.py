"""The vectorized exponential and cosine, and the reductions, as compiled code."""

import numpy as np
import pytest

from frugalsvm.compiling.functions import entry
from frugalsvm.core.fastmath import (
    CHUNK,
    FARTHEST,
    copy_row,
    cos_turns,
    decay,
    exp2_nonpositive,
    first_argmax,
    first_argmin,
    first_at_least,
    first_at_most,
    first_tied,
    index_in,
    index_mask,
    minimum,
    next_at_least,
    nth_smallest,
    row_weighted_sum,
    rows_dot,
    value_and_index,
)

TYPES = [np.float32, np.float64]
# Relative error, and the logarithm of the smallest result
ACCURACY = {np.float32: (2e-7, -100), np.float64: (1e-15, -500)}


@entry
def exp2_all(t, out):
    for i in range(t.size):
        out[i] = exp2_nonpositive(t[i])


@entry
def decay_all(t, out):
    for i in range(t.size):
        out[i] = decay(t[i])


@entry
def cos_all(x, out):
    for i in range(x.size):
        out[i] = cos_turns(x[i])


@entry
def reductions(values, n):
    return minimum(values, n), first_argmin(values, n), first_argmax(values, n)


@entry
def place_of_largest(values, n):
    mask = index_mask(n)
    best = value_and_index(values[0], 0, mask)
    for i in range(n):
        best = max(best, value_and_index(values[i], i, mask))
    return index_in(best, mask)


@entry
def first_beyond(values, low, high, n):
    return first_at_most(values, low, n), first_at_least(values, high, n)


@entry
def row_operations(A, i, B, j, target, k):
    copy_row(target, k, B, j)
    return rows_dot(A, i, B, j), row_weighted_sum(A, i, B[j], A.shape[1] - 1)


def exp2(t):
    out = np.empty_like(t)
    exp2_all(t, out)
    return out


def cosine(x):
    out = np.empty_like(x)
    cos_all(x, out)
    return out


@pytest.mark.parametrize("dtype", TYPES)
class TestExp2:
    def test_relative_error(self, dtype):
        bound, lowest = ACCURACY[dtype]
        rng = np.random.default_rng(0)
        # Near 0, over the whole range, and next to the half integers, where the polynomial is used at its ends
        near_zero = -np.geomspace(1e-30, 1.0, 20_000).astype(dtype)
        everywhere = rng.uniform(lowest, 0.0, 200_000).astype(dtype)
        half = (np.arange(lowest + 1, 0) + 0.5).astype(dtype)
        above, below = np.nextafter(half, dtype(0.0)), np.nextafter(half, dtype(-1e9))
        t = np.concatenate([near_zero, everywhere, above, half, below])
        expected = np.exp2(t.astype(np.float64))
        assert np.max(np.abs(exp2(t) / expected - 1.0)) < bound

    def test_whole_powers_are_exact(self, dtype):
        t = np.arange(ACCURACY[dtype][1], 1).astype(dtype)
        np.testing.assert_array_equal(exp2(t), np.exp2(t))
        assert exp2(np.zeros(1, dtype))[0] == 1.0
        assert exp2(-np.zeros(1, dtype))[0] == 1.0

    def test_never_above_one(self, dtype):
        t = -np.geomspace(1e-38, 1e-3, 10_000).astype(dtype)
        assert exp2(t).max() <= 1.0

    def test_underflow_stops_far_above_the_smallest_normal_number(self, dtype):
        lowest = ACCURACY[dtype][1]
        t = np.array([lowest, lowest - 0.5, lowest - 1, -2000.0, -1e9, -1e30], dtype)
        np.testing.assert_array_equal(exp2(t), np.full(6, 2.0**lowest, dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_what_decays_is_zero_from_the_same_power_on(dtype):
    near = np.array([0.0, -1.0, -7.3, -59.5, -FARTHEST + 0.001], dtype)
    far = np.array([-FARTHEST, -FARTHEST - 0.001, -100.0, -500.0, -1e9, -1e38], dtype)
    out = np.empty_like(near)
    decay_all(near, out)
    np.testing.assert_array_equal(out, exp2(near))
    assert (out >= 2.0**-FARTHEST).all()
    out = np.full_like(far, np.nan)
    decay_all(far, out)
    np.testing.assert_array_equal(out, np.zeros(6))


class TestCosTurns:
    def test_absolute_error(self):
        rng = np.random.default_rng(0)
        # Within a turn, over many, and next to the quarters, where the folded angle is at its ends or changes its sign
        within = rng.uniform(-0.5, 0.5, 500_000)
        everywhere = rng.uniform(-1e3, 1e3, 200_000)
        quarters = np.arange(-4000, 4000) / 4.0
        near_quarters = [quarters, quarters + 1e-6, quarters - 1e-6]
        x = np.concatenate([within, everywhere, *near_quarters]).astype(np.float32)
        # Whole turns are taken off before anything is rounded: 2 pi x has an error of its own for large x
        turns = x.astype(np.float64) - np.rint(x.astype(np.float64))
        assert np.max(np.abs(cosine(x) - np.cos(2.0 * np.pi * turns))) < 3e-7

    def test_quarters_of_a_turn(self):
        x = (np.arange(-400, 400) / 4.0).astype(np.float32)
        expected = np.tile(np.array([1.0, 0.0, -1.0, 0.0], np.float32), 200)
        np.testing.assert_allclose(cosine(x), expected, rtol=0.0, atol=2e-7)
        assert not cosine(x)[1::2].any()  # zeros are exact

    def test_even(self):
        x = np.random.default_rng(0).uniform(0.0, 100.0, 10_000).astype(np.float32)
        np.testing.assert_array_equal(cosine(x), cosine(-x))

    def test_largest_angles(self):
        # Whole turns are the only floats there are from 2^23 on; up to 2^22 there are halves and the sum rounds well
        x = np.array([2.0**22 - 1.0, 2.0**22 - 0.5, -(2.0**22) + 0.5], np.float32)
        np.testing.assert_allclose(cosine(x), [1.0, -1.0, -1.0], rtol=0.0, atol=2e-7)


@pytest.mark.parametrize("dtype", TYPES)
class TestReductions:
    def test_extremes_and_their_first_places(self, dtype):
        rng = np.random.default_rng(0)
        for n in [1, 2, 3, 7, 16, 33, 63, 64, 65, 100, 128, 300]:
            # Few distinct values, so that the minimum is there several times
            values = rng.integers(-5, 5, n + 4).astype(dtype)
            values[n:] = -100.0, 100.0, -100.0, 100.0  # beyond n: not to be looked at
            used = values[:n]
            assert reductions(values, n) == (used.min(), used.argmin(), used.argmax())

    def test_first_of_equals_wins(self, dtype):
        values = np.array([2, 1, 3, 1, 3], dtype)
        assert reductions(values, 5) == (1.0, 1, 2)
        assert reductions(np.ones(20, dtype), 20) == (1.0, 0, 0)

    @pytest.mark.parametrize("place", [0, 63, 64, 65, 199])
    def test_extremes_in_any_chunk(self, dtype, place):
        values = np.zeros(201, dtype)
        values[place] = -1.0
        assert reductions(values, 200)[1] == first_beyond(values, -1.0, 9.0, 200)[0] == place
        assert reductions(-values, 200)[2] == first_beyond(-values, -9.0, 1.0, 200)[1] == place

    @pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 500, 513])
    def test_places_of_values_that_are_clearly_the_largest(self, dtype, n):
        rng = np.random.default_rng(n)
        values = rng.permutation(n).astype(dtype) / n
        assert place_of_largest(values, n) == values.argmax()
        values[1::3] = -1.0  # comes after all that are not negative
        assert values[place_of_largest(values, n)] == values.max()

    def test_of_equal_values_the_first_is_the_place(self, dtype):
        assert place_of_largest(np.array([0, 0.5, 0.25, 0.5], dtype), 4) == 1

    def test_none_is_beyond(self, dtype):
        values = np.zeros(70, dtype)
        values[65:] = -1.0, 1.0, -1.0, 1.0, -1.0  # beyond n
        assert first_beyond(values, -0.5, 0.5, 65) == (65, 65)

    def test_row_operations(self, dtype):
        rng = np.random.default_rng(0)
        A, B = rng.normal(size=(3, 19)).astype(dtype), rng.normal(size=(5, 19)).astype(dtype)
        target = np.zeros((4, 19), dtype)
        dot, weighted = row_operations(A, 2, B, 4, target, 1)
        exact = A[2].astype(np.float64) * B[4]
        tolerance = 20 * float(np.finfo(dtype).eps)
        assert dot == pytest.approx(exact.sum(), abs=tolerance)
        assert weighted == pytest.approx(exact[:18].sum(), abs=tolerance)
        np.testing.assert_array_equal(target[1], B[4])
        assert not target[[0, 2, 3]].any()


@pytest.mark.parametrize("dtype", TYPES)
def test_next_index_in_a_chunk(dtype):
    values = np.zeros(CHUNK, dtype)
    places = [0, 7, 8, 33, 62]
    values[places] = 1.0
    for n in (0, 1, 5, 40, CHUNK):
        for first in range(n + 1):
            expected = next((place for place in places if first <= place < n), CHUNK)
            assert next_at_least(values, dtype(0.5), np.int32(first), n) == expected


@pytest.mark.parametrize("search", [first_argmin, first_argmax, first_tied])
@pytest.mark.parametrize("values", [[np.nan] * 3, [1.0, np.nan, 2.0], [1.0, -np.inf, 2.0], [np.inf, 1.0, np.nan]])
def test_indices_stay_inside_where_numbers_overflowed(search, values):
    for n in (3, CHUNK + 3):
        memory = np.full(3 * CHUNK, 5.0)
        memory[n - 3 : n] = values
        assert 0 <= search(memory, n) < n


def test_selection_stays_inside_where_numbers_overflowed():
    rng = np.random.default_rng(0)
    for n_missing in (1, 5, 20):
        values = np.concatenate([[9.0] * 8, rng.normal(size=20), [-9.0] * 8])
        values[8 + rng.permutation(20)[:n_missing]] = np.nan
        nth_smallest(values[8:-8], 20, 7)
        assert (values[:8] == 9.0).all()
        assert (values[-8:] == -9.0).all()
