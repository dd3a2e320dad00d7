"""Budgeted passive-aggressive learning, of frugalsvm."""

from benchmark_utils.bases import OnlineSolver
from benchmark_utils.models import of_estimator
from frugalsvm import BPAClassifier


class Solver(OnlineSolver):
    """The least change that mends a margin, on a budget; no penalty, so C of the objective has no counterpart.

    Z. Wang, S. Vucetic (2010). Online passive-aggressive algorithms on a budget. AISTATS.
    """

    name = "BPA"
    parameters = {"variant": ["nn"], "budget": [500], "step": [0.1]}
    requirements = ["pip::frugalsvm"]

    def new_model(self):
        return BPAClassifier(self.variant, budget=self.budget, C=self.step, gamma=self.gamma, random_state=self.seed)

    def learned(self):
        return of_estimator(self.model)
