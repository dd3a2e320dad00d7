"""Tensors of PyTorch as rows: checked where they are."""

from functools import reduce

from frugalsvm.core.metric import Metric, mapped
from frugalsvm.core.moments import Moments, joined_moments
from frugalsvm.core.origin import Origin

__all__ = ["moments_of_tensor", "relative_tensor", "tensor_in_metric", "validated_tensor"]

_BLOCK_VALUES = 2**24


def validated_tensor(estimator, X, *, reset: bool):
    """A tensor of finite rows, where it is."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D tensor instead.")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"Found a tensor of shape {tuple(X.shape)} while at least one sample and feature is required.")
    if X.is_floating_point() and not bool(X.isfinite().all()):
        raise ValueError("Input X contains NaN or infinity.")
    if reset:
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)
    elif X.shape[1] != estimator.n_features_in_:
        name = type(estimator).__name__
        raise ValueError(f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features.")
    return X.detach()


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
    point = X.new_tensor(origin.point, dtype=float64_of(X))
    out = X.new_empty(X.shape, dtype=point.float().dtype)
    for start in range(0, X.shape[0], block_rows):
        out[start : start + block_rows] = X[start : start + block_rows].double() - point
    return out


def tensor_in_metric(X, metric: Metric):
    """Rows as the kernel sees them, in float32, where they are."""
    center, A = (X.new_tensor(each, dtype=float64_of(X)) for each in (metric.center, metric.map))
    out = X.new_empty((X.shape[0], metric.width), dtype=center.float().dtype)
    n_rows = max(1, _BLOCK_VALUES // X.shape[1])
    for start in range(0, X.shape[0], n_rows):
        rows = X[start : start + n_rows].double() - center
        out[start : start + n_rows] = mapped(rows, A)
    return out


def float64_of(X):
    """The float64 of the library that a tensor is from."""
    return X[:0].double().dtype
