"""The exact incremental SVM, of frugalsvm."""

from benchmark_utils.bases import OnlineSolver
from benchmark_utils.models import of_estimator
from frugalsvm import IncrementalSVC


class Solver(OnlineSolver):
    """The optimum of the examples so far, after every example: one pass is all there is to do."""

    name = "incremental"
    parameters = {}
    requirements = ["pip::frugalsvm"]
    max_rows = 10_000
    max_passes = 1

    def new_model(self):
        return IncrementalSVC(C=self.C, gamma=self.gamma, cache_size=500)

    def learned(self):
        return of_estimator(self.model)
