"""Low-rank kernel SVM by truncated Newton steps, of frugalsvm."""

from benchmark_utils.bases import ByTolerance
from benchmark_utils.models import of_estimator
from frugalsvm import ASSETClassifier


class Solver(ByTolerance):
    """The optimum on Nystroem or random Fourier features, with an intercept.

    Its value is that of the whole kernel, which it cannot reach with few landmarks; on Fourier features it is infinite.
    S. Lee, S. J. Wright (2012). ASSET. ICPRAM.
    """

    name = "ASSET-newton"
    parameters = {"feature_map": ["nystroem", "fourier"], "n_components": [512]}
    test_config = {"n_components": 32}
    requirements = ["pip::frugalsvm"]

    def new_model(self, tol):
        return ASSETClassifier(
            self.feature_map, self.n_components, C=self.C, gamma=self.gamma, tol=tol, random_state=self.seed
        )

    def learned(self):
        return of_estimator(self.model)
