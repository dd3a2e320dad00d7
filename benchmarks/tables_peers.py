"""Other libraries with the manners of scikit-learn."""

import sys
import sysconfig
from types import ModuleType

import numpy as np
from sklearn.utils.metaestimators import available_if

from benchmarks.tables_data import parts_of, rows_at
from frugalsvm.compiling.threads import thread_count

__all__ = ["LightGBMModel", "LiquidSVMModel", "XRFMModel"]


def _classifies(model):
    return not model.is_regression


class LightGBMModel:
    """Boosted trees, as many as are best for a tenth of the rows."""

    def __init__(self, is_regression, settings, patience, seed):
        self.is_regression, self.settings, self.patience, self.seed = is_regression, settings, patience, seed

    def fit(self, X, y):
        from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping

        train, held = parts_of(y, 0.1, self.is_regression, self.seed)
        held = held[np.isin(y[held], y[train])] if not self.is_regression else held
        kind = LGBMRegressor if self.is_regression else LGBMClassifier
        model = kind(subsample_freq=1, random_state=self.seed, verbose=-1)
        # All threads that the others have, too: of its own accord it takes those of busy cores, and waits for them.
        model.set_params(n_jobs=thread_count(-1), **self.settings)
        judges = {"eval_X": rows_at(X, held), "eval_y": y[held]}
        stop = early_stopping(self.patience, verbose=False)
        self.model = model.fit(rows_at(X, train), y[train], callbacks=[stop], **judges)
        return self

    def predict(self, X):
        return self.model.predict(X)

    @available_if(_classifies)
    def predict_proba(self, X):
        return self.model.predict_proba(X)


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

    @available_if(_classifies)
    def predict_proba(self, X):
        return self.model.predict_proba(X)


class LiquidSVMModel:
    """Machines in Voronoi cells of about 2 000 rows, each with a cross-validation of its own."""

    def __init__(self, is_regression, n_jobs):
        self.is_regression, self.n_jobs = is_regression, n_jobs

    def fit(self, X, y):
        liquid = _liquid_svm()
        kind = liquid.lsSVM if self.is_regression else liquid.mcSVM
        self.model = kind(_doubles(X), _doubles(y), useCells=True, threads=self.n_jobs)
        return self

    def predict(self, X):
        return self.model.predict(_doubles(X)).ravel()

    def __reduce__(self):
        raise TypeError("The machine is in the memory of a library in C++, and cannot be copied.")


def _liquid_svm():
    """The module: version 1.0.1 of 2017 looks for its library by a variable that Python 3.11 took away.

    It also wants a package that new versions of setuptools lack, for data sets that it brings along.
    """
    sysconfig.get_config_vars().setdefault("SO", ".so")
    sys.modules.setdefault("pkg_resources", ModuleType("pkg_resources"))
    import liquidSVM

    return liquidSVM


def _doubles(values):
    return np.ascontiguousarray(values, np.float64)
