"""Rows for the benchmark of leave-one-out errors: random splits of all rows, whatever split a source has."""

from typing import NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.defaults_cases import tables_folder
from frugalsvm.datasets import fetch

__all__ = ["CLASSES", "NUMBERS", "Split", "split_of"]

CLASSES = (
    "letter", "satimage", "phoneme", "elec2", "ijcnn1", "banana", "shuttle", "pendigits", "a9a", "dna", "usps", "mnist",
    "covtype", "ad_mammography", "ad_satellite", "ad_shuttle",
)  # fmt: skip
_TARGETS = {"housing": "median_house_value", "diamonds": "price"}  # of raw tables
NUMBERS = ("elevators", "kin40k", "pol", "protein", *_TARGETS)
_TEST_SHARE, _CLIP = 0.2, 6.0


class Split(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def split_of(name: str, seed: int, most_rows: int) -> Split:
    """Four fifths to learn and one to test, of at most so many random rows; columns are standardized by the former."""
    X, y = _raw_table(name) if name in _TARGETS else _data_set(name)
    some = np.random.default_rng(seed).permutation(len(y))[:most_rows]
    X, X_test, y, y_test = train_test_split(X[some], y[some], test_size=_TEST_SHARE, random_state=seed)
    mean, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    spread[spread == 0] = 1.0
    X, X_test = (((part - mean) / spread).clip(-_CLIP, _CLIP).astype(np.float32) for part in (X, X_test))
    return Split(X, y, X_test, y_test)


def _data_set(name):
    data = fetch(name)
    parts = [part for part in ("train", "test") if f"X_{part}" in data]
    return tuple(np.concatenate([data[f"{letter}_{part}"] for part in parts]) for letter in "Xy")


def _raw_table(name):
    """Numbers, with medians where they are missing, and a column for each text."""
    import pandas as pd

    frame = pd.read_csv(tables_folder() / f"{name}.csv.gz")
    y = frame.pop(_TARGETS[name]).to_numpy(np.float64)
    frame = pd.get_dummies(frame).astype(np.float64)
    return frame.fillna(frame.median()).to_numpy(), y
