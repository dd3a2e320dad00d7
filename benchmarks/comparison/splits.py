"""Five outer splits of every table: each row is a test row once, and is not looked at before."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from benchmarks.comparison.sources import rows_of
from benchmarks.comparison.tables import TABLES

__all__ = ["N_SPLITS", "UNKNOWN", "Split", "parts_of", "rows_at", "sample_of", "split_of"]

N_SPLITS = 5
UNKNOWN = -1  # a class that no training row has
SEED = 0


class Split(NamedTuple):
    """Training rows in a random order, and test rows. Classes are numbered from 0; numbers are standardized."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    is_regression: bool
    has_one_unit: bool


def split_of(name, place, *, validate=False, seed=None):
    """One of the five splits; with ``validate``, a fifth of its training rows are judged in place of test rows.

    Which fifth depends on a seed: that of a split is its number.
    """
    X, y = rows_of(name)
    is_regression = TABLES[name].is_regression
    folds = (KFold if is_regression else StratifiedKFold)(N_SPLITS, shuffle=True, random_state=SEED)
    train, test = list(folds.split(np.zeros(len(y)), y))[place]
    train = np.random.default_rng([SEED, place]).permutation(train)
    if validate:
        learned, judged = parts_of(y[train], 1 / N_SPLITS, is_regression, place if seed is None else seed)
        train, test = train[learned], train[judged]
    targets = (_standardized if is_regression else _numbered)(y[train], y[test])
    return Split(rows_at(X, train), targets[0], rows_at(X, test), targets[1], is_regression, TABLES[name].has_one_unit)


def _standardized(y, y_test):
    return (y - y.mean()) / y.std(), (y_test - y.mean()) / y.std()


def _numbered(y, y_test):
    classes = np.unique(y)
    places = np.searchsorted(classes, y_test).clip(max=len(classes) - 1)
    return np.searchsorted(classes, y), np.where(classes[places] == y_test, places, UNKNOWN)


def rows_at(X, index):
    """Some rows of an array or of a data frame, which are numbered from 0."""
    return X.iloc[index].reset_index(drop=True) if hasattr(X, "iloc") else X[index]


def parts_of(y, share, is_regression, seed):
    """Indices of rows to learn from, and of a share of all rows to judge by."""
    stratify = None if is_regression or np.bincount(y).min() < 2 else y
    return train_test_split(np.arange(len(y)), test_size=share, stratify=stratify, random_state=seed)


def sample_of(y, n_rows, is_regression, rng):
    """Indices of ``n_rows`` random rows, or a few more: classes keep ten rows each, if they have them."""
    order = rng.permutation(len(y))
    if is_regression or n_rows >= len(y):
        return order[:n_rows]
    sorted_order = order[np.argsort(y[order], kind="stable")]
    place_in_class = np.concatenate([np.arange(count) for count in np.bincount(y) if count])
    rare = sorted_order[place_in_class < 10]
    return rng.permutation(np.union1d(order[:n_rows], rare))
