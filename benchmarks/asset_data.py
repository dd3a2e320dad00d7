"""Data of the ASSET experiments: pooled sets, split at random to the sizes of the paper's Table 1."""

from typing import NamedTuple

import numpy as np

from frugalsvm.datasets import load, make_checkerboard

__all__ = ["CASES", "Case", "split_of"]


class Case(NamedTuple):
    n_train: int
    n_test: int
    C: float
    gamma: float
    printed: dict  # test error of the paper's ASSET by the number of landmarks


# C is the paper's 1 / (lambda m), gamma its 1 / (2 sigma^2).
CASES = {
    "a9a": Case(32_561, 8_141, 1000.0, 0.001, {512: 15.06, 1024: 15.10}),
    "mnist": Case(58_100, 5_950, 100.0, 0.01, {512: 4.03, 1024: 2.66}),
    "ijcnn1": Case(113_352, 14_169, 100.0, 1.0, {512: 1.08, 1024: 0.79}),
    "covtype": Case(464_809, 58_101, 3.0, 1.0, {512: 18.19, 1024: 16.47}),
    "checkerboard": Case(200_000, 50_000, 100.0, 8.0, {}),
}


def split_of(name, seed):
    """Training and test rows in float32 with labels -1 and +1."""
    case = CASES[name]
    if name == "checkerboard":
        return *make_checkerboard(case.n_train, random_state=seed), *make_checkerboard(case.n_test, random_state=99)
    X, y = _pooled(name)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: case.n_train], order[-case.n_test :]
    return X[train], y[train], X[test], y[test]


def _pooled(name):
    if name == "covtype":
        X, y = load(name)
        X = X.astype(np.float32)
        low, high = X.min(axis=0), X.max(axis=0)
        return (X - low) / (high - low), np.where(y == 1, 1, -1)
    parts = [load(name, split) for split in ("train", "test")]
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    if name == "mnist":
        return X.astype(np.float32) / np.float32(255), np.where(y < 5, -1, 1)
    return X.astype(np.float32), y.astype(np.int64)
