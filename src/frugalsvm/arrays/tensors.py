"""Tensors of PyTorch as rows, where they are: moments, and rows relative to an origin or in a metric."""

from functools import reduce

from frugalsvm.core.moments import Moments, joined_moments
from frugalsvm.core.seen_rows import Metric, Origin, mapped

_BLOCK_VALUES = 2**24


def moments_of_tensor(X, block_rows: int) -> Moments:
    """Mean and variance of every feature, by blocks of rows."""
    parts = []
    for block in X.split(block_rows):
        block = block.double()
        var, mean = (each.cpu().numpy() for each in (block.var(dim=0, correction=0), block.mean(dim=0)))
        parts.append(Moments(len(block), mean, var))
    return reduce(joined_moments, parts)


def relative_tensor(X, origin: Origin, block_rows: int):
    """Rows relative to an origin, in float32, where they are."""
    point = X.new_tensor(origin.point, dtype=_float64_of(X))
    out = X.new_empty(X.shape, dtype=point.float().dtype)
    for start in range(0, X.shape[0], block_rows):
        out[start : start + block_rows] = X[start : start + block_rows].double() - point
    return out


def tensor_in_metric(X, metric: Metric):
    """Rows as the kernel sees them, in float32, where they are."""
    center, A = (X.new_tensor(each, dtype=_float64_of(X)) for each in (metric.center, metric.map))
    out = X.new_empty((X.shape[0], metric.width), dtype=center.float().dtype)
    n_rows = max(1, _BLOCK_VALUES // X.shape[1])
    for start in range(0, X.shape[0], n_rows):
        rows = X[start : start + n_rows].double() - center
        out[start : start + n_rows] = mapped(rows, A)
    return out


def _float64_of(X):
    """The float64 of the library that a tensor is from."""
    return X[:0].double().dtype
