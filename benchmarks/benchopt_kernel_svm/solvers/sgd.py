"""SGDClassifier of scikit-learn on its Nystroem or random Fourier features."""

from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier

from benchmark_utils.bases import OnlineSolver
from benchmark_utils.models import of_landmarks, of_waves

MAPS = {"nystroem": (Nystroem, of_landmarks), "fourier": (RBFSampler, of_waves)}


class Solver(OnlineSolver):
    """Linear SGD; the time begins with the features of all rows. With Fourier features its value is infinite."""

    name = "SGD"
    parameters = {"feature_map": ["nystroem", "fourier"], "n_components": [512], "average": [True]}
    test_config = {"n_components": 32}
    requirements = ["scikit-learn"]

    def rows(self):
        make_map, _ = MAPS[self.feature_map]
        self.map = make_map(gamma=self.gamma, n_components=self.n_components, random_state=self.seed)
        return self.map.fit_transform(self.X)

    def new_model(self):
        return SGDClassifier(alpha=self.alpha, average=self.average, random_state=self.seed)

    def learned(self):
        return MAPS[self.feature_map][1](self.map, self.model)
