"""Mean and variance of every feature, gathered part by part."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frugalsvm.core.capabilities import offers

BLOCK_ROWS = 2**14  # rows at a time in float64: no large temporary arrays
FEW_COLUMNS = 16


class Moments(NamedTuple):
    n_rows: int
    mean: np.ndarray  # (n_features,) float64
    var: np.ndarray  # (n_features,) float64

    @property
    def variance(self) -> float:
        """The mean variance of a feature: what offsets of features do not change."""
        return float(self.var.mean()) if self.var.size else 0.0


def scale_gamma(moments: Moments, kernel: Any) -> float:
    """One over the sum of the variances of the features: squared distances of rows are 2 then, on average.

    That is `SVC`'s "scale" where all features have the same mean. `SVC` takes the variance of all entries, in which
    different offsets of features count, although they change no distance. For kernels (parts, or their classes) of L1
    distances, it is one over the sum of the standard deviations, and for chi2 one over the sum of variances divided by
    means: these distances are about 1 then.
    """
    if offers(kernel, "l1"):
        total = float(np.sqrt(moments.var).sum())
    elif offers(kernel, "nonnegative"):
        total = float((moments.var / np.where(moments.mean > 0, moments.mean, 1.0)).sum())
    else:
        total = len(moments.mean) * moments.variance
    return 1.0 / total if total > 0 else 1.0


def joined_moments(a: Moments, b: Moments) -> Moments:
    """The moments of two sets of rows taken together (Chan, Golub & LeVeque 1979)."""
    total = a.n_rows + b.n_rows
    shift = b.mean - a.mean
    var = (a.n_rows * a.var + b.n_rows * b.var + shift**2 * (a.n_rows * b.n_rows / total)) / total
    return Moments(total, a.mean + shift * (b.n_rows / total), var)


def moments_of(X) -> Moments:
    """The moments of rows, an array or a CSR matrix, with at least one row."""
    if issparse(X):
        return _sparse_moments(X)
    whole = None
    for start in range(0, X.shape[0], BLOCK_ROWS):
        block = X[start : start + BLOCK_ROWS]
        # Sums over few columns are slow; columns that lie together are summed fast.
        columns = np.ascontiguousarray(block.T, np.float64) if X.shape[1] <= FEW_COLUMNS else block.T
        mean = columns.mean(axis=1, dtype=np.float64)
        part = Moments(len(block), mean, columns.var(axis=1, dtype=np.float64, mean=mean[:, None]))
        whole = part if whole is None else joined_moments(whole, part)
    assert whole is not None, "no rows"
    return whole


def _sparse_moments(X) -> Moments:
    n, d = X.shape
    data = X.data.astype(np.float64, copy=False)
    mean = np.bincount(X.indices, data, d) / n
    n_stored = np.bincount(X.indices, minlength=d)
    squares = np.bincount(X.indices, np.square(data - mean[X.indices]), d)
    return Moments(n, mean, (squares + (n - n_stored) * mean**2) / n)
