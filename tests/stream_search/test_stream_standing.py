"""Which candidates are dropped, and when."""

import numpy as np
import pytest

from frugalsvm.stream_search.standing import accuracies, begun, judged, leader, learned, thinned


def predictions(*accuracies, n_rows=1000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((len(accuracies), n_rows)) < np.array(accuracies)[:, None]


def standing_after(is_right, weights=None):
    return judged(begun(len(is_right), 100, 1000), is_right, weights)


def test_the_clearly_worse_half_is_dropped():
    standing = learned(standing_after(predictions(0.6, 0.9, 0.5, 0.92)), 900)
    left, kept = thinned(standing)
    assert kept.tolist() == [1, 3]
    assert left.racing.tolist() == [1, 3]
    assert left.dropped_at.tolist() == [1000, -1, 1000, -1]
    assert left.next_cut == 2 * standing.next_cut
    assert left.is_sound({})


def test_who_is_worse_by_chance_stays():
    # The second is behind in 10 of 90 rows in which they differ: one standard error.
    is_right = np.ones((2, 1000), bool)
    is_right[1, :50] = is_right[0, 50:90] = False
    assert thinned(standing_after(is_right))[1].tolist() == [0, 1]
    is_right[0, 50:70] = True  # in 30 of 70: more than three
    assert thinned(standing_after(is_right))[1].tolist() == [0]


def test_the_better_half_stays_however_far_behind_it_is():
    assert thinned(standing_after(predictions(0.99, 0.5, 0.2)))[1].tolist() == [0, 1]


def test_recent_rows_decide():
    standing, _ = thinned(standing_after(predictions(0.90, 0.88)))
    assert leader(standing) == 0
    standing = judged(standing, predictions(0.90, 0.96, seed=1), None)
    assert leader(standing) == 1


def test_rows_in_two_parts_are_judged_as_in_one():
    is_right = predictions(0.7, 0.8, 0.9)
    weights = np.random.default_rng(1).random(1000)
    whole = standing_after(is_right, weights)
    parts = judged(standing_after(is_right[:, :300], weights[:300]), is_right[:, 300:], weights[300:])
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("weight", [0.0, 3.0])
def test_a_weight_counts_as_often(weight):
    is_right = predictions(0.7, 0.8)
    weights = np.ones(1000)
    weights[:500] = weight
    standing = standing_after(is_right, weights)
    many = np.concatenate([is_right[:, 500:], *[is_right[:, :500]] * int(weight)], axis=1)
    np.testing.assert_allclose(standing.accuracy, many.mean(axis=1))


def test_nothing_is_known_before_rows_are_judged():
    standing = begun(2, 100, 1000)
    assert leader(standing) == 0
    assert accuracies(standing) == [(None, 100, None)] * 2


def test_a_long_first_batch_leaves_time_to_judge():
    assert begun(3, 5000, 1000).next_cut == 10_000
