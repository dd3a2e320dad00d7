"""Parameters of feature maps: which of them go together, and landmarks that users pass."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from frugalsvm.core.capabilities import check_kernel
from frugalsvm.core.kernels import KERNELS
from frugalsvm.estimators.constraints import constraints, count, non_negative, one_of, optional
from frugalsvm.estimators.parameters import parameter, parameters
from frugalsvm.estimators.validation import check_choice, refuse_unsuitable
from frugalsvm.exceptions import ParameterError

__all__ = ["FEATURE_MAPS", "LANDMARKS", "MapParameters", "check_map", "landmark_rows"]

FEATURE_MAPS = ("nystroem", "fourier")
LANDMARKS = ("uniform", "kmeans++", "kmeans")


@parameters
class MapParameters:
    """Parameters of feature maps; those that have some of them say what they are not for.

    Parameters
    ----------
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
    landmarks: Any = "uniform"
    rank: Any = parameter(default=None, check=optional(count()))
    eigenvalue_threshold: Any = parameter(default=1e-7, check=non_negative)
    structured: bool | str = parameter(default="auto", check=one_of(("auto", True, False)))


def check_map(feature_map: Any, kernel: Any, landmarks: Any, structured: Any, named: tuple = LANDMARKS) -> None:
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


def landmark_rows(estimator: Any, landmarks: Any) -> np.ndarray:
    """Landmarks that users pass, as rows like those of X."""
    rows = check_array(landmarks, dtype=[np.float64, np.float32], order="C", input_name="landmarks")
    if rows.shape[1] != estimator.n_features_in_:
        raise ValueError(f"landmarks have {rows.shape[1]} columns, but X has {estimator.n_features_in_} features.")
    refuse_unsuitable(estimator, rows)
    return rows
