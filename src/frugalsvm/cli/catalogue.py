"""The algorithms of the command line: what each is for, what it costs, and how its flags become an estimator."""

from typing import Any, NamedTuple

from frugalsvm.words import CLASSES, NOVELTIES, NUMBERS

# Those of `frugalsvm.core.kernels`, whose import takes a while
_OF_COUNTS = ("chi2", "intersection", "tanimoto", "cosine")  # for rows as they are: a mean is not to be subtracted
OF_DISTANCES = ("rbf", "laplacian", "matern12", "matern32", "matern52")  # those that auto compares
KERNELS = (*OF_DISTANCES, *_OF_COUNTS, "poly", "linear")
L1_KERNELS = ("laplacian",)  # of which no matrix changes the distances
WITHOUT_GAMMA = ("intersection", "tanimoto", "cosine", "linear")
METRICS = ("auto", "diag", "full")  # that are learned
LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "huber", "squared", "pinball")  # of regressors


class Algorithm(NamedTuple):
    purpose: str  # what to take it for
    rows: str  # how many suit it
    cost: str
    memory: str
    estimator: str  # of `frugalsvm`
    strength: str  # the parameter that regularizes: "alpha" or "C"
    budgeted: bool
    has_metric: bool = False
    task: str = CLASSES
    own: tuple[str, ...] = ()  # flags that others do not have
    streams: bool = True  # whether it learns batch by batch; otherwise all rows at once
    kernel: str = "rbf"  # unless --kernel says otherwise
    settings: tuple[tuple[str, Any], ...] = ()  # parameters that differ from the defaults of the estimator

    def settings_for(self, kernel: str) -> dict[str, Any]:
        merges = self.estimator.startswith("BSGD")
        return {**dict(self.settings), **(maintenance_for(kernel) if merges else {})}


_ANY, _SOME, _CELLS = "any number", "up to 100,000", "up to 10,000,000, in memory"
_LOW_RANK = "any number (--device: in memory)"
_QUANTILES = ("loss", "quantile")

# fmt: off
CATALOGUE = {
    "bsgd": Algorithm(
        "pipes, small and fast models, many classes", _ANY, "budget x features", "fixed",
        "BSGDClassifier", "alpha", True, True, own=("half_life",), settings=(("new_classes", "grow"),)),
    "lasvm": Algorithm(
        "the accuracy of an exact SVM in one pass", "up to 100,000 (many classes: 20,000)", "support vectors", "grows",
        "LASVMClassifier", "C", False, True),
    "lasvm-nc": Algorithm(
        "the same with noisy labels: fewer support vectors", _SOME, "support vectors", "grows",
        "LASVMClassifier", "C", False, True, settings=(("variant", "nc"),)),
    "lasvm-i": Algorithm(
        "the same, skips uninformative examples", _SOME, "support vectors", "grows",
        "LASVMClassifier", "C", False, True, settings=(("variant", "i"),)),
    "asset": Algorithm(
        "many features; --device: all rows at once, GPUs", _LOW_RANK, "budget^2", "fixed",
        "ASSETClassifier", "alpha", True, True),
    "local": Algorithm(
        "large tables: a machine in every cell of a tree", _CELLS, "cell size^2", "all rows",
        "LocalSVC", "C", False, True, streams=False, kernel="matern12"),
    "tvm": Algorithm(
        "few vectors, and optimal on them", "up to 10,000", "margin vectors", "fixed", "TVMClassifier", "C", True),
    "tracking": Algorithm(
        "rows whose order depends on the model", "up to 10,000", "all examples", "grows", "TrackingSVC", "C", False),
    "bsgd-regressor": Algorithm(
        "numbers, or their quantiles (--quantile)", _ANY, "budget x features", "fixed",
        "BSGDRegressor", "alpha", True, True, NUMBERS, _QUANTILES),
    "asset-regressor": Algorithm(
        "numbers from many features, or their quantiles", _LOW_RANK, "budget^2", "fixed",
        "ASSETRegressor", "alpha", True, True, NUMBERS, _QUANTILES),
    "local-regressor": Algorithm(
        "numbers from large tables", _CELLS, "cell size^2", "all rows",
        "LocalSVR", "C", False, True, NUMBERS, streams=False, kernel="matern12"),
    "one-class": Algorithm(
        "novelties: rows without labels", _ANY, "budget x features", "fixed",
        "BSGDOneClassSVM", "", True, False, NOVELTIES, ("nu", "alarm_rate"), settings=(("alarm_rate", 0.01),)),
    "perceptron": Algorithm(
        "to compare with: Projectron++", _ANY, "budget^2", "fixed",
        "BudgetedPerceptron", "", True, settings=(("strategy", "projectron++"),)),
    "bpa": Algorithm(
        "to compare with: budgeted passive-aggressive", _ANY, "budget", "fixed", "BPAClassifier", "C", True),
}
# fmt: on

# The twins of these, with --task regression
FOR_NUMBERS = {"bsgd": "bsgd-regressor", "asset": "asset-regressor", "local": "local-regressor"}
AUTO = "auto"  # compares models, see `train_auto`
ALGORITHMS = (AUTO, *CATALOGUE)  # what --algorithm may be


def maintenance_for(kernel: str) -> dict[str, Any]:
    """How BSGD keeps its budget with a kernel: merging, the default, is for Gaussian ones."""
    return {} if kernel == "rbf" else {"maintenance": "project"}


def scale_for(kernel: str, scale: str) -> str:
    """What ``--scale`` is with a kernel."""
    return "no" if scale == "auto" and kernel in _OF_COUNTS else scale


def task_for(name: str) -> str:
    """What an algorithm learns; `auto` decides that by the labels, and has a model for each."""
    return CATALOGUE[name].task if name in CATALOGUE else CLASSES


def quantile_settings(quantile: tuple[float, ...] | None) -> dict[str, Any]:
    """What a regressor gets from ``--quantile``: several do not cross."""
    if not quantile:
        return {}
    several = len(quantile) > 1
    return {"quantile": list(quantile) if several else quantile[0], "non_crossing": several}


def new_estimator(name: str, *, budget=None, gamma=None, strength=None, seed=None, quantile=None, **others) -> Any:
    """An estimator for flags; None leaves a parameter at its default."""
    import frugalsvm

    algorithm = CATALOGUE[name]
    settings = {"gamma": gamma, "random_state": seed, **others, **quantile_settings(quantile)}
    if algorithm.budgeted:
        settings["n_components" if algorithm.estimator.startswith("ASSET") else "budget"] = budget
    if algorithm.strength:
        settings[algorithm.strength] = strength
    given = {key: value for key, value in settings.items() if value is not None}
    return getattr(frugalsvm, algorithm.estimator)(**algorithm.settings_for(given.get("kernel", "rbf")) | given)
