"""Statistics of the comparison, against SciPy and values computed by hand."""

import numpy as np
import pytest
from scipy.stats import friedmanchisquare

from benchmarks.comparison.sheets import behind
from benchmarks.comparison.statistics import (
    critical_difference,
    duel,
    friedman,
    groups_of,
    is_clearly_behind,
    mean_ranks,
    relative_difference,
)

NAN = np.nan


def test_failures_are_last_and_equal_errors_share_their_rank():
    errors = np.array([[3.0, 1.0, 1.0, NAN], [NAN, 2.0, 1.0, NAN]])
    np.testing.assert_array_equal(mean_ranks(errors), [3.25, 1.75, 1.25, 3.75])


def test_friedman_is_that_of_scipy():
    errors = np.random.default_rng(0).random((12, 4)) + np.array([0, 0, 0.3, 0.5])
    errors[:, 1] = np.round(errors[:, 1], 1)
    errors[3:6, 0] = errors[3:6, 2]  # ties
    assert friedman(errors) == pytest.approx(friedmanchisquare(*errors.T).pvalue)
    assert friedman(np.ones((5, 3))) == 1.0


def test_critical_difference_is_that_of_the_table():
    # Demsar (2006), table 5: q = 2.850 for five classifiers; his example has four of them on 14 tables.
    assert critical_difference(30, 6) == pytest.approx(2.850 * np.sqrt(6 * 7 / 6 / 30), abs=2e-3)
    assert critical_difference(14, 4) == pytest.approx(1.25, abs=0.01)


def test_groups_are_the_largest_ones():
    assert groups_of(np.array([1.0, 3.0, 1.5, 2.4]), 1.0) == [[0, 2], [2, 3], [3, 1]]
    assert groups_of(np.array([1.0, 3.0, 1.5]), 5.0) == [[0, 2, 1]]
    assert groups_of(np.array([1.0, 3.0]), 0.5) == []


def test_differences_are_relative_to_the_larger_error():
    found = relative_difference(np.array([1.0, 2.0, 0.0, NAN, 5.0, NAN]), np.array([2.0, 1.0, 0.0, 1.0, NAN, NAN]))
    np.testing.assert_array_equal(found, [-0.5, 0.5, 0.0, 1.0, -1.0, 0.0])


def test_duels_have_a_region_of_equivalence():
    others = np.linspace(1, 2, 30)
    same = duel(others * 1.001, others)
    assert same[:3] == (0, 30, 0)
    assert same.p_same > 0.99
    ahead = duel(others * 0.8, others)
    assert ahead[:3] == (30, 0, 0)
    assert ahead.p_better > 0.99
    mixed = np.where(np.arange(30) % 2, 0.8, 1.25)  # as far ahead as behind
    both = duel(others * mixed, others)
    assert both[:3] == (15, 0, 15)
    assert both.p_better == pytest.approx(both.p_worse, abs=0.1)
    assert sum(both[3:]) == pytest.approx(1)
    assert duel(others, others * 0.8).p_worse == pytest.approx(ahead.p_better, abs=0.01)


def test_clearly_behind_is_two_corrected_standard_errors():
    others = np.zeros(5)
    assert is_clearly_behind(np.full(5, 1.0), others)
    assert not is_clearly_behind(np.full(5, -1.0), others)
    assert not is_clearly_behind(others, others)
    # Differences with mean m and standard deviation 1: the standard error is sqrt(1/5 + 1/4) = .671.
    spread = np.array([-1.0, -1.0, 0.0, 1.0, 1.0])
    assert is_clearly_behind(spread + 1.4, others)
    assert not is_clearly_behind(spread + 1.3, others)
    assert not is_clearly_behind(np.ones(1), np.zeros(1))


def test_a_peer_that_has_no_rank_can_be_ahead():
    """It was measured on one table only; of another, too few splits are measured."""
    cells = {}
    for table, n_splits in (("titanic", 5), ("german", 4)):
        for split in range(n_splits):
            for peer, error in (("auto", 20.0), ("catboost", 17.0), ("hgb", 22.0)):
                cells[table, peer, split] = {"table": table, "peer": peer, "split": split, "error": error + split}
    assert behind(cells) == {"titanic": ["catboost"]}
