"""Weighted sums of columns in vectors: equal to matrix products, in compiled code and in plain Python."""

import numpy as np
import pytest

from frugalsvm.compiling.functions import entry
from frugalsvm.compiling.lanes import lanes_64, lanes_128, lanes_256

STRIDE, FIRST, ROW = 88, 8, 1


def _sums_in_python(matrix, columns, short, middle, long):
    lanes_64(matrix, ROW, columns, STRIDE, FIRST, short)
    lanes_128(matrix, ROW, columns, STRIDE, FIRST, middle)
    lanes_256(matrix, ROW, columns, STRIDE, FIRST, long)


_compiled_sums = entry(_sums_in_python)


@pytest.mark.parametrize("sums", [_compiled_sums, _sums_in_python])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [1, 8, 13])
def test_sums_of_a_stretch_and_nothing_beyond_it(sums, dtype, n_features):
    rng = np.random.default_rng(0)
    matrix, columns = rng.normal(size=(2, n_features)).astype(dtype), rng.normal(size=n_features * STRIDE).astype(dtype)
    outs = np.full((3, STRIDE), np.nan, dtype)
    sums(matrix, columns, *outs)
    expected = matrix[ROW].astype(float) @ columns.reshape(n_features, STRIDE)
    for found, n_bytes in zip(outs, (64, 128, 256), strict=True):
        stretch = slice(FIRST, FIRST + n_bytes // found.itemsize)
        np.testing.assert_allclose(found[stretch], expected[stretch], atol=1e-5 if dtype is np.float32 else 1e-14)
        assert np.isnan(found[: stretch.start]).all()
        assert np.isnan(found[stretch.stop :]).all()
