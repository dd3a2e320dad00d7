"""The algorithms of the command line: what each is for, what it costs, and how its flags become an estimator."""

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = [
    "ALGORITHMS",
    "AUTO",
    "CATALOGUE",
    "CLASSES",
    "FOR_NUMBERS",
    "KERNELS",
    "L1_KERNELS",
    "LOSSES",
    "METRICS",
    "NOVELTIES",
    "NUMBERS",
    "OF_DISTANCES",
    "WITHOUT_GAMMA",
    "Algorithm",
    "maintenance_for",
    "new_estimator",
    "scale_for",
    "task_for",
]

# Those of `frugalsvm.core.kernels`, whose import takes a while
_OF_COUNTS = ("chi2", "intersection", "tanimoto", "cosine")  # for rows as they are: a mean is not to be subtracted
OF_DISTANCES = ("rbf", "laplacian", "matern12", "matern32", "matern52")  # those that auto compares
KERNELS = (*OF_DISTANCES, *_OF_COUNTS, "poly", "linear")
L1_KERNELS = ("laplacian",)  # of which no matrix changes the distances
WITHOUT_GAMMA = ("intersection", "tanimoto", "cosine", "linear")
_ALARM_RATE = 0.01
METRICS = ("auto", "diag", "full")  # that are learned
LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "huber", "squared", "pinball")  # of regressors

CLASSES, NUMBERS, NOVELTIES = "classes", "numbers", "novelties"  # what there is to learn; for the last, without labels


class Algorithm(NamedTuple):
    purpose: str  # what to take it for
    rows: str  # how many suit it
    cost: str
    memory: str
    build: Callable[..., Any]
    strength: str  # the parameter that regularizes: "alpha" or "C"
    budgeted: bool
    has_metric: bool = False
    task: str = CLASSES
    own: tuple[str, ...] = ()  # flags that others do not have
    streams: bool = True  # whether it learns batch by batch; otherwise all rows at once
    kernel: str = "rbf"  # unless --kernel says otherwise


def _bsgd(**settings):
    from frugalsvm import BSGDClassifier

    return BSGDClassifier(new_classes="grow", **maintenance_for(settings.get("kernel", "rbf")), **settings)


def _bsgd_regressor(quantile=(), **settings):
    from frugalsvm import BSGDRegressor

    if len(quantile) > 1:
        settings |= {"quantile": list(quantile), "non_crossing": True}
    elif quantile:
        settings["quantile"] = quantile[0]
    return BSGDRegressor(**maintenance_for(settings.get("kernel", "rbf")), **settings)


def _one_class(**settings):
    from frugalsvm import BSGDOneClassSVM

    settings = {"alarm_rate": _ALARM_RATE, **maintenance_for(settings.get("kernel", "rbf")), **settings}
    return BSGDOneClassSVM(**settings)


def maintenance_for(kernel: str) -> dict[str, Any]:
    """How BSGD keeps its budget with a kernel: merging, the default, is for Gaussian ones."""
    return {} if kernel == "rbf" else {"maintenance": "project"}


def scale_for(kernel: str, scale: str) -> str:
    """What ``--scale`` is with a kernel."""
    return "no" if scale == "auto" and kernel in _OF_COUNTS else scale


def _perceptron(**settings):
    from frugalsvm import BudgetedPerceptron

    return BudgetedPerceptron("projectron++", **settings)


def _bpa(**settings):
    from frugalsvm import BPAClassifier

    return BPAClassifier(**settings)


def _lasvm(variant):
    def build(**settings):
        from frugalsvm import LASVMClassifier

        return LASVMClassifier(variant, **settings)

    return build


def _tracking(**settings):
    from frugalsvm import TrackingSVC

    return TrackingSVC(**settings)


def _tvm(**settings):
    from frugalsvm import TVMClassifier

    return TVMClassifier(**settings)


def _asset(**settings):
    from frugalsvm import ASSETClassifier

    budget = settings.pop("budget", None)
    return ASSETClassifier("nystroem", **({} if budget is None else {"n_components": budget}), **settings)


def _asset_regressor(quantile=(), **settings):
    from frugalsvm import ASSETRegressor

    budget = settings.pop("budget", None)
    if quantile:
        settings |= {
            "quantile": list(quantile) if len(quantile) > 1 else quantile[0],
            "non_crossing": len(quantile) > 1,
        }
    return ASSETRegressor("nystroem", **({} if budget is None else {"n_components": budget}), **settings)


