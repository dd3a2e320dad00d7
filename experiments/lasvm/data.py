"""Training and test rows of the LASVM-NC paper, which are also those of the tracking paper."""

import numpy as np
from scipy.sparse import csr_array
from sklearn.model_selection import train_test_split

from experiments.data import load

__all__ = ["TITLES", "sparse_if_worth_it", "split_of"]

TITLES = {  # as the paper calls them, in its order
    "a9a": "Adult",
    "mnist-8": "Mnist(8)",
    "banana": "Banana",
    "reuters": "Reuters",
    "usps-0": "USPS",
    "usps-0-noisy": "USPS-N",
}
NOISE = 0.1  # part of the training labels that are turned for USPS-N


def split_of(name: str, seed: int, rows: int | None = None, test_rows: int | None = None):
    """Training and test rows in float32, and labels -1 and +1: ``X, y, X_test, y_test``.

    Parameters
    ----------
    name : {"a9a", "mnist-8", "banana", "reuters", "usps-0", "usps-0-noisy"}
    seed : int
        Of the split of Banana, of the noise of USPS-N, and of which training rows are left out.
    rows, test_rows : int, default=None
        Random training rows, and first test rows, that are kept; None is all.
    """
    if name not in TITLES:
        raise ValueError(f"There is no data set {name!r} in this paper; there are {', '.join(TITLES)}.")
    X, y, X_test, y_test = _whole(name, seed)
    if rows is not None and rows < len(y):
        keep = np.random.default_rng(seed).permutation(len(y))[:rows]
        X, y = X[keep], y[keep]
    y, y_test = (np.where(np.asarray(labels) > 0, 1, -1) for labels in (y, y_test))
    return X.astype(np.float32), y, X_test[:test_rows].astype(np.float32), y_test[:test_rows]


def sparse_if_worth_it(X, limit: float = 0.25):
    """Sparse rows if fewer than a part of the values are not zero.

    With the limit given, that is what learners do by themselves if they get many rows at once.
    """
    return csr_array(X) if X.shape[1] > 16 and np.mean(X != 0) < limit else X


def _whole(name, seed):
    if name == "banana":
        X, X_test, y, y_test = train_test_split(*load("banana"), train_size=4000, test_size=1300, random_state=seed)
        return X, y, X_test, y_test
    stored = {"reuters": "reuters_money_fx", "mnist-8": "mnist"}.get(name, name.partition("-")[0])
    (X, y), (X_test, y_test) = load(stored, "train"), load(stored, "test")
    if name == "mnist-8":
        X, X_test, y, y_test = X / np.float32(255), X_test / np.float32(255), y == 8, y_test == 8
    elif stored == "usps":
        # With pixels in [-1, 1] the paper's width would make all digits strangers; divided by 16 it gives its accuracy.
        X, X_test, y, y_test = X / np.float32(16), X_test / np.float32(16), y == 0, y_test == 0
        if name == "usps-0-noisy":
            y = y ^ (np.random.default_rng(seed).random(len(y)) < NOISE)
    return X, y, X_test, y_test
