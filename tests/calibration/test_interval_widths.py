"""Quantiles of errors on rows left out."""

import numpy as np
import pytest

from frugalsvm.calibration.intervals import error_quantiles, some_errors


def test_a_new_error_is_below_as_often_as_promised():
    """Of 20 exchangeable errors, each is below the quantile of the 19 others with the probability 18 / 20."""
    rng = np.random.default_rng(0)
    errors = np.abs(rng.normal(size=(4000, 20)))
    widths = error_quantiles(np.sort(errors[:, 1:], axis=1), 0.9)
    assert abs(np.mean(errors[:, 0] <= widths) - 0.9) < 3.5 * np.sqrt(0.09 / 4000)


def test_few_stand_for_many():
    errors = np.abs(np.random.default_rng(0).normal(size=50_000))
    kept = some_errors(errors)
    assert len(kept) == 2000
    assert kept[0] == errors.min()
    assert kept[-1] == errors.max()
    for coverage in (0.5, 0.9, 0.99):
        assert abs(np.mean(errors <= error_quantiles(kept, coverage)) - coverage) < 1e-3


def test_weights_count_as_repetitions_in_quantiles_but_not_as_more_rows():
    rng = np.random.default_rng(0)
    errors, weights = np.abs(rng.normal(size=300)), rng.integers(1, 5, size=300)
    kept = some_errors(errors, weights.astype(float))
    assert len(kept) < 300
    for coverage in (0.5, 0.9):
        below = np.average(errors <= error_quantiles(kept, coverage), weights=weights)
        assert coverage <= below < coverage + 0.02
    np.testing.assert_array_equal(some_errors(errors, np.full(300, 0.7)), np.sort(errors))


def test_more_than_rows_can_tell_is_refused():
    with pytest.raises(ValueError, match=r"coverage must be 0\.9500 at most for so few rows"):
        error_quantiles(np.arange(19.0), 0.96)
    assert error_quantiles(np.arange(19.0), 0.95) == 18.0
