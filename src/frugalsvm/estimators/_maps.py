"""Feature maps of estimators: their parameters, which of these go together, and how maps are made."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.capabilities import check_kernel
from frugalsvm.core.kernels import KERNELS
from frugalsvm.estimators.constraints import constraints, count, non_negative, one_of, optional
from frugalsvm.estimators.kernel_model import KernelEstimator
from frugalsvm.estimators.parameters import parameter, parameters
from frugalsvm.estimators.validation import check_choice, refuse_unsuitable
from frugalsvm.exceptions import ParameterError
from frugalsvm.lowrank.maps import MapPlan, n_candidates
from frugalsvm.lowrank.passes import Passes

__all__ = ["LANDMARKS", "HasFeatureMap", "new_generator"]

FEATURE_MAPS = ("nystroem", "fourier")
LANDMARKS = ("uniform", "kmeans++", "kmeans")


@parameters
class MapParameters:
    """Parameters of feature maps; those that have some of them say what they are not for.

    Parameters
    ----------
    feature_map : {"nystroem", "fourier"}
        Kernel values with some rows of the data, the landmarks, whitened; or random Fourier features (of kernels of
        differences), which need no data at all but more components for the same accuracy.
    n_components : int
        Number of landmarks or of Fourier features. More are more accurate; time and memory are proportional to it, with
        a cubic part that shows from a few thousand on.
    kernel : str, KernelSum or callable
        Kernel, see :ref:`kernels`; a `KernelSum` of several; or a function ``kernel(A, B)`` of your own that returns
        the values of all pairs of rows.
    rank : int
        Maximum number of features that the Nystroem map keeps, those with the largest eigenvalues.
    eigenvalue_threshold : float
        It keeps those above this share of the largest eigenvalue. Kernel values are float32: far below that, features
        are rounding errors.
    structured : bool or "auto"
        Whether Fourier features use Hadamard transforms instead of a matrix product: as accurate, and several times
        faster for wide rows. "auto" takes the faster.
    """

    _constraints = constraints(kernel=None)  # which may be a function
    feature_map: Any = parameter(default="nystroem", check=one_of(FEATURE_MAPS))
    n_components: Any = parameter(default=512, check=count())
    landmarks: Any = "uniform"
    rank: Any = parameter(default=None, check=optional(count()))
    eigenvalue_threshold: Any = parameter(default=1e-7, check=non_negative)
    structured: bool | str = parameter(default="auto", check=one_of(("auto", True, False)))


class HasFeatureMap(MapParameters, KernelEstimator):
    """Base of estimators with a feature map, ``_map``."""

    triangular = False  # see `MapPlan`
    _in_float32 = True
    _landmarks: tuple[str, ...] = LANDMARKS  # ways to find them
    _map: Any

    def _check_params(self):
        super()._check_params()
        _check_map(self.feature_map, self.kernel, self.landmarks, self.structured, self._landmarks)

    def map_plan(self):
        """How the feature map is made."""
        names = ("feature_map", "n_components", "landmarks", "eigenvalue_threshold", "rank", "structured", "triangular")
        values = {name: getattr(self, name) for name in names}
        if not isinstance(self.landmarks, str):
            values |= {"landmarks": "uniform", "n_components": len(self.landmarks)}
        return MapPlan(kernel=self._kernel, n_features=self._width, **values)

    def _candidates(self, n_rows, rows_at, rng):
        """Rows that landmarks are made from: drawn among all, or passed by users."""
        if not isinstance(self.landmarks, str):
            return self.given_landmarks()
        n_drawn = n_candidates(self.landmarks, self.n_components, n_rows)
        return rows_at(rng.choice(n_rows, n_drawn, replace=False))

    def given_landmarks(self):
        """Landmarks that users pass, as the kernel sees them."""
        return self._as_seen(_landmark_rows(self, self.landmarks), np.float32)

    def _new_map(self, candidates, sparse, rng, *, for_device=False):
        with blas_threads(None):
            passes = Passes(self._threads())
            return self.map_plan().new(candidates, rng, sparse=sparse, for_device=for_device, passes=passes)


def new_generator(random_state):
    """A generator whose seed is the next number of a random state."""
    return np.random.default_rng(random_state.randint(2**31))


def _check_map(feature_map: Any, kernel: Any, landmarks: Any, structured: Any, named: tuple[str, ...]) -> None:
    """Refuse parameters of a feature map that are wrong, or do not go together; ``named``: ways to find landmarks."""
    if isinstance(landmarks, str) or np.ndim(landmarks) != 2:
        if landmarks not in named:
            known = ", ".join(map(repr, named))
            raise ParameterError("landmarks", landmarks, problem=f"is not one of {known}, nor an array of rows")
    elif feature_map == "fourier":
        raise ValueError("Fourier features have no landmarks: use feature_map='nystroem'.")
    if callable(kernel):
        if feature_map == "fourier":
            raise ValueError(
                "The spectrum of a KernelSum or of a kernel function of your own is not known: use "
                "feature_map='nystroem'."
            )
        return
    check_choice("kernel", kernel, KERNELS)
    if feature_map == "fourier":
        check_kernel("feature_map", "fourier", ("spectral",), kernel, "use feature_map='nystroem'")
        if structured is True:
            check_kernel("structured", True, ("spectral", "products"), kernel, "use structured='auto'")


def _landmark_rows(estimator: Any, landmarks: Any) -> np.ndarray:
    """Landmarks that users pass, as rows like those of X."""
    rows = check_array(landmarks, dtype=[np.float64, np.float32], order="C", input_name="landmarks")
    if rows.shape[1] != estimator.n_features_in_:
        raise ValueError(f"landmarks have {rows.shape[1]} columns, but X has {estimator.n_features_in_} features.")
    refuse_unsuitable(estimator, rows)
    return rows
