"""What is measured: data and its scaling."""

from typing import NamedTuple

import numpy as np

from experiments.data import scaled, split
from frugalsvm.datasets import make_checkerboard

__all__ = ["Case", "Split", "scaled", "split_of"]


class Case(NamedTuple):
    name: str
    data: str
    scaling: str | None
    budget: int
    gamma: float
    alpha: float
    rows: int | None = None  # use so many training rows only
    svc_rows: int | None = None  # and so many for SVC, where all would take hours
    svc_c: float = 1.0
    positive: int | None = None  # one class against the rest


class Split(NamedTuple):
    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def split_of(case: Case) -> Split:
    """Training and test rows in float32, shuffled once, scaled with statistics of the training rows."""
    X, y, X_test, y_test = _raw_split(case.data, case.rows)
    if case.positive is not None:
        y, y_test = (np.where(labels == case.positive, 1, -1) for labels in (y, y_test))
    order = np.random.default_rng(0).permutation(len(X))[: case.rows]
    X, X_test = scaled(case.scaling, X[order], X_test)
    return Split(*(np.ascontiguousarray(a, t) for a, t in zip((X, y[order], X_test, y_test), "fqfq", strict=True)))


def _raw_split(data, rows):
    """Unscaled training and test rows by the name of the data."""
    if data == "checkerboard":
        return *make_checkerboard(rows or 1_000_000, random_state=0), *make_checkerboard(50_000, random_state=1)
    return split(data)
