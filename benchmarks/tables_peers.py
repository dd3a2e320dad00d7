"""Other libraries with the manners of scikit-learn: each sets rows aside for its own early stopping."""

import numpy as np

from benchmarks.tables_data import parts_of
from frugalsvm._threads import thread_count

__all__ = ["LightGBMModel", "XRFMModel"]


class LightGBMModel:
    """Boosted trees, as many as are best for a tenth of the rows."""

    def __init__(self, is_regression, settings, patience, seed):
        self.is_regression, self.settings, self.patience, self.seed = is_regression, settings, patience, seed

    def fit(self, X, y):
        from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping

        train, held = parts_of(y, 0.1, self.is_regression, self.seed)
        held = held[np.isin(y[held], y[train])] if not self.is_regression else held
        kind = LGBMRegressor if self.is_regression else LGBMClassifier
        model = kind(subsample_freq=1, importance_type="gain", random_state=self.seed, verbose=-1)
        # All threads that the others have, too: of its own accord it takes those of busy cores, and waits for them.
        model.set_params(n_jobs=thread_count(-1), **self.settings)
        stop = early_stopping(self.patience, verbose=False)
        self.model = model.fit(X[train], y[train], eval_X=X[held], eval_y=y[held], callbacks=[stop])
        return self

    def predict(self, X):
        return self.model.predict(X)

    @property
    def feature_importances_(self):
        return self.model.feature_importances_


class XRFMModel:
    """Recursive feature machines; the round is chosen on a fifth of the rows."""

    def __init__(self, is_regression, settings, device, seed):
        self.is_regression, self.settings, self.device, self.seed = is_regression, settings, device, seed

    def fit(self, X, y):
        import torch
        from xrfm import xRFM

        train, held = parts_of(y, 0.2, self.is_regression, self.seed)
        model = {"kernel": "l2", "bandwidth": 10.0, "exponent": 1.0, "diag": False, "bandwidth_mode": "constant"}
        fit = {"reg": 1e-3, "iters": 5, "verbose": False, "early_stop_rfm": True}
        for part in (model, fit):
            part.update({name: value for name, value in self.settings.items() if name in part})
        self.model = xRFM(
            {"model": model, "fit": fit}, device=torch.device(self.device), random_state=self.seed, verbose=False
        )
        self.model.fit(X[train], y[train], X[held], y[held])
        return self

    def predict(self, X):
        return self.model.predict(X).ravel()

    @property
    def feature_importances_(self):
        """The diagonals of the matrices of all leaves, which are None where the first round was best."""
        matrices = [matrix.cpu().numpy() for matrix in self.model.collect_Ms() if matrix is not None]
        diagonals = [matrix if matrix.ndim == 1 else np.diagonal(matrix) for matrix in matrices]
        return np.mean([diagonal / diagonal.sum() for diagonal in diagonals], axis=0) if diagonals else None
