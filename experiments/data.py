"""Training and test rows by the names that protocols use."""

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from frugalsvm import datasets
from frugalsvm.datasets import DatasetUnavailableError, make_checkerboard, make_two_gaussians, make_waveform

__all__ = ["UNAVAILABLE", "load", "scaled", "split"]

# Data of the papers that nobody can get from us: shown in the report as such.
UNAVAILABLE = {
    "phoneme-48": "48-class phoneme data of the BSGD paper is not public; the public two-class set is another problem",
    "ccat": "RCV1-CCAT is distributed under an agreement with Reuters and is not among our data",
}
SCALERS = {"standard": StandardScaler, "range": MinMaxScaler}
ROUND_DIGITS = (0, 3, 6, 8, 9)  # "round" digits of the TVM paper


_missing: dict[str, DatasetUnavailableError] = {}  # nothing is asked for twice


def load(name: str, *split: str):
    """Rows and labels of a data set of `frugalsvm.datasets`."""
    if name not in _missing:
        try:
            return datasets.load(name, *split)
        except DatasetUnavailableError as error:
            _missing[name] = error
    raise _missing[name]


def split(name: str, seed: int = 0, rows: int | None = None):
    """Training and test rows in float32, unscaled: ``X, y, X_test, y_test``.

    Parameters
    ----------
    name : str
        A data set of `frugalsvm.datasets`, ``checkerboard``, ``noisy-checkerboard``, ``gauss``, ``waveform``, or a
        two-class form of one: ``covtype-2`` (class 2 against the rest), ``usps-round``, ``pendigits-round``,
        ``letter-half``, ``shuttle-1``, ``waveform-1``.
    seed : int, default=0
        Of generated rows and of random splits; sets with a canonical split have the same for every seed.
    rows : int, default=None
        How many training rows; generated sets have as many as that (a hundred thousand otherwise), others are
        shortened after a shuffle.
    """
    base, _, form = name.partition("-") if name not in ("noisy-checkerboard",) else (name, "", "")
    if base in _GENERATED:
        X, y, X_test, y_test = _generated(base, seed, rows or 100_000)
    else:
        X, y, X_test, y_test = _stored(base, seed)
        if rows is not None and rows < len(y):
            keep = np.random.default_rng(seed).permutation(len(y))[:rows]
            X, y = X[keep], y[keep]
    if form:
        y, y_test = (_FORMS[form](labels) for labels in (y, y_test))
    return _float32(X), np.asarray(y), _float32(X_test), np.asarray(y_test)


def scaled(scaling: str | None, X, *others):
    """Rows scaled with the statistics of the first argument: ``standard``, ``range``, ``pixels`` or None."""
    if scaling is None:
        return X, *others
    if scaling == "pixels":
        return tuple(rows / np.float32(255) for rows in (X, *others))
    scaler = SCALERS[scaling]().fit(X)
    return tuple(scaler.transform(rows).astype(np.float32) for rows in (X, *others))


_GENERATED = ("checkerboard", "noisy-checkerboard", "gauss", "waveform")
_FORMS = {
    "round": lambda y: np.where(np.isin(y, ROUND_DIGITS), 1, -1),
    "half": lambda y: np.where(y > 13, 1, -1),
    "1": lambda y: np.where(y == np.min(y), -1, 1),
    "2": lambda y: np.where(y == 2, 1, -1),
}
# Test rows of sets that have no split of their own, drawn again for each repetition.
_HELD_OUT = {"banana": 1_000, "covtype": 10_000, "phoneme": 1_000}


def _generated(name, seed, rows):
    test_seed, n_test = 1_000_000 + seed, 20_000
    if name == "gauss":
        return *make_two_gaussians(rows, random_state=seed), *make_two_gaussians(n_test, random_state=test_seed)
    if name == "waveform":
        return *make_waveform(rows, random_state=seed), *make_waveform(n_test, random_state=test_seed)
    noise = 0.15 if name == "noisy-checkerboard" else 0.0  # the test rows have none
    train = make_checkerboard(rows, noise=noise, random_state=seed)
    return *train, *make_checkerboard(n_test, random_state=test_seed)


def _stored(name, seed):
    if name not in _HELD_OUT:
        return *load(name, "train"), *load(name, "test")
    X, X_test, y, y_test = train_test_split(*load(name), test_size=_HELD_OUT[name], random_state=seed)
    return X, y, X_test, y_test


def _float32(X):
    return X.astype(np.float32, copy=False)
