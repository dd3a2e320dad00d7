"""SVC of scikit-learn, which is LIBSVM."""

from sklearn.svm import SVC

from benchmark_utils.bases import ByTolerance
from benchmark_utils.models import of_svc


class Solver(ByTolerance):
    """Sequential minimal optimisation of the whole problem and an intercept. C.-C. Chang, C.-J. Lin (2011). LIBSVM."""

    name = "SVC"
    parameters = {}
    requirements = ["scikit-learn"]
    max_rows = 30_000

    def new_model(self, tol):
        return SVC(C=self.C, gamma=self.gamma, tol=tol, cache_size=500)

    def learned(self):
        return of_svc(self.model)
