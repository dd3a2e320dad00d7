"""Other kernel machines."""

import os
import sys
import sysconfig
import threading
from contextlib import contextmanager, suppress
from types import ModuleType

import numpy as np
from sklearn.svm import SVC, SVR

from benchmarks.comparison.peers.base import Peer, log_uniform
from benchmarks.comparison.splits import parts_of

__all__ = ["SVM", "XRFM", "LiquidSVM", "LiquidSVMModel", "XRFMModel"]


class SVM(Peer):
    """SVC and SVR of scikit-learn, without a limit of rows: the limit of time is theirs, too."""

    name = "svc"
    label = "SVC, SVR"
    columns = "scaled"
    is_single_threaded = True

    def new(self, task, settings):
        return (SVR if task.is_regression else SVC)(cache_size=1000, **settings)

    def draw(self, task, rng):
        drawn = {"C": log_uniform(rng, 0.1, 1e3), "gamma": log_uniform(rng, 0.03, 10) / task.n_columns}
        if task.is_regression:
            drawn |= {"C": log_uniform(rng, 0.1, 30), "epsilon": log_uniform(rng, 0.01, 0.3)}
        return drawn


class XRFM(Peer):
    """Defaults and ranges are those of its authors, for the kernel that needs no further package."""

    name = "xrfm"
    label = "xRFM"
    package = "xrfm"
    columns = "scaled"
    uses_device = True

    def new(self, task, settings):
        return XRFMModel(task, settings)

    def draw(self, task, rng):
        return {
            "bandwidth": log_uniform(rng, 0.5, 200),
            "exponent": rng.uniform(0.7, 1.4),
            "diag": bool(rng.integers(2)),
            "reg": log_uniform(rng, 1e-6, 10),
        }


class XRFMModel:
    """Recursive feature machines; the round is chosen on a fifth of the rows."""

    def __init__(self, task, settings):
        self.task, self.settings = task, settings

    def fit(self, X, y):
        import torch
        from xrfm import xRFM

        torch.set_num_threads(self.task.n_threads)
        learned, judged = parts_of(y, 0.2, self.task.is_regression, self.task.seed)
        model = {"kernel": "l2", "bandwidth": 10.0, "exponent": 1.0, "diag": False, "bandwidth_mode": "constant"}
        fit = {"reg": 1e-3, "iters": 5, "verbose": False, "early_stop_rfm": True}
        for part in (model, fit):
            part.update({name: value for name, value in self.settings.items() if name in part})
        device = torch.device(self.task.device)
        self.model = xRFM({"model": model, "fit": fit}, device=device, random_state=self.task.seed, verbose=False)
        X = np.asarray(X, np.float32)
        self.model.fit(X[learned], y[learned], X[judged], y[judged])
        return self

    def predict(self, X):
        return self.model.predict(np.asarray(X, np.float32)).ravel()

    def __getattr__(self, name):
        if name != "predict_proba" or self.__dict__["task"].is_regression:
            raise AttributeError(name)
        return lambda X: self.model.predict_proba(np.asarray(X, np.float32))


class LiquidSVM(Peer):
    """It chooses gamma and C of every cell of rows by cross-validation of its own."""

    name = "liquidsvm"
    label = "liquidSVM"
    package = "liquidSVM"
    install = (
        "with a C++ compiler, LIQUIDSVM_CONFIGURE_ARGS='generic -mavx2 -mfma' "
        "pip install --no-build-isolation liquidSVM"
    )
    columns = "scaled"
    has_draws = False

    def new(self, task, settings):
        return LiquidSVMModel(task.is_regression, task.n_threads)


class LiquidSVMModel:
    """Machines in Voronoi cells of about 2 000 rows."""

    def __init__(self, is_regression, n_threads):
        self.is_regression, self.n_threads = is_regression, n_threads

    def fit(self, X, y):
        liquid = _liquid_svm()
        kind = liquid.lsSVM if self.is_regression else liquid.mcSVM
        with _own_cores():
            self.model = kind(_doubles(X), _doubles(y), useCells=True, threads=self.n_threads)
        return self

    def predict(self, X):
        with _own_cores():
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


@contextmanager
def _own_cores():
    """It binds its threads to the first cores of the machine, where those of other lanes may be: move them back."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores, over = os.sched_getaffinity(0), threading.Event()

    def move_back():
        while not over.wait(0.02):
            for thread in os.listdir("/proc/self/task"):
                with suppress(OSError):  # it has ended
                    os.sched_setaffinity(int(thread), cores)

    guard = threading.Thread(target=move_back)
    guard.start()
    try:
        yield
    finally:
        over.set()
        guard.join()
        os.sched_setaffinity(0, cores)


def _doubles(values):
    return np.ascontiguousarray(values, np.float64)
