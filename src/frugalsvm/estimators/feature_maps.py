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
from frugalsvm.compiling.threads import Threads, blas_threads, thread_count
from frugalsvm.estimators._maps import MapParameters, check_map, landmark_rows
from frugalsvm.estimators.constraints import count
from frugalsvm.estimators.kernel_model import KernelEstimator
from frugalsvm.estimators.origin import absolute_rows
from frugalsvm.estimators.parameters import estimator, fixed, learned, parameter, parameters
from frugalsvm.estimators.unchanged import unchanged_on_error
from frugalsvm.lowrank.backends.compiled import Compiled, stored_rows
from frugalsvm.lowrank.maps import MapPlan, n_candidates, whitening_of, width_of
from frugalsvm.lowrank.passes import Passes

__all__ = ["FourierMap", "NystroemMap"]


@parameters
class _FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MapParameters, KernelEstimator):
    """Base of both maps; subclasses define ``_map_options``, a part of a `MapPlan`."""

    verbose: Any = fixed(0)
    _in_float32 = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _check_params(self):
        super()._check_params()
        options = self._map_options()
        check_map(options["feature_map"], self.kernel, options["landmarks"], options["structured"])

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
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
            options = self._map_options()
            candidates = None
            if options["feature_map"] == "nystroem":
                candidates, options = self._candidates(X, options, rng)
            plan = MapPlan(kernel=self._kernel, n_features=X.shape[1], **options)
            with blas_threads(None):
                self._map = plan.new(candidates, rng, sparse=not isinstance(X, np.ndarray), passes=self._passes())
        return self

    def _candidates(self, X, options, rng):
        """Rows that landmarks are made from, and how."""
        if not isinstance(options["landmarks"], str):
            rows = self._as_seen(landmark_rows(self, options["landmarks"]), np.float32)
            return rows, options | {"landmarks": "uniform", "n_components": len(rows)}
        n_drawn = n_candidates(options["landmarks"], options["n_components"], X.shape[0])
        return dense_rows(X[rng.choice(X.shape[0], n_drawn, replace=False)]), options

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
        backend = Compiled(Threads(thread_count(self.n_jobs)))
        with blas_threads(None):
            return stored_rows(
                self._map,
                X,
                np.arange(X.shape[0]),
                whitening=whitening_of(self._map),
                backend=backend,
                steady=True,  # a row has the same features in every batch
            ).block

    def _passes(self):
        return Passes(Threads(thread_count(self.n_jobs)))

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
    structured: bool | str = fixed(False)

    def _map_options(self):
        names = ("n_components", "landmarks", "eigenvalue_threshold", "rank")
        own = {name: getattr(self, name) for name in names}
        return {"feature_map": "nystroem", "structured": False, "triangular": True, **own}

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
    # For landmarks, and for kernels without Fourier features
    landmarks: Any = fixed("uniform")
    rank: Any = fixed(None)
    eigenvalue_threshold: Any = fixed(0.0)
    degree: Any = fixed(3)
    coef0: Any = fixed(1.0)

    def _map_options(self):
        own = {"n_components": self.n_components, "structured": self.structured}
        return {"feature_map": "fourier", "landmarks": "uniform", "eigenvalue_threshold": 0.0, "rank": None, **own}
