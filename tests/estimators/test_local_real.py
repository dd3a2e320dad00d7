"""Machines in cells on real tables: accuracy, and leave-one-out errors that are those on new rows."""

import numpy as np
import pytest
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from frugalsvm import LocalSVC, LocalSVR
from frugalsvm.datasets import fetch


def divided(name):
    """All rows of a table, divided at random; columns are standardized."""
    data = fetch(name)
    X, y = data.X_train, data.y_train
    if "X_test" in data:
        X, y = np.concatenate([X, data.X_test]), np.concatenate([y, data.y_test])
    X, X_test, y, y_test = train_test_split(X.astype(np.float32), y, test_size=0.25, random_state=0)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), scaler.transform(X_test), y, y_test


@pytest.mark.parametrize(("name", "most"), [("satimage", 0.085), ("phoneme", 0.105)])
def test_classes(real_data, name, most):
    X, X_test, y, y_test = divided(name)
    model = LocalSVC(cell_size=1024, random_state=0).fit(X, y)
    error = np.mean(model.predict(X_test) != y_test)
    assert error < most
    assert abs(error - model.loo_error_) < 3 * np.sqrt(error * (1 - error) / len(y_test))


def test_numbers_and_intervals(real_data):
    X, X_test, y, y_test = divided("elevators")
    model = LocalSVR(cell_size=1024, random_state=0).fit(X, y)
    errors = model.predict(X_test) - y_test
    assert np.sqrt(np.mean(np.square(errors))) < 0.42 * y_test.std()
    assert abs(np.sqrt(np.mean(np.square(errors))) / model.loo_error_ - 1) < 0.1
    low, high = model.predict_interval(X_test, coverage=0.9).T
    assert 0.88 < np.mean((low <= y_test) & (y_test <= high)) < 0.93
