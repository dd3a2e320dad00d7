"""LASVM and its forms, of frugalsvm."""

from benchmark_utils.bases import ByPasses
from benchmark_utils.models import of_estimator
from frugalsvm import LASVMClassifier


class Solver(ByPasses):
    """Online dual ascent; the original has an intercept and a finishing phase, the others have neither.

    "nc" minimises the ramp loss instead of the hinge loss, and "i" leaves out examples far on the wrong side: where
    labels are noisy, a higher value goes with a lower error. S. Ertekin, L. Bottou, C. L. Giles (2011). Nonconvex
    online support vector machines. IEEE TPAMI 33.
    """

    name = "LASVM"
    parameters = {"variant": ["lasvm", "g", "nc", "i", "full"]}
    requirements = ["pip::frugalsvm"]
    max_rows = 60_000

    def new_model(self, n_passes):
        return LASVMClassifier(
            self.variant, C=self.C, gamma=self.gamma, cache_size=500, max_iter=n_passes, random_state=self.seed
        )

    def learned(self):
        return of_estimator(self.model)
