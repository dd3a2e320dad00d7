"""Rows as the objective takes them: float32, scaled with statistics of the training rows, labels -1 and 1."""

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from frugalsvm.datasets import DatasetUnavailableError, fetch

__all__ = ["problem", "problem_of", "without"]

SCALERS = {"standard": StandardScaler, "largest": MaxAbsScaler}


def problem(X, y, X_test, y_test, *, C, gamma, scaling=None):
    """What ``Dataset.get_data`` returns.

    Parameters
    ----------
    X, y, X_test, y_test : arrays or CSR matrices, and labels
        Of two classes; the larger label is the positive one.
    C, gamma : float
        What suits the scaled rows. C is the penalty of SVC: with n rows it is ``1 / (lambda n)``.
    scaling : {None, "standard", "largest"}
        Mean 0 and variance 1 for each feature (sparse rows are only divided); or the largest absolute value is 1.
    """
    if scaling is not None:
        options = {"with_mean": False} if scaling == "standard" and issparse(X) else {}
        scaler = SCALERS[scaling](**options).fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    positive = max(np.max(y), np.max(y_test))
    y, y_test = (np.where(labels == positive, 1, -1) for labels in (y, y_test))
    X, X_test = (_single(rows) for rows in (X, X_test))
    return {"X": X, "y": y, "X_test": X_test, "y_test": y_test, "suggested_C": C, "suggested_gamma": gamma}


def problem_of(name, positive=None, max_rows=None, **options):
    """The problem of a real data set that ``frugalsvm.datasets`` knows; where it cannot be had, it is skipped.

    Parameters
    ----------
    name : str
        One of `frugalsvm.datasets.list_datasets` with a standard split.
    positive : int, default=None
        The label of one class against the rest, for sets of several classes.
    max_rows : int, default=None
        Take so many training rows only, drawn at random once.
    options
        As in `problem`.
    """
    try:
        data = fetch(name)
    except DatasetUnavailableError as error:
        return without(str(error))
    X, y, y_test = data.X_train, data.y_train, data.y_test
    if max_rows is not None and max_rows < len(y):
        kept = np.random.default_rng(0).permutation(len(y))[:max_rows]
        X, y = X[kept], y[kept]
    if positive is not None:
        y, y_test = (labels == positive for labels in (y, y_test))
    return problem(X, y, data.X_test, y_test, **options)


def without(reason):
    """What ``Dataset.get_data`` returns where the data cannot be had: the objective skips it and says why."""
    return {"reason": reason}


def _single(X):
    return X.tocsr().astype(np.float32) if issparse(X) else np.ascontiguousarray(X, np.float32)
