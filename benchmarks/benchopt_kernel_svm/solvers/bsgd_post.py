"""Budgeted stochastic gradient descent with a last pass that averages coefficients, of frugalsvm."""

from benchmark_utils.bases import ByPasses
from benchmark_utils.models import of_estimator
from frugalsvm import BSGDClassifier


class Solver(ByPasses):
    """BSGD, then one more pass in which the support vectors stay and their coefficients are learned and averaged.

    The additional pass is in the time, not in the number of passes.
    """

    name = "BSGD-post"
    parameters = {"budget": [100, 500]}
    requirements = ["pip::frugalsvm"]

    def new_model(self, n_passes):
        return BSGDClassifier(
            budget=self.budget,
            alpha=self.alpha,
            gamma=self.gamma,
            average="post",
            max_iter=n_passes,
            random_state=self.seed,
        )

    def learned(self):
        return of_estimator(self.model)
