"""The Twin Vector Machine, of frugalsvm."""

from benchmark_utils.bases import OnlineSolver
from benchmark_utils.models import of_estimator
from frugalsvm import TVMClassifier


class Solver(OnlineSolver):
    """An SVM with an intercept on twin vectors, exactly optimal on them.

    Its penalty is the same for every length of the stream, ``penalty * budget`` in all; C of the objective has no
    counterpart. Z. Wang, S. Vucetic (2009). Twin vector machines for online learning on a budget. SDM.
    """

    name = "TVM"
    parameters = {"budget": [100], "penalty": [100.0]}
    requirements = ["pip::frugalsvm"]

    def new_model(self):
        return TVMClassifier(budget=self.budget, C=self.penalty, gamma=self.gamma, random_state=self.seed)

    def learned(self):
        return of_estimator(self.model)
