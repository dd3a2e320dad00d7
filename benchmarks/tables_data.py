"""Tables of the benchmark: the same training and test rows for every method, and how their columns are prepared."""

from typing import NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from frugalsvm.datasets import fetch
from frugalsvm.pipelines import StreamingScaler

__all__ = ["TABLES", "Split", "balanced_sample", "parts_of", "prepared", "split_of"]


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
CLIP = 6.0  # in scales: 3 is worse on training rows of letter and ijcnn1


class Split(NamedTuple):
    """Training and test rows; classes are numbered from 0, a target of regression is standardized."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    is_canonical: bool
    n_true_columns: int
    has_one_unit: bool


def split_of(name, seed, *, noise=0, rows=None):
    """The rows of a task: the split of its source, else one for each seed; ``noise`` columns of noise after the others.

    Training rows are in a random order. ``rows`` limits those for training and those for testing, to try things out.
    """
    table = TABLES[name]
    rng = np.random.default_rng([seed, noise])
    X, y, X_test, y_test, is_canonical = _parts(table, seed)
    y, y_test = _targets(table, y, y_test)
    order = balanced_sample(y, rows or len(y), table.is_regression, rng)
    X, y, X_test, y_test = X[order], y[order], X_test[:rows], y_test[:rows]
    n_true_columns = X.shape[1]
    if noise:
        X, X_test = (np.hstack([part, _noise(rng, len(part), noise)]) for part in (X, X_test))
    return Split(X, y, X_test, y_test, is_canonical, n_true_columns, table.has_one_unit and not noise)


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


def _noise(rng, n_rows, n_columns):
    return rng.standard_normal((n_rows, n_columns), dtype=np.float32)


def balanced_sample(y, n_rows, is_regression, rng):
    """Indices of ``n_rows`` random rows, or a few more: classes keep ten rows each, if they have them."""
    order = rng.permutation(len(y))
    if is_regression or n_rows >= len(y):
        return order[:n_rows]
    sorted_order = order[np.argsort(y[order], kind="stable")]
    place_in_class = np.concatenate([np.arange(count) for count in np.bincount(y) if count])
    rare = sorted_order[place_in_class < 10]
    return rng.permutation(np.union1d(order[:n_rows], rare))


def parts_of(y, share, is_regression, seed):
    """Indices of rows to learn from and of ``share`` of all rows to judge by."""
    stratify = None if is_regression or np.bincount(y).min() < 2 else y
    return train_test_split(np.arange(len(y)), test_size=share, stratify=stratify, random_state=seed)


def prepared(columns, has_one_unit, X, *others):
    """Rows as a method wants them, "raw" or "scaled", by what the first ones say of the columns.

    Scaled columns have a robust center and spread and are clipped; those of one unit stay in proportion, from 0 to 1.
    """
    if columns == "raw":
        return X, *others
    if has_one_unit:
        low, high = X.min(), X.max()
        return tuple((part - low) / (high - low) for part in (X, *others))
    scaler = StreamingScaler(clip=CLIP).fit(X)
    return tuple(scaler.transform(part) for part in (X, *others))
