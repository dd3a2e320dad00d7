"""Random numbers for compiled loops: in range, uniform, and the same for the same seed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frugalsvm.core.rng import below, new_rng

interpreted = getattr(below, "py_func", below)  # what runs with NUMBA_DISABLE_JIT=1


def draws(n, count, seed=0, function=below):
    state = new_rng(seed)
    return np.array([function(state, n) for _ in range(count)])


@settings(max_examples=200, derandomize=True)
@given(state=st.integers(1, 2**64 - 1), n=st.integers(1, 2**32 - 1))
def test_in_range_and_the_same_when_interpreted(state, n):
    compiled_state, interpreted_state = np.array([state], np.uint64), np.array([state], np.uint64)
    value = below(compiled_state, n)
    assert 0 <= value < n
    assert interpreted(interpreted_state, n) == value
    assert interpreted_state[0] == compiled_state[0] != 0  # zero would be the end of all randomness


@pytest.mark.parametrize("n", [2, 7, 100])
def test_uniform(n):
    """The statistic has a mean of n - 1 and a variance of twice that: six deviations never happen by chance."""
    counts = np.bincount(draws(n, 200 * n), minlength=n)
    statistic = np.square(counts - 200).sum() / 200
    assert abs(statistic - (n - 1)) < 6 * np.sqrt(2 * (n - 1))


def test_successive_draws_are_independent():
    values = draws(5, 20_001)
    pairs = np.bincount(5 * values[:-1] + values[1:], minlength=25)
    assert np.square(pairs - 800).sum() / 800 < 24 + 6 * np.sqrt(48)


def test_first_draws_of_neighboring_seeds_are_uniform():
    """One-vs-rest machines and repeated runs have seeds that are close together."""
    first = np.array([below(new_rng(seed), 4) for seed in range(4000)])
    assert np.square(np.bincount(first, minlength=4) - 1000).sum() / 1000 < 3 + 6 * np.sqrt(6)


def test_seeds():
    np.testing.assert_array_equal(draws(1000, 50, seed=5), draws(1000, 50, seed=5))
    assert not np.array_equal(draws(1000, 50, seed=5), draws(1000, 50, seed=6))


def test_the_state_is_all_there_is():
    state = new_rng(0)
    below(state, 10)
    copy = state.copy()
    assert [below(state, 10) for _ in range(20)] == [below(copy, 10) for _ in range(20)]
