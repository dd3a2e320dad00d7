"""Low-rank kernel SVM by stochastic subgradient steps, of frugalsvm."""

from benchmark_utils.bases import OnlineSolver
from benchmark_utils.models import of_estimator
from frugalsvm import ASSETClassifier


class Solver(OnlineSolver):
    """Online ASSET: landmarks are the first examples of the stream. S. Lee, S. J. Wright (2012). ASSET. ICPRAM."""

    name = "ASSET-online"
    parameters = {"steps": ["asset", "asset*"], "feature_map": ["nystroem"], "n_components": [512]}
    test_config = {"n_components": 32}
    requirements = ["pip::frugalsvm"]

    def new_model(self):
        return ASSETClassifier(
            self.feature_map,
            self.n_components,
            solver=self.steps,
            alpha=self.alpha,
            gamma=self.gamma,
            random_state=self.seed,
        )

    def learned(self):
        return of_estimator(self.model)
