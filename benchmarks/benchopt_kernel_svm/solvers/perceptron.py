"""Budgeted perceptrons, of frugalsvm."""

from benchmark_utils.bases import OnlineSolver
from benchmark_utils.models import of_estimator
from frugalsvm import BudgetedPerceptron


class Solver(OnlineSolver):
    """Margin perceptrons on a budget; no penalty, so C of the objective has no counterpart. See the BSGD paper, 2.4."""

    name = "perceptron"
    parameters = {"strategy": ["forgetron", "projectron++"], "budget": [500]}
    requirements = ["pip::frugalsvm"]

    def new_model(self):
        return BudgetedPerceptron(self.strategy, budget=self.budget, margin=1, gamma=self.gamma, random_state=self.seed)

    def learned(self):
        return of_estimator(self.model)
