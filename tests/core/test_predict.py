"""Scores of rows: `frugalsvm.core.predict`."""

import numpy as np
import pytest
import scipy.sparse

from frugalsvm.core.dense_scores import UnfitRowsError
from frugalsvm.core.expansion import new_expansion
from frugalsvm.core.fastmath import magnitude_bits
from frugalsvm.core.kernels import RBF
from frugalsvm.core.predict import decision_values
from frugalsvm.core.seen_rows import largest_size


def model(n_features, dtype):
    expansion = new_expansion(1, n_features, 1, dtype)
    expansion.coef[0, 0] = expansion.weights[0, 0] = 1.0
    expansion.counts[0]["n_slots"] = 1
    return expansion


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_magnitude_bits_are_in_the_order_of_magnitudes(dtype):
    tiny, huge = np.finfo(dtype).tiny, np.finfo(dtype).max
    values = [0.0, tiny, -1.0, np.nextafter(dtype(1), dtype(2)), -huge, np.inf, np.nan]
    bits = [int(magnitude_bits(dtype(value))) for value in values]
    assert bits == sorted(bits)
    assert len(set(bits)) == len(bits)
    assert magnitude_bits(dtype(-0.0)) == 0
    assert magnitude_bits(dtype(-np.inf)) == magnitude_bits(dtype(np.inf))


@pytest.mark.parametrize("in_float64", [False, True])
@pytest.mark.parametrize("n_features", [3, 12])  # other sources for few
@pytest.mark.parametrize("convert", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf, "above", "below"])
def test_values_that_are_too_large_are_found_wherever_they_are(n_features, convert, value, in_float64):
    largest = largest_size(n_features, np.float64)
    value = {"above": 1.001 * largest, "below": -1.001 * largest}.get(value, value)
    for row, feature in ((0, 0), (299, n_features - 1)):
        X = np.full((300, n_features), 0.999 * largest)
        expansion = model(n_features, np.float64)
        assert decision_values(RBF(1.0), expansion, convert(X), in_float64=in_float64).shape == (300, 1)
        X[row, feature] = value
        with pytest.raises(UnfitRowsError), np.errstate(all="ignore"):  # interpreted code would warn
            decision_values(RBF(1.0), expansion, convert(X), in_float64=in_float64)
