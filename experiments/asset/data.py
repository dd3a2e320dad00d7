"""Data of the ASSET paper: pooled sets, split at random to the sizes of its Table 1."""

from functools import cache
from typing import NamedTuple

import numpy as np

from experiments.data import load
from experiments.protocol import protocol_of

__all__ = ["Case", "cases", "digit_groups", "split_of"]


class Case(NamedTuple):
    """A line of Table 1: C is the paper's 1 / (lambda m), gamma its 1 / (2 sigma^2)."""

    data: str
    n_train: int
    n_test: int
    C: float
    gamma: float


@cache
def cases() -> dict[str, Case]:
    """By the names of the paper, in its order; one of them cannot be had (`experiments.data.UNAVAILABLE`)."""
    return {name: Case(**values) for name, values in protocol_of("asset")["cases"].items()}


def split_of(case: Case, seed: int, rows: int | None = None):
    """Training and test rows in float32 with labels -1 and +1; ``rows`` of the training rows only."""
    X, y = _pooled(case.data)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: case.n_train][:rows], order[-case.n_test :]
    return X[train], y[train], X[test], y[test]


def digit_groups(digits):
    """0-4 against 5-9."""
    return np.where(digits < 5, -1, 1)


def _pooled(name):
    if name == "covtype":
        X, y = load(name)
        X = X.astype(np.float32)
        low, high = X.min(axis=0), X.max(axis=0)
        return (X - low) / (high - low), np.where(y == 1, 1, -1)
    parts = [load(name, split) for split in ("train", "test")]
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    if name == "mnist":
        return X.astype(np.float32) / np.float32(255), digit_groups(y)
    return X.astype(np.float32), y.astype(np.int64)
