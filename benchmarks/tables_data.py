"""Tables of the benchmark: the same training and test rows for every method, and how their columns are prepared."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.large_rows import NOISE, rows_of, with_noise
from benchmarks.mixed_rows import mixed_rows
from frugalsvm.datasets import fetch
from frugalsvm.pipelines import StreamingScaler

__all__ = [
    "HARD_ERROR",
    "MADE",
    "TABLES",
    "Split",
    "balanced_sample",
    "parts_of",
    "prepared",
    "rows_at",
    "scaled",
    "split_of",
]


class Table(NamedTuple):
    """A task: a data set of `frugalsvm.datasets`, perhaps one class of it against the rest, or rows that are made."""

    data: str = ""
    is_regression: bool = False
    positive: int | None = None
    has_one_unit: bool = False  # columns are pixels or indicators, and comparable as they are
    make: Callable[[int, int], tuple[Any, np.ndarray]] | None = None  # of a number of rows and a seed
    n_rows: int = 0  # that are made


def hard_rows(n_rows, seed):
    """Twenty columns, of which four matter; a sharp border, and some labels that are wrong."""
    X, y = rows_of(n_rows, seed)
    return X, with_noise(y, seed + 1)


HARD_ERROR = 100 * NOISE  # percent: nothing errs less often on the labels of hard rows
_MANY_UNITS = ("letter", "satimage", "phoneme", "elec2", "ijcnn1", "banana", "shuttle", "pendigits")
TABLES = {
    **{name: Table(name) for name in _MANY_UNITS},
    **{name: Table(name, has_one_unit=True) for name in ("a9a", "dna", "usps", "mnist")},
    **{name: Table(name, is_regression=True) for name in ("elevators", "kin40k", "pol", "protein")},
    "covtype-1": Table("covtype", positive=1),
    "covtype": Table("covtype"),
}
MADE = {
    "flights-300k": Table(make=mixed_rows, n_rows=300_000),
    "hard-100k": Table(make=hard_rows, n_rows=100_000),
    "hard-1M": Table(make=hard_rows, n_rows=1_000_000),
    "hard-10M": Table(make=hard_rows, n_rows=10_000_000),
}
TEST_SHARE = 0.2  # of the sets that come without a split
MOST_MADE_TEST_ROWS = 100_000
CLIP = 6.0  # in scales: 3 is worse on training rows of letter and ijcnn1


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
    table = {**TABLES, **MADE}[name]
    X, y, X_test, y_test, is_canonical = _made(table, seed, rows) if table.make else _found(table, seed, rows)
    if validate:
        train, held = parts_of(y, TEST_SHARE, table.is_regression, seed)
        X, y, X_test, y_test = rows_at(X, train), y[train], rows_at(X, held), y[held]
    return Split(X, y, X_test, y_test, is_canonical, table.has_one_unit)


def _made(table, seed, rows):
    """Rows that were never in an order; no more are made than needed."""
    n_rows = min(table.n_rows, rows or table.n_rows)
    n_test = min(int(n_rows * TEST_SHARE / (1 - TEST_SHARE)), MOST_MADE_TEST_ROWS)
    return *table.make(n_rows, 10 * seed), *table.make(n_test, 10 * seed + 5), False


def _found(table, seed, rows):
    X, y, X_test, y_test, is_canonical = _parts(table, seed)
    y, y_test = _targets(table, y, y_test)
    order = balanced_sample(y, rows or len(y), table.is_regression, np.random.default_rng([seed, 0]))
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


def rows_at(X, index):
    """Some rows of an array or of a data frame."""
    return X.iloc[index] if hasattr(X, "iloc") else X[index]


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


def prepared(columns, has_one_unit, X, y, X_other):
    """Rows as a method wants them, by what the first ones say: "as they are", as "numbers", or "scaled" numbers."""
    if columns == "as they are":
        return X, X_other
    if hasattr(X, "iloc"):
        from benchmarks.tables_frames import numbers_of

        X, X_other = numbers_of(X, y, X_other, with_categories=columns == "numbers")
    return (X, X_other) if columns == "numbers" else scaled(has_one_unit, X, X_other)


def scaled(has_one_unit, X, *others):
    """Columns with a robust center and spread, clipped; those of one unit stay in proportion, from 0 to 1."""
    if has_one_unit:
        low, high = X.min(), X.max()
        return tuple((part - low) / (high - low) for part in (X, *others))
    scaler = StreamingScaler(clip=CLIP).fit(X)
    return tuple(scaler.transform(part) for part in (X, *others))
