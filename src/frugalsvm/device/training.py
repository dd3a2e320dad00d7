"""Batch training on a device: where rows are kept, and what is solved."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frugalsvm.device.arrays import is_torch, on_host
from frugalsvm.device.factors import NoFactor, new_factor
from frugalsvm.device.newton import Problem
from frugalsvm.device.rows import ComputedRows, DeviceSource, HostSource, StoredRows, stored_rows
from frugalsvm.device.solve import Sample

__all__ = ["Rows", "Training", "coefficients", "new_training"]

# Shares of the memory that may be used
_FOR_X = 0.3
_FOR_FEATURES = 0.5
_FOR_SAMPLE = 0.2

# How features are stored
_STORED = {"float32": "float32", "tf32": "float32", "float16": "float16"}
_ITEM_BYTES = {"float32": 4, "float16": 2}

_MANY = 32_768  # components
_SAMPLE_ROWS = 256  # rows of a sample for each landmark
_LEAST_SAMPLE = 2  # likewise, at least
_WHITENED_AT_ONCE = 2048  # features: with more of them, whitening all rows takes longer than the solver


class Rows(NamedTuple):
    """Rows to learn: an array, a tensor or a CSR matrix; or batches that are read again and again."""

    X: Any
    targets: Any  # (n_outputs, n_rows) float32, on the device or not
    weights: Any  # (n_rows,) float32
    batches: Any = None  # a function, where there is no X

    @property
    def n_rows(self) -> int:
        return self.weights.shape[0]


class Training(NamedTuple):
    """A problem whose loss and penalty are yet to be set, and rows to begin with."""

    problem: Problem
    factor: Any  # of the map, even where features are whitened already
    sample: Sample
    most_sample_numbers: int
    stored: bool


def new_training(
    arrays, device_map, landmarks, rows: Rows, *, threshold, rank, intercept, memory, dtype, rng
) -> Training:
    """Bring rows to the device as far as they fit, and compute their features once if these fit as well.

    ``landmarks`` are on the device; None for a map whose features have the kernel as inner product.
    """
    width = device_map.width
    _check_memory(memory, width, rows.n_rows)
    factor = NoFactor(width) if landmarks is None else new_factor(arrays, device_map, landmarks, threshold, rank)
    most_sample = int(_FOR_SAMPLE * memory) // 4
    targets, weights = arrays.asarray(rows.targets, "float32"), arrays.asarray(rows.weights, "float32")
    stored = _STORED[dtype]
    if _ITEM_BYTES[stored] * rows.n_rows * width <= _FOR_FEATURES * memory:
        # Batches come in their own order.
        order = None if rows.X is None else rng.permutation(rows.n_rows)
        at_once = landmarks is not None and factor.n_features <= _WHITENED_AT_ONCE and stored == "float32"
        source = _source(arrays, rows, memory, order)
        features = stored_rows(arrays, device_map, source, factor if at_once else None, stored)
        if order is not None:
            order = arrays.asarray(order)
            targets, weights = targets[:, order], weights[order]
        inner = NoFactor(factor.n_features) if at_once else factor
        problem = Problem(arrays, features, inner, targets, weights, None, 0.0, intercept)
        sample = Sample(features, targets, weights)
        if order is None:
            sample = _sampled(arrays, features, targets, weights, most_sample, rng)
        return Training(problem, factor, sample, most_sample, True)
    computed = ComputedRows(arrays, device_map, _source(arrays, rows, memory, None))
    problem = Problem(arrays, computed, factor, targets, weights, None, 0.0, intercept)
    sample = _sampled(arrays, computed, targets, weights, most_sample, rng)
    return Training(problem, factor, sample, most_sample, False)


def _check_memory(memory, width, n_rows):
    """Hessians of fewer rows than this lead nowhere."""
    each = _LEAST_SAMPLE if width <= _MANY else 1  # of the most, no device holds more
    least = int(np.ceil(4 * width * min(each * width, n_rows) / _FOR_SAMPLE))
    if memory < least:
        raise ValueError(
            f"{memory} bytes of memory on the device are too few for {width} components, which take {least} at least: "
            "choose a larger memory_limit, or a smaller n_components."
        )


def _source(arrays, rows: Rows, memory, order):
    X = rows.X
    if X is None:
        return HostSource(arrays, rows.batches, rows.n_rows)
    if arrays.holds(X) and arrays.is_gpu:
        return DeviceSource(arrays, X, None if order is None else arrays.asarray(order))
    if not issparse(X) and X.shape[0] * X.shape[1] * _item_bytes(X) <= _FOR_X * memory:
        X = arrays.asarray(X if is_torch(X) or X.dtype != np.float64 else X.astype(np.float32))
        return DeviceSource(arrays, X, None if order is None else arrays.asarray(order))
    X = on_host(X)
    if order is None:
        return HostSource(arrays, lambda: iter((X,)), rows.n_rows, X)
    return HostSource(arrays, lambda: (X[order[i : i + 2**16]] for i in range(0, len(order), 2**16)), rows.n_rows)


def _item_bytes(X):
    return X.element_size() if is_torch(X) else min(X.dtype.itemsize, 4)


def _sampled(arrays, features, targets, weights, most_numbers, rng) -> Sample:
    """Features of some rows in random order."""
    n_sample = int(min(_SAMPLE_ROWS * features.width, most_numbers // features.width, features.n_rows))
    index = np.sort(rng.choice(features.n_rows, n_sample, replace=False))
    block = features.take(arrays.asarray(index))
    places = arrays.asarray(rng.permutation(n_sample))
    taken = arrays.take(arrays.asarray(index), places)
    return Sample(StoredRows(arrays, arrays.take(block, places)), targets[:, taken], weights[taken])


def coefficients(training: Training, unknowns: Any) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of raw features (n_outputs, width) and intercepts (n_outputs,), on the host."""
    arrays, factor = training.problem.arrays, training.factor
    return arrays.host(factor.raw(unknowns[:, :-1])), arrays.host(unknowns[:, -1])
