"""The feature maps of the low-rank machines as transformers: `NystroemMap` and `FourierMap`.

Inner products of what they return are near the kernel, so that a linear model on top is a kernel machine.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import shared
from frugalsvm.arrays.sources import dense_rows
from frugalsvm.compiling.threads import blas_threads
from frugalsvm.estimators._maps import HasFeatureMap, new_generator
from frugalsvm.estimators.constraints import count
from frugalsvm.estimators.origin import absolute_rows
from frugalsvm.estimators.parameters import estimator, fixed, learned, parameter, parameters
from frugalsvm.estimators.unchanged import unchanged_on_error
from frugalsvm.lowrank.backends.compiled import Compiled, stored_rows
from frugalsvm.lowrank.maps import whitening_of, width_of

__all__ = ["FourierMap", "NystroemMap"]


@parameters
class _FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, HasFeatureMap):
    """Base of both maps."""

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

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


@estimator
class NystroemMap(_FeatureMap):
    """Kernel values with landmarks, whitened: inner products are those of the kernel, projected on the landmarks.

    The features of `ASSETClassifier` for any linear model, and what `sklearn.kernel_approximation.Nystroem` is, in
    float32, on all cores, for the kernels of this library.

    Parameters
    ----------
    n_components : int, default=512
        Number of landmarks.
    kernel : str, KernelSum or callable, default="rbf"
        See :ref:`kernels`; a `KernelSum` of several; or a function ``kernel(A, B)`` that returns the values of all
        pairs of rows.
    gamma : "scale" or float, default="scale"
    landmarks : {"uniform", "kmeans++", "kmeans"} or array of shape (n_landmarks, n_features), default="uniform"
        Random rows, rows that are spread out, means of rows around these, or landmarks of one's own.
    rank : int, default=None
        Largest number of features to keep, those with the largest eigenvalues; None keeps all.
    eigenvalue_threshold : float, default=1e-7
        Features with eigenvalues below this share of the largest are rounding errors, and left out.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    components_ : ndarray of shape (n_landmarks, n_features)
        The landmarks.
    n_components_ : int
        Number of features.
    gamma_, n_features_in_

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
    structured : bool or "auto", default="auto"
        Whether to use Hadamard transforms: as accurate, and several times faster for wide rows. "auto" takes the
        faster.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    n_components_ : int
        Number of features.
    gamma_, n_features_in_

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
