"""Approximate incremental SVM, of frugalsvm."""

from benchmark_utils.bases import ByPasses
from benchmark_utils.models import of_estimator
from frugalsvm import TrackingSVC


class Solver(ByPasses):
    """``n_steps`` random steps of dual ascent after every example; no intercept.

    N. Usunier, A. Bordes, L. Bottou (2010). Guarantees for approximate incremental SVMs. AISTATS.
    """

    name = "tracking"
    parameters = {"n_steps": [10]}
    requirements = ["pip::frugalsvm"]
    max_rows = 20_000

    def new_model(self, n_passes):
        return TrackingSVC(
            self.n_steps, C=self.C, gamma=self.gamma, cache_size=500, max_iter=n_passes, random_state=self.seed
        )

    def learned(self):
        return of_estimator(self.model)
