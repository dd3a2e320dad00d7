"""Weighted sums of columns in vectors: equal to matrix products, in compiled code and in plain Python."""

import numpy as np
import pytest

from frugalsvm.compiling.functions import entry
from frugalsvm.compiling.lanes import LONG_BYTES, SHORT_BYTES, long_lanes, short_lanes

STRIDE, FIRST, ROW = 56, 8, 1


@entry
def _compiled_sums(matrix, columns, long, short):
    long_lanes(matrix, ROW, columns, STRIDE, FIRST, long)
    short_lanes(matrix, ROW, columns, STRIDE, FIRST, short)


def _sums_in_python(matrix, columns, long, short):
    long_lanes(matrix, ROW, columns, STRIDE, FIRST, long)
    short_lanes(matrix, ROW, columns, STRIDE, FIRST, short)


@pytest.mark.parametrize("sums", [_compiled_sums, _sums_in_python])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [1, 2, 7])
def test_sums_of_a_stretch_and_nothing_beyond_it(sums, dtype, n_features):
    rng = np.random.default_rng(0)
    matrix, columns = rng.normal(size=(2, n_features)).astype(dtype), rng.normal(size=n_features * STRIDE).astype(dtype)
    long, short = np.full((2, STRIDE), np.nan, dtype)
    sums(matrix, columns, long, short)
    expected = matrix[ROW].astype(float) @ columns.reshape(n_features, STRIDE)
    for found, n_bytes in (long, LONG_BYTES), (short, SHORT_BYTES):
        stretch = slice(FIRST, FIRST + n_bytes // found.itemsize)
        np.testing.assert_allclose(found[stretch], expected[stretch], rtol=1e-5 if dtype is np.float32 else 1e-14)
        assert np.isnan(found[: stretch.start]).all()
        assert np.isnan(found[stretch.stop :]).all()
