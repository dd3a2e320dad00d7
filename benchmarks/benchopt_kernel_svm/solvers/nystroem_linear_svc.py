"""LinearSVC of scikit-learn, which is LIBLINEAR, on its Nystroem features."""

import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import LinearSVC

from benchmark_utils.bases import IterativeSolver
from benchmark_utils.models import of_landmarks
from benchmark_utils.stopping import Enough


class Solver(IterativeSolver):
    """Dual coordinate descent; an iteration is one pass over the features, and the intercept is penalised too."""

    name = "Nystroem-LinearSVC"
    parameters = {"n_components": [512]}
    test_config = {"n_components": 32}
    requirements = ["scikit-learn"]
    sampling_strategy = "iteration"
    stopping_criterion = Enough(256)

    def run(self, n_iter):
        self.model = None
        if n_iter == 0:
            return
        self.map = Nystroem(gamma=self.gamma, n_components=self.n_components, random_state=self.seed)
        features = self.map.fit_transform(self.X)
        # An extreme tolerance: how long it runs is for benchopt to say.
        model = LinearSVC(C=self.C, loss="hinge", tol=1e-12, max_iter=n_iter, random_state=self.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model = model.fit(features, self.y)

    def learned(self):
        return of_landmarks(self.map, self.model)
