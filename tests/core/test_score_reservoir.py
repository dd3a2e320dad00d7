"""The reservoir of scores: thresholds as defined, promises that hold on every stream, whatever it does."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frugalsvm.core.score_reservoir import (
    HUGE,
    Promise,
    forgive,
    known_scores,
    new_reservoir,
    observe,
    p_values_among,
    threshold_of,
)


class Oracle:
    """The same in plain Python, written from the formulas."""

    def __init__(self, window, promise):
        self.window, self.promise, self.scores, self.due = window, promise, [], 0.0

    def threshold(self):
        rate, patience, extrapolates = self.promise
        due, n = self.due, len(self.scores)
        level = rate * (1 + due / patience) if due < 0 else rate * math.exp(due / patience)
        rank = n + 1 - math.floor(min(max(level, 0), 1) * (n + 1) + 1e-9)
        ranked = sorted(self.scores)
        if rank < 1:
            return -HUGE
        if rank <= n:
            return ranked[rank - 1]
        if not extrapolates or n + 1 < 1 / rate - 1e-9:
            return HUGE
        n_more = min(max(-(due + patience), 0), 64)
        spread = ranked[-1] - ranked[n // 2]
        if spread == 0 and n_more > 0:
            return HUGE
        return min(ranked[-1] + spread * (2**n_more - 1), HUGE)

    def take(self, score):
        threshold = self.threshold()
        if score < HUGE:
            self.due += self.promise.rate - (score > threshold)
            self.scores = [*self.scores, score][-self.window :]
        return threshold


def thresholds_of(reservoir, promise, scores):
    thresholds = np.empty(len(scores))
    observe(reservoir, promise, np.asarray(scores, np.float64), thresholds)
    return thresholds


SCORES = st.lists(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 2.0, 2.5, 40.0, HUGE]), min_size=1, max_size=120)


@given(
    scores=SCORES,
    window=st.integers(1, 20),
    rate=st.sampled_from([0.01, 0.1, 0.3, 0.9]),
    patience=st.sampled_from([0.7, 3.0, 20.0]),
    extrapolates=st.booleans(),
)
@settings(max_examples=200)
def test_thresholds_are_those_of_the_formulas(scores, window, rate, patience, extrapolates):
    promise = Promise(rate, patience, extrapolates)
    oracle, reservoir = Oracle(window, promise), new_reservoir(window)
    np.testing.assert_allclose(thresholds_of(reservoir, promise, scores), [oracle.take(each) for each in scores])
    np.testing.assert_array_equal(known_scores(reservoir), sorted(oracle.scores))
    assert reservoir.scalars[0]["due"] == pytest.approx(oracle.due, abs=1e-9)
    assert reservoir.is_sound({"w": window})


@given(scores=SCORES, cut=st.integers(0, 120))
@settings(max_examples=50)
def test_batches_of_any_size_give_the_same(scores, cut):
    promise = Promise(0.1, 5.0, True)
    whole, parts = new_reservoir(7), new_reservoir(7)
    expected = thresholds_of(whole, promise, scores)
    found = [*thresholds_of(parts, promise, scores[:cut]), *thresholds_of(parts, promise, scores[cut:])]
    np.testing.assert_array_equal(found, expected)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


def streams():
    rng = np.random.default_rng(0)
    yield "stationary", rng.normal(size=20_000)
    yield "growing", np.exp(np.arange(20_000) / 40.0) * rng.random(20_000)
    yield "shrinking", np.exp(-np.arange(20_000) / 40.0) * rng.random(20_000)
    yield "jumping", rng.normal(size=20_000) + 1000.0 * ((np.arange(20_000) // 700) % 2)
    yield "constant", np.ones(20_000)
    yield "two values", (rng.random(20_000) < 0.4).astype(float)


@pytest.mark.parametrize(("name", "scores"), list(streams()), ids=lambda each: each if isinstance(each, str) else "")
@pytest.mark.parametrize("rate", [0.01, 0.1, 0.3])
def test_misses_in_every_part_of_every_stream(name, scores, rate):
    patience = 20.0
    missed = scores > thresholds_of(new_reservoir(500), Promise(rate, patience, False), scores)
    due = np.cumsum(rate - missed)
    assert due.max() - due.min() <= patience * (1 + math.log(1 / rate)) + 2


def test_nobody_can_break_the_promise():
    """Scores that are chosen against the threshold, always a miss or never one, for as long as that goes."""
    promise, rate = Promise(0.1, 20.0, False), 0.1
    for is_miss in (True, False):
        reservoir, missed = new_reservoir(100), []
        thresholds_of(reservoir, promise, np.arange(100.0))
        for _ in range(2_000):
            threshold = threshold_of(reservoir)
            score = (threshold + 1.0 if is_miss else threshold) if math.isfinite(threshold) else 0.0
            missed.append(score > threshold)
            thresholds_of(reservoir, promise, [score])
        due = np.cumsum(rate - np.array(missed))
        assert due.max() - due.min() <= 20.0 * (1 + math.log(10)) + 2


def test_without_extrapolation_no_miss_is_possible_at_the_limit():
    promise = Promise(0.1, 3.0, False)
    reservoir = new_reservoir(50)
    thresholds_of(reservoir, promise, np.zeros(50))
    for score in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0):
        thresholds_of(reservoir, promise, [score])
    assert threshold_of(reservoir) == np.inf


def test_extrapolated_thresholds_are_finite_and_grow():
    promise = Promise(0.1, 3.0, True)
    reservoir = new_reservoir(50)
    thresholds_of(reservoir, promise, np.random.default_rng(0).random(50))
    found = []
    for power in range(1, 40):
        found.append(thresholds_of(reservoir, promise, [10.0**power])[0])
    assert np.isfinite(found).all()
    assert max(found) < HUGE
    assert (np.array(found[-5:]) > np.array(found[-6:-1])).all()


def test_scores_that_nobody_could_foresee_are_misses_and_nothing_else():
    promise = Promise(0.1, 20.0, False)
    plain, mixed = new_reservoir(30), new_reservoir(30)
    scores = np.random.default_rng(0).normal(size=200)
    thresholds_of(plain, promise, scores)
    thresholds_of(mixed, promise, np.insert(scores, [50, 51, 150], HUGE))
    np.testing.assert_array_equal(mixed.ranked, plain.ranked)
    assert mixed.scalars[0] == plain.scalars[0]
    assert mixed.counts[0]["n_misses"] == plain.counts[0]["n_misses"] + 3


def test_forgiving_keeps_the_scores():
    promise = Promise(0.1, 20.0, False)
    reservoir = new_reservoir(99)
    thresholds_of(reservoir, promise, np.arange(99.0))
    forgive(reservoir, promise)
    assert reservoir.scalars[0]["due"] == 0.0
    assert reservoir.counts[0]["n_misses"] == reservoir.counts[0]["n_rows"] == 0
    assert threshold_of(reservoir) == 89.0  # the 90th of 99


@given(ranked=st.lists(st.integers(-3, 3), max_size=20).map(sorted), scores=st.lists(st.integers(-4, 4), max_size=9))
def test_p_values_count_scores_that_are_not_above(ranked, scores):
    found = p_values_among(np.array(ranked, float), np.array(scores, float))
    expected = [(1 + sum(each <= score for each in ranked)) / (len(ranked) + 1) for score in scores]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    "damage",
    [
        lambda reservoir: reservoir.ranked.__setitem__(0, 5.0),
        lambda reservoir: reservoir.ring.__setitem__(0, 5.0),
        lambda reservoir: reservoir.counts.__setitem__("n_misses", 10**6),
        lambda reservoir: reservoir.counts.__setitem__("n_scores", -1),
    ],
)
def test_damaged_reservoirs_are_not_sound(damage):
    reservoir = new_reservoir(10)
    thresholds_of(reservoir, Promise(0.1, 20.0, False), np.random.default_rng(0).normal(size=25))
    assert reservoir.is_sound({"w": 10})
    damage(reservoir)
    assert not reservoir.is_sound({"w": 10})