def _local(**settings):
    from frugalsvm import LocalSVC

    return LocalSVC(**settings)


def _local_regressor(**settings):
    from frugalsvm import LocalSVR

    return LocalSVR(**settings)


CATALOGUE = {
    "bsgd": Algorithm(
        "pipes, small and fast models, many classes",
        "any number",
        "budget x features",
        "fixed",
        _bsgd,
        "alpha",
        True,
        True,
        CLASSES,
        ("half_life",),
    ),
    "lasvm": Algorithm(
        "the accuracy of an exact SVM in one pass",
        "up to 100,000 (many classes: 20,000)",
        "support vectors",
        "grows",
        _lasvm("g"),
        "C",
        False,
        True,
    ),
    "lasvm-nc": Algorithm(
        "the same with noisy labels: fewer support vectors",
        "up to 100,000",
        "support vectors",
        "grows",
        _lasvm("nc"),
        "C",
        False,
        True,
    ),
    "lasvm-i": Algorithm(
        "the same, skips uninformative examples",
        "up to 100,000",
        "support vectors",
        "grows",
        _lasvm("i"),
        "C",
        False,
        True,
    ),
    "asset": Algorithm(
        "many features; --device: all rows at once, GPUs",
        "any number (--device: in memory)",
        "budget^2",
        "fixed",
        _asset,
        "alpha",
        True,
        True,
    ),
    "local": Algorithm(
        "large tables: a machine in every cell of a tree",
        "up to 10,000,000, in memory",
        "cell size^2",
        "all rows",
        _local,
        "C",
        False,
        True,
        streams=False,
        kernel="matern12",
    ),
    "tvm": Algorithm(
        "few vectors, and optimal on them",
        "up to 10,000",
        "margin vectors",
        "fixed",
        _tvm,
        "C",
        True,
    ),
    "tracking": Algorithm(
        "rows whose order depends on the model",
        "up to 10,000",
        "all examples",
        "grows",
        _tracking,
        "C",
        False,
    ),
    "bsgd-regressor": Algorithm(
        "numbers, or their quantiles (--quantile)",
        "any number",
        "budget x features",
        "fixed",
        _bsgd_regressor,
        "alpha",
        True,
        True,
        NUMBERS,
        ("loss", "quantile"),
    ),
    "asset-regressor": Algorithm(
        "numbers from many features, or their quantiles",
        "any number (--device: in memory)",
        "budget^2",
        "fixed",
        _asset_regressor,
        "alpha",
        True,
        True,
        NUMBERS,
        ("loss", "quantile"),
    ),
    "local-regressor": Algorithm(
        "numbers from large tables",
        "up to 10,000,000, in memory",
        "cell size^2",
        "all rows",
        _local_regressor,
        "C",
        False,
        True,
        NUMBERS,
        streams=False,
        kernel="matern12",
    ),
    "one-class": Algorithm(
        "novelties: rows without labels",
        "any number",
        "budget x features",
        "fixed",
        _one_class,
        "",
        True,
        False,
        NOVELTIES,
        ("nu", "alarm_rate"),
    ),
    "perceptron": Algorithm("to compare with: Projectron++", "any number", "budget^2", "fixed", _perceptron, "", True),
    "bpa": Algorithm("to compare with: budgeted passive-aggressive", "any number", "budget", "fixed", _bpa, "C", True),
}

# The twins of these, with --task regression
FOR_NUMBERS = {"bsgd": "bsgd-regressor", "asset": "asset-regressor", "local": "local-regressor"}
AUTO = "auto"  # compares models, see `train_auto`
ALGORITHMS = (AUTO, *CATALOGUE)  # what --algorithm may be


def task_for(name: str) -> str:
    """What an algorithm learns; `auto` decides that by the labels, and has a model for each."""
    return CATALOGUE[name].task if name in CATALOGUE else CLASSES


def new_estimator(name: str, *, budget=None, gamma=None, strength=None, seed=None, **others) -> Any:
    """An estimator for flags; None leaves a parameter at its default."""
    algorithm = CATALOGUE[name]
    settings = {"gamma": gamma, "random_state": seed, **others}
    if algorithm.budgeted:
        settings["budget"] = budget
    if algorithm.strength:
        settings[algorithm.strength] = strength
    return algorithm.build(**{key: value for key, value in settings.items() if value is not None})
