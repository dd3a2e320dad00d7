"""Kernel SVMs that learn from streams and very large data inside a fixed budget of memory and time."""

from importlib import import_module
from typing import TYPE_CHECKING

from frugalsvm._homes import AUTOMATIC, ESTIMATORS, FEATURE_MAPS, KERNEL_SUMS, SEARCHES
from frugalsvm._version import __version__

if TYPE_CHECKING:
    from frugalsvm.auto import AutoSVC, AutoSVR
    from frugalsvm.estimators.asset import ASSETClassifier
    from frugalsvm.estimators.asset_one_class import ASSETOneClassSVM
    from frugalsvm.estimators.asset_regressor import ASSETRegressor
    from frugalsvm.estimators.bpa import BPAClassifier
    from frugalsvm.estimators.bsgd import BSGDClassifier
    from frugalsvm.estimators.bsgd_one_class import BSGDOneClassSVM
    from frugalsvm.estimators.bsgd_regressor import BSGDRegressor
    from frugalsvm.estimators.feature_maps import FourierMap, NystroemMap
    from frugalsvm.estimators.incremental import IncrementalSVC
    from frugalsvm.estimators.lasvm import LASVMClassifier
    from frugalsvm.estimators.local_svc import LocalSVC
    from frugalsvm.estimators.local_svr import LocalSVR
    from frugalsvm.estimators.perceptron import BudgetedPerceptron
    from frugalsvm.estimators.tracking import TrackingSVC
    from frugalsvm.estimators.tvm import TVMClassifier
    from frugalsvm.installation import show_versions
    from frugalsvm.lowrank.kernel_sum import KernelSum, KernelTerm
    from frugalsvm.persist import describe, load, save
    from frugalsvm.stream_search import StreamTuner
    from frugalsvm.warming import warm_up

__all__ = [
    "ASSETClassifier",
    "ASSETOneClassSVM",
    "ASSETRegressor",
    "AutoSVC",
    "AutoSVR",
    "BPAClassifier",
    "BSGDClassifier",
    "BSGDOneClassSVM",
    "BSGDRegressor",
    "BudgetedPerceptron",
    "FourierMap",
    "IncrementalSVC",
    "KernelSum",
    "KernelTerm",
    "LASVMClassifier",
    "LocalSVC",
    "LocalSVR",
    "NystroemMap",
    "StreamTuner",
    "TVMClassifier",
    "TrackingSVC",
    "__version__",
    "checks",
    "conformal",
    "datasets",
    "describe",
    "explain",
    "export",
    "load",
    "metrics",
    "pipelines",
    "plots",
    "save",
    "show_versions",
    "streams",
    "warm_up",
]

# Loaded when first used, so that importing the package (a command line's --help, say) is quick.
_HOMES = {
    "describe": "frugalsvm.persist",
    "load": "frugalsvm.persist",
    "save": "frugalsvm.persist",
    "show_versions": "frugalsvm.installation",
    "warm_up": "frugalsvm.warming",
    **ESTIMATORS,
    **AUTOMATIC,
    **FEATURE_MAPS,
    **KERNEL_SUMS,
    **SEARCHES,
}


def __getattr__(name: str):
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in ("checks", "conformal", "datasets", "explain", "export", "metrics", "pipelines", "plots", "streams"):
        value = import_module(f"frugalsvm.{name}")
    else:
        raise AttributeError(f"module 'frugalsvm' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
