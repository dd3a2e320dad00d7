"""What outlier detectors share: there are no targets."""

import numpy as np
from sklearn.base import OutlierMixin

from frugalsvm._locks import shared
from frugalsvm.estimators.protocol import Fits

__all__ = ["DetectsOutliers"]


class DetectsOutliers(OutlierMixin, Fits):
    """Base of outlier detectors; they define ``decision_function`` and ``score_samples``.

    Attributes
    ----------
    offset_ : float
        Rows with scores below are outliers: ``decision_function(X) = score_samples(X) - offset_``.
    """

    def fit(self, X, y=None, sample_weight=None):
        """Learn from all rows.

        Ctrl-C leaves the model that was there before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : object
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; rows of weight 0 are ignored.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    def _choose(self, X, targets, weights, *, whole):
        self._chosen = None  # there is nothing to choose by

    @shared
    def predict(self, X):
        """-1 for outliers among the rows of ``X``, +1 for the others."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)
