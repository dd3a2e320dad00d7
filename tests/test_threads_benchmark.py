"""``python -m benchmarks.threads_safety`` finds what it looks for, and looks at every public estimator."""

import time

import numpy as np
from sklearn.base import BaseEstimator

from benchmarks.threads_safety import differences_in_predictions, models
from frugalsvm._homes import AUTOMATIC, CONFORMAL, ESTIMATORS, SEARCHES


class SharedRow(BaseEstimator):
    """A model whose threads share a work array."""

    def __init__(self):
        self.row = np.zeros(4)

    def predict_one_row(self, x):
        self.row[:] = x
        time.sleep(1e-4)  # another thread takes its turn
        return self.row.sum()


def test_a_shared_work_array_is_found():
    assert differences_in_predictions(SharedRow(), 50)["predict_one_row"] > 0


def test_every_public_estimator_is_looked_at():
    public = {*ESTIMATORS, *AUTOMATIC, *CONFORMAL, *SEARCHES} - {"DelayBuffer"}
    assert public <= set(models())
