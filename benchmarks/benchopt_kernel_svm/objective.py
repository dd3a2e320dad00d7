"""The kernel SVM: hinge loss, L2 penalty in the space of an RBF kernel, two classes."""

import numpy as np
from benchopt import BaseObjective

from benchmark_utils.evaluation import decision_values, hinge, model_bytes, squared_norm

SUGGESTED = "suggested"
MAX_TRAINING_ROWS, MAX_TEST_ROWS = 10_000, 20_000  # that are evaluated, drawn once; training uses all rows


class Objective(BaseObjective):
    """Minimise ``0.5 ||f||^2 + C sum_i hinge(y_i (f(x_i) + b))`` over f in the space of the RBF kernel, and over b.

    ``value`` is this divided by ``C n``: ``lambda / 2 ||f||^2 + mean hinge`` with ``lambda = 1 / (C n)``, which is 1
    for f = 0 whatever the data. ``primal`` is the sum itself. Both are infinite for models that are not in that
    space (random Fourier features); errors are shares of rows with the wrong sign.
    """

    name = "Kernel SVM"
    requirements = ["numpy", "scipy"]
    min_benchopt_version = "1.10"

    # "suggested" is what the data set suggests; or numbers, such as -o "Kernel SVM[C=[1,10],gamma=0.5]".
    parameters = {"C": [SUGGESTED], "gamma": [SUGGESTED]}
    test_dataset_name = "simulated"

    def skip(self, X=None, y=None, reason=None, **others):
        if X is None:
            return True, reason
        if not np.array_equal(np.unique(y), [-1, 1]):
            return True, "labels must be -1 and 1: this benchmark has two classes"
        return False, None

    def set_data(self, X, y, X_test, y_test, suggested_C, suggested_gamma):
        self.X, self.y = X, y
        self.C_ = suggested_C if self.C == SUGGESTED else float(self.C)
        self.gamma_ = suggested_gamma if self.gamma == SUGGESTED else float(self.gamma)
        rng = np.random.default_rng(0)
        self.sample = _sample(rng, X, y, MAX_TRAINING_ROWS)
        self.test = _sample(rng, X_test, y_test, MAX_TEST_ROWS)

    def get_objective(self):
        return {"X": self.X, "y": self.y, "C": self.C_, "gamma": self.gamma_}

    def evaluate_result(self, vectors, coefficients, intercept=0.0, offsets=None):
        model = {"vectors": vectors, "coefficients": coefficients, "offsets": offsets}
        (rows, y), (test_rows, y_test) = self.sample, self.test
        values = decision_values(rows, self.gamma_, intercept=intercept, **model)
        test_values = decision_values(test_rows, self.gamma_, intercept=intercept, **model)
        total = self.C_ * len(self.y)
        value = 0.5 * squared_norm(self.gamma_, **model) / total + hinge(y, values).mean()
        return {
            "value": float(value),
            "primal": float(total * value),
            "test_error": _error(y_test, test_values),
            "train_error": _error(y, values),
            "n_vectors": len(coefficients),
            "model_bytes": model_bytes(**model),
        }

    def get_one_result(self):
        """The model that has learned nothing."""
        return {"vectors": self.X[:0], "coefficients": np.zeros(0), "intercept": 0.0}


def _sample(rng, X, y, n_rows):
    if n_rows >= len(y):
        return X, y
    chosen = np.sort(rng.choice(len(y), n_rows, replace=False))
    return X[chosen], y[chosen]


def _error(y, values):
    return float(np.mean(np.where(values >= 0, 1, -1) != y))
