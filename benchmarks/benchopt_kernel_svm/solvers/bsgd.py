"""Budgeted stochastic gradient descent, of frugalsvm."""

from benchmark_utils.bases import OnlineSolver
from benchmark_utils.models import of_estimator
from frugalsvm import BSGDClassifier


class Solver(OnlineSolver):
    """Pegasos steps with at most ``budget`` support vectors; no intercept.

    Z. Wang, K. Crammer, S. Vucetic (2012). Breaking the curse of kernelization. JMLR 13.
    """

    name = "BSGD"
    parameters = {"maintenance": ["merge", "project", "remove"], "budget": [100, 500]}
    requirements = ["pip::frugalsvm"]

    def new_model(self):
        return BSGDClassifier(
            maintenance=self.maintenance, budget=self.budget, alpha=self.alpha, gamma=self.gamma, random_state=self.seed
        )

    def learned(self):
        return of_estimator(self.model)
