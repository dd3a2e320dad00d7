"""Feature maps: their parameters, how estimators make them, and transformers, `NystroemMap` and `FourierMap`.

Inner products of what these return are near the kernel, so that a linear model on top is a kernel machine.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import shared
from frugalsvm.arrays.sources import dense_rows
from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.capabilities import check_kernel
from frugalsvm.core.kernels import KERNELS
from frugalsvm.estimators.constraints import check_choice, constraints, count, non_negative, one_of, optional
from frugalsvm.estimators.kernel_model import KernelEstimator
from frugalsvm.estimators.parameters import estimator, fixed, learned, parameter, parameters
from frugalsvm.estimators.seen_rows import absolute_rows
from frugalsvm.estimators.unchanged import unchanged_on_error
from frugalsvm.estimators.validation import refuse_unsuitable
from frugalsvm.exceptions import ParameterError
from frugalsvm.lowrank.backends.compiled import Compiled, stored_rows
from frugalsvm.lowrank.maps import MapPlan, n_candidates, whitening_of, width_of
from frugalsvm.lowrank.passes import Passes

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
    landmarks : {"uniform", "kmeans++", "kmeans"} or array of shape (n_landmarks, n_features)
        Random rows; rows that are spread out; or means of the rows around these, which are better for images and cost
        about as much as the kernel values of ten thousand rows. An array has landmarks of your own, and
        ``n_components`` does not count then.
    rank : int
        Maximum number of features that the Nystroem map keeps, those with the largest eigenvalues; None keeps all.
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


@parameters
class _FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, HasFeatureMap):
    """Base of both maps.

    Attributes
    ----------
    n_components_ : int
    """

    verbose: Any = fixed(0)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def fit(self, X, y=None):
        """Choose landmarks or frequencies.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._check_params()
            X = self._new_rows(X, None)
            self._kernel = self._new_kernel(X)
            X = self._with_origin(X, whole=True)
            rng, candidates = new_generator(check_random_state(self.random_state)), None
            if self.feature_map == "nystroem":
                candidates = self._candidates(X.shape[0], lambda index: dense_rows(X[index]), rng)
            self._map = self._new_map(candidates, not isinstance(X, np.ndarray), rng)
        return self

    @shared
    def transform(self, X):
        """Features of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float32, of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        X = self._known_rows(X, None)
        # A row has the same features in every batch.
        options = {"whitening": whitening_of(self._map), "backend": Compiled(self._threads()), "steady": True}
        with blas_threads(None):
            return stored_rows(self._map, X, np.arange(X.shape[0]), **options).block

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_map")

    @learned
    def n_components_(self) -> int:
        """Number of features that `transform` returns."""
        whitening = whitening_of(self._map)
        return width_of(self._map) if whitening is None else whitening.shape[1]

    _n_features_out = property(lambda self: self.n_components_)


@estimator
class NystroemMap(_FeatureMap):
    """Kernel values with landmarks, whitened: inner products are those of the kernel, projected on the landmarks.

    The features of `ASSETClassifier` for any linear model, and what `sklearn.kernel_approximation.Nystroem` is, in
    float32, on all cores, for the kernels of this library.

    Parameters
    ----------
    n_components : int, default=512
        Number of landmarks.
    gamma : "scale" or float, default="scale"
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    components_ : ndarray of shape (n_landmarks, n_features)
    n_components_, gamma_, n_features_in_

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from frugalsvm import NystroemMap
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = make_checkerboard(4000, random_state=0)
    >>> model = make_pipeline(NystroemMap(200, gamma=5.0, random_state=0), LogisticRegression(C=100.0, max_iter=1000))
    >>> model.fit(X[:3000], y[:3000]).score(X[3000:], y[3000:]) > 0.9
    True
    """

    n_components: Any = parameter(default=512, check=count(), kw_only=False)
    feature_map: Any = fixed("nystroem")
    structured: bool | str = fixed(False)
    triangular = True

    @learned
    def components_(self) -> np.ndarray:
        """The landmarks."""
        return absolute_rows(self._map.landmarks, self._origin, self._metric)


@estimator
class FourierMap(_FeatureMap):
    """Random Fourier features: cosines of random projections, whose inner products are near a kernel of differences.

    What `sklearn.kernel_approximation.RBFSampler` is, for more kernels, and with Hadamard transforms in the place of a
    matrix product where rows are wide.

    Parameters
    ----------
    n_components : int, default=512
        Number of features.
    kernel : {"rbf", "laplacian", "matern12", "matern32", "matern52"}, default="rbf"
    gamma : "scale" or float, default="scale"
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    n_components_, gamma_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm import FourierMap
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> F = FourierMap(4096, gamma=0.2, random_state=0).fit_transform(X)
    >>> K = np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(axis=2))
    >>> bool(np.abs(F @ F.T - K).max() < 0.1)
    True
    """

    n_components: Any = parameter(default=512, check=count(), kw_only=False)
    feature_map: Any = fixed("fourier")
    # For landmarks, and for kernels without Fourier features
    landmarks: Any = fixed("uniform")
    rank: Any = fixed(None)
    eigenvalue_threshold: Any = fixed(0.0)
    degree: Any = fixed(3)
    coef0: Any = fixed(1.0)
