"""Rows for the benchmark of regression: standardized, clipped, and cut into training and test rows."""

from typing import NamedTuple

import numpy as np

from frugalsvm.datasets import load

__all__ = ["NAMES", "Split", "split_of"]

NAMES = ("elevators", "kin40k", "pol", "protein")
_TEST_SHARE, _CLIP = 0.25, 6.0


class Split(NamedTuple):
    X: np.ndarray
    y: np.ndarray  # standardized
    X_test: np.ndarray
    y_test: np.ndarray

    def held_out(self, n_rows: int | None = None) -> "Split":
        """Training rows only, a fifth of which take the place of the test rows: to choose parameters on."""
        X, y = self.X[:n_rows], self.y[:n_rows]
        n_judges = len(X) // 5
        return Split(X[n_judges:], y[n_judges:], X[:n_judges], y[:n_judges])


def split_of(name: str, seed: int = 0) -> Split:
    """A random quarter of the rows are for the test; features and target are standardized by the others."""
    X, y = load(name)
    order = np.random.default_rng(seed).permutation(len(X))
    X, y = np.asarray(X, np.float64)[order], np.asarray(y, np.float64)[order]
    n_test = int(_TEST_SHARE * len(X))
    spread = X[n_test:].std(axis=0)
    X = (X - X[n_test:].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    X = X.clip(-_CLIP, _CLIP).astype(np.float32)
    y = (y - y[n_test:].mean()) / y[n_test:].std()
    return Split(X[n_test:], y[n_test:], X[:n_test], y[:n_test])
