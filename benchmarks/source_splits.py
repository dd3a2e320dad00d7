"""Data sets with training and test rows as their source splits them, for benchmarks of single learners.

Learners are compared on other splits, by ``benchmarks.comparison``.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.comparison.splits import parts_of, rows_at, sample_of
from frugalsvm.datasets import fetch

__all__ = ["TABLES", "Split", "split_of"]


class Table(NamedTuple):
    """A task: a data set of `frugalsvm.datasets`, perhaps one class of it against the rest."""

    data: str
    is_regression: bool = False
    positive: int | None = None
    has_one_unit: bool = False  # columns are pixels or indicators, and comparable as they are


_MANY_UNITS = ("letter", "satimage", "phoneme", "elec2", "ijcnn1", "banana", "shuttle", "pendigits")
TABLES = {
    **{name: Table(name) for name in _MANY_UNITS},
    **{name: Table(name, has_one_unit=True) for name in ("a9a", "dna", "usps", "mnist")},
    **{name: Table(name, is_regression=True) for name in ("elevators", "kin40k", "pol", "protein")},
    "covtype-1": Table("covtype", positive=1),
    "covtype": Table("covtype"),
}
TEST_SHARE = 0.2  # of the sets that come without a split


class Split(NamedTuple):
    """Training and test rows; classes are numbered from 0, a target of regression is standardized."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    is_canonical: bool
    has_one_unit: bool


def split_of(name, seed, *, rows=None, validate=False):
    """The rows of a task: the split of its source, else one for each seed.

    Training rows are in a random order. ``rows`` limits those for training and those for testing, to try things out.
    With ``validate``, some of the training rows take the place of test rows, which are not looked at.
    """
    table = TABLES[name]
    X, y, X_test, y_test, is_canonical = _found(table, seed, rows)
    if validate:
        train, judged = parts_of(y, TEST_SHARE, table.is_regression, seed)
        X, y, X_test, y_test = rows_at(X, train), y[train], rows_at(X, judged), y[judged]
    return Split(X, y, X_test, y_test, is_canonical, table.has_one_unit)


def _found(table, seed, rows):
    X, y, X_test, y_test, is_canonical = _parts(table, seed)
    y, y_test = _targets(table, y, y_test)
    order = sample_of(y, rows or len(y), table.is_regression, np.random.default_rng([seed, 0]))
    return X[order], y[order], X_test[:rows], y_test[:rows], is_canonical


def _parts(table, seed):
    data = fetch(table.data)
    if "X_test" in data:
        return data.X_train, data.y_train, data.X_test, data.y_test, True
    X, X_test, y, y_test = train_test_split(
        data.X_train, data.y_train, test_size=TEST_SHARE, stratify=data.y_train, random_state=seed
    )
    return X, y, X_test, y_test, False


def _targets(table, y, y_test):
    if table.is_regression:
        return (y - y.mean()) / y.std(), (y_test - y.mean()) / y.std()
    if table.positive is not None:
        return (y == table.positive).astype(int), (y_test == table.positive).astype(int)
    classes = np.unique(y)
    return np.searchsorted(classes, y), np.searchsorted(classes, y_test)
